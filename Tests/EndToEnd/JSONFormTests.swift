import CommandLineKit
import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("-o json, by the built program", .serialized, .waiting)
struct JSONFormTests {
    /// The words for each command, run by a machine's client, and whether the command has a JSON form.
    private static let forms: [(words: [String], hasForm: Bool)] = [
        (["token"], true), (["token", "--refresh"], true), (["status"], true), (["status", "--all"], true),
        (["config", "list"], true), (["config", "show"], true), (["config", "path"], true),
        (["config", "check"], true), (["config", "set", "-p", "a", "flow=device"], true),
        (["config", "new-key"], true), (["config", "unset", "-p", "a", "flow"], true),
        (["config", "use", "a"], true),
        (["config", "init", "-p", "b", "--issuer", "ISSUER", "--client-id", "demo"], true),
        (["discover"], true), (["introspect"], true), (["inspect", "-"], true), (["doctor"], true),
        (["config", "rename", "b", "c"], true), (["config", "rm", "c"], true), (["switch", "a"], true),
        (["pkce"], true), (["authorize-url", "--grant", "authorization_code"], true),
        (["resources", "--set", #"resources=[{"title":"a","url":"https://a.example"}]"#], true),
        (["help"], true), (["help", "token"], true), (["help", "settings"], true), (["--version"], true),
        (["request", "ISSUER/.well-known/openid-configuration"], true),
        (["credential", "kubectl", "--type", "access"], true),
        (["credential", "gcp", "--setup"], true), (["credential", "docker", "list"], true),
        (["credential", "docker", "--setup", "--set", #"docker_registries=[{"host":"r.example"}]"#], true),
        (["register", "-p", "r", "--issuer", "ISSUER"], true),
        (["revoke"], true), (["logout"], true), (["logout", "--all"], true),
        (["man"], false), (["completions", "bash"], false), (["demo"], false), (["demo", "--serve"], false),
        (["proxy", "--idle-timeout", "1", "https://a.example"], true),
        (["exec", "env"], false), (["credential", "git", "get"], false),
        (["credential", "git", "--setup"], false),
        (["credential", "kubectl", "--setup"], false), (["credential", "aws", "--setup"], false),
        (["credential", "headers", "https://mcp.example", "--setup", "codex"], false),
        (["credential", "headers", "http://127.0.0.1:1/mcp"], false),
        (["credential", "docker", "erase"], false), (["credential", "keyring", "get", "a"], false),
        (["token", "--header"], false),
        (["request", "-i", "https://a.example"], false), (["resources", "-i", "a"], false),
        (["request", "ISSUER/nothing"], false),
    ]

    @Test("every command prints only valid JSON, or says that it has no JSON output")
    func everyCommand() throws {
        let provider = try ProviderServer()
        let program = try Program(
            provider, client: "demo-confidential",
            ["OIDC_CLIENT_SECRET": "demo-secret", "OIDC_GRANT": "client_credentials"])
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data(#"{"profiles":{"a":{}}}"#.utf8).write(to: file)
        for (words, hasForm) in Self.forms {
            let line = words.map { $0.replacingOccurrences(of: "ISSUER", with: provider.origin) }
            let outcome = try program.start(
                ["-o", "json"] + line, input: .text("eyJhbGciOiJSUzI1NiJ9.e30.AA"), ["OIDC_CONFIG": file.path]
            ).finish()
            if hasForm {
                #expect(throws: Never.self, "\(line): \(outcome)") { try JSONValue(parsing: outcome.output) }
                #expect(outcome.status == (words == ["inspect", "-"] ? 7 : 0), "\(line): \(outcome)")
            } else {
                #expect(outcome.output == "", "\(line): \(outcome)")
                let error =
                    (try? JSONValue(
                        parsing: String(outcome.errorOutput.split(separator: "\n").last ?? "")))?["error"]
                #expect(
                    error?["exit"] == JSONValue(Int64(outcome.status)) && outcome.status != 0,
                    "\(line): \(outcome)")
            }
        }
    }

    @Test("the table has every command that does not need a user")
    func complete() {
        let needed = CommandLineKit.Program.oidc.descriptions.filter { $0.subcommands.isEmpty }
            .map { $0.path.dropFirst().joined(separator: " ") }
        let tested = Self.forms.map { $0.words.joined(separator: " ") }
        let others = ["login", "userinfo", "exchange", "lend"]
        for name in needed where !others.contains(name) {
            #expect(tested.contains { $0 == name || $0.hasPrefix(name + " ") }, "\(name)")
        }
    }

    @Test(
        "login, status and status --all have the documented members, with name and email; userinfo --claim is a JSON value"
    )
    func members() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let names = [
            "profile", "issuer", "client_id", "account", "subject", "name", "email", "scope", "resource",
            "expires_at", "refresh_expires_at", "can_refresh", "ended", "bound", "store",
        ]
        let login = try JSONValue(parsing: try program.signIn(at: provider, ["-o", "json"]).output)
        #expect(Set(names).isSubset(of: Set(login.object?.names ?? [])))
        let status = try JSONValue(parsing: try program.run("status", "-o", "json").output)
        #expect(Set(names).isSubset(of: Set(status.object?.names ?? [])))
        #expect(status["email"] == "alice@example.com")
        #expect(status["name"]?.string?.isEmpty == false)
        let all = try JSONValue(parsing: try program.run("status", "--all", "-o", "json").output)
        #expect(all.array?.count == 1 && all.array?.first?["email"] == "alice@example.com")
        let claim = try program.run("userinfo", "--claim", "email", "-o", "json")
        #expect(claim.output == "\"alice@example.com\"\n")
        let doctor = try JSONValue(parsing: try program.run("doctor", "-o", "json").output)
        #expect(
            doctor.array?.allSatisfy { $0.object?.names == ["check", "result", "detail", "hint"] } == true)
    }

    @Test("logout and revoke say what the provider did")
    func provider() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        try program.signIn(at: provider)
        func answer(_ words: String...) throws -> (JSONValue?, Int32) {
            let outcome = try program.start(words + ["-o", "json"]).finish()
            return (try JSONValue(parsing: outcome.output)["provider"], outcome.status)
        }
        #expect(try answer("revoke", "--refresh-token") == ("revoked", 0))
        try program.signIn(at: provider)
        let logout = try program.run("logout", "-o", "json")
        let document = try JSONValue(parsing: logout.output)
        #expect(document["provider"] == "revoked" && document["session"] == "forgotten")
        #expect(document["issuer"] == .string(provider.origin))
        #expect(try answer("logout") == (.null, 0))
        try program.signIn(at: provider)
        provider.intercept { $0.url.path == "/revoke" ? HTTPResponse(status: 503) : nil }
        #expect(try answer("logout") == ("unreachable", 5))
        try program.signIn(at: provider)
        provider.intercept { request in
            guard request.url.path == "/revoke" else { return nil }
            return HTTPResponse(status: 400, body: Array(#"{"error":"invalid_request"}"#.utf8))
        }
        #expect(try answer("revoke") == ("refused", 4))
        #expect(try answer("logout") == ("refused", 4))
    }

    @Test(
        "a fault of this machine is not an answer of the provider; logout still forgets")
    func localFault() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        try program.signIn(at: provider)
        let fault = ["OIDC_CLIENT_SECRET_COMMAND": #"["no-such-program"]"#]
        let revoke = try program.run("revoke", "-o", "json", variables: fault)
        #expect(revoke.status != 0 && revoke.status != 4 && revoke.output == "", "\(revoke)")
        let logout = try program.run("logout", "-o", "json", variables: fault)
        #expect(logout.status == 4, "\(logout)")
        let document = try JSONValue(parsing: logout.output)
        #expect(document["provider"] == .null && document["session"] == "forgotten")
        #expect(program.sessionFiles.isEmpty && provider.requestCount(.revocation) == 0)
        for kind in [OIDCError.Kind.untrusted, .failed, .usage, .interrupted] {
            #expect(RevocationAnswer(OIDCError(kind, "m", stage: .revocation)) == nil)
        }
        #expect(RevocationAnswer(OIDCError(.refused, "m", stage: .settings)) == nil)
    }

    @Test("revoke says not_offered where the provider has no revocation, for the session's token and another")
    func notOffered() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        let origin = provider.origin
        let metadata = """
            {"issuer":"\(origin)","authorization_endpoint":"\(origin)/authorize",
            "token_endpoint":"\(origin)/token","jwks_uri":"\(origin)/jwks"}
            """
        provider.intercept { $0.url.path == "/.well-known/openid-configuration" ? .json(metadata) : nil }
        let login = try program.signIn(at: provider)
        #expect(login.status == 0, "\(login.errorOutput)")
        for words in [["revoke"], ["revoke", "-"]] {
            let outcome = try program.start(words + ["-o", "json"], input: .text("token\n")).finish()
            #expect(outcome.status == 4)
            #expect(try JSONValue(parsing: outcome.output)["provider"] == "not_offered", "\(outcome)")
        }
        #expect(try program.run("revoke").errorOutput.hasSuffix("\n  try: oidc logout\n"))
        for words in [["introspect"], ["introspect", "-"], ["userinfo"]] {
            let outcome = try program.start(words, input: .text("token\n")).finish()
            #expect(outcome.status == 4 && outcome.error?.contains("_endpoint") == true, "\(outcome)")
        }
        #expect(try program.run("logout", "-o", "json").output.contains(#""provider":"not_offered""#))
    }

    @Test(
        "a provider that revokes no tokens of public clients is no error for logout, and says so",
        arguments: [true, false])
    func publicClient(isListed: Bool) throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        // Spring Authorization Server 7.1 lists methods without none, and answers an empty 401 (captured 2026-11).
        provider.intercept { [weak provider] request in
            if request.url.path == "/revoke" { return HTTPResponse(status: 401) }
            guard isListed, request.url.path == "/.well-known/openid-configuration", let provider,
                case let answer = provider.with({ $0.handle(request, at: Clock.now()) }),
                var metadata = (try? JSONValue(parsing: answer.body))?.object
            else { return nil }
            metadata["revocation_endpoint_auth_methods_supported"] = ["client_secret_basic"]
            return .json(JSONValue.object(metadata).compact)
        }
        try program.signIn(at: provider)
        let revoke = try program.run("revoke", "-o", "json")
        #expect(revoke.status == 4 && revoke.output.contains(#""provider":"not_offered""#), "\(revoke)")
        #expect(!revoke.errorOutput.contains("client_secret"))
        let logout = try program.run("logout", "-o", "json")
        #expect(logout.status == 0 && logout.output.contains(#""provider":"not_offered""#), "\(logout)")
        #expect(program.sessionFiles.isEmpty)
        try program.signIn(at: provider)
        let said = try program.run("logout").errorOutput
        let start = "The provider offers no revocation to this client; the access token expires in "
        #expect(said.hasPrefix(start), "\(said)")
    }

    @Test("an access token that ended with its refresh token is no error, whatever the provider answers")
    func endedAccessToken() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        // better-auth 1.7.25 (captured 2026-11).
        provider.intercept { request in
            guard request.url.path == "/revoke",
                String(decoding: request.body, as: UTF8.self).contains("=access_token")
            else { return nil }
            return .json(
                #"{"error":"invalid_request","error_description":"Invalid access token"}"#, status: 400)
        }
        try program.signIn(at: provider)
        let logout = try program.run("logout")
        #expect(logout.status == 0, "\(logout.errorOutput)")
        #expect(logout.errorOutput.contains("The access token ended with the refresh token."))
        try program.signIn(at: provider)
        #expect(try program.run("revoke").status == 4)
    }

    @Test("a response that is not JSON is refused with -o json; with another status, the status is the error")
    func response() throws {
        let provider = try ProviderServer()
        let program = try Program(
            provider, client: "demo-confidential",
            ["OIDC_CLIENT_SECRET": "demo-secret", "OIDC_GRANT": "client_credentials"])
        defer { program.remove() }
        let page = try program.run("request", "\(provider.origin)/device", "-o", "json")
        #expect(page.status == 4 && page.output == "", "\(page)")
        #expect(page.errorOutput.contains(#"expected JSON, found \"text/html\""#), "\(page)")
        let missing = try program.run("request", "\(provider.origin)/nothing", "-o", "json")
        #expect(
            missing.status == 4 && missing.output == "" && missing.errorOutput.contains("404"), "\(missing)")
    }
}
