import DemoProvider
@testable import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("Sign-in with encrypted tokens")
struct EncryptedSignInTests {
    static let encryptions = TokenEncryption.all

    static func provider(_ encryption: TokenEncryption) throws -> InMemoryProvider {
        let key = try SampleKeys.key(.p384).publicKey
        var json = JSONWebKey(publicKey: key).json.object ?? JSONObject()
        json["use"] = "enc"
        let keys = try JWKSet(["keys": [.object(json)]])
        return try InMemoryProvider { configuration in
            configuration.clients = [.publicDemo, .confidentialDemo]
            configuration.clients[1].keys = keys
            configuration.clients[1].idTokenEncryption = encryption
            configuration.clients[1].userInfoEncryption = encryption
        }
    }

    static func client(_ encryption: TokenEncryption) throws -> Client {
        let secret = Redacted("demo-secret")
        var client = Client(id: "demo-confidential", authentication: .clientSecretBasic(secret))
        client.decryption =
            encryption.algorithm == .direct
            ? TokenDecryption(secret: secret)
            : try TokenDecryption(SampleKeys.key(.p384), registered: encryption.algorithm)
        return client
    }

    @Test("sign-in, refresh and UserInfo decrypt what the provider encrypts", arguments: encryptions)
    func signIn(_ encryption: TokenEncryption) throws {
        let provider = try Self.provider(encryption)
        let client = try Self.client(encryption)
        let session = try provider.signIn(client: client)
        #expect(session.subject == "alice")
        // The signed token is kept, which id_token_hint needs (OIDC Core §3.1.2.1).
        let first = try #require(session.tokens.idToken?.revealed)
        #expect(IDToken.stored(first)?.subject == "alice")
        let login = try provider.login(client: client)
        #expect(try login.userInfo(session)["sub"] == "alice")
        provider.with { $0.configuration.signsUserInfo = true }
        #expect(try login.userInfo(session)["sub"] == "alice")
        provider.pass(400)
        let refresh = TokenRefresh(
            context: provider.environment, tokenEndpoint: login.tokenEndpoint)
        let outcome = try refresh.refresh(session, for: .own)
        #expect(outcome.idTokenFailure == nil)
        let second = try #require(outcome.session.tokens.idToken?.revealed)
        #expect(second != first && IDToken.stored(second)?.subject == "alice")
    }

    @Test("without the key, sign-in ends and the tokens are revoked; a refresh keeps the session")
    func withoutKey() throws {
        let encryption = TokenEncryption(.ecdhES)
        let provider = try Self.provider(encryption)
        var client = try Self.client(encryption)
        let session = try provider.signIn(client: client)
        client.decryption = nil
        let error = #expect(throws: OIDCError.self) { try provider.signIn(client: client) }
        #expect(error?.kind == .untrusted && error?.hint == .advice(.giveDecryptionKey))
        let refresh = TokenRefresh(
            context: provider.environment, tokenEndpoint: try provider.login(client: client).tokenEndpoint
        )
        let answer = try refresh.request(session, for: .own)
        #expect(answer.successor.tokens.refreshToken != nil)
        #expect(throws: OIDCError.self) { try refresh.check(answer) }
    }
}

extension TokenEncryption {
    static let all: [TokenEncryption] = [
        TokenEncryption(.ecdhES), TokenEncryption(.ecdhESA128KW, .a256GCM),
        TokenEncryption(.ecdhESA256KW, .a128GCM), TokenEncryption(.direct, .a256CBC),
    ]
}
