// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// developer.apple.com/documentation/foundation: Data, DataProtocol, ContiguousBytes.
public protocol ContiguousBytes {
    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

public protocol DataProtocol: RandomAccessCollection where Element == UInt8, SubSequence: DataProtocol {
    associatedtype Regions: BidirectionalCollection
    where Regions.Element: DataProtocol & ContiguousBytes, Regions.Element.SubSequence: ContiguousBytes
    var regions: Regions { get }
}

extension Array: ContiguousBytes where Element == UInt8 {}
extension Array: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<[UInt8]> { fatalError() }
}
extension ArraySlice: ContiguousBytes where Element == UInt8 {}
extension ArraySlice: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<ArraySlice<UInt8>> { fatalError() }
}

@frozen
public struct Data: Hashable, Sendable, RandomAccessCollection, MutableCollection,
    RangeReplaceableCollection, ContiguousBytes, DataProtocol
{
    public struct Base64EncodingOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }
    public struct Base64DecodingOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }

    public init() {}
    public init<S: Sequence>(_ elements: S) where S.Element == UInt8 {}
    public init?(base64Encoded base64String: String, options: Base64DecodingOptions = []) { nil }
    public func base64EncodedString(options: Base64EncodingOptions = []) -> String { fatalError() }

    public var startIndex: Int { fatalError() }
    public var endIndex: Int { fatalError() }
    public subscript(index: Int) -> UInt8 {
        get { fatalError() }
        set {}
    }
    public subscript(bounds: Range<Int>) -> Data {
        get { fatalError() }
        set {}
    }
    public var regions: CollectionOfOne<Data> { fatalError() }
    public mutating func replaceSubrange<C: Collection>(_ subrange: Range<Int>, with newElements: C)
    where C.Element == UInt8 {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}
