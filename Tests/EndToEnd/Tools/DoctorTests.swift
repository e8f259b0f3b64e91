import DemoProvider
import Foundation
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@Suite("doctor", .serialized, .waiting)
struct DoctorTests {
    private func findings(
        _ world: ToolWorld, _ arguments: [String] = [], _ variables: [String: String] = [:]
    ) throws -> (code: Int32?, [String: JSONValue]) {
        let result = try world.run(["doctor", "-o", "json"] + arguments, variables)
        #expect((result.code == 0) != result.errors.contains(#"{"error":{"kind":"failed""#), "\(result)")
        let items = try #require(try result.json().array, "\(result)")
        let named = items.map { ($0["check"]?.string ?? "", $0) }
        return (result.code, Dictionary(named) { first, _ in first })
    }

    private func configured(
        _ more: [String: JSONValue] = [:], _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> ToolWorld {
        let world = try ToolWorld(change)
        var profile: [String: JSONValue] = ["issuer": .string(world.issuer), "client_id": "demo"]
        profile.merge(more) { $1 }
        var object = JSONObject()
        for (name, value) in profile { object[name] = value }
        try world.configure(.object(object))
        return world
    }

    @Test("if nothing is wrong, each check has a line, and the exit code is 0")
    func well() throws {
        let world = try configured()
        try world.signIn()
        let (code, found) = try findings(world, [], ["BROWSER": "true"])
        #expect(
            Set(found.keys) == [
                "configuration", "variables", "precedence", "discovery", "metadata", "keys", "client", "TLS",
                "proxy",
                "clock", "libcrypto", "callback", "localhost", "browser", "CI identity", "store", "keychain",
                "session",
            ])
        #expect(code == 0 && found.values.allSatisfy { $0["result"]?.string != "problem" }, "\(found)")
        let text = try world.run(["doctor"], ["BROWSER": "true"])
        #expect(text.code == 0 && text.output.contains("ok       discovery"), "\(text)")
        // Times are local, as in `login` and `status`.
        #expect(text.output.firstMatch(of: #/\d\dZ/#) == nil, "\(text)")
    }

