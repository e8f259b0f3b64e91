import Foundation
import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix
import Synchronization
import TestSupport
import Testing

@Suite("register: keys, ports and the management of a client (RFC 7592)", .serialized, .waiting)
struct RegistrationManagementTests {
    /// A provider that lets clients manage their registration.
    private final class Managed: Sendable {
        let world: ToolWorld
        private let state = Mutex<(requests: [HTTPRequest], token: Int, isDeleted: Bool)>(([], 1, false))

        var requests: [HTTPRequest] { state.withLock { $0.requests } }

        init() throws {
            world = try ToolWorld()
            world.provider.intercept { [weak self, weak provider = world.provider] request in
                guard let self, let provider, request.url.path.hasPrefix("/register") else { return nil }
                guard request.url.path == "/register" else { return answer(request, provider.origin) }
                let answer = provider.with { $0.handle(request, at: Clock.now()) }
                guard var members = (try? JSONValue(parsing: answer.body))?.object else { return nil }
                members["registration_access_token"] = "rat-1"
                members["registration_client_uri"] = .string("\(provider.origin)/register/client")
                return .json(JSONValue.object(members).compact, status: 201)
            }
        }

        /// Answers with a new token each time (RFC 7592 §3), and drops the algorithm of UserInfo answers.
        private func answer(_ request: HTTPRequest, _ origin: String) -> HTTPResponse {
            state.withLock { state in
                state.requests.append(request)
                guard request.headers["Authorization"] == "Bearer rat-\(state.token)", !state.isDeleted else {
                    return HTTPResponse(status: 401)
                }
                if request.method == HTTPMethod("DELETE") {
                    state.isDeleted = true
                    return HTTPResponse(status: 204)
                }
                state.token += 1
                guard var members = (try? JSONValue(parsing: request.body))?.object else {
                    return HTTPResponse(status: 400)
                }
                members["userinfo_signed_response_alg"] = nil
                members["registration_access_token"] = .string("rat-\(state.token)")
                members["registration_client_uri"] = .string("\(origin)/register/client")
                return .json(JSONValue.object(members).compact)
            }
        }
    }

