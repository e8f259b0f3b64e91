import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import Posix
import Synchronization
import TestSupport
import Testing

@Suite("register", .serialized, .waiting)
struct RegisterTests {
    @Test("a public client is registered, and its profile is enough to sign in with")
    func registers() throws {
        let world = try ToolWorld()
        let result = try world.run(["register", "--issuer", world.issuer, "--name", "My tool", "-o", "json"])
        let id = try #require(try result.json()["client_id"]?.string, "\(result)")
        let profile = try world.profile()
        let ports: JSONValue = [23761, 23762, 23763, 23764]
        #expect(
            profile == [
                "client_id": .string(id), "redirect_ports": ports, "issuer": .string(world.issuer),
            ], "\(profile)")
        let sent = try #require(world.requests.first { $0.url.path == "/register" })
        let document = try JSONValue(parsing: sent.body)
        #expect(
            document["client_name"]?.string == "My tool"
                && document["token_endpoint_auth_method"]?.string == "none"
                && document["redirect_uris"]
                    == .array((23761...23764).map { .string("http://127.0.0.1:\($0)/callback") })
                && document["application_type"]?.string == "native")
        let address = try world.run(["authorize-url"]).json()
        #expect(address["url"]?.string?.contains("client_id=\(id)") == true)
    }

    /// Signs in with the profile that `register` wrote, and returns the redirect URL.
    private func signIn(_ world: ToolWorld) throws -> String {
        let program = try Program(["HOME": world.home])
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "browser", "--no-browser"])
        let url = try #require(run.address.flatMap(WebURL.init))
        if let request = world.provider.redirect(of: url) {
            _ = try? Visit.send(request)
        } else {
            run.signal(SIGINT)
        }
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let pairs = FormEncoding.decode(url.query ?? "") ?? []
        return try #require(pairs.first { $0.name == "redirect_uri" }?.value)
    }

    /// `PORT` stands for a free port.
    private struct Strictness: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var faults: Set<Fault> = [.registration(.exactRedirects)]
        var options: [String] = []
        var variables: [String: String] = [:]
        /// The profile, besides issuer and client ID.
        let profile: String
        /// Nil if the only port may be in use.
        var redirect: String?
    }

    private static let strictness = [
        Strictness(
            testDescription: "exact redirects", profile: #"{"redirect_ports":[23761,23762,23763,23764]}"#,
            redirect: "http://127.0.0.1:2376"),
        Strictness(
            testDescription: "exact redirects, and only one of them",
            faults: [.registration(.exactRedirects), .registration(.oneRedirectOnly)],
            profile: #"{"redirect_ports":[23761]}"#),
        Strictness(
            testDescription: "a port that is set", options: ["--set", "port=PORT"],
            profile: #"{"port":PORT}"#, redirect: "http://127.0.0.1:PORT/callback"),
        Strictness(
            testDescription: "a port in a variable", variables: ["OIDC_REDIRECT_PORTS": "[PORT]"],
            profile: #"{"redirect_ports":[PORT]}"#, redirect: "http://127.0.0.1:PORT/callback"),
        Strictness(
            testDescription: "a redirect URL in a variable",
            variables: ["OIDC_REDIRECT_URI": "http://localhost:PORT/back"],
            profile: #"{"redirect_uri":"http://localhost:PORT/back"}"#,
            redirect: "http://localhost:PORT/back"),
    ]

    @Test(
        "what is registered is what a sign-in uses, also if redirect URLs are compared exactly",
        arguments: strictness)
    private func exact(_ strictness: Strictness) throws {
        let world = try ToolWorld()
        world.provider.with { $0.faults = strictness.faults }
        let free = try LoopbackServer()
        let port = "\(free.port)"
        free.close()
        func text(_ pattern: String) -> String { pattern.replacingOccurrences(of: "PORT", with: port) }
        let result = try world.run(
            ["register", "--issuer", world.issuer] + strictness.options.map(text),
            strictness.variables.mapValues(text))
        #expect(result.code == 0, "\(result)")
        var written = try #require(try world.profile().object)
        (written["issuer"], written["client_id"]) = (nil, nil)
        let expected = try JSONValue(parsing: text(strictness.profile))
        #expect(JSONValue.object(written) == expected)
        guard let redirect = strictness.redirect else { return }
        #expect(try signIn(world).hasPrefix(text(redirect)))
    }

    @Test(
        "client_auth follows the metadata, and a refusal of public clients",
        arguments: [
            (#"["private_key_jwt","client_secret_post"]"#, "client_secret_post"),
            ("null", "client_secret_basic"),
        ])
    func method(supported: String, method: String) throws {
        let world = try ToolWorld()
        world.provider.with { $0.faults = [.registration(.publicClientsRefused)] }
        let methods = try JSONValue(parsing: supported)
        world.provider.intercept { [weak provider = world.provider] request in
            guard request.url.path == "/.well-known/openid-configuration", let provider else { return nil }
            let answer = provider.with { $0.handle(request, at: Clock.now()) }
            guard var document = (try? JSONValue(parsing: answer.body))?.object else { return nil }
            document["token_endpoint_auth_methods_supported"] = methods == .null ? nil : methods
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: JSONValue.object(document).bytes)
        }
        let result = try world.run(["register", "--issuer", world.issuer])
        #expect(result.code == 0, "\(result)")
        let profile = try world.profile()
        #expect(
            profile["client_auth"]?.string == method && profile["client_secret_file"] != nil, "\(profile)")
        _ = try signIn(world)
    }

    @Test(
        "redirect URLs and the method that the provider replaced are used, or refused (RFC 7591 §3.2.1)",
        arguments: [
            (
                #""redirect_uris":["http://127.0.0.1:8888/cb"]"#,
                #"{"redirect_uri":"http://127.0.0.1:8888/cb"}"#
            ),
            (
                #""redirect_uris":["https://x.example/","http://127.0.0.1:1234/a","http://127.0.0.1:1235/a"]"#,
                #"{"redirect_uri":"http://127.0.0.1/a","redirect_ports":[1234,1235]}"#
            ),
            // CAS 7.3 (captured 2026-11).
            (
                #""redirect_uris":["\#((23761...23764).map { "http://127.0.0.1:\($0)/callback" }.joined(separator: "|"))"]"#,
                #"{"redirect_ports":[23761,23762,23763,23764]}"#
            ),
            (#""redirect_uris":["https://x.example/cb"]"#, nil),
            (#""token_endpoint_auth_method":"tls_client_auth""#, nil),
            (#""token_endpoint_auth_method":"nonsense""#, nil),
        ] as [(String, String?)])
    func replaced(_ member: String, _ expected: String?) throws {
        let world = try ToolWorld()
        world.provider.intercept { request in
            guard request.url.path == "/register" else { return nil }
            return HTTPResponse(
                status: 201, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(#"{"client_id":"c1",\#(member)}"#.utf8))
        }
        let result = try world.run(["register", "--issuer", world.issuer])
        guard let expected else {
            #expect(result.code == 4 && !result.errors.contains("Now: "), "\(result)")
            #expect((try? world.profile()) == nil)
            return
        }
        #expect(result.code == 0, "\(result)")
        var written = try #require(try world.profile().object)
        (written["issuer"], written["client_id"]) = (nil, nil)
        #expect(JSONValue.object(written) == (try JSONValue(parsing: expected)))
    }

    @Test("an empty profile name is refused", arguments: ["register", "config init"])
    func noName(command: String) throws {
        let world = try ToolWorld()
        let result = try world.run(
            command.split(separator: " ").map(String.init)
                + ["--issuer", world.issuer, "--client-id", "demo", "-p", ""])
        #expect(result.code == 2, "\(result)")
        #expect(!FileManager.default.fileExists(atPath: world.home + "/.config/oidc/config.json"))
    }

    @Test("profiles that are written at the same time are all there")
    func parallel() throws {
        let world = try ToolWorld()
        let codes = Mutex<[Int32?]>([])
        DispatchQueue.concurrentPerform(iterations: 12) { number in
            let command = number % 3 == 0 ? ["register"] : ["config", "init", "--client-id", "c\(number)"]
            let result = try? world.run(command + ["--issuer", world.issuer, "-p", "p\(number)"])
            codes.withLock { $0.append(result?.code) }
        }
        #expect(codes.withLock { $0 } == Array(repeating: 0, count: 12))
        for number in 0..<12 {
            let id = try world.profile("p\(number)")["client_id"]?.string
            #expect(number % 3 == 0 ? id != nil : id == "c\(number)")
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: world.home + "/.config/oidc") == [
                "config.json"
            ])
    }

    @Test("the initial access token comes from a file or stdin, and nowhere else")
    func initialToken() throws {
        let world = try ToolWorld { $0.initialAccessToken = "let-me-in" }
        let register = ["register", "--issuer", world.issuer]
        let refused = try world.run(register)
        #expect(refused.code == 4 && refused.errors.contains("initial access token"), "\(refused)")
        let argument = try world.run(register + ["--initial-access-token", "let-me-in"])
        #expect(argument.code == 2)
        let input = try world.run(register + ["--initial-access-token", "-"], input: "let-me-in\n")
        #expect(input.code == 0, "\(input)")
    }

    @Test("a profile that is there is not replaced, and then nothing is registered")
    func existing() throws {
        let world = try ToolWorld()
        try world.configure(["profiles": ["default": ["client_id": "mine"], "other": ["scope": "a"]]])
        let result = try world.run(["register", "--issuer", world.issuer])
        #expect(result.code == 2 && world.requests.isEmpty, "\(result)")
        #expect(try world.run(["register", "--issuer", world.issuer, "--force"]).code == 0)
        #expect(try world.profile("other") == ["scope": "a"])
        let file = world.home + "/c.json"
        let elsewhere = try world.run(["register", "--issuer", world.issuer, "--config", file, "-p", "w"])
        #expect(
            elsewhere.errors.hasSuffix("Now: oidc login --config \(file) -p w\n"), "\(elsewhere)")
    }

    @Test("a variable that overrides the profile is warned of; a device sign-in is registered for its grant")
    func honored() throws {
        let world = try ToolWorld()
        let register = ["register", "--issuer", world.issuer]
        let variables = ["OIDC_CLIENT_ID": "mine", "OIDC_GRANT": "client_credentials"]
        let overridden = try world.run(register + ["-p", "other"], variables)
        #expect(overridden.code == 0, "\(overridden)")
        for name in variables.keys {
            #expect(
                overridden.errors.contains("warning: \(name) is set, which overrides the new profile\n"))
        }
        #expect(try world.profile("other")["client_id"]?.string != "mine")
        #expect(try world.run(register + ["--set", "flow=device"]).code == 0)
        let sent = try #require(world.requests.last { $0.url.path == "/register" })
        let grants = try JSONValue(parsing: sent.body)["grant_types"]?.array ?? []
        #expect(grants.contains("urn:ietf:params:oauth:grant-type:device_code"), "\(grants)")
        let options = ["--client-metadata", "https://a.example/c", "--scope", "a b", "--set", "flow=device"]
        let document = try world.run(["register"] + options).json()
        #expect(document["scope"] == "a b" && document["grant_types"] == .array(grants), "\(document)")
    }

    @Test("the device grant is registered too where the provider offers it")
    func deviceGrant() throws {
        let world = try ToolWorld()
        #expect(try world.run(["register", "--issuer", world.issuer]).code == 0)
        let sent = try #require(world.requests.last { $0.url.path == "/register" })
        let grants = try JSONValue(parsing: sent.body)["grant_types"]?.array ?? []
        #expect(grants.contains("urn:ietf:params:oauth:grant-type:device_code"), "\(grants)")
    }

    @Test("a provider without registration is an error that says so")
    func unsupported() throws {
        let world = try ToolWorld()
        let api = try world.serve { _ in HTTPResponse(status: 404) }
        let result = try world.run(["register", "--set", "registration_endpoint=\(api.origin)/register"])
        #expect(result.code == 4 && result.output == "", "\(result)")
        #expect(!FileManager.default.fileExists(atPath: world.home + "/.config/oidc/config.json"))
    }
}

extension ToolWorld {
    /// Returns a profile of the configuration file.
    func profile(_ name: String = "default") throws -> JSONValue {
        let path = home + "/.config/oidc/config.json"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try #require(try JSONValue(parsing: Array(data))["profiles"]?[name])
    }
}
