import Posix
import Testing

@testable import OIDCCore
@testable import oidc

@Suite("grants without a user")
struct MachineGrantTests {
    @Test(
        "a grant type without a token request is an error, and never sent as client_credentials",
        arguments: ["authorization_code", "urn:openid:params:grant-type:ciba", ""])
    func unknown(grant: String) throws {
        let context = CommandContext(
            console: Console(CommonOptions()), environment: ["HOME": "/nonexistent"], common: CommonOptions())
        let entries = try ["issuer=https://op.example", "client_id=app"].map {
            try SettingsLoader.assignment($0)
        }
        let provider = ProviderContext(try context.settingsLoader.load(entries), context)
        let environment = try provider.environment()
        func request(_ grant: GrantType) throws(OIDCError) -> TokenRequest {
            let key = SessionKey(provider: "https://op.example", clientID: "app", grant: grant)
            return try MachineGrant(provider: provider, key: key).request(environment)
        }
        #expect(try request(.clientCredentials).grantType == .clientCredentials)
        let error = #expect(throws: OIDCError.self) { try request(GrantType(rawValue: grant)) }
        #expect(error?.kind == .usage && error?.message.hasPrefix("grant: ") == true)
    }
}
