/// Stores one argument in a value whose type only its maker knows.
///
/// Erased, so that the tables of all commands are of one type: instantiating generic types for each
/// command at run time would cost more than everything else that the parser does.
struct Storing: Sendable {
    private let body: @Sendable (UnsafeMutableRawPointer, String) throws(UsageError) -> Void

    init<Root>(_ store: @escaping @Sendable (inout Root, String) throws(UsageError) -> Void) {
        body = { pointer, argument throws(UsageError) in
            try store(&pointer.assumingMemoryBound(to: Root.self).pointee, argument)
        }
    }

    /// `Root` is the type that this was made for: tables are typed wherever they are declared and read.
    func callAsFunction<Root>(_ root: inout Root, _ argument: String) throws(UsageError) {
        try withUnsafeMutablePointer(to: &root) { pointer throws(UsageError) in
            try body(UnsafeMutableRawPointer(pointer), argument)
        }
    }
}

/// What an option's type and an untouched command say of it: the words it accepts, and its default.
struct Detail {
    var choices: [String] = []
    var fallback = ""
}

/// Reads the detail from a command with its defaults; erased like `Storing`, and asked for help only.
struct Detailing: Sendable {
    private let body: @Sendable (UnsafeRawPointer) -> Detail

    init<Root>(_ read: @escaping @Sendable (Root) -> Detail) {
        body = { read($0.assumingMemoryBound(to: Root.self).pointee) }
    }

    func callAsFunction<Root>(_ root: Root) -> Detail {
        withUnsafePointer(to: root) { body(UnsafeRawPointer($0)) }
    }
}
