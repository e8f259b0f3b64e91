/// Where talk goes; nobody reading it is no failure.
public enum StandardError {
    public static func write(_ text: String) {
        try? FileDescriptor.standardError.writeAll(Array(text.utf8))
    }
}
