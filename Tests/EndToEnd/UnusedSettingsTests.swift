import OIDCCore
import TestSupport
import Testing

/// Settings that have no effect, and the warnings that say so.
@Suite("settings that are not used", .waiting)
struct UnusedSettingsTests {
    @Test("a variable's secret for another client is named, if the client needs a secret")
    func secretOfAnother() throws {
        let world = try ToolWorld()
        try world.configure(["issuer": .string(world.issuer), "client_id": "demo"])
        let client = ["--issuer", world.issuer, "--client-id", "demo-confidential"]
        let grant = ["--grant", "client_credentials"]
        for more in [[], ["--set", "client_auth=client_secret_post"]] {
            let result = try world.run(
                ["token"] + client + grant + more, ["OIDC_CLIENT_SECRET": "demo-secret"])
            #expect(result.code != 0 && result.errors.contains("warning: OIDC_CLIENT_SECRET is not used"))
            #expect(!world.requests.contains { $0.headers["Authorization"] != nil })
        }
        let own = try world.run(["token"] + client + grant, world.machine)
        #expect(own.code == 0 && own.errors.isEmpty, "\(own)")
    }

    @Test(
        "an option for an endpoint does not replace the session's, and a warning says so",
        arguments: [
            (["userinfo"], "userinfo_endpoint"), (["token", "--refresh"], "token_endpoint"),
            (["token", "--refresh"], "refresh_endpoint"), (["logout"], "revocation_endpoint"),
        ])
    func endpointOfSession(command: [String], endpoint: String) throws {
        let world = try ToolWorld()
        let other = try world.serve { _ in HTTPResponse(status: 500) }
        let revocation = WebURL("\(world.issuer)/revoke")
        try world.signIn { $0.endpoints.revocation = revocation }
        let result = try world.run(
            command + ["--set", "\(endpoint)=\(other.origin)/x"], world.person)
        #expect(result.code == 0 && other.requests.isEmpty, "\(result)")
        #expect(result.errors.contains("warning: \(endpoint) (--set) is not used"), "\(result)")
        #expect(!result.errors.contains("error"), "\(result)")
    }
}
