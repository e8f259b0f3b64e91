import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "mix-up of authorization servers", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct MixUpTests {
    /// A world whose server sends the user to the authorization endpoint of the other one, which names no issuer
    /// in its answers.
    private func world(
        _ variables: [String: String] = [:],
        _ change: @escaping (inout ServerStandIn.Rules) -> Void = { _ in }
    ) throws -> ResourceWorld {
        let world = try ResourceWorld(variables)
        let endpoint = "\(world.other.origin)/authorize"
        world.other.change { $0.responseIssuer = { _ in nil } }
        world.server.change {
            $0.metadata["authorization_endpoint"] = .string(endpoint)
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            change(&$0)
        }
        return world
    }

    @Test("each issuer has a redirect URL of its own in its registrations, and the browser returns to it")
    func ownRedirect() throws {
        let world = try ResourceWorld()
        let second = try ResourceWorld()
        second.resource.change { $0.servers = [second.server.issuer] }
        var paths: [String] = []
        for world in [world, second] {
            expectSuccess(try world.run(["login", world.url]))
            let used = try #require(world.server.authorizations.first?["redirect_uri"])
            let registered = world.server.registrations.first?["redirect_uris"]?.array ?? []
            #expect(registered.contains(.string(used)))
            let urls = registered.compactMap(\.string).compactMap { WebURL($0)?.path }
            #expect(Set(urls).count == 1 && urls[0].hasSuffix("/callback"), "\(urls)")
            #expect(!urls[0].hasPrefix("/callback"))
            paths.append(try #require(WebURL(used)?.path))
        }
        #expect(Set(paths).count == 2)
    }

    @Test("a code that comes back to another issuer's redirect URL is not redeemed")
    func otherRedirect() throws {
        let world = try world()
        let run = try world.program.start(["login", world.url, "--timeout", "60"], ["BROWSER": "true"])
        let text = try #require(
            run.errorOutput {
                $0.contains("Opening your browser") && $0.contains("/authorize?") && $0.hasSuffix("\n")
                    ? $0 : nil
            }, "\(run.finish())")
        let line = try #require(text.split(separator: "\n").first { $0.contains("/authorize?") })
        let url = try #require(WebURL(line.trimmingCharacters(in: .whitespaces)))
        let parameters = Dictionary(
            uniqueKeysWithValues: (FormEncoding.decode(url.query ?? "") ?? []).map { ($0.name, $0.value) })
        let redirect = try #require(parameters["redirect_uri"].flatMap { WebURL($0) })
        let state = try #require(parameters["state"])
        let port = UInt16(redirect.effectivePort)
        for path in ["/callback", "/another/callback", "/callback\(redirect.path.dropLast(9))"] {
            let answer = RawConnection.exchange(
                port: port,
                "GET \(path)?code=stolen&state=\(state) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
                    + "Connection: close\r\n\r\n")
            #expect(RawConnection.status(answer) == 404, "\(answer)")
        }
        #expect(world.server.tokenRequests.isEmpty)
        run.signal(SIGTERM)
        #expect(run.finish().status == 143)
        #expect(text.contains("Sign in at \(url.hostAndPort), which \(world.url) names\n"), "\(text)")
        #expect(world.server.tokenRequests.isEmpty && world.other.tokenRequests.isEmpty)
    }

    @Test(
        "a client of the user's own is refused there with 7, and --set authorization_endpoint is the way on")
    func ownClient() throws {
        let world = try world()
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        let refused = try world.run(["login", world.url] + options)
        #expect(refused.status == 7 && world.tabs.isEmpty, "\(refused)")
        let setting = "--set authorization_endpoint=\(world.other.origin)/authorize"
        #expect(refused.errorOutput.contains(setting), "\(refused.errorOutput)")
        // Who gets the code matters, not only where the user signs in.
        let redeemer = String(world.server.origin.dropFirst("http://".count))
        #expect(refused.errorOutput.contains("and \(redeemer) may have every token"), "\(refused)")
        // The other server knows nothing of the code's redemption here.
        let allowed = try world.run(
            ["login", world.url] + options + setting.split(separator: " ").map(String.init))
        #expect(world.other.authorizations.count == 1 && allowed.status == 4, "\(allowed)")
    }

    @Test(
        "no client is registered at another server, where its redirect URL would count as this server's own")
    func otherRegistrar() throws {
        let world = try world()
        let registrar = JSONValue.string("\(world.other.origin)/register")
        world.server.change { $0.metadata["registration_endpoint"] = registrar }
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && world.tabs.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains("registration_endpoint"), "\(refused)")
        #expect(world.other.registrations.isEmpty && world.server.registrations.isEmpty)
        _ = try world.run(["login", world.url, "--issuer", world.server.issuer])
        #expect(world.other.registrations.count == 1)
        // Answers that name their issuer are told apart.
        let promised = try self.world {
            $0.metadata["registration_endpoint"] = registrar
            $0.metadata["authorization_response_iss_parameter_supported"] = true
        }
        let other = try promised.run(["login", promised.url])
        #expect(other.status == 7 && world.other.registrations.count == 2, "\(other)")
    }

    @Test(
        "a registered client signs in at no page of another server that the user knows, unless the user names this one",
        arguments: [true, false])
    func knownPage(isOwn: Bool) throws {
        let world = try world()
        if isOwn {
            try world.configure(
                #"{"default_profile":"here","profiles":{"here":{},"own":{"issuer":"\#(world.other.issuer)","client_id":"mine"}}}"#
            )
        } else {
            // Registered for another server of the resource.
            world.other.change { $0.metadata["authorization_response_iss_parameter_supported"] = .null }
            world.trust(world.other)
            expectSuccess(try world.run(["login", world.url]))
            world.trust(world.server)
        }
        let count = world.other.authorizations.count
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && world.other.authorizations.count == count, "\(refused)")
        #expect(refused.errorOutput.contains("authorization_endpoint"), "\(refused)")
        #expect(
            refused.errorOutput.contains(": oidc login \(world.url)")
                && refused.errorOutput.hasSuffix(" --issuer \(world.server.issuer)\n"),
            "\(refused)")
        _ = try world.run(["login", world.url, "--issuer", world.server.issuer])
        #expect(world.other.authorizations.count == count + 1)
    }

    @Test(
        "a server's page and token endpoint are not at the path of a neighbor that the user knows",
        arguments: ["authorization_endpoint", "token_endpoint"])
    func neighborsPage(member: String) throws {
        let world = try ResourceWorld()
        let known = "\(world.server.origin)/good"
        func place(_ prefix: String, _ path: String) {
            world.server.change {
                $0.metadataPath = "/.well-known/oauth-authorization-server\(prefix)"
                $0.prefix = prefix
                $0.metadata = [
                    "authorization_response_iss_parameter_supported": .null,
                    member: .string(world.server.origin + path),
                ]
            }
            world.trust(world.server)
        }
        try world.configure(
            #"{"default_profile":"here","profiles":{"here":{},"own":{"issuer":"\#(known)","client_id":"mine"}}}"#
        )
        place("/evil", "/good/endpoint")
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && world.tabs.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains("\(known)/endpoint, of \(known)"), "\(refused)")
        #expect(refused.errorOutput.contains("--issuer \(known.dropLast(5))/evil\n"), "\(refused)")
        let spellings = [
            "//good/endpoint", "/x/../good/endpoint", "/x/%2e%2e/good/endpoint", "/goo%64/endpoint",
        ]
        for (index, path) in spellings.enumerated() {
            // The metadata of each issuer are kept.
            place("/evil\(index)", path)
            let refused = try world.run(["login", world.url])
            #expect(refused.status == 7 && world.tabs.isEmpty, "\(path): \(refused)")
        }
        // Tenants may share a page, and one may be below another.
        let shared = [("/b", "/goodness"), ("/c", "/shared"), ("/good/tenant", "/good/shared")]
        for (prefix, path) in shared {
            place(prefix, path)
            // Nobody answers there.
            let other = try world.run(["login", world.url, "--timeout", "20"])
            #expect(other.status != 7 && world.server.paths.contains(path), "\(other)")
        }
    }

    @Test(
        "that the user allowed a token there does not mean that a server may have another's",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func allowed() throws {
        let client = ["OIDC_CLIENT_ID": "corp-client"]
        let world = try ResourceWorld(client, isOwnResource: false) { $0.registers = false }
        let run = try TerminalRun(world.program, ["login", world.url], columns: 400)
        try #require(run.wait(within: 60) { $0.contains("[y/N] ") ? true : nil } == true, "\(run.text)")
        run.type("y\n")
        #expect(run.finish().status == 0, "\(run.text)")
        // The same client is known at the user's provider, to which the server can forward the browser.
        let file = world.program.home.appendingPathComponent(".config/oidc/config.json")
        var text = try String(contentsOf: file, encoding: .utf8)
        let own = #""own":{"issuer":"\#(world.other.issuer)","client_id":"corp-client"},"#
        text.replace("\"profiles\":{", with: "\"profiles\":{\(own)")
        text.replace("\"profiles\": {", with: "\"profiles\": {\(own)")
        try text.write(to: file, atomically: false, encoding: .utf8)
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        #expect(refused.errorOutput.hasSuffix(" --issuer \(world.server.issuer)\n"), "\(refused)")
        #expect(world.server.authorizations.count == 1)
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
    }

    @Test(
        "a server that does not promise iss shares no client with the user's provider, whoever chose it",
        arguments: ["registered", "variable", "settings"])
    func sharedClient(source: String) throws {
        let world = try ResourceWorld(source == "variable" ? ["OIDC_CLIENT_ID": "mine"] : [:])
        world.server.change {
            $0.registered = ["client_id": "mine"]
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let own = #"{"issuer":"\#(world.other.issuer)","client_id":"mine"}"#
        try world.configure(
            source == "settings" ? own : #"{"default_profile":"here","profiles":{"here":{},"own":\#(own)}}"#)
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && world.server.authorizations.isEmpty, "\(refused)")
        let words = [
            "registered": "has the same client", "variable": "has the same redirect URL",
            "settings": "a new client, found that of your settings",
        ]
        #expect(refused.errorOutput.contains(words[source] ?? ""), "\(refused)")
    }

    @Test(
        "a provider that only a URL leads to is checked as a resource's server is", arguments: [true, false])
    func byURL(registers: Bool) throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"])
        let registrar = JSONValue.string("\(world.other.origin)/register")
        world.server.change {
            if registers {
                $0.metadata["registration_endpoint"] = registrar
            } else {
                $0.registers = false
            }
            $0.metadata["client_id_metadata_document_supported"] = true
            $0.metadata["device_authorization_endpoint"] = .string("\(world.other.origin)/device")
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try world.configure(
            #"{"default_profile":"here","profiles":{"here":{},"own":{"issuer":"\#(world.other.issuer)","client_id":"mine"}}}"#
        )
        let refused = try world.run(["login", world.server.issuer, "--scope", "api"])
        #expect(refused.status == 7 && world.server.authorizations.isEmpty, "\(refused)")
        guard !registers else {
            #expect(
                refused.errorOutput.contains("registration_endpoint") && world.other.registrations.isEmpty)
            return #expect(
                refused.errorOutput.hasSuffix(": oidc register --issuer \(world.server.issuer)\n"),
                "\(refused)")
        }
        #expect(refused.errorOutput.contains(world.other.issuer), "\(refused)")
        let words = [
            "login", "--issuer", world.server.issuer, "--client-id", "https://client.example/oidc.json",
        ]
        #expect(refused.errorOutput.hasSuffix(": oidc \(words.joined(separator: " "))\n"), "\(refused)")
        let device = try world.run(["login", world.server.issuer, "--scope", "api", "--flow", "device"])
        #expect(device.status == 7 && !world.other.paths.contains("/device"), "\(device)")
        expectSuccess(try world.run(words + ["--no-profile", "--scope", "api"]))
    }

    @Test("a provider that only a URL leads to is told nothing that the settings have for another one")
    func requestByURL() throws {
        let world = try ResourceWorld()
        try world.configure(
            #"{"issuer":"\#(world.other.issuer)","client_id":"mine","login_hint":"me@corp.example","audience":"corp"}"#
        )
        let variables = [
            "OIDC_ACR_VALUES": "corp", "OIDC_EXTRA_AUTHORIZE_PARAMS": #"{"tenant":"corp"}"#,
            "OIDC_EXTRA_TOKEN_PARAMS": #"{"tenant":"corp"}"#,
        ]
        let words = ["login", world.server.issuer, "--scope", "api"]
        // The second sign-in is one of the profile that the first one wrote.
        for count in 1...2 {
            expectSuccess(try world.program.start(words, variables).finish())
            #expect(world.server.authorizations.count == count)
            let sent = world.server.authorizations + world.server.tokenRequests.map(\.form)
            let others = ["login_hint", "audience", "acr_values", "tenant"]
            #expect(sent.allSatisfy { request in others.allSatisfy { request[$0] == nil } }, "\(sent)")
        }
    }

    @Test("a line that follows a refused scope does not name the provider that only a URL led to")
    func refusedScope() throws {
        let world = try plainWorld()
        world.server.change {
            $0.registers = true
            $0.responseError = ["error": "invalid_scope"]
        }
        let refused = try world.run(["login", world.server.issuer, "--scope", "api offline_access"])
        #expect(
            refused.errorOutput.hasSuffix("  try: oidc login \(world.server.issuer) --scope api\n"),
            "\(refused)")
        // Nor does that of `status` once the token has expired.
        world.server.change {
            $0.responseError = nil
            $0.token = { _ in
                .value(["access_token": "t", "token_type": "Bearer", "expires_in": 1, "scope": "api"])
            }
        }
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api", "--no-profile"]))
        Thread.sleep(forTimeInterval: 2)
        let status = try world.run(["status", "--all"])
        #expect(
            status.status == 3 && status.errorOutput.hasSuffix(": oidc login \(world.server.issuer)\n"),
            "\(status)")
    }

    @Test(
        "a server whose token endpoint is the user's provider's gets no code there, by a browser or a device",
        arguments: ["browser", "device"])
    func otherTokenEndpoint(flow: String) throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "mine"])
        let own = world.other.origin
        world.server.change {
            $0.metadata["token_endpoint"] = .string("\(own)/token")
            $0.metadata["device_authorization_endpoint"] = .string("\(own)/device")
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
        }
        try world.configure(
            #"{"default_profile":"here","profiles":{"here":{},"own":{"issuer":"\#(own)","client_id":"mine"}}}"#
        )
        let refused = try world.run(["login", world.url, "--flow", flow])
        #expect(refused.status == 7 && refused.errorOutput.contains("token_endpoint"), "\(refused)")
        #expect(world.server.authorizations.isEmpty && !world.other.paths.contains("/device"))
    }

    @Test("a provider whose token endpoint is on another host is not taken for another one the second time")
    func splitProvider() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "mine"]) {
            $0.registers = false
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let token = world.server.origin.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        world.server.change { $0.metadata["token_endpoint"] = .string("\(token)/token") }
        for words in [["login", world.server.issuer], ["login"], ["login", world.server.issuer]] {
            expectSuccess(try world.run(words + ["--scope", "api"]))
        }
        // Its token endpoint is known by the session, so no other server may name it.
        world.other.change {
            $0.metadata["token_endpoint"] = .string("\(token)/token")
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
        }
        let refused = try world.run(["login", world.other.issuer, "--scope", "api"])
        #expect(refused.status == 7 && refused.errorOutput.contains("token_endpoint"), "\(refused)")
    }

    @Test("the profile that a sign-in to a provider's URL wrote is not the user's word for it")
    func foundProfile() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "mine"]) { $0.registers = false }
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api"]))
        // The same client is known at the user's provider.
        expectSuccess(
            try world.run(["login", "--issuer", world.other.issuer, "--scope", "api", "--no-profile"]))
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        for words in [
            ["login"], ["login", "-p", "default"], ["login", world.server.issuer], ["authorize-url"],
        ] {
            let refused = try world.run(words)
            #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        }
        let secret = ["OIDC_CLIENT_SECRET": "s3cret"]
        world.server.change {
            $0.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
            $0.metadata["authorization_response_iss_parameter_supported"] = true
            $0.responseIssuer = { $0 }
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        let unsent = try world.program.start(["login"], secret).finish()
        #expect(unsent.status == 2 && unsent.errorOutput.contains("would get a secret"), "\(unsent)")
        #expect(world.server.tokenRequests.count == 1)
        // A word is enough, for all that follows.
        let word = ["login", "--issuer", world.server.issuer, "--scope", "api"]
        expectSuccess(try world.program.start(word, secret).finish())
        expectSuccess(try world.program.start(["login"], secret).finish())
    }

    @Test("another client in such a profile, or one that was registered there, is not the user's word either")
    func foundProfileOfOtherClient() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api"]))
        expectSuccess(
            try world.run(
                [
                    "login", "--issuer", world.other.issuer, "--client-id", "mine", "--scope", "api",
                    "--no-profile",
                ]))
        let page = "\(world.other.origin)/authorize"
        world.server.change {
            $0.metadata["authorization_endpoint"] = .string(page)
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let cache = world.program.home.path + "/.cache"
        try FileManager.default.removeItem(atPath: cache)
        let registered = try world.run(["login"])
        #expect(registered.status == 7 && registered.errorOutput.contains(page), "\(registered)")
        #expect(
            registered.errorOutput.hasSuffix(": oidc login --issuer \(world.server.issuer)\n"),
            "\(registered)")
        world.server.change {
            $0.metadata["authorization_endpoint"] = .string("\(world.server.origin)/authorize")
        }
        try FileManager.default.removeItem(atPath: cache)
        expectSuccess(try world.run(["config", "set", "-p", "default", "client_id=mine"]))
        expectSuccess(try world.run(["config", "unset", "-p", "default", "redirect_uri", "redirect_ports"]))
        let shared = try world.run(["login"])
        #expect(shared.status == 7 && shared.errorOutput.contains(world.other.issuer), "\(shared)")
        // Who registers there names the server.
        expectSuccess(try world.run(["register", "--issuer", world.server.issuer, "-p", "second"]))
        expectSuccess(try world.run(["login", "-p", "second", "--scope", "api"]))
        expectSuccess(try world.run(["login", "--scope", "api"]))
    }

    @Test(
        "the tokens of a token endpoint elsewhere go nowhere else, in two steps and at the next sign-in",
        arguments: [["login", "--start"], ["login"], ["token", "--login", "--refresh"]])
    func tokensOfOther(words: [String]) throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "mine"]) { $0.registers = false }
        let (own, other) = (world.server.origin, world.other.origin)
        world.server.change { $0.metadata["revocation_endpoint"] = .string("\(own)/revoke") }
        let isAgain = words != ["login", "--start"]
        let first = ["login", world.server.issuer, "--scope", "api"]
        if isAgain { expectSuccess(try world.run(first + (words == ["login"] ? [] : ["--no-profile"]))) }
        world.server.change { $0.metadata["token_endpoint"] = .string("\(other)/token") }
        world.other.change {
            let answer: JSONValue = [
                "access_token": "at-other", "refresh_token": "rt-other", "token_type": "Bearer",
                "expires_in": 3_600,
            ]
            $0.token = { _ in
                HTTPResponse(status: 200, body: answer.bytes)
            }
        }
        let cache = world.program.home.path + "/.cache"
        if FileManager.default.fileExists(atPath: cache) { try FileManager.default.removeItem(atPath: cache) }
        if isAgain {
            expectSuccess(try world.run(words + ["--scope", "api"]))
        } else {
            let started = try world.run(words + [world.server.issuer, "--scope", "api", "-o", "json"])
            expectSuccess(started)
            let url = try #require(
                try JSONValue(parsing: Array(started.output.utf8))["authorization_url"]?.string)
            let visit = Process()
            visit.executableURL = URL(fileURLWithPath: world.program.environment["BROWSER"] ?? "")
            visit.arguments = [url]
            try visit.run()
            expectSuccess(try world.run(["login", "--finish"]))
            visit.waitUntilExit()
        }
        #expect(try world.run(["token"]).output == "at-other\n")
        expectSuccess(try world.run(["logout"]))
        #expect(world.server.revocations.isEmpty, "\(world.server.revocations)")
    }

    @Test(
        "with a client certificate, the aliases of endpoints count: tokens go back to where they came from",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to make the certificate"),
        arguments: ["token_endpoint", "revocation_endpoint"])
    func tokensOfAlias(alias: String) throws {
        let servers = try #require(TLSServers.shared)
        let world = try ResourceWorld([
            "OIDC_TLS_CLIENT_CERTIFICATE": servers.path("selfsigned.pem"),
            "OIDC_TLS_CLIENT_KEY": servers.path("selfsigned.key"),
        ]) { $0.registers = false }
        let (own, other) = (world.server.origin, world.other.origin)
        world.other.change {
            let answer: JSONValue = ["access_token": "at-other", "token_type": "Bearer", "expires_in": 3_600]
            $0.token = { _ in HTTPResponse(status: 200, body: answer.bytes) }
        }
        let isToken = alias == "token_endpoint"
        world.server.change {
            let url = isToken ? "\(other)/token" : "\(own)/revoke"
            $0.metadata["mtls_endpoint_aliases"] = [alias: .string(url)]
            $0.metadata["revocation_endpoint"] = .string("\(isToken ? own : other)/revoke")
            if !isToken { $0.metadata["token_endpoint"] = .string("\(other)/token") }
        }
        let login = try world.run(["login", world.server.issuer, "--client-id", "mine", "--scope", "api"])
        expectSuccess(login)
        #expect(
            login.errorOutput.contains("of \(own) are not used: revocation_endpoint")
                && login.errorOutput.contains("oidc login --issuer \(own)"), "\(login)")
        #expect(try world.run(["token"]).output == "at-other\n")
        expectSuccess(try world.run(["logout"]))
        #expect(world.server.revocations.isEmpty, "\(world.server.revocations)")
    }

    /// The alias of an endpoint is used only by a client that presents a certificate.
    @Test(
        "the certificate of a client that no setting assigns to a provider does not go to the one of a URL",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to make the certificate"),
        arguments: [true, false])
    func certificateOfOther(registers: Bool) throws {
        let servers = try #require(TLSServers.shared)
        let world = try ResourceWorld([
            "OIDC_TLS_CLIENT_CERTIFICATE": servers.path("selfsigned.pem"),
            "OIDC_TLS_CLIENT_KEY": servers.path("selfsigned.key"),
            "OIDC_CLIENT_ID": registers ? "" : "mine",
        ]) { $0.registers = registers }
        let aliases: JSONValue = ["token_endpoint": .string("\(world.other.origin)/token")]
        world.server.change { $0.metadata["mtls_endpoint_aliases"] = aliases }
        let login = try world.run(["login", world.server.issuer, "--scope", "api"])
        #expect(world.other.tokenRequests.isEmpty)
        guard !registers else { return expectSuccess(login) }
        #expect(login.status == 2 && world.server.tokenRequests.isEmpty, "\(login)")
        let words = "would get tls_client_certificate of OIDC_TLS_CLIENT_CERTIFICATE"
        #expect(login.errorOutput.contains(words), "\(login)")
        let hint = "if it is the provider that you sign in to: oidc login --issuer \(world.server.issuer)"
        #expect(login.errorOutput.contains(hint), "\(login)")
    }

    @Test("a provider whose token endpoint is elsewhere is known by it while the user is signed in there")
    func splitFound() throws {
        let world = try ResourceWorld()
        let front = world.other.origin.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        world.other.change {
            for name in ["token", "authorization"] {
                let path = name == "token" ? "/token" : "/authorize"
                $0.metadata["\(name)_endpoint"] = .string(front + path)
            }
        }
        expectSuccess(try world.run(["login", world.other.issuer, "--scope", "api"]))
        world.server.change {
            $0.metadata["authorization_endpoint"] = .string("\(front)/authorize")
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
        }
        let refused = try world.run(["login", world.server.issuer, "--scope", "api"])
        #expect(refused.status == 7 && refused.errorOutput.contains("authorization_endpoint"), "\(refused)")
        // The hint leaves the other profile as it is.
        let words = "oidc register -p 127.0.0.1 --issuer \(world.server.issuer)"
        #expect(refused.errorOutput.hasSuffix(": \(words)\n"), "\(refused)")
        expectSuccess(try world.run(Array(words.split(separator: " ").dropFirst().map(String.init))))
    }

    @Test("a client that is registered at a provider has a redirect URL of its own also at a resource")
    func resourceOfFound() throws {
        let world = try ResourceWorld(isOwnResource: false)
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try world.configure(
            #"{"default_profile":"corp","profiles":{"corp":{"issuer":"\#(world.other.issuer)","client_id":"mine"}}}"#
        )
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api"]))
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 2 && refused.errorOutput.contains("no terminal to ask at"), "\(refused)")
    }

    @Test(
        "a sign-in page elsewhere has to be named from the first sign-in on, also for a client that was chosen"
    )
    func chosenElsewhere() throws {
        let world = try ResourceWorld { $0.registers = false }
        let page = world.server.origin.replacingOccurrences(of: "127.0.0.1", with: "localhost") + "/authorize"
        world.server.change {
            $0.metadata["authorization_endpoint"] = .string(page)
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let words = ["login", world.server.issuer, "--client-id", "mine", "--scope", "api"]
        let refused = try world.run(words)
        #expect(refused.status == 7, "\(refused)")
        #expect(refused.errorOutput.contains("--set authorization_endpoint=\(page)"), "\(refused)")
        expectSuccess(try world.run(words + ["--set", "authorization_endpoint=\(page)"]))
        for again in [["login"], words, ["login", world.server.issuer]] {
            expectSuccess(try world.run(again))
        }
    }

    @Test("a client that a document describes is known at every server, also where another one is registered")
    func documentBeside() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"])
        expectSuccess(try world.run(["login", world.other.issuer, "--scope", "api"]))
        world.server.change {
            $0.registers = false
            $0.metadata["client_id_metadata_document_supported"] = true
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let refused = try world.run(["login", world.server.issuer, "--scope", "api"])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
    }

    @Test(
        "a client that is chosen with a secret of its own, or without one, gets no other later",
        arguments: [true, false])
    func chosenWithoutSecret(hasOwn: Bool) throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"]) {
            $0.registers = false
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_basic", "none"]]
        }
        try world.configure(#"{"issuer":"\#(world.other.issuer)","client_id":"corp"}"#)
        let words = ["login", world.server.issuer, "--client-id", "theirs", "--scope", "api"]
        let file = world.program.home.appendingPathComponent("secret")
        try "theirs".write(to: file, atomically: true, encoding: .utf8)
        let first = words + (hasOwn ? ["--set", "client_secret_file=\(file.path)"] : [])
        expectSuccess(try world.run(first))
        for again in [words, ["login", world.server.issuer], ["login", "-p", "127.0.0.1"]] {
            let refused = try world.run(again)
            #expect(refused.status == 2 && refused.errorOutput.contains("would get a secret"), "\(refused)")
        }
        if hasOwn { expectSuccess(try world.run(first)) }
        #expect(world.server.tokenRequests.allSatisfy { $0.basic?.last == (hasOwn ? "theirs" : nil) })
    }

    @Test("the URL of a provider and an option for another one are refused together")
    func otherIssuer() throws {
        let world = try ResourceWorld()
        let words = ["--issuer", world.other.issuer, "--client-id", "mine"]
        let refused = try world.run(["login", world.server.issuer] + words)
        #expect(refused.status == 2 && world.requests.allSatisfy { !$0.hasPrefix("POST") }, "\(refused)")
        #expect(refused.errorOutput.contains("--issuer names another one"), "\(refused)")
        try world.configure(#"{"issuer":"\#(world.server.issuer)","client_id":"theirs"}"#)
        #expect(try world.run(["login", world.server.issuer] + words).status == 2)
    }

    @Test("the URL of a provider is not the profile of a resource that names it, too")
    func providerOfResource() throws {
        let world = try ResourceWorld()
        world.resource.change { $0.servers = [world.other.issuer] }
        expectSuccess(
            try world.run(["login", world.url, "--issuer", world.other.issuer, "--client-id", "mine"]))
        world.other.forget()
        let login = ["login", world.other.issuer, "--client-id", "mine", "--scope", "api admin"]
        expectSuccess(try world.run(login))
        let sent = try #require(world.other.authorizations.first)
        #expect(sent["resource"] == nil && sent["scope"] == "api admin", "\(sent)")
        #expect(
            try world.run(["token", world.other.issuer]).output != world.run(["token", world.url]).output)
    }

    @Test("the redirect URL of one provider's client is not used at another one that an option names")
    func redirectOfOther() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.server.issuer, "--scope", "api"]))
        let redirect = try #require(world.server.authorizations.first?["redirect_uri"])
        #expect(try MixUpDefense.isOwn(redirect, of: world.server.issuer))
        expectSuccess(
            try world.run(["login", "--issuer", world.other.issuer, "--client-id", "mine", "--scope", "api"]))
        let used = try #require(world.other.authorizations.first?["redirect_uri"])
        #expect(used.hasSuffix("/callback"), "\(used)")
    }

    @Test("nothing is registered below a state directory that is a symbolic link")
    func linkedState() throws {
        let world = try ResourceWorld()
        let state = world.program.home.path + "/.local/state"
        let files = FileManager.default
        try files.createDirectory(atPath: state, withIntermediateDirectories: true)
        try files.createDirectory(atPath: state + "/real", withIntermediateDirectories: true)
        try files.createSymbolicLink(atPath: state + "/oidc", withDestinationPath: state + "/real")
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 1 && refused.errorOutput.contains("symbolic link"), "\(refused)")
        #expect(world.server.registrations.isEmpty && world.program.files(in: ".local/state/real").isEmpty)
    }

    @Test("a provider with a registered client shares its redirect URL with no other one")
    func registeredElsewhere() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.other.issuer, "--scope", "api"]))
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let chosen = ["login", world.server.issuer, "--client-id", "mine", "--scope", "api"]
        expectSuccess(try world.run(chosen))
        // The choice of a client is not the user's word for the server.
        expectSuccess(
            try world.run(
                [
                    "login", "--issuer", world.other.issuer, "--client-id", "mine", "--scope", "api",
                    "--no-profile",
                ]))
        let refused = try world.run(["login", world.server.issuer, "--scope", "api"])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
    }

    @Test("a hostile provider that was tried does not keep an honest one's token endpoint")
    func triedProvider() throws {
        let world = try ResourceWorld()
        let token = world.other.origin.replacingOccurrences(of: "127.0.0.1", with: "localhost") + "/token"
        for server in [world.server, world.other] {
            server.change {
                $0.metadata["token_endpoint"] = .string(token)
                $0.metadata["authorization_response_iss_parameter_supported"] = .null
                $0.responseIssuer = { _ in nil }
            }
        }
        #expect(try world.run(["login", world.server.issuer, "--scope", "api"]).status != 0)
        #expect(world.server.registrations.count == 1)
        expectSuccess(try world.run(["login", world.other.issuer, "--scope", "api"]))
    }

    @Test("a mistake in a profile does not make its provider unknown")
    func brokenProfile() throws {
        let world = try ResourceWorld { $0.registers = false }
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let own = #"{"issuer":"\#(world.other.issuer)","client_id":"mine","nonsense":1}"#
        try world.configure(#"{"default_profile":"here","profiles":{"here":{},"corp":\#(own)}}"#)
        for client in ["mine", "another"] {
            let refused = try world.run([
                "login", world.server.issuer, "--client-id", client, "--scope", "api",
            ])
            #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        }
    }

    @Test("registered clients with the user's own redirect URL are not taken for each other")
    func fixedRedirect() throws {
        let world = try ResourceWorld()
        let redirect = ["OIDC_REDIRECT_URI": "https://dev.example/callback", "OIDC_REDIRECT_PORTS": ""]
        for server in [world.server, world.other] {
            server.change {
                $0.registers = true
                $0.metadata["authorization_response_iss_parameter_supported"] = .null
                $0.responseIssuer = { _ in nil }
            }
        }
        for issuer in [world.other.issuer, world.server.issuer] {
            let login = try world.program.start(
                ["login", issuer, "--timeout", "2", "--scope", "api"], redirect
            ).finish()
            let isFirst = issuer == world.other.issuer
            // The redirected URL cannot be pasted here, but the sign-in has begun.
            #expect(login.status == (isFirst ? 2 : 7), "\(login)")
            #expect(isFirst || login.errorOutput.contains(world.other.issuer), "\(login)")
        }
    }

    @Test("a sign-out forgets that the server was named")
    func namedUntilSignOut() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"]) {
            $0.registers = false
            $0.metadata["client_id_metadata_document_supported"] = true
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try world.configure(#"{"issuer":"\#(world.other.issuer)","client_id":"mine"}"#)
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["logout", world.url]))
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
    }

    @Test(
        "that the user named a server is their word for the servers that were known then, not for later ones")
    func namedBefore() throws {
        let world = try plainWorld(isOwnResource: false)
        world.other.change { $0.registers = false }
        let line = ["login", world.url, "--client-id", "mine"]
        let answer = ["--issuer", world.server.issuer]
        let unasked = try world.run(line)
        #expect(
            unasked.status == 2
                && unasked.errorOutput.hasSuffix((["oidc"] + line + answer).joined(separator: " ") + "\n"),
            "\(unasked)")
        expectSuccess(try world.run(line + answer))
        expectSuccess(try world.run(["login", world.url]))
        let own = ["--issuer", world.other.issuer, "--client-id", "own", "--scope", "api"]
        expectSuccess(try world.run(["login"] + own))
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        #expect(world.server.authorizations.count == 2)
        let again = "if you trust \(world.server.origin.dropFirst(7)) as much as \(world.other.issuer): "
        #expect(
            refused.errorOutput.hasSuffix(
                "\(again)oidc login \(world.url) --issuer \(world.server.issuer)\n"), "\(refused)")
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        expectSuccess(try world.run(["login", world.url]))
    }

    @Test(
        "an own sign-in with a client of the variables is known after a sign-out, too",
        arguments: [true, false])
    func ownUse(isDone: Bool) throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "mine"]) {
            $0.registers = false
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let own = ["--issuer", world.other.issuer, "--no-profile"]
        if !isDone { world.other.change { $0.token = { _ in HTTPResponse(status: 503) } } }
        #expect(try world.run(["login", "--scope", "api"] + own).status == (isDone ? 0 : 5))
        _ = try world.run(["logout"] + own.dropLast())
        #expect(world.program.sessionFiles.isEmpty)
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
    }

    /// A world of servers that register no clients and send no `iss`.
    private func plainWorld(isOwnResource: Bool = true) throws -> ResourceWorld {
        try ResourceWorld(isOwnResource: isOwnResource) {
            $0.registers = false
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
    }

    @Test(
        "the client that the user was to register at a server gives its codes to no other that the URL names then",
        arguments: [true, false])
    func otherServerThen(isKnown: Bool) throws {
        let world = try plainWorld(isOwnResource: false)
        world.other.change { $0.registers = false }
        world.resource.change { $0.servers = [world.other.issuer] }
        let words = ["login", world.url, "--client-id", "mine"]
        let first = try world.program.start(isKnown ? words : ["login", world.url]).finish()
        #expect(first.status == 2 && first.errorOutput.contains(world.other.issuer), "\(first)")
        world.resource.change { $0.servers = [world.server.issuer] }
        let refused = try world.run(words)
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        world.resource.change { $0.servers = [world.other.issuer] }
        let second = try world.run(words)
        #expect(second.status == 2 && second.errorOutput.contains("--client-id"), "\(second)")
        // The one that was only named is no word of the user, and protected from the servers of other URLs, too.
        let file = world.program.home.path + "/.local/state/oidc/clients"
        let uses = try FileManager.default.contentsOfDirectory(atPath: file).map {
            try String(contentsOfFile: "\(file)/\($0)", encoding: .utf8)
        }
        #expect(!uses.isEmpty && uses.allSatisfy { $0.contains(#""unused":true"#) }, "\(uses)")
        let own = ["--client-id", "mine", "--scope", "api"]
        let other = try world.run(["login", world.server.issuer] + own)
        #expect(other.status == 7 && other.errorOutput.contains(world.other.issuer), "\(other)")
        expectSuccess(try world.run(["login", "--issuer", world.server.issuer] + own))
    }

    @Test(
        "a profile that names a resource's server does not give it the codes of others, until an option names it"
    )
    func namedByProfile() throws {
        let world = try plainWorld()
        try world.configure(
            #"{"default_profile":"its","profiles":{"its":{"issuer":"\#(world.server.issuer)","client_id":"mine"},"#
                + #""own":{"issuer":"\#(world.other.issuer)","client_id":"own"}}}"#)
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        expectSuccess(try world.run(["login", world.url]))
    }

    @Test(
        "what the user is asked to trust as much names all servers whose codes are at stake, their own first")
    func manyOthers() throws {
        let world = try plainWorld()
        let hosts = (0..<4).map { "\($0)." + String(repeating: "a", count: 60) + ".example" }
        let names = hosts.map { #""\#($0)":{"issuer":"https://\#($0)","client_id":"own"}"# }
        let told = try world.run(["login", world.url])
        #expect(told.status == 2, "\(told)")
        try world.configure(#"{"profiles":{\#(names.joined(separator: ","))}}"#)
        world.resource.change { $0.servers = [world.other.issuer] }
        world.other.change {
            $0.registers = false
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
        }
        let refused = try world.run(["login", world.url, "--client-id", "mine"])
        let list = hosts.map { "https://\($0)" }.joined(separator: ", ")
        #expect(
            refused.status == 7
                && refused.errorOutput.contains(" as much as \(list) and \(world.server.issuer): oidc login "),
            "\(refused)")
    }

    @Test(
        "a server that was refused, or whose own URL told the user to register, is known to others",
        arguments: [true, false])
    func knownByRefusal(isTold: Bool) throws {
        let world = try plainWorld(isOwnResource: false)
        world.other.change {
            $0.registers = false
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
        }
        let words = ["login", world.url, "--client-id", "mine"]
        if isTold {
            let told = try world.run(["login", world.other.issuer])
            #expect(told.status == 2 && told.errorOutput.contains("register"), "\(told)")
        } else {
            // The first server is known by what it told the user, and so the second one is refused.
            #expect(try world.run(["login", world.url]).status == 2)
            world.resource.change { $0.servers = [world.other.issuer] }
            let refused = try world.run(words)
            #expect(refused.status == 7, "\(refused)")
            world.resource.change { $0.servers = [world.server.issuer] }
        }
        let refused = try world.run(words)
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
    }

    @Test("a URL that names the provider of a profile makes that no suspect")
    func ownProfile() throws {
        let world = try plainWorld(isOwnResource: false)
        let own = #"{"issuer":"\#(world.server.issuer)","client_id":"mine","scope":"api"}"#
        let other = #"{"issuer":"\#(world.other.issuer)","client_id":"own"}"#
        try world.configure(#"{"default_profile":"other","profiles":{"mine":\#(own),"other":\#(other)}}"#)
        for words in [["login", world.url, "--client-id", "new"], ["login", world.url, "-p", "other"]] {
            let refused = try world.run(words)
            #expect([2, 7].contains(refused.status), "\(refused)")
        }
        expectSuccess(try world.run(["login", "-p", "mine"]))
    }

    @Test(
        "a provider that a URL led to may get the codes of servers that were known when it was named, not of later ones"
    )
    func namedProvider() throws {
        let world = try plainWorld(isOwnResource: false)
        let line = ["login", world.server.issuer, "--client-id", "mine", "--scope", "api"]
        expectSuccess(try world.run(line))
        let named = ["login", "--issuer", world.server.issuer, "--client-id", "mine", "--scope", "api"]
        expectSuccess(try world.run(named))
        let own = ["--issuer", world.other.issuer, "--client-id", "own", "--scope", "api"]
        expectSuccess(try world.run(["login"] + own))
        for words in [line, ["login"]] {
            let refused = try world.run(words)
            #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
            #expect(world.server.authorizations.count == 2)
        }
        expectSuccess(try world.run(named))
        expectSuccess(try world.run(["login"]))
    }

    @Test(
        "a profile for a server at which the user was told to register, or was refused, does not name it for them",
        arguments: [true, false])
    func toldProfile(isTold: Bool) throws {
        let world = try plainWorld(isOwnResource: !isTold)
        if isTold {
            let told = try world.run(["login", world.url])
            #expect(told.status == 2 && told.errorOutput.contains("register a native client"), "\(told)")
        } else {
            try world.configure(
                #"{"profiles":{"own":{"issuer":"\#(world.other.issuer)","client_id":"own"}}}"#)
            #expect(try world.run(["login", world.url, "--client-id", "mine"]).status == 7)
        }
        let profile = #""issuer":"\#(world.server.issuer)","client_id":"mine","scope":"api""#
        try world.configure(
            #"{"profiles":{"its":{\#(profile)},"own":{"issuer":"\#(world.other.issuer)","client_id":"own"}}}"#
        )
        let refused = try world.run(["login", "-p", "its"])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        let line = ["login", "-p", "its", "--issuer", world.server.issuer]
        #expect(refused.errorOutput.hasSuffix("oidc \(line.joined(separator: " "))\n"), "\(refused)")
        expectSuccess(try world.run(line))
        expectSuccess(try world.run(["login", "-p", "its"]))
    }

    @Test(
        "the line that names server and client, and so is the user's consent, has the scopes that were asked for",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"),
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func scopesOfWayOn(isGiven: Bool, isDefault: Bool) throws {
        let world = try plainWorld(isOwnResource: false)
        let start = isDefault ? #""default_profile":"mine","# : ""
        try world.configure(
            """
            {\(start)"profiles":{"mine":{"issuer":"\(world.server.issuer)","client_id":"mine"},
            "own":{"issuer":"\(world.other.issuer)","client_id":"own"}}}
            """)
        world.resource.change { $0.metadata["scopes_supported"] = ["read", "admin"] }
        let words = ["login", world.url, "--client-id", "mine"] + (isGiven ? ["--scope", "read"] : [])
        let run = try TerminalRun(world.program, words, columns: 400)
        // The user is asked first, as the line that follows is an answer.
        try #require(run.wait(within: 60) { $0.contains("[y/N] ") ? true : nil } == true, "\(run.text)")
        run.type("y\n")
        let refused = run.finish()
        let line = refused.text.split(separator: "\n").last { $0.contains("oidc login ") } ?? ""
        let options = ["--client-id mine", "--issuer \(world.server.issuer)"]
        #expect(refused.status == 7 && options.allSatisfy { line.contains($0) }, "\(refused)")
        #expect(line.contains(isGiven ? "--scope read" : "--scope 'read admin'"), "\(refused)")
        #expect(world.server.authorizations.isEmpty)
    }

    @Test("a resource's server is not named by another client in its profile")
    func otherClientOfResource() throws {
        let world = try ResourceWorld { $0.registers = false }
        expectSuccess(try world.run(["login", world.url, "--client-id", "mine"]))
        let named = ["--issuer", world.other.issuer, "--client-id", "own", "--scope", "api", "--no-profile"]
        expectSuccess(try world.run(["login"] + named))
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        let count = world.tabs.count
        for client in ["mine", "another"] {
            let refused = try world.run(["login", "--client-id", client, "--scope", "api"])
            #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        }
        #expect(world.tabs.count == count)
    }

    @Test("a hint that names a server which only a URL led to says what that allows")
    func hintOfUnused() throws {
        let world = try plainWorld()
        let named = ["--issuer", world.other.issuer, "--client-id", "mine", "--scope", "api", "--no-profile"]
        expectSuccess(try world.run(["login"] + named))
        let own = world.server.origin
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = true
            $0.responseIssuer = { $0 }
            $0.metadata["token_endpoint"] = .string(
                own.replacingOccurrences(of: "127.0.0.1", with: "localhost") + "/token")
            $0.metadata["userinfo_endpoint"] = .string("\(own)/me")
        }
        let login = try world.run(["login", world.server.issuer, "--client-id", "other", "--scope", "api"])
        #expect(
            login.status == 0 && login.errorOutput.contains("are not used: userinfo_endpoint"), "\(login)")
        let host = WebURL(own)?.hostAndPort ?? ""
        #expect(
            login.errorOutput.contains(
                "if you trust \(host) as much as \(world.other.issuer): oidc login --issuer"),
            "\(login)")
    }

    @Test(
        "a code that waited is not redeemed if the user has signed in elsewhere meanwhile",
        arguments: [false, true])
    func knownMeanwhile(isNamed: Bool) throws {
        let world = try plainWorld()
        var words = ["login", world.server.issuer, "--client-id", "other", "--scope", "api"]
        if isNamed {
            expectSuccess(try world.run(words + ["--no-profile"]))
            words.insert("--issuer", at: 1)
        }
        let run = try world.program.start(words + ["--timeout", "60"], ["BROWSER": "true"])
        let line = try #require(
            run.errorOutput { text in
                text.split(separator: "\n").first { $0.contains("/authorize?") && text.hasSuffix("\n") }
                    .map(String.init)
            }, "\(run.finish())")
        let url = try #require(WebURL(line.trimmingCharacters(in: .whitespaces)))
        let parameters = Dictionary(
            uniqueKeysWithValues: (FormEncoding.decode(url.query ?? "") ?? []).map { ($0.name, $0.value) })
        let redirect = try #require(parameters["redirect_uri"].flatMap { WebURL($0) })
        let named = ["--issuer", world.other.issuer, "--client-id", "mine", "--scope", "api", "--no-profile"]
        expectSuccess(try world.run(["login"] + named))
        let port = UInt16(redirect.effectivePort)
        _ = RawConnection.exchange(
            port: port,
            "GET \(redirect.path)?code=stolen&state=\(parameters["state"] ?? "") HTTP/1.1\r\n"
                + "Host: \(redirect.hostAndPort)\r\nConnection: close\r\n\r\n")
        let outcome = run.finish()
        #expect(outcome.status == 7 && outcome.errorOutput.contains(world.other.issuer), "\(outcome)")
        #expect(world.server.tokenRequests.count == (isNamed ? 1 : 0))
    }

    @Test("nor is a pasted one, which ends the first step's sign-in")
    func knownBeforeFinish() throws {
        let world = try plainWorld()
        let words = ["login", world.server.issuer, "--client-id", "other", "--scope", "api"]
        let started = try world.run(words + ["--start", "--no-wait", "-o", "json"])
        expectSuccess(started)
        let begun = try JSONValue(parsing: Array(started.output.utf8))
        let id = try #require(begun["id"]?.string)
        let url = try #require(begun["authorization_url"]?.string.flatMap { WebURL($0) })
        let parameters = Dictionary(
            uniqueKeysWithValues: (FormEncoding.decode(url.query ?? "") ?? []).map { ($0.name, $0.value) })
        let named = ["--issuer", world.other.issuer, "--client-id", "mine", "--scope", "api", "--no-profile"]
        expectSuccess(try world.run(["login"] + named))
        let pasted = "\(parameters["redirect_uri"] ?? "")?code=stolen&state=\(parameters["state"] ?? "")"
        let refused = try world.run(["login", "--finish", id, pasted])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
        let again = try world.run(["login", "--finish", id])
        #expect(again.status == 7, "\(again)")
        #expect(world.server.tokenRequests.isEmpty)
    }

    @Test("a provider that only a URL leads to gets no secret that the settings have for no provider")
    func secretByURL() throws {
        let client = ["OIDC_CLIENT_ID": "mine", "OIDC_CLIENT_SECRET": "s3cret"]
        let world = try ResourceWorld(client) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_basic"]]
        }
        let refused = try world.run(["login", world.server.issuer])
        #expect(refused.status == 2 && world.server.tokenRequests.isEmpty, "\(refused)")
        #expect(
            refused.errorOutput.hasSuffix(": oidc login --issuer \(world.server.issuer)\n")
                && refused.errorOutput.contains("OIDC_CLIENT_SECRET"), "\(refused)")
        let named = ["login", "--issuer", world.server.issuer, "--scope", "api", "--no-profile"]
        expectSuccess(try world.run(named))
        let document = ["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json", "OIDC_CLIENT_ID": ""]
        world.server.change {
            $0.registers = false
            $0.metadata["client_id_metadata_document_supported"] = true
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        let unsent = try world.program.start(["login", world.server.origin, "--scope", "api"], document)
            .finish()
        #expect(unsent.status == 2 && unsent.errorOutput.contains("client_secret"), "\(unsent)")
        // The user may choose the client for the URL, and means its secret for all that follows.
        world.server.change { $0.issuesRefreshTokens = true }
        let chosen = ["--client-id", "chosen", "--scope", "api"]
        expectSuccess(try world.run(["login", world.server.issuer] + chosen))
        let unset = ["OIDC_CLIENT_ID": ""]
        expectSuccess(try world.program.start(["token", "--refresh"], unset).finish())
        expectSuccess(try world.program.start(["login"], unset).finish())
    }

    @Test("a device code of another server than the one that redeems it is not requested")
    func device() throws {
        let world = try ResourceWorld()
        let endpoint = "\(world.other.origin)/device"
        world.server.change { $0.metadata["device_authorization_endpoint"] = .string(endpoint) }
        let refused = try world.run(["login", world.url, "--flow", "device"])
        #expect(refused.status == 7, "\(refused)")
        #expect(refused.errorOutput.contains("--set device_authorization_endpoint=\(endpoint)"), "\(refused)")
        #expect(!world.other.paths.contains("/device") && world.server.tokenRequests.isEmpty)
        // With a browser, no code is needed.
        expectSuccess(try world.run(["login", world.url]))
        #expect(!world.other.paths.contains("/device"))
    }

    @Test(
        "a device code is not to be entered at the page of the user's own provider, unless the user names the server"
    )
    func relayedDevice() throws {
        let world = try ResourceWorld()
        let (own, relay) = (world.other.origin, world.resource.origin)
        world.server.change {
            $0.metadata["device_authorization_endpoint"] = .string("\(relay)/device")
            $0.metadata["token_endpoint"] = .string("\(relay)/token")
        }
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path == "/device" else { return nil }
                return .value([
                    "device_code": "d", "user_code": "ABCD", "verification_uri": .string("\(own)/device"),
                    "expires_in": 1, "interval": 1,
                ])
            }
        }
        try world.configure(
            #"{"default_profile":"here","profiles":{"here":{},"own":{"issuer":"\#(own)","client_id":"mine"}}}"#
        )
        let words = ["login", world.url, "--flow", "device"]
        let refused = try world.run(words)
        #expect(refused.status == 7 && refused.errorOutput.contains("verification_uri"), "\(refused)")
        #expect(!refused.errorOutput.contains("ABCD"))
        let named = try world.run(words + ["--issuer", world.server.issuer])
        #expect(named.status != 7 && named.errorOutput.contains("ABCD"), "\(named)")
    }

    @Test("a client metadata document is refused there too, and accepted where the answers name the issuer")
    func document() throws {
        let variables = ["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"]
        let world = try world(variables) { $0.metadata["client_id_metadata_document_supported"] = true }
        #expect(try world.run(["login", world.url]).status == 7)
        #expect(world.tabs.isEmpty && world.other.authorizations.isEmpty)
        world.server.change { $0.metadata["authorization_response_iss_parameter_supported"] = true }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        // The promise is kept by nobody: the answer of the other server is refused.
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains("iss"), "\(refused)")
        #expect(world.server.tokenRequests.isEmpty)
    }

    @Test(
        "a server whose answers name no issuer does not share the redirect URL of another, unless the user names it"
    )
    func secondServer() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"])
        world.trust(world.other)
        world.other.change { $0.metadata["client_id_metadata_document_supported"] = true }
        expectSuccess(try world.run(["login", world.url]))
        // The second server could forward the browser to the first one.
        world.trust(world.server)
        world.server.change {
            $0.registers = false
            $0.metadata["client_id_metadata_document_supported"] = true
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && world.server.authorizations.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains(world.other.issuer), "\(refused)")
        #expect(
            refused.errorOutput.hasSuffix(": oidc login \(world.url) --issuer \(world.server.issuer)\n"),
            "\(refused)")
        expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        // One that promises iss is told apart.
        world.trust(world.other)
        expectSuccess(try world.run(["login", world.url]))
    }

    @Test("a server that the resource named before is not forgotten, nor one that was signed out of")
    func earlierServer() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"])
        for server in [world.server, world.other] {
            server.change {
                $0.registers = false
                $0.metadata["client_id_metadata_document_supported"] = true
            }
        }
        world.trust(world.other)
        expectSuccess(try world.run(["login", world.url]))
        world.trust(world.server)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["logout", world.url]))
        world.server.change {
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 7 && refused.errorOutput.contains(world.other.issuer), "\(refused)")
    }

    @Test(
        "a server whose answers name no issuer does not share the redirect URL of the user's provider",
        arguments: [true, false])
    func ownProvider(registers: Bool) throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"])
        world.server.change {
            $0.registers = registers
            $0.metadata["client_id_metadata_document_supported"] = true
            $0.metadata["authorization_response_iss_parameter_supported"] = .null
            $0.responseIssuer = { _ in nil }
        }
        try world.configure(#"{"issuer":"\#(world.other.issuer)","client_id":"mine"}"#)
        let login = try world.run(["login", world.url])
        guard registers else {
            #expect(login.status == 7 && world.server.authorizations.isEmpty, "\(login)")
            #expect(login.errorOutput.contains(world.other.issuer), "\(login)")
            return expectSuccess(try world.run(["login", world.url, "--issuer", world.server.issuer]))
        }
        expectSuccess(login)
        #expect(world.server.registrations.count == 1)
        let redirect = try #require(world.server.authorizations.first?["redirect_uri"])
        #expect(try MixUpDefense.isOwn(redirect, of: world.server.issuer))
    }

    @Test(
        "a client that was registered with a shared redirect URL is replaced; its session is kept until then")
    func oldRegistration() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.url]))
        let folder = world.program.home.appendingPathComponent(".local/state/oidc/registrations")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let file = try #require(files.first { $0.hasSuffix(".json") })
        // As an earlier version named it.
        try FileManager.default.moveItem(
            at: folder.appendingPathComponent(file), to: folder.appendingPathComponent("old-" + file))
        let links = world.program.home.appendingPathComponent(".local/state/oidc/resources")
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: links.path).first { $0.hasSuffix(".json") })
        let link = links.appendingPathComponent(name)
        let text = try String(contentsOf: link, encoding: .utf8)
            .replacingOccurrences(of: String(file.dropLast(5)), with: "old-" + file.dropLast(5))
        try text.write(to: link, atomically: false, encoding: .utf8)
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.server.registrations.count == 1)
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.registrations.count == 2)
    }

    @Test("the scopes that a resource asks for are named before the browser opens")
    func scopes() throws {
        let world = try ResourceWorld(resource: { $0.metadata = ["scopes_supported": ["repo", "admin"]] })
        let login = try world.run(["login", world.url])
        expectSuccess(login)
        let parts = login.errorOutput.components(separatedBy: "Sign in at:")
        #expect(parts.count == 2 && parts[0].contains("Scopes: repo admin\n"), "\(login.errorOutput)")
    }
}