    @Test(
        "--update sends what the profile says now, with the latest registration access token; --delete removes the client"
    )
    func managed() throws {
        let managed = try Managed()
        let world = managed.world
        let registered = try world.run(["register", "--issuer", world.issuer])
        #expect(registered.code == 0, "\(registered)")
        let id = try #require(try world.profile()["client_id"]?.string)
        let updated = try world.run(["register", "--update", "--port", "8484", "--name", "My tool"])
        #expect(updated.code == 0, "\(updated)")
        let body = try JSONValue(parsing: try #require(managed.requests.last).body)
        #expect(body["client_id"]?.string == id && body["client_name"] == "My tool")
        #expect(body["redirect_uris"] == ["http://127.0.0.1:8484/callback"])
        let profile = try world.profile()
        #expect(profile["port"] == 8484 && profile["redirect_ports"] == nil, "\(profile)")
        #expect(try world.run(["register", "--update"]).code == 0)
        let kept = FileManager.default.enumerator(atPath: world.home)?.compactMap { $0 as? String } ?? []
        for file in kept where file.contains("registrations/") && file.hasSuffix(".json") {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(world.home)/\(file)")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        let deleted = try world.run(["register", "--delete", "-o", "json"])
        #expect(deleted.code == 0, "\(deleted)")
        #expect(try deleted.json()["client_id"]?.string == id)
        #expect(try world.profile()["client_id"] == nil && world.profile()["issuer"]?.string == world.issuer)
        let methods = managed.requests.map(\.method.name)
        #expect(methods == ["PUT", "PUT", "DELETE"])
        let again = try world.run(["register", "--update", "--client-id", id])
        #expect(again.code == 2 && again.errors.contains("no registration access token"), "\(again)")
    }

    @Test("an algorithm that the provider drops with --update leaves the profile, with a warning")
    func dropped() throws {
        let managed = try Managed()
        let world = managed.world
        let name = "userinfo_signed_response_alg"
        let registered = try world.run(["register", "--issuer", world.issuer, "--set", "\(name)=ES256"])
        #expect(registered.code == 0, "\(registered)")
        #expect(try world.profile()[name] == "ES256")
        let updated = try world.run(["register", "--update"])
        #expect(updated.code == 0, "\(updated)")
        #expect(updated.errors.contains("\(name): ES256 was requested"), "\(updated)")
        #expect(try world.profile()[name] == nil)
    }

    @Test("an answer for another client changes nothing (RFC 7592 §2.2)")
    func otherClient() throws {
        let managed = try Managed()
        let world = managed.world
        #expect(try world.run(["register", "--issuer", world.issuer]).code == 0)
        let before = try world.profile()
        world.provider.intercept { request in
            guard request.url.path.hasPrefix("/register/"),
                var members = (try? JSONValue(parsing: request.body))?.object
            else { return nil }
            members["client_id"] = "another"
            return .json(JSONValue.object(members).compact)
        }
        let result = try world.run(["register", "--update"])
        #expect(result.code == 7 && result.errors.contains("another"), "\(result)")
        let after = try world.profile()
        #expect(after == before)
    }

    @Test(
        "a provider elsewhere cannot have --update and --delete sent to this machine, and its client is registered",
        .enabled(if: Terminator.isAvailable, "nginx or openssl is not installed"))
    func managedHere() throws {
        let host = "op.example.com"
        let terminator = try Terminator([host])
        let world = try ToolWorld()
        let local = try world.serve { _ in .json("{}") }
        let uri = Mutex("\(local.origin)/index/_all")
        let provider = try world.serve { request in
            let origin = "https://\(host)"
            var answer: JSONValue = [
                "issuer": .string(origin), "authorization_endpoint": .string("\(origin)/authorize"),
                "token_endpoint": .string("\(origin)/token"), "jwks_uri": .string("\(origin)/jwks"),
                "registration_endpoint": .string("\(origin)/register"),
            ]
            if request.url.path.hasPrefix("/register") {
                answer = [
                    "client_id": "c1", "registration_access_token": "rat",
                    "registration_client_uri": .string(uri.withLock { $0 }),
                ]
            }
            return .json(answer.compact)
        }
        try terminator.start(before: provider.origin)
        let proxy = try TunnelProxy(to: terminator.port)
        defer { proxy.end() }
        let variables = [
            "https_proxy": "http://127.0.0.1:\(proxy.port)", "OIDC_CA_FILE": terminator.path("server.pem"),
        ]
        let words = ["register", "--issuer", "https://\(host)", "--force"]
        let registered = try world.run(words, variables)
        #expect(registered.code == 0, "\(registered)")
        #expect(registered.errors.contains("registration_client_uri"), "\(registered)")
        #expect(try world.profile()["client_id"] == "c1")
        let refused = try world.run(["register", "--delete"], variables)
        #expect(refused.code == 2 && refused.errors.contains("none that can be used"), "\(refused)")
        uri.withLock { $0 = "https://\(host)/register/c1" }
        let usable = try world.run(words, variables)
        #expect(usable.code == 0 && !usable.errors.contains("registration_client_uri"), "\(usable)")
        uri.withLock { $0 = "https://localhost/c1" }
        let updated = try world.run(["register", "--update"], variables)
        #expect(updated.code == 0 && updated.errors.contains("registration_client_uri"), "\(updated)")
        let deleted = try world.run(["register", "--delete"], variables)
        #expect(deleted.code == 0, "\(deleted)")
        let methods = provider.requests.filter { $0.url.path == "/register/c1" }.map(\.method.name)
        #expect(methods == ["PUT", "DELETE"])
        #expect(local.requests.isEmpty && proxy.hosts == ["\(host):443"])
    }

    @Test(
        "a URL on this machine in an older file of a provider elsewhere gets nothing",
        arguments: ["--update", "--delete"])
    func storedHere(option: String) throws {
        let world = try ToolWorld()
        let local = try world.serve { _ in .json("{}") }
        let issuer = "https://op.invalid"
        let uri = try #require(WebURL("\(local.origin)/index/_all"))
        var record = RegisteredRecord(clientID: "c1")
        record.keep(try RegistrationAccess(uri: uri, token: Redacted("rat-1"), from: uri))
        try Registrations(state: "\(world.home)/.local/state/oidc").keep(
            record, as: Registrations.name(issuer: issuer, redirects: []), issuer: issuer
        ) { _ in false }
        let result = try world.run(["register", option, "--issuer", issuer, "--client-id", "c1"])
        #expect(result.code == 7 && result.errors.contains("registration_client_uri"), "\(result)")
        #expect(
            result.errors.contains("provider's own pages") && !result.errors.contains("rat-1"), "\(result)")
        #expect(local.requests.isEmpty)
    }

    @Test("a client that the provider has forgotten leads to register --force")
    func forgotten() throws {
        let managed = try Managed()
        let world = managed.world
        #expect(try world.run(["register", "--issuer", world.issuer, "-p", "w"]).code == 0)
        world.provider.intercept { $0.url.path.hasPrefix("/register/") ? HTTPResponse(status: 401) : nil }
        let result = try world.run(["register", "--update", "-p", "w"])
        let hint = "oidc register --force --issuer \(world.issuer) -p w"
        #expect(result.code == 4 && result.errors.contains(hint), "\(result)")
        #expect(!result.errors.contains("rat-1"))
        world.provider.intercept(nil)
        #expect(try world.run(["register", "--force", "--issuer", world.issuer, "-p", "w"]).code == 0)
    }

    @Test(
        "options that have no meaning together are refused",
        arguments: [
            ["--update", "--delete"], ["--update", "--force"], ["--delete", "--port", "1234"],
            ["--delete", "--client-metadata", "https://a.example/c"],
        ])
    func combinations(options: [String]) throws {
        let world = try ToolWorld()
        let result = try world.run(["register"] + options)
        #expect(result.code == 2 && result.errors.contains("cannot be used together"), "\(result)")
    }

    @Test("--port registers one redirect URL")
    func port() throws {
        let world = try ToolWorld()
        #expect(try world.run(["register", "--issuer", world.issuer, "--port", "8485"]).code == 0)
        let sent = try #require(world.requests.last { $0.url.path == "/register" })
        #expect(try JSONValue(parsing: sent.body)["redirect_uris"] == ["http://127.0.0.1:8485/callback"])
        #expect(try world.profile()["port"] == 8485)
    }

    @Test(
        "the public key of private_key_jwt is registered, with its kid and algorithm, and never the private one"
    )
    func keys() throws {
        let world = try ToolWorld()
        let file = "\(world.home)/key.pem"
        let key = try SampleKeys.key(.p256)
        _ = FileManager.default.createFile(
            atPath: file, contents: Data(key.pem), attributes: [.posixPermissions: 0o600])
        let result = try world.run([
            "register", "--issuer", world.issuer, "--set", "client_auth=private_key_jwt", "--set",
            "private_key_file=\(file)", "--set", "client_auth_signing_alg=ES256",
        ])
        #expect(result.code == 0, "\(result)")
        let sent = try JSONValue(
            parsing: try #require(world.requests.last { $0.url.path == "/register" }).body)
        let jwk = try #require(sent["jwks"]?["keys"]?.array?.first)
        #expect(jwk["kty"] == "EC" && jwk["alg"] == "ES256" && jwk["use"] == "sig" && jwk["d"] == nil)
        #expect(sent["token_endpoint_auth_signing_alg"] == "ES256")
        let profile = try world.profile()
        #expect(profile["private_key_id"] == jwk["kid"] && jwk["kid"] != nil, "\(profile)")
        #expect(profile["client_auth"] == "private_key_jwt")
    }

    @Test(
        "a self-signed certificate is registered as x5c (RFC 8705 §2.2.2)",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to make one"))
    func certificate() throws {
        let world = try ToolWorld()
        let servers = try #require(TLSServers.shared)
        let log = RequestLog()
        world.provider.intercept { request in
            guard request.url.path == "/register" else { return nil }
            log.note(request)
            return .json(
                #"{"client_id":"c1","token_endpoint_auth_method":"self_signed_tls_client_auth"}"#, status: 201
            )
        }
        let result = try world.run([
            "register", "--issuer", world.issuer, "--set", "client_auth=self_signed_tls_client_auth", "--set",
            "tls_client_certificate=\(servers.path("selfsigned.pem"))", "--set",
            "tls_client_key=\(servers.path("selfsigned.key"))",
        ])
        #expect(result.code == 0, "\(result)")
        let sent = try JSONValue(parsing: try #require(log.all.last).body)
        let jwk = try #require(sent["jwks"]?["keys"]?.array?.first)
        let pem = try String(contentsOfFile: servers.path("selfsigned.pem"), encoding: .utf8)
        let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        #expect(jwk["x5c"] == [.string(body)] && jwk["kty"] == "EC")
    }
}
