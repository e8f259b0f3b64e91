// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// developer.apple.com/documentation/cryptokit: hashing, HMAC, AES.GCM, AES.KeyWrap, P256, P384, P521, Curve25519.
public import Foundation

public protocol Digest: Hashable, ContiguousBytes, Sendable, Sequence where Element == UInt8 {
    static var byteCount: Int { get }
}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    static func hash<D: DataProtocol>(data: D) -> Digest
}

public struct SHA256Digest: Digest {
    public static var byteCount: Int { 32 }
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}
public struct SHA384Digest: Digest {
    public static var byteCount: Int { 48 }
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}
public struct SHA512Digest: Digest {
    public static var byteCount: Int { 64 }
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}
public struct SHA256: HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { fatalError() }
}
public struct SHA384: HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> SHA384Digest { fatalError() }
}
public struct SHA512: HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> SHA512Digest { fatalError() }
}

public struct SymmetricKey: ContiguousBytes, Sendable {
    public init<D: ContiguousBytes>(data: D) {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}

public struct HashedAuthenticationCode<H: HashFunction>: Hashable, Sendable, Sequence, ContiguousBytes {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}
public struct HMAC<H: HashFunction>: Sendable {
    public typealias MAC = HashedAuthenticationCode<H>
    public static func authenticationCode<D: DataProtocol>(for data: D, using key: SymmetricKey) -> MAC {
        fatalError()
    }
}

public enum AES {
    public enum GCM {
        public struct Nonce: Sendable, ContiguousBytes, Sequence {
            public init<D: DataProtocol>(data: D) throws {}
            public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
            public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
                fatalError()
            }
        }
        public struct SealedBox: Sendable {
            public var ciphertext: Data { fatalError() }
            public var tag: Data { fatalError() }
            public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws {}
        }
        public static func seal<Plaintext: DataProtocol, AuthenticatedData: DataProtocol>(
            _ message: Plaintext, using key: SymmetricKey, nonce: Nonce? = nil,
            authenticating authenticatedData: AuthenticatedData
        ) throws -> SealedBox { fatalError() }
        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey,
            authenticating authenticatedData: AuthenticatedData
        ) throws -> Data { fatalError() }
    }
    public enum KeyWrap {
        public static func wrap(_ keyToWrap: SymmetricKey, using kek: SymmetricKey) throws -> Data {
            fatalError()
        }
        public static func unwrap<WrappedKey: DataProtocol>(
            _ wrappedKey: WrappedKey, using kek: SymmetricKey
        ) throws -> SymmetricKey { fatalError() }
    }
}

public struct SharedSecret: ContiguousBytes, Sendable {
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        fatalError()
    }
}

public enum P256 {
    public enum KeyAgreement {
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
        }
        public struct PrivateKey: Sendable {
            public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {}
            public func sharedSecretFromKeyAgreement(with publicKeyShare: PublicKey) throws -> SharedSecret {
                fatalError()
            }
        }
    }
    public enum Signing {
        public struct ECDSASignature: Sendable {
            public let rawRepresentation: Data
            public init<D: DataProtocol>(rawRepresentation: D) throws { fatalError() }
        }
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
            public var rawRepresentation: Data { fatalError() }
            public func isValidSignature<D: DataProtocol>(_ signature: ECDSASignature, for data: D) -> Bool {
                fatalError()
            }
        }
        public struct PrivateKey: Sendable {
            public init(compactRepresentable: Bool = true) {}
            public init(pemRepresentation: String) throws {}
            public var pemRepresentation: String { fatalError() }
            public var rawRepresentation: Data { fatalError() }
            public var publicKey: PublicKey { fatalError() }
            public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { fatalError() }
        }
    }
}

public enum P384 {
    public enum KeyAgreement {
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
        }
        public struct PrivateKey: Sendable {
            public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {}
            public func sharedSecretFromKeyAgreement(with publicKeyShare: PublicKey) throws -> SharedSecret {
                fatalError()
            }
        }
    }
    public enum Signing {
        public struct ECDSASignature: Sendable {
            public let rawRepresentation: Data
            public init<D: DataProtocol>(rawRepresentation: D) throws { fatalError() }
        }
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
            public var rawRepresentation: Data { fatalError() }
            public func isValidSignature<D: DataProtocol>(_ signature: ECDSASignature, for data: D) -> Bool {
                fatalError()
            }
        }
        public struct PrivateKey: Sendable {
            public init(compactRepresentable: Bool = true) {}
            public init(pemRepresentation: String) throws {}
            public var pemRepresentation: String { fatalError() }
            public var rawRepresentation: Data { fatalError() }
            public var publicKey: PublicKey { fatalError() }
            public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { fatalError() }
        }
    }
}

public enum P521 {
    public enum KeyAgreement {
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
        }
        public struct PrivateKey: Sendable {
            public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {}
            public func sharedSecretFromKeyAgreement(with publicKeyShare: PublicKey) throws -> SharedSecret {
                fatalError()
            }
        }
    }
    public enum Signing {
        public struct ECDSASignature: Sendable {
            public let rawRepresentation: Data
            public init<D: DataProtocol>(rawRepresentation: D) throws { fatalError() }
        }
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
            public var rawRepresentation: Data { fatalError() }
            public func isValidSignature<D: DataProtocol>(_ signature: ECDSASignature, for data: D) -> Bool {
                fatalError()
            }
        }
        public struct PrivateKey: Sendable {
            public init(compactRepresentable: Bool = true) {}
            public init(pemRepresentation: String) throws {}
            public var pemRepresentation: String { fatalError() }
            public var rawRepresentation: Data { fatalError() }
            public var publicKey: PublicKey { fatalError() }
            public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { fatalError() }
        }
    }
}

public enum Curve25519 {
    public enum Signing {
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
            public var rawRepresentation: Data { fatalError() }
            public func isValidSignature<S: DataProtocol, D: DataProtocol>(_ signature: S, for data: D)
                -> Bool
            {
                fatalError()
            }
        }
        public struct PrivateKey: Sendable {
            public init() {}
            public init<D: ContiguousBytes>(rawRepresentation data: D) throws {}
            public var rawRepresentation: Data { fatalError() }
            public var publicKey: PublicKey { fatalError() }
            public func signature<D: DataProtocol>(for data: D) throws -> Data { fatalError() }
        }
    }
}
