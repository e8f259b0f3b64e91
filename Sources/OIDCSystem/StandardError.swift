/// Where talk goes; nobody reading it is no failure.
package enum StandardError {
    package static func write(_ text: String) {
        try? FileDescriptor.standardError.writeAll(Array(text.utf8))
    }
}
