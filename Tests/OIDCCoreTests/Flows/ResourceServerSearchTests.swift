import Testing

@testable import OIDCCore

@Suite("Who issues tokens for a URL")
struct ResourceServerSearchTests {
    private func server(
        _ places: SearchedPlaces, servers: [String] = [SearchedPlaces.server], issuer: String? = nil,
        forSignIn: Bool = true,
        url: String = SearchedPlaces.url
    ) throws -> ProviderMetadata {
        places[url + "/metadata"] = .success(SearchedPlaces.resource(url, servers: servers))
        let search = try places.search(url)
        let found = try search.find(at: Fixture.url(url + "/metadata"))
        _ = places.asked
        return try search.authorizationServer(of: found.metadata, issuer: issuer, forSignIn: forSignIn)
    }

    @Test("metadata is at three places, in order; without a path at the first and the last")
    func places() throws {
        #expect(
            try ProviderMetadata.resourceServerURLs(issuer: "https://as.example/t/1").map(\.path) == [
                "/.well-known/oauth-authorization-server/t/1", "/.well-known/openid-configuration/t/1",
                "/t/1/.well-known/openid-configuration",
            ])
        for issuer in ["https://as.example", "https://as.example/"] {
            #expect(
                try ProviderMetadata.resourceServerURLs(issuer: issuer).map(\.path) == [
                    "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
                ])
        }
        let issuer = "https://as.example/t"
        let third = "https://as.example/t/.well-known/openid-configuration"
        for answer in SearchedPlaces.unusable + [
            SearchedPlaces.metadata(), SearchedPlaces.metadata(issuer, more: ""),
        ] {
            let places = SearchedPlaces([
                "https://as.example/.well-known/oauth-authorization-server/t": answer,
                "https://as.example/.well-known/openid-configuration/t": answer,
                third: SearchedPlaces.metadata(issuer),
            ])
            #expect(try server(places, servers: [issuer]).issuer == issuer)
            #expect(places.asked.last == third)
        }
    }

    @Test(
        "an endpoint of a server elsewhere is not on this machine or in its network",
        arguments: [
            "https://127.0.0.1/x", "https://localhost/x", "https://169.254.169.254/x", "https://[::1]/x",
        ])
    func reach(endpoint: String) throws {
        let server = ProviderMetadata(
            issuer: "https://as.example", endpoints: [.token: try Fixture.url(endpoint)])
        #expect(throws: OIDCError.self) { try server.checkReach(from: try Fixture.url("https://as.example")) }
        try server.checkReach(from: try Fixture.url("https://127.0.0.1"))
    }

    @Test(
        "an issuer is used only if its metadata names exactly it, but for the slash of an empty path",
        arguments: [
            ("https://as.example", "https://as.example//"), ("https://as.example/t", "https://as.example/t/"),
            ("https://as.example/t/", "https://as.example/t"), ("https://as.example", "http://as.example/"),
            ("https://as.example", "https://AS.example"), ("https://as.example", "https://as.example:443"),
            ("https://as.example", "https://evil.test"), ("https://as.example/t", "https://as.example/T"),
            ("https://as.example/abc/v2", "https://as.example/{tenantid}/v2"),
            (
                "https://as.example/11111111-1111-1111-1111-111111111111/v2.0",
                "https://as.example/{tenantid}/v2.0"
            ),
        ])
    func otherIssuer(_ asked: String, _ found: String) throws {
        let urls = try ProviderMetadata.resourceServerURLs(issuer: asked).map(\.text)
        let answer = SearchedPlaces.metadata(found, at: "https://as.example")
        let places = SearchedPlaces(Dictionary(uniqueKeysWithValues: urls.map { ($0, answer) }))
        let error = Fixture.error { try server(places, servers: [asked]) }
        #expect(error?.kind == .untrusted && error?.member == "issuer")
    }

    @Test(
        "an issuer without a path is the same with and without its final slash, and its metadata spells it",
        arguments: [
            ("https://as.example", "https://as.example/"), ("https://as.example/", "https://as.example"),
        ])
    func slash(_ asked: String, _ found: String) throws {
        let urls = try ProviderMetadata.resourceServerURLs(issuer: asked).map(\.text)
        let answer = SearchedPlaces.metadata(found, at: "https://as.example")
        let places = SearchedPlaces(Dictionary(uniqueKeysWithValues: urls.map { ($0, answer) }))
        #expect(try server(places, servers: [asked]).issuer == found)
        #expect(try server(places, servers: [asked], issuer: found).issuer == found)
    }

    @Test("S256 must be listed for a sign-in, and need not be for other grants")
    func codeChallenge() throws {
        let place = "\(SearchedPlaces.server)/.well-known/oauth-authorization-server"
        for more in [
            "", #","code_challenge_methods_supported":[]"#, #","code_challenge_methods_supported":["plain"]"#,
        ] {
            let places = SearchedPlaces([place: SearchedPlaces.metadata(more: more)])
            let error = Fixture.error { try server(places) }
            #expect(error?.kind == .refused && error?.member == "code_challenge_methods_supported")
            #expect(try server(places, forSignIn: false).issuer == SearchedPlaces.server)
        }
    }

    private static let endpoints = [
        "http://as.example/token", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x",
        "https://as.example/token#x", "as.example/token", "http://127.0.0.1:9/token",
        "https://127.0.0.1/token",
        "https://localhost/token", "https://[::1]/token", "https://2130706433/token",
        "https://x.localhost/token",
    ]

    @Test("faults that no setting can work around are reported as the provider's")
    func faults() throws {
        func hint(_ answer: HTTPResponse) throws -> String? {
            let places = SearchedPlaces([
                "\(SearchedPlaces.server)/.well-known/oauth-authorization-server": answer
            ])
            return Fixture.error { try server(places) }?.hint.map { "\($0)" }
        }
        #expect(
            try hint(SearchedPlaces.metadata(SearchedPlaces.server + "/other"))?.contains(
                "names another issuer")
                == true)
        for answer in [SearchedPlaces.metadata(more: ""), HTTPResponse(status: 404), Fixture.html()] {
            #expect(try hint(answer)?.contains("fault of the resource") == true)
        }
        let scripted = Fixture.json(
            #"{"issuer":"https://as.example","authorization_endpoint":"javascript:alert(1)"}"#)
        #expect(try hint(scripted)?.contains("fault of the resource") == true)
        let page = SearchedPlaces(["\(SearchedPlaces.root)/mcp": Fixture.json("[]")])
        let other = Fixture.error { try page.search(SearchedPlaces.url).find() }?.hint.map { "\($0)" }
        #expect(other?.hasPrefix("check the URL") == true)
        page["\(SearchedPlaces.root)/mcp"] = .success(Fixture.json(#"{"authorization_servers":[]}"#))
        let missing = Fixture.error { try page.search(SearchedPlaces.url).find() }?.hint.map { "\($0)" }
        #expect(missing?.contains("fault of the resource") == true)
    }

    @Test("endpoints are https URLs that do not lead to this machine", arguments: endpoints)
    func badEndpoint(_ url: String) throws {
        let place = "\(SearchedPlaces.server)/.well-known/oauth-authorization-server"
        let s256 = #","code_challenge_methods_supported":["S256"]"#
        for member in [
            #""authorization_endpoint":"\#(url)""#, #""registration_endpoint":"\#(url)""#,
            #""jwks_uri":"\#(url)""#,
            #""mtls_endpoint_aliases":{"token_endpoint":"\#(url)"}"#,
        ] {
            let text =
                #"{"issuer":"\#(SearchedPlaces.server)","token_endpoint":"\#(SearchedPlaces.server)/token"\#(s256),\#(member)}"#
            let places = SearchedPlaces([place: Fixture.json(text)])
            let error = Fixture.error { try server(places) }
            #expect(error?.kind == .refused || error?.kind == .untrusted, "\(member)")
            #expect(error?.member != nil)
        }
    }

    @Test("on loopback, everything may be on loopback, by http")
    func loopback() throws {
        let issuer = "http://localhost:9000"
        let places = SearchedPlaces([
            "\(issuer)/.well-known/oauth-authorization-server": SearchedPlaces.metadata(issuer)
        ])
        let found = try server(places, servers: [issuer], url: "http://localhost:3000/mcp")
        #expect(found.tokenEndpoint?.text == "\(issuer)/token")
    }

    private static let outages: [Result<HTTPResponse, OIDCError>] =
        [403, 429, 500, 503].map { .success(HTTPResponse(status: $0)) } + [
            .success(SearchedPlaces.metadata("https://evil.test")),
            .failure(OIDCError(.unreachable, "no route", stage: .discovery)),
            .failure(OIDCError(.untrusted, "its certificate could not be verified", stage: .discovery)),
        ]

    @Test(
        "the first authorization server that works is taken, else the first failure reported",
        arguments: outages)
    func several(_ outage: Result<HTTPResponse, OIDCError>) throws {
        let servers = ["https://first.example", "https://second.example", "https://third.example"]
        func place(_ issuer: String) -> String { "\(issuer)/.well-known/oauth-authorization-server" }
        let places = SearchedPlaces([
            place(servers[1]): SearchedPlaces.metadata(servers[1]),
            place(servers[2]): SearchedPlaces.metadata(servers[2]),
        ])
        places[place(servers[0])] = outage
        #expect(try server(places, servers: servers).issuer == servers[1])
        #expect(!places.asked.contains { $0.hasPrefix(servers[2]) })
        #expect(try server(places, servers: servers, issuer: servers[2]).issuer == servers[2])
        #expect(places.asked == [place(servers[2])])
        let alone = Fixture.error { try server(places, servers: [servers[0]]) }
        places[place(servers[1])] = .success(HTTPResponse(status: 418))
        places[place(servers[2])] = .success(HTTPResponse(status: 418))
        #expect(Fixture.error { try server(places, servers: servers) } == alone)
    }

    @Test(
        "429 and 5xx at one of the three places move on to the next, and are reported before a refusal",
        arguments: [429, 500, 501, 502, 503])
    func faultyGateway(status: Int) throws {
        let issuer = "https://as.example/t"
        let third = "\(issuer)/.well-known/openid-configuration"
        let first = "https://as.example/.well-known/oauth-authorization-server/t"
        let places = SearchedPlaces([
            first: HTTPResponse(status: status), third: SearchedPlaces.metadata(issuer),
        ])
        #expect(try server(places, servers: [issuer]).issuer == issuer)
        #expect(places.asked.count == 3)
        for other in [HTTPResponse(status: 404), HTTPResponse(status: 403), Fixture.html()] {
            places[third] = .success(other)
            #expect(Fixture.error { try server(places, servers: [issuer]) }?.kind == .unreachable)
            #expect(places.asked.count == 3)
        }
        // Another issuer stays what it is, and a server out of reach is not asked for more.
        places[third] = .success(SearchedPlaces.metadata("https://evil.test"))
        #expect(Fixture.error { try server(places, servers: [issuer]) }?.kind == .untrusted)
        places[first] = .failure(OIDCError(.unreachable, "no route", stage: .discovery))
        _ = places.asked
        #expect(Fixture.error { try server(places, servers: [issuer]) }?.kind == .unreachable)
        #expect(places.asked == [first])
    }

    @Test("metadata without the endpoints for getting a token does not work, unless the settings name them")
    func missingEndpoint() throws {
        let issuer = SearchedPlaces.server
        let token = #""token_endpoint":"\#(issuer)/token""#
        let proof = #""code_challenge_methods_supported":["S256"]"#
        func incomplete(_ members: String) -> HTTPResponse {
            Fixture.json(#"{"issuer":"\#(issuer)",\#(proof)\#(members)}"#)
        }
        let first = "\(issuer)/.well-known/oauth-authorization-server"
        let second = "\(issuer)/.well-known/openid-configuration"
        let authorize = #","authorization_endpoint":"\#(issuer)/authorize""#
        for (members, name) in [(authorize, "token_endpoint"), (",\(token)", "authorization_endpoint")] {
            let places = SearchedPlaces([first: incomplete(members), second: SearchedPlaces.metadata()])
            #expect(try server(places).require(.token).text == "\(issuer)/token")
            #expect(places.asked == [first, second])
            let error = Fixture.error { try server(SearchedPlaces([first: incomplete(members)])) }
            #expect(error?.kind == .refused && error?.message.contains(name) == true, "\(error as Any)")
        }
        let other = "https://b.example"
        let places = SearchedPlaces([
            first: incomplete(authorize),
            "\(other)/.well-known/oauth-authorization-server": SearchedPlaces.metadata(other),
        ])
        #expect(try server(places, servers: [issuer, other]).issuer == other)
        let device = #","device_authorization_endpoint":"\#(issuer)/device",\#(token)"#
        #expect(try server(SearchedPlaces([first: incomplete(device)])).issuer == issuer)
        let machine = SearchedPlaces([first: incomplete(",\(token)")])
        #expect(try server(machine, forSignIn: false).issuer == issuer)
        let search = try SearchedPlaces([first: incomplete("")]).search(SearchedPlaces.url)
        #expect(
            try search.authorizationServer(issuer: issuer, configured: [.token, .authorization]).issuer
                == issuer)
    }

    @Test("a server without a client for us is passed over, unless there is no other")
    func withoutClient() throws {
        let issuers = ["https://first.example", "https://second.example", "https://third.example"]
        let places = SearchedPlaces(
            Dictionary(
                uniqueKeysWithValues: issuers.map {
                    ("\($0)/.well-known/oauth-authorization-server", SearchedPlaces.metadata($0))
                }))
        places["\(SearchedPlaces.root)/mcp"] = .success(SearchedPlaces.resource(servers: issuers))
        let search = try places.search(SearchedPlaces.url)
        let resource = try search.find().metadata
        func chosen(_ known: [String], issuer: String? = nil) throws -> String? {
            try search.authorizationServer(
                of: resource, issuer: issuer, hasClient: { known.contains($0.issuer ?? "") }
            ).issuer
        }
        #expect(try chosen([issuers[1], issuers[2]]) == issuers[1])
        #expect(try chosen([]) == issuers[0])
        #expect(try chosen([], issuer: issuers[2]) == issuers[2])
        let error = Fixture.error {
            try search.authorizationServer(
                of: resource,
                hasClient: { _ throws(OIDCError) in throw OIDCError(.usage, "a damaged profile") })
        }
        #expect(error?.kind == .usage)
    }

    @Test("an interruption ends the search")
    func interrupted() throws {
        let places = SearchedPlaces([
            "https://b.example/.well-known/oauth-authorization-server": SearchedPlaces.metadata(
                "https://b.example")
        ])
        places["https://a.example/.well-known/oauth-authorization-server"] = .failure(
            OIDCError(.interrupted, "SIGINT"))
        let error = Fixture.error { try server(places, servers: ["https://a.example", "https://b.example"]) }
        #expect(error?.kind == .interrupted)
    }

    @Test("an issuer that is named must be one of the resource's, and there must be one")
    func namedIssuer() throws {
        let place = "\(SearchedPlaces.server)/.well-known/oauth-authorization-server"
        let places = SearchedPlaces([place: SearchedPlaces.metadata()])
        for issuer in ["https://as.example/x", "https://other.example"] {
            let error = Fixture.error { try server(places, issuer: issuer) }
            #expect(error?.kind == .untrusted && error?.member == "authorization_servers")
            #expect(places.asked.isEmpty)
        }
        let none = Fixture.error { try server(places, servers: []) }
        #expect(none?.kind == .refused && none?.message.contains("authorization_servers is missing") == true)
        let place2 = Fixture.error {
            try server(places, servers: ["https://as.example/.well-known/openid-configuration"])
        }
        #expect(place2?.kind == .refused)
    }
}
