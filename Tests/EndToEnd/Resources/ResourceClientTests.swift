import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite(
    "clients for resources", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceClientTests {
    private static let confidential: [String: JSONValue] = [
        "token_endpoint_auth_methods_supported": ["client_secret_post"]
    ]

    private func profile(_ issuer: String, _ more: String = "") -> String {
        #"{"issuer":"\#(issuer)","client_id":"configured","client_secret":"of the profile"\#(more)}"#
    }

    @Test("the profile for the server has its client, also when another profile is the default")
    func ofProfile() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.issuesRefreshTokens = true
        }
        try world.configure(
            """
            {"default_profile":"other","profiles":{
              "other":{"issuer":"https://op.example","client_id":"elsewhere","client_secret":"not for you",
                "scope":"private","account":"me","redirect_uri":"http://127.0.0.1:1/never"},
              "work":\(profile(world.server.issuer, #","scope":"of-work""#))}}
            """)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.server.registrations.isEmpty)
        #expect(world.server.authorizations.map { $0["client_id"] } == ["configured"])
        #expect(world.server.authorizations.first?["scope"] == nil)
        let secrets = world.server.tokenRequests.map { $0.form["client_secret"] }
        #expect(secrets == ["of the profile", "of the profile"])
        let said = world.server.log.map { "\($0.url) \(String(decoding: $0.body, as: UTF8.self))" }.joined()
        #expect(!said.contains("not for you") && !said.contains("private") && !said.contains("elsewhere"))
    }

    @Test("a profile that is named gives its scope too")
    func named() throws {
        let world = try ResourceWorld { $0.metadata = Self.confidential }
        try world.configure(
            #"{"profiles":{"work":\#(profile(world.server.issuer, #","scope":"of-work""#))}}"#)
        expectSuccess(try world.run(["login", world.url, "-p", "work"]))
        #expect(world.server.authorizations.first?["scope"] == "of-work")
        let token = try world.run(["token", world.url]).output
        #expect(try world.run(["token", "-p", "work", world.url]).output == token && !token.isEmpty)
    }

    @Test("--issuer must be one of the resource's servers, and picks one of several")
    func issuerOption() throws {
        let world = try ResourceWorld()
        let refused = try world.run(["login", world.url, "--issuer", "https://op.example"])
        #expect(refused.status == 2 && refused.errorOutput.contains(world.server.issuer), "\(refused)")
        #expect(world.tabs.isEmpty && world.server.log.isEmpty)
        world.resource.change { $0.servers = [world.server.issuer, world.other.issuer] }
        expectSuccess(try world.run(["login", world.url, "--issuer", world.other.issuer]))
        #expect(world.other.authorizations.count == 1 && world.server.authorizations.isEmpty)
    }

    @Test(
        "a registered client's secret is used for refreshing and revoking, also by logout --all and of a provider"
    )
    func secret() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.registered = ["client_secret": "s3cret"]
            $0.issuesRefreshTokens = true
        }
        world.server.change { rules in
            rules.metadata["revocation_endpoint"] = .string("\(world.server.origin)/revoke")
        }
        // A provider's session has no resource.
        for url in [world.url, world.server.issuer] {
            for operand in ["--all", url] {
                let count = world.server.log.count
                expectSuccess(try world.run(["login", url, "--no-profile", "--scope", "api"]))
                expectSuccess(try world.run(["token", "--refresh", url]))
                expectSuccess(try world.run(["logout", operand]))
                let requests = world.server.log.dropFirst(count).filter { $0.method == .post }
                #expect(requests.contains { $0.url.path == "/revoke" })
                #expect(
                    requests.allSatisfy {
                        let isTokenRequest = ["/token", "/revoke"].contains($0.url.path)
                        return !isTokenRequest || String(decoding: $0.body, as: UTF8.self).contains("s3cret")
                    })
                #expect(try world.run(["token", url]).status == 3)
            }
        }
    }

    @Test("the secret of a profile that names the server and no client is not sent with a registered client")
    func secretOfProfile() throws {
        let world = try ResourceWorld {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["none", "client_secret_post"]]
            $0.issuesRefreshTokens = true
        }
        try world.configure(#"{"issuer":"\#(world.server.issuer)","client_secret":"of the profile"}"#)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.server.tokenRequests.map { $0.form["client_id"] } == ["registered-1", "registered-1"])
        for request in world.server.tokenRequests {
            #expect(request.form["client_secret"] == nil && request.basic == nil)
        }
    }

    @Test("a registered client uses its own secret, not that of a profile that names the server alone")
    func ownSecret() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.registered = ["client_secret": "s3cret"]
            $0.issuesRefreshTokens = true
        }
        try world.configure(#"{"issuer":"\#(world.server.issuer)","client_secret":"of the profile"}"#)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.server.tokenRequests.map { $0.form["client_secret"] } == ["s3cret", "s3cret"])
    }

    @Test("a server that only takes clients with a key registers none for us: the user names one")
    func onlyWithKey() throws {
        let world = try ResourceWorld {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["private_key_jwt"]]
        }
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 2 && refused.errorOutput.contains("private_key_jwt"), "\(refused)")
        #expect(refused.errorOutput.contains("--client-id ID --set private_key_file=FILE"))
        #expect(world.tabs.isEmpty && world.server.registrations.isEmpty)
        world.server.change {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["private_key_jwt", "none"]]
        }
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        expectSuccess(try world.run(["login", world.url]))
    }

    @Test("a token without a user is of the client that is named, and asks for no offline_access")
    func machineClient() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"]) {
            $0.metadata = [
                "scopes_supported": ["a", "offline_access"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            ]
        }
        let issuer = ["--issuer", world.server.issuer]
        let words = ["token", "--grant", "client_credentials", world.url] + issuer + ["--client-id"]
        let tokens = try ["one", "one", "two", "one"].map { client in
            let outcome = try world.run(words + [client])
            expectSuccess(outcome)
            return outcome.output
        }
        #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2] && !tokens[2].isEmpty)
        let variable = try world.program.run(
            "token", "--grant", "client_credentials", world.url,
            variables: ["OIDC_CLIENT_ID": "three", "OIDC_ISSUER": world.server.issuer])
        #expect(variable.status == 0 && !tokens.contains(variable.output), "\(variable)")
        #expect(world.server.tokenRequests.allSatisfy { $0.form["scope"]?.contains("offline") != true })
        let call = ["request", "POST", world.url, "-d", "{}", "--grant", "client_credentials"]
        expectSuccess(try world.run(call + issuer + ["--client-id", "four"]))
    }

    @Test("the grant of a profile counts for the profile's own provider, and for no other")
    func machineProfile() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"]) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        }
        func use(_ issuer: String) throws {
            try world.configure(#"{"issuer":"\#(issuer)","client_id":"one","grant":"client_credentials"}"#)
        }
        try use(world.other.origin)
        let other = try world.run(["token", world.url])
        #expect(other.status == 3 && other.errorOutput.contains("oidc login \(world.url)"), "\(other)")
        #expect(world.server.registrations.isEmpty && world.server.tokenRequests.isEmpty)
        try use(world.server.issuer)
        let login = try world.run(["login", world.url])
        let hint = "oidc token \(world.url) --grant client_credentials"
        #expect(login.status == 2 && login.errorOutput.contains(hint), "\(login)")
        for words in [
            ["token", world.url], ["token", world.url, "--login"], ["credential", "headers", world.url],
        ] {
            let outcome = try world.run(words)
            #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(outcome)")
        }
        #expect(world.server.tokenRequests.count == 1 && world.tabs.isEmpty)
    }

    @Test("metadata that led to a server out of reach are fetched again by the next sign-in")
    func correctedMetadata() throws {
        let world = try ResourceWorld()
        let servers = world.resource.rules.servers
        let closed = try LoopbackServer()
        let port = closed.port
        closed.close()
        world.resource.change {
            $0.metadataPath = "/prm"
            $0.answerToGet = nil
            $0.servers = ["http://127.0.0.1:\(port)"]
        }
        #expect(try world.run(["login", world.url]).status == 5)
        world.resource.change { $0.servers = servers }
        expectSuccess(try world.run(["login", world.url]))
        let status = try world.run(["status", "-o", "json"])
        #expect(status.status == 0 && status.output.contains(world.url), "\(status)")
    }

    @Test("--timeout bounds the search for a server that answers")
    func silentServers() throws {
        let world = try ResourceWorld()
        let silent = try LoopbackServer()
        defer { silent.close() }
        world.resource.change {
            $0.servers = (0..<16).map { "http://127.0.0.1:\(silent.port)/\($0)" }
        }
        let outcome = try world.run(["login", world.url, "--timeout", "2", "--set", "http_timeout=1"])
        #expect(outcome.status == 6, "\(outcome)")
    }

    @Test("a client whose secret has expired is registered again")
    func expired() throws {
        let world = try ResourceWorld {
            $0.metadata = Self.confidential
            $0.registered = ["client_secret": "s3cret", "client_secret_expires_at": 1]
        }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.registrations.count == 2)
    }

    @Test("another redirect URL is another registration; the same one is used again")
    func redirect() throws {
        let world = try ResourceWorld()
        for port in ["0", "0", "18471", "18471"] {
            let options = port == "0" ? [] : ["--port", port]
            expectSuccess(try world.run(["login", world.url] + options))
        }
        #expect(world.server.registrations.count == 2)
        #expect(
            world.server.registrations.last?["redirect_uris"]?.array?.compactMap(\.string).map {
                $0.hasPrefix("http://127.0.0.1:18471/") && $0.hasSuffix("/callback")
            } == [true])
    }

    @Test("if a refresh finds the client unknown, exit 3; the next sign-in registers another one")
    func unknownAtRefresh() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.url]))
        world.server.change {
            $0.token = {
                $0.form["client_id"] == "registered-1" ? .oauth("invalid_client", status: 401) : nil
            }
        }
        let refused = try world.run(["token", "--refresh", world.url])
        #expect(refused.status == 3, "\(refused)")
        #expect(refused.errorOutput.contains("try: oidc login \(world.url)"), "\(refused.errorOutput)")
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.registrations.count == 2 && world.tabs.count == 2)
        expectSuccess(try world.run(["token", "--refresh", world.url]))
    }

    @Test("the document of a client ID lists what a sign-in uses")
    func document() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"]) {
            $0.metadata = ["client_id_metadata_document_supported": true]
        }
        let printed = try world.run(["register", "--client-metadata"])
        let document = try JSONValue(parsing: printed.output)
        #expect(document["client_id"] == "https://client.example/oidc.json")
        #expect(document["application_type"] == "native" && document["token_endpoint_auth_method"] == "none")
        expectSuccess(try world.run(["login", world.url]))
        let used = try #require(world.server.authorizations.first?["redirect_uri"])
        #expect(document["redirect_uris"]?.array?.contains(.string(used)) == true, "\(document) \(used)")
        #expect(try world.run(["register", "--client-metadata", "http://client.example/x"]).status == 2)
        #expect(try world.run(["register", "https://client.example/x"]).status == 2)
        try world.configure(#"{"profiles":{"a":{"client_metadata_url":"http://client.example/x"}}}"#)
        let check = try world.program.run("config", "check", variables: ["OIDC_CLIENT_METADATA_URL": ""])
        #expect(check.status == 2 && check.errorOutput.contains("an https URL with a path"), "\(check)")
    }

    @Test("where no client can be registered, that of the last sign-in is used again")
    func ofLastSignIn() throws {
        let world = try ResourceWorld { $0.registers = false }
        #expect(try world.run(["login", world.url]).status == 2)
        expectSuccess(try world.run(["login", world.url, "--client-id", "known"]))
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.authorizations.map { $0["client_id"] } == ["known", "known"])
    }

    @Test("a server that refuses scopes beyond the registered ones gets a new registration, once")
    func narrowRegistration() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url, "--scope", "a"]))
        #expect(world.server.registrations.map { $0["scope"] } == ["a"])
        world.server.change {
            $0.token = { $0.form["client_id"] == "registered-1" ? .oauth("invalid_scope") : nil }
        }
        expectSuccess(try world.run(["login", world.url, "--scope", "a b"]))
        #expect(world.server.registrations.map { $0["scope"] } == ["a", "a b"])
        world.server.change { $0.token = { _ in .oauth("invalid_scope") } }
        #expect(try world.run(["login", world.url, "--scope", "a b"]).status == 4)
        #expect(world.server.registrations.count == 2)
    }

    @Test("a new registration has the scope of the client it replaces, so sign-ins do not replace it in turn")
    func widenedRegistration() throws {
        let world = try ResourceWorld { $0.checksRegisteredScope = true }
        for scope in ["a", "b", "a", "b"] {
            expectSuccess(try world.run(["login", world.url, "--scope", scope]))
        }
        #expect(world.server.registrations.map { $0["scope"] } == ["a", "b a"])
    }

    @Test("a scope that the server has dropped is left out of the next registration")
    func droppedRegistration() throws {
        let world = try ResourceWorld { $0.checksRegisteredScope = true }
        world.resource.change { $0.metadata = ["scopes_supported": ["a"]] }
        expectSuccess(try world.run(["login", world.url, "--scope", "old"]))
        world.server.change { $0.unregistrableScopes = ["old"] }
        expectSuccess(try world.run(["login", world.url, "--scope", "b"]))
        #expect(world.server.registrations.map { $0["scope"] } == ["old a", "b a old", "b a"])
    }

    @Test("where no scope is known, a new registration has none, whatever the earlier client had")
    func registrationWithoutScope() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url, "--scope", "a"]))
        expectSuccess(try world.run(["logout", world.url]))
        world.server.change {
            $0.token = { $0.form["client_id"] == "registered-1" ? .oauth("invalid_client") : nil }
        }
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.registrations.map { $0["scope"] } == ["a", nil])
    }
}
