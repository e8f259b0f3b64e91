import OIDCCrypto
import TestSupport
import Testing

@Suite("Signing and verifying")
struct RoundTripTests {
    static let message = Array("eyJhbGciOiJub25lIn0.e30".utf8)

    static func pairs() throws -> [(PrivateKey, SignatureAlgorithm)] {
        try PrivateKey.Kind.allCases.flatMap { kind in
            let key = try SampleKeys.key(kind)
            return key.supportedAlgorithms.map { (key, $0) }
        }
    }

    @Test("a public key verifies what its private key signed, also after export to PEM")
    func roundTrip() throws {
        let pairs = try Self.pairs()
        #expect(Set(pairs.map(\.1)) == Set(SignatureAlgorithm.allCases.filter { !$0.isSymmetric }))
        for (key, algorithm) in pairs {
            let signature = try key.sign(Self.message, algorithm)
            #expect(try key.publicKey.isValidSignature(signature, for: Self.message, algorithm))
            let again = try PrivateKey(pem: key.pem, passphrase: nil)
            #expect(again.publicKey == key.publicKey)
            let other = try again.sign(Self.message, algorithm)
            let publicKey = try PublicKey(key.publicKey.parameters)
            #expect(try publicKey.isValidSignature(other, for: Self.message, algorithm))
        }
    }
}
