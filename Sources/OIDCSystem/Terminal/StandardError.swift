/// Where talk goes; a missing reader is not a failure.
package enum StandardError {
    package static func write(_ text: String) {
        try? FileDescriptor.standardError.writeAll(Array(text.utf8))
    }
}
