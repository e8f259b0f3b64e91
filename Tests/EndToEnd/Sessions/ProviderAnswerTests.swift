import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("answers as providers give them, by the built program", .serialized, .waiting)
struct ProviderAnswerTests {
    private static let answer = #"{"access_token":"at","token_type":"Bearer""#

    /// Answers each token request with that body, and leaves the rest to the demo.
    private func answering(_ provider: ProviderServer, _ members: String) {
        provider.intercept { request in
            request.url.path == "/token" ? .json(members) : nil
        }
    }

    @Test(
        "a scope with commas and no refresh token, as GitHub's: a narrower scope is the session's own token")
    func commas() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        answering(provider, #"\#(Self.answer),"scope":"api:write,api:read"}"#)
        let login = try program.signIn(at: provider, ["--scope", "api:read api:write"])
        #expect(login.status == 0 && !login.errorOutput.contains("did not grant"), "\(login.errorOutput)")
        let narrow = try program.run("token", "--scope", "api:read")
        #expect(narrow.status == 0 && narrow.token == "at")
        #expect(narrow.errorOutput.contains("using the token for \"api:write api:read\""))
        let whole = try program.run("token", "--scope", "api:write api:read")
        #expect(whole.token == "at" && whole.errorOutput == "")
        #expect(try program.run("token", "--scope", "api:admin").status == 3)
    }

