package import OIDCCrypto

/// Two keys of each kind for the whole run: generating an RSA key takes a tenth of a second.
package enum SampleKeys {
    private static let first = generated()
    private static let second = generated()

    private static func generated() -> Result<[PrivateKey.Kind: PrivateKey], any Error> {
        Result {
            try PrivateKey.Kind.allCases.reduce(into: [:]) { $0[$1] = try PrivateKey.generate($1) }
        }
    }

    package static func key(_ kind: PrivateKey.Kind) throws -> PrivateKey { try first.get()[kind]! }

    /// A key of the same kind that does not verify what the first one signed.
    package static func otherKey(_ kind: PrivateKey.Kind) throws -> PrivateKey { try second.get()[kind]! }

    /// The keys that a provider signs with.
    package static var signing: [PrivateKey] { get throws { [try key(.rsa2048), try key(.p256)] } }
}