    @Test(
        "each problem is found, with a hint",
        arguments: [
            ("variables", "warning", ["OIDC_ISUER": "x"], "did you mean OIDC_ISSUER?"),
            ("precedence", "warning", ["OIDC_CLIENT_ID": "other"], "unset"),
            ("configuration", "problem", ["OIDC_PROFILE": "none-such"], "oidc config list"),
            ("configuration", "problem", ["OIDC_LEEWAY": "many"], ""),
            ("discovery", "problem", ["OIDC_ISSUER": "http://127.0.0.1:1"], "check that it is running"),
            (
                "store", "problem", ["OIDC_STATE_DIR": "", "XDG_STATE_HOME": "", "HOME": ""],
                "set OIDC_STATE_DIR"
            ),
            (
                "store", "warning",
                ["OIDC_STATE_DIR": "", "XDG_STATE_HOME": "", "HOME": "", "OIDC_GRANT": "client_credentials"],
                "set OIDC_STATE_DIR"
            ),
            (
                "session", "problem",
                [
                    "OIDC_GRANT": "token_exchange", "OIDC_SUBJECT_TOKEN_SOURCE": "file",
                    "OIDC_SUBJECT_TOKEN_FILE": "/no/such/token",
                ], "subject_token_file"
            ),
            (
                "session", "problem", ["OIDC_GRANT": "token_exchange"],
                "oidc config set subject_token_file=FILE"
            ),
            (
                "session", "problem", ["OIDC_GRANT": "jwt_bearer", "GITLAB_CI": "true"],
                "subject_token_source=gitlab"
            ),
            (
                "session", "problem",
                [
                    "OIDC_GRANT": "jwt_bearer", "OIDC_SUBJECT_TOKEN_SOURCE": "github-actions",
                    "OIDC_STORE": "none",
                ], "id-token: write"
            ),
            ("TLS", "problem", ["OIDC_CA_FILE": "/no/such/file"], "PEM"),
            ("TLS", "problem", ["OIDC_ISSUER": "http://login.example.com"], "https"),
            ("TLS", "warning", ["OIDC_ALLOW_INSECURE_HTTP": "true"], "https"),
            ("proxy", "warning", ["HTTP_PROXY": "proxy:1"], "http_proxy"),
            ("callback", "ok", ["OIDC_REDIRECT_URI": "com.example.app:/back"], ""),
            ("browser", "warning", ["BROWSER": "no-such-browser"], "BROWSER"),
            ("browser", "warning", [:], "device"),
            ("CI identity", "ok", ["GITLAB_CI": "true"], "gitlab"),
            ("client", "problem", ["OIDC_CLIENT_SECRET_FILE": "/no/such/file"], ""),
            ("store", "warning", ["OIDC_STORE": "none"], ""),
            ("store", "problem", ["OIDC_STORE": "elsewhere"], "helper:NAME"),
            ("store", "problem", ["OIDC_STORE": "helper:oidc"], "helper:NAME"),
            ("keychain", "problem", ["OIDC_STORE": "helper:none-such"], "install"),
            ("session", "warning", [:], "oidc login"),
        ] as [(String, String, [String: String], String)])
    func faults(check: String, result: String, variables: [String: String], hint: String) throws {
        let world = try configured()
        let (code, found) = try findings(world, [], variables)
        let finding = try #require(found[check], "\(found)")
        #expect(
            finding["result"]?.string == result
                && (hint.isEmpty || finding["hint"]?.string?.contains(hint) == true),
            "\(finding)")
        #expect((code == 1) == found.values.contains { $0["result"]?.string == "problem" })
    }

    @Test("a directory for sessions that cannot be made is a problem, and nothing is left behind")
    func unwritable() throws {
        let program = try Program()
        defer { program.remove() }
        #expect(try program.run("doctor", "--offline").output.contains("ok       store"))
        #expect(program.files(in: "").isEmpty)
        try Data().write(to: program.home.appendingPathComponent(".local"))
        let outcome = try program.run("doctor", "--offline")
        #expect(outcome.status == 1 && outcome.output.contains("problem  store"), "\(outcome)")
    }

    @Test(
        "a wrong clock is noticed by the provider's",
        arguments: [(30, "warning"), (-3_600, "problem")])
    func clock(offset: Int64, result: String) throws {
        let world = try configured { $0.clockOffset = offset }
        let clock = try #require(try findings(world).1["clock"])
        #expect(
            clock["result"]?.string == result
                && clock["detail"]?.string?.contains(offset > 0 ? "behind" : "ahead") == true)
    }

    @Test("a token from the future, a session that cannot be refreshed, and a damaged one are reported")
    func sessions() throws {
        let world = try configured()
        try world.signIn { $0.tokens.access.obtainedAt = Clock.now().adding(7_200) }
        #expect(try findings(world).1["session"]?["detail"]?.string?.contains("future") == true)
        try world.signIn {
            $0.tokens.refreshToken = nil
            $0.tokens.access.expiresAt = Clock.now().adding(-1)
        }
        #expect(try findings(world).1["session"]?["result"]?.string == "warning")
        let file = world.home + "/.local/state/oidc/broken-0000000000000000.json"
        try Data("{".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        #expect(try findings(world).1["store"]?["detail"]?.string?.hasPrefix("1 of 2 cannot be read") == true)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: world.home + "/.local/state/oidc")
        let open = try #require(try findings(world).1["store"])
        #expect(
            open["result"]?.string == "problem" && open["hint"]?.string == "chmod 700 ~/.local/state/oidc",
            "\(open)")
    }

    @Test("a session without a scope that the settings ask for is reported, as token would")
    func missingScope() throws {
        let world = try configured()
        try world.signIn()
        let found = try findings(world, ["--scope", "openid more"])
        let session = try #require(found.1["session"])
        #expect(found.code == 1 && session["result"]?.string == "problem", "\(session)")
        #expect(
            session["detail"]?.string?.hasSuffix("was not granted the scope \"more\"") == true, "\(session)")
    }

    @Test("a key that is published with its private half is a warning")
    func publishedPrivateKey() throws {
        let server = try ScriptedServer { peer in
            guard let request = peer.readRequest() else { return }
            let host = request.split(separator: "\r\n").first { $0.hasPrefix("Host: ") }?.dropFirst(6)
            let origin = "http://\(host ?? "")"
            let body =
                request.contains("/keys")
                ? #"{"keys":[{"kty":"EC","kid":"k1","crv":"P-256","x":"AA","y":"AA","d":"AA"}]}"#
                : #"{"issuer":"\#(origin)","authorization_endpoint":"\#(origin)/a","token_endpoint":"\#(origin)/t","jwks_uri":"\#(origin)/keys"}"#
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
            )
        }
        let world = try Program()
        defer { world.remove() }
        let outcome = try world.run("doctor", "--issuer", server.origin, "--client-id", "x", "-o", "json")
        let keys = try JSONValue(parsing: outcome.output).array?.first { $0["check"] == "keys" }
        #expect(keys?["result"] == "warning", "\(outcome)")
        #expect(keys?["detail"] == "key \"k1\" is published with its private half: anyone can sign with it")
    }

    @Test("a provider that signs with the client's secret needs no keys")
    func symmetricKeys() throws {
        let world = try configured(["id_token_signed_response_alg": "HS256"])
        let bare = try #require(try findings(world).1["keys"])
        #expect(bare["result"] == "problem" && bare["hint"]?.string?.contains("client_secret") == true)
        let keys = try #require(try findings(world, [], ["OIDC_CLIENT_SECRET": "a secret"]).1["keys"])
        #expect(
            keys["result"]?.string == "ok" && keys["detail"]?.string?.contains("HS256") == true, "\(keys)")
    }

    @Test("a busy callback port is a problem")
    func busyPort() throws {
        let world = try configured()
        let port = try #require(WebURL(world.issuer)?.port)
        let callback = try #require(try findings(world, ["--set", "port=\(port)"]).1["callback"])
        #expect(
            callback["result"]?.string == "problem" && callback["detail"]?.string?.contains("in use") == true)
    }

    @Test("nothing that is shown names the home directory, a token or a secret")
    func redacted() throws {
        let world = try configured(["client_secret": "hunter2-secret"])
        let session = try world.signIn()
        let variables = [
            "https_proxy": "http://user:pass-word@proxy.example:3128",
            "all_proxy": "http://user:pass-word@", "OIDC_CLIENT_SECRET": "hunter3",
        ]
        let result = try world.run(["doctor"], variables)
        for secret in [world.home, "hunter", "pass-word", session.tokens.access.token.revealed] {
            #expect(!(result.output + result.errors).contains(secret), "\(result)")
        }
        #expect(
            result.output.contains("~/.config/oidc/config.json")
                && result.output.contains("proxy.example:3128"))
    }

    @Test("a secret file that others may read is reported")
    func secretFile() throws {
        let world = try configured()
        let file = world.home + "/secret"
        try Data("hush".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let client = try #require(try findings(world, ["--set", "client_secret_file=\(file)"]).1["client"])
        #expect(client["result"]?.string == "warning" && client["hint"]?.string == "chmod 600 ~/secret")
    }

    @Test("a secret file that is missing is a problem, also of a profile that has endpoints only")
    func missingSecret() throws {
        let world = try ToolWorld()
        for provider in ["issuer": world.issuer, "token_endpoint": world.issuer + "/token"] {
            try world.configure([
                provider.key: .string(provider.value), "client_id": "demo", "client_secret_file": "nowhere",
            ])
            let client = try #require(try findings(world).1["client"])
            #expect(client["result"]?.string == "problem")
            #expect(client["detail"]?.string?.contains("nowhere") == true, "\(client)")
            let check = try world.run(["config", "check"])
            #expect(
                check.code == 0 && check.errors.contains("warning: client_secret_file: there is no file")
            )
            let warnings = try world.run(["config", "check", "-o", "json"]).json()["warnings"]?.array
            let warning = "profile default: client_secret_file: there is no file "
            #expect(warnings?.count == 1 && warnings?.first?.string?.hasPrefix(warning) == true)
        }
    }

    @Test("without any configuration it says how to start")
    func bare() throws {
        let world = try ToolWorld()
        let (code, found) = try findings(world)
        #expect(code == 1 && found["provider"]?["hint"] == "oidc login")
    }

    @Test(
        "metadata with which no sign-in is possible are a problem, and config init says so instead of oidc login"
    )
    func impossible() throws {
        let world = try configured()
        for (members, word, hint) in [
            (
                #""code_challenge_methods_supported":["plain"],"token_endpoint":"ORIGIN/token""#, "S256",
                "operator"
            ),
            (#""code_challenge_methods_supported":["S256"]"#, "token_endpoint", "set token_endpoint"),
        ] {
            let origin = world.issuer
            let metadata =
                #"{"issuer":"ORIGIN","authorization_endpoint":"ORIGIN/authorize","jwks_uri":"ORIGIN/jwks","#
                + members + "}"
            world.provider.intercept { request in
                guard request.url.path == "/.well-known/openid-configuration" else { return nil }
                return .json(metadata.replacingOccurrences(of: "ORIGIN", with: origin))
            }
            let (code, found) = try findings(world)
            let finding = try #require(found["metadata"], "\(found)")
            #expect(code == 1 && finding["result"] == "problem", "\(finding)")
            #expect(finding["detail"]?.string?.contains(word) == true, "\(finding)")
            #expect(finding["hint"]?.string?.contains(hint) == true, "\(finding)")
            let made = try world.run([
                "config", "init", "-p", "new", "--force", "--issuer", origin, "--client-id", "demo",
            ])
            #expect(made.code == 0 && made.errors.contains("\nNext:         oidc doctor -p new\n"), "\(made)")
            #expect(made.errors.contains("warning: no sign-in is possible: "), "\(made)")
            #expect(!made.errors.contains("oidc login"), "\(made)")
        }
        let machine = try findings(world, ["--grant", "client_credentials"], ["OIDC_CLIENT_SECRET": "s"])
        #expect(machine.1["metadata"]?["result"] == "problem")
    }

    @Test("endpoints without an issuer that are not enough for a sign-in are a problem")
    func endpoints() throws {
        let world = try ToolWorld()
        let variables = ["OIDC_TOKEN_ENDPOINT": "\(world.issuer)/token", "OIDC_CLIENT_ID": "demo"]
        let (code, found) = try findings(world, [], variables)
        #expect(code == 1 && found["provider"]?["result"] == "problem", "\(found)")
        #expect(found["provider"]?["hint"] == "set authorization_endpoint", "\(found)")
        let machine = try findings(world, ["--grant", "client_credentials"], variables)
        #expect(machine.1["provider"]?["result"] == "ok", "\(machine)")
    }

    @Test("a grant without a user is tried: one token request, nothing stored, no browser and no callback")
    func triedGrant() throws {
        let world = try ToolWorld()
        func tokenRequests() -> Int { world.requests.filter { $0.url.path == "/token" }.count }
        let (code, found) = try findings(world, [], world.machine)
        #expect(code == 0 && found["grant"]?["result"] == "ok", "\(found)")
        let detail = try #require(found["grant"]?["detail"]?.string)
        #expect(detail.hasPrefix("client_credentials: a token was issued, valid for "), "\(detail)")
        #expect(tokenRequests() == 1)
        #expect(try world.store.all().isEmpty)
        for check in ["callback", "browser", "localhost"] { #expect(found[check] == nil, "\(found)") }

        let offline = try findings(world, ["--offline"], world.machine).1
        #expect(offline["grant"]?["detail"] == "client_credentials is not tried (--offline)", "\(offline)")
        #expect(offline["discovery"]?["detail"] == "not asked (--offline)" && offline["keys"] == nil)
        #expect(tokenRequests() == 1)

        let refused = try findings(world, [], world.machine.merging(["OIDC_CLIENT_SECRET": "a-typo"]) { $1 })
        #expect(refused.code == 1 && refused.1["grant"]?["result"] == "problem", "\(refused)")
        #expect(refused.1["grant"]?["detail"]?.string?.contains("invalid_client") == true, "\(refused)")
    }

    @Test("jwt_bearer is tried with the subject token, and token_exchange sends nothing")
    func triedAssertion() throws {
        let world = try ToolWorld()
        let subject = ["OIDC_SUBJECT_TOKEN_SOURCE": "env", "OIDC_SUBJECT_TOKEN_ENV": "T", "T": "opaque"]
        for (grant, isTried) in [("jwt_bearer", true), ("token_exchange", false)] {
            let before = world.requests.filter { $0.url.path == "/token" }.count
            let variables = world.machine.merging(subject) { $1 }.merging(["OIDC_GRANT": grant]) { $1 }
            let found = try findings(world, [], variables).1
            #expect((found["grant"] != nil) == isTried, "\(found)")
            #expect((world.requests.filter { $0.url.path == "/token" }.count > before) == isTried)
            #expect(found["session"]?["result"] == "ok", "\(found)")
        }
    }

    @Test("id_jag: the user's own session must be at hand, and nothing is sent")
    func ownSession() throws {
        let world = try configured()
        let options = ["--grant", "id_jag"]
        let missing = try findings(world, options)
        #expect(missing.code == 1 && missing.1["session"]?["result"] == "problem", "\(missing)")
        #expect(missing.1["session"]?["hint"]?.string?.hasPrefix("oidc login") == true, "\(missing)")
        try world.signIn()
        let before = world.requests.count
        let found = try findings(world, options).1
        #expect(found["session"]?["detail"]?.string == "id_jag: signed in at \(world.issuer)", "\(found)")
        #expect(!world.requests.dropFirst(before).contains { $0.url.path == "/token" })
    }

    @Test("client_credentials without any client authentication is a problem (RFC 6749 §4.4), and not tried")
    func publicMachine() throws {
        let world = try configured()
        let (code, found) = try findings(world, ["--grant", "client_credentials"])
        #expect(code == 1 && found["client"]?["result"] == "problem" && found["grant"] == nil, "\(found)")
        #expect(found["client"]?["detail"] == "client_credentials without any client authentication")
        #expect(!world.requests.contains { $0.url.path == "/token" })
    }

    @Test("an empty secret variable is a warning that names it")
    func emptySecret() throws {
        let world = try configured()
        let variables = try #require(try findings(world, [], ["OIDC_CLIENT_SECRET": ""]).1["variables"])
        #expect(variables["result"] == "warning", "\(variables)")
        #expect(variables["detail"] == "empty, and ignored: OIDC_CLIENT_SECRET")
    }

    @Test("what sound providers have too (plain among S256, no RFC 9207) is no warning")
    func remarks() throws {
        let world = try configured()
        let origin = world.issuer
        world.provider.intercept { request in
            guard request.url.path == "/.well-known/openid-configuration" else { return nil }
            return .json(
                #"{"issuer":"\#(origin)","authorization_endpoint":"\#(origin)/authorize","token_endpoint":"\#(origin)/token","jwks_uri":"\#(origin)/jwks","code_challenge_methods_supported":["plain","S256"]}"#
            )
        }
        let metadata = try #require(try findings(world).1["metadata"])
        #expect(metadata["result"] == "ok" && metadata["hint"] == .null, "\(metadata)")
        #expect(metadata["detail"]?.string?.contains("lists plain") == true, "\(metadata)")
    }
}
