// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// developer.apple.com/documentation/corefoundation: CFString, CFData, CFDictionary, CFError.
public import Foundation

public final class CFString: Hashable, Sendable {
    public static func == (left: CFString, right: CFString) -> Bool { fatalError() }
    public func hash(into hasher: inout Hasher) {}
}

// Only with Objective-C does `as` turn a value into an object, so each of these is its value here.
public typealias CFData = Data
public typealias CFDictionary = [AnyHashable: Any]

public final class CFError: Error {}
