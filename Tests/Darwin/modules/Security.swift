// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// developer.apple.com/documentation/security: Keys, SecKeyAlgorithm.
@_exported public import CoreFoundation

public var kSecAttrKeyType: CFString { fatalError() }
public var kSecAttrKeyTypeRSA: CFString { fatalError() }
public var kSecAttrKeyClass: CFString { fatalError() }
public var kSecAttrKeyClassPublic: CFString { fatalError() }

public final class SecKey: Hashable {
    public static func == (left: SecKey, right: SecKey) -> Bool { fatalError() }
    public func hash(into hasher: inout Hasher) {}
}

public struct SecKeyAlgorithm: Hashable, RawRepresentable, Sendable {
    public let rawValue: CFString
    public init(rawValue: CFString) { self.rawValue = rawValue }
    public static var rsaSignatureMessagePKCS1v15SHA256: SecKeyAlgorithm { fatalError() }
    public static var rsaSignatureMessagePKCS1v15SHA384: SecKeyAlgorithm { fatalError() }
    public static var rsaSignatureMessagePKCS1v15SHA512: SecKeyAlgorithm { fatalError() }
    public static var rsaSignatureMessagePSSSHA256: SecKeyAlgorithm { fatalError() }
    public static var rsaSignatureMessagePSSSHA384: SecKeyAlgorithm { fatalError() }
    public static var rsaSignatureMessagePSSSHA512: SecKeyAlgorithm { fatalError() }
    public static var rsaEncryptionOAEPSHA1: SecKeyAlgorithm { fatalError() }
    public static var rsaEncryptionOAEPSHA256: SecKeyAlgorithm { fatalError() }
}

public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? { fatalError() }
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { fatalError() }
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool { fatalError() }