    @Test("other members are shown by login, token and status with -o json, and no secret among them")
    func extra() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        answering(
            provider,
            #"\#(Self.answer),"instance_url":"https://na1.example","user":{"id":"U1","access_token":"hidden-1"},"#
                + #""session_token":"hidden-2"}"#)
        let login = try program.signIn(at: provider, ["--scope", "api:read", "-o", "json"])
        let outputs = [
            login, try program.run("token", "-o", "json"), try program.run("status", "-o", "json"),
            try program.run("status", "--all", "-o", "json"),
        ]
        for outcome in outputs {
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            #expect(
                outcome.output.contains(
                    #""extra":{"instance_url":"https://na1.example","user":{"id":"U1"}}"#))
            #expect(!outcome.output.contains("hidden"))
        }
        let file = try String(contentsOf: #require(program.sessionFiles.first), encoding: .utf8)
        #expect(!file.contains("hidden"))
    }

    @Test("exchange sends the resource of its pending sign-in, and shows other members")
    func exchange() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let resource = "https://api.example/mcp"
        let begun = try program.run(
            "authorize-url", "--set", "port=8484", "--resource", resource, "--scope", "openid offline_access")
        let file = program.home.appendingPathComponent("pending.json")
        try Data(begun.output.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let url = try #require(JSONValue(parsing: begun.output)["url"]?.string.flatMap(WebURL.init))
        #expect(url.text.contains("prompt=consent"))
        let address = try #require(provider.redirect(of: url)).url.text + "&realmId=42"
        provider.with { $0.faults = [.tokenResponse(.unknownMembers)] }
        let outcome = try program.run("exchange", "--pending", file.path, input: address)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let extra = try JSONValue(parsing: outcome.output)["extra"]
        #expect(extra?["realmId"] == "42" && extra?["resource"] == ["https://api.example"])
        let body = provider.with { $0.requests(to: .token).first?.body } ?? []
        #expect(String(decoding: body, as: UTF8.self).contains("resource=https%3A%2F%2Fapi.example%2Fmcp"))
    }

    @Test("prompt: off sends none for offline_access; resource_parameter: off sends no resource")
    func off() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let outcome = try program.run(
            "authorize-url", "--scope", "openid offline_access", "--prompt", "off", "--resource",
            "https://api.example", "--set", "resource_parameter=off")
        #expect(outcome.status == 0 && outcome.errorOutput == "", "\(outcome.errorOutput)")
        let url = try JSONValue(parsing: outcome.output)["url"]?.string ?? ""
        #expect(!url.isEmpty && !url.contains("prompt=") && !url.contains("resource="))
    }

    @Test("token_type is assumed if the answer names none, and the error names the setting")
    func tokenType() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        answering(provider, #"{"access_token":"at"}"#)
        let refused = try program.signIn(at: provider, ["--scope", "api:read"])
        #expect(refused.status == 4)
        #expect(
            refused.errorOutput.contains("  try: oidc login ")
                && refused.errorOutput.hasSuffix(" --set token_type=Bearer\n"),
            "\(refused.errorOutput)")
        #expect(provider.requestCount(.revocation) == 1)
        #expect(
            try program.signIn(at: provider, ["--scope", "api:read", "--set", "token_type=Bearer"]).status
                == 0)
        #expect(try program.run("token", "--header").token == "Authorization: Bearer at")
        for value in ["DPoP", "two words"] {
            #expect(try program.run("config", "check", "--set", "token_type=\(value)").status == 2)
        }
    }

    @Test("a session refreshes at its own refresh endpoint, even if the settings change later")
    func refreshEndpoint() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let login = try program.signIn(
            at: provider, ["--set", "refresh_endpoint=\(provider.origin)/refresh"])
        #expect(login.status == 0, "\(login.errorOutput)")
        let count = provider.requestCount(.token)
        provider.intercept { request in
            request.url.path == "/refresh" ? .json(#"\#(Self.answer),"refresh_token":"next"}"#) : nil
        }
        let token = try program.run("token", "--refresh")
        #expect(token.status == 0 && token.token == "at", "\(token.errorOutput)")
        #expect(provider.requestCount(.token) == count)
    }

    @Test("a device sign-in without an ID token is kept, and named by UserInfo")
    func device() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        configuration.deviceInterval = 1
        let provider = try ProviderServer(configuration, faults: [.idToken(.missing)])
        let program = try Program(provider)
        defer { program.remove() }
        let login = try program.run("login", "--flow", "device", "-o", "json")
        #expect(login.status == 0, "\(login.errorOutput)")
        #expect(
            login.errorOutput.contains(
                "warning: the provider sent no ID token; UserInfo says who signed in\n"))
        #expect(try JSONValue(parsing: login.output)["subject"]?.string == "alice")
        #expect(try program.run("userinfo", "--claim", "sub").token == "alice")
        #expect(try program.run("token", "--type", "id").status == 3)
        provider.with { $0.faults = [.userInfo(.subjectInvalid)] }
        #expect(try program.run("userinfo").status == 7)
        #expect(try program.run("token", "--type", "id", "--refresh").status == 0)
    }

    @Test("UserInfo signed with the secret of the client is read by oidc userinfo")
    func signedUserInfo() throws {
        let provider = try ProviderServer()
        let secret = "a client secret of thirty-two by"
        let program = try Program(
            provider, client: "demo-confidential", ["OIDC_CLIENT_SECRET": secret, "OIDC_SCOPE": "profile"])
        defer { program.remove() }
        let origin = provider.origin
        let signed = try JWTSigner(secret: Redacted(secret)).sign(
            payload: Array(
                #"{"iss":"\#(origin)","aud":"demo-confidential","sub":"alice","email":"alice@op"}"#.utf8))
        let metadata = """
            {"issuer":"\(origin)","authorization_endpoint":"\(origin)/authorize",
            "token_endpoint":"\(origin)/token","jwks_uri":"\(origin)/jwks",
            "userinfo_endpoint":"\(origin)/userinfo",
            "id_token_signing_alg_values_supported":["HS256"],
            "userinfo_signing_alg_values_supported":["HS256"]}
            """
        let answers: [String: HTTPResponse] = [
            "/.well-known/openid-configuration": .json(metadata),
            "/token": .json(#"\#(Self.answer)}"#),
            "/userinfo": HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/jwt")]),
                body: Array(signed.utf8)),
        ]
        provider.intercept { answers[$0.url.path] }
        let login = try program.signIn(at: provider)
        #expect(login.status == 0, "\(login.errorOutput)")
        let userInfo = try program.run("userinfo", "--claim", "email")
        #expect(userInfo.token == "alice@op", "\(userInfo.errorOutput)")
        let other = ["OIDC_CLIENT_SECRET": "another secret of thirty-two byt"]
        #expect(try program.run("userinfo", variables: other).status == 7)
    }

    @Test("a machine's token that is refused is revoked")
    func machine() throws {
        let provider = try ProviderServer(faults: [.tokenResponse(.typeUnknown)])
        let program = try Program(
            provider, client: "demo-confidential", ["OIDC_CLIENT_SECRET": "demo-secret"])
        defer { program.remove() }
        #expect(try program.run("token", "--grant", "client_credentials").status == 4)
        #expect(provider.requestCount(.revocation) == 1)
    }
}
