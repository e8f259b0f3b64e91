import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("encrypted tokens, in the built program", .serialized, .waiting)
struct EncryptedTokenCommandTests {
    /// The key of Bob in RFC 7518 appendix C.
    private static let jwk = """
        {"kty":"EC","crv":"P-256","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",\
        "y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck","d":"VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"}
        """

    private static func provider(_ key: PublicKey) throws -> ProviderServer {
        var json = JSONWebKey(publicKey: key).json.object ?? JSONObject()
        json["use"] = "enc"
        var configuration = DemoConfiguration()
        configuration.clients[0].keys = try JWKSet(["keys": [.object(json)]])
        configuration.clients[0].idTokenEncryption = TokenEncryption(.ecdhES)
        configuration.clients[0].userInfoEncryption = TokenEncryption(.ecdhESA256KW, .a256GCM)
        return try ProviderServer(configuration)
    }

    private static func write(_ text: String, _ program: Program) throws -> String {
        let file = program.home.appendingPathComponent("key")
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file.path
    }

    @Test(
        "a PEM or JWK file decrypts ID tokens and UserInfo; the signed ID token is printed and reused",
        arguments: [true, false])
    func signIn(isPEM: Bool) throws {
        let key =
            isPEM ? try SampleKeys.key(.p256) : try PrivateKey(decryptionJWK: Array(Self.jwk.utf8))
        let provider = try Self.provider(key.publicKey)
        var program = try Program(provider)
        defer { program.remove() }
        let text = isPEM ? String(decoding: key.pem, as: UTF8.self) : Self.jwk + "\n"
        program.environment["OIDC_DECRYPTION_KEY_FILE"] = try Self.write(text, program)
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
        let token = try program.run("token", "--type", "id")
        #expect(token.status == 0 && token.output.split(separator: ".").count == 3, "\(token)")
        let userinfo = try program.run("userinfo", "--claim", "sub")
        #expect(userinfo.output == "alice\n", "\(userinfo)")
        let refreshed = try program.run("token", "--refresh")
        #expect(refreshed.status == 0 && refreshed.errorOutput.isEmpty, "\(refreshed)")
        let other = try program.run("token", "--type", "id")
        #expect(other.output.split(separator: ".").count == 3 && other.output != token.output)
    }

    @Test("a key that cannot be used ends the sign-in before the browser, and the error names the setting")
    func unusable() throws {
        let provider = try Self.provider(SampleKeys.key(.p256).publicKey)
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_DECRYPTION_KEY_FILE"] = program.home.appendingPathComponent("key").path
        for (text, options, words) in [
            ("{}", [], "decryption_key_file: kty is missing"),
            (#"{"kty":"oct","k":"AA"}"#, [], "decryption_key_file: not supported"),
            ("no key", [], "decryption_key_file"),
            (String(decoding: try SampleKeys.key(.ed25519).pem, as: UTF8.self), [], "cannot decrypt"),
            (
                String(decoding: try SampleKeys.key(.p256).pem, as: UTF8.self),
                ["--set", "id_token_encrypted_response_alg=RSA-OAEP"], "not RSA-OAEP"
            ),
            (
                String(decoding: try SampleKeys.key(.p256).pem, as: UTF8.self),
                ["--set", "id_token_encrypted_response_alg=dir"], "needs the client's secret"
            ),
        ] {
            _ = try Self.write(text, program)
            let outcome = try program.start(["login", "--no-browser"] + options).finish()
            #expect(outcome.status == 2 && outcome.error?.contains(words) == true, "\(outcome)")
            #expect(!outcome.errorOutput.contains("http://"), "\(outcome)")
        }
        program.environment["OIDC_DECRYPTION_KEY_FILE"] = nil
        let outcome = try program.run(
            "login", "--no-browser", "--set", "id_token_encrypted_response_alg=ECDH-ES")
        #expect(
            outcome.status == 2 && outcome.errorOutput.contains("set decryption_key_file"), "\(outcome)")
    }

    @Test("register registers the encryption and the public key, and its profile signs in")
    func register() throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let file = try Self.write(Self.jwk, program)
        let options = [
            "--set", "decryption_key_file=\(file)", "--set", "id_token_encrypted_response_alg=ECDH-ES+A128KW",
        ]
        let registered = try program.start(["register", "--issuer", provider.origin] + options).finish()
        #expect(registered.status == 0, "\(registered)")
        // The profile accepts encrypted ID tokens only.
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
    }
}
