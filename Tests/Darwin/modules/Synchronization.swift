// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// developer.apple.com/documentation/synchronization, macOS 15. Swift's own module for Linux needs Glibc, which must not
// be in reach here.
@frozen public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    public init(_ initialValue: consuming sending Value) { fatalError() }

    public borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result { fatalError() }
}

public struct AtomicLoadOrdering: Sendable {
    public static var relaxed: AtomicLoadOrdering { fatalError() }
    public static var acquiring: AtomicLoadOrdering { fatalError() }
}

public struct AtomicStoreOrdering: Sendable {
    public static var relaxed: AtomicStoreOrdering { fatalError() }
    public static var releasing: AtomicStoreOrdering { fatalError() }
}

public protocol AtomicRepresentable {}
extension Bool: AtomicRepresentable {}
extension Int: AtomicRepresentable {}
extension Int32: AtomicRepresentable {}

@frozen public struct Atomic<Value: AtomicRepresentable>: ~Copyable, @unchecked Sendable {
    public init(_ initialValue: consuming Value) { fatalError() }
    public borrowing func load(ordering: AtomicLoadOrdering) -> Value { fatalError() }
    public borrowing func store(_ desired: consuming Value, ordering: AtomicStoreOrdering) { fatalError() }
}
