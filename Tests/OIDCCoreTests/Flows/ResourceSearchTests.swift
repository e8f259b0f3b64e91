import Synchronization
import Testing

@testable import OIDCCore

/// A few servers by the URLs that they answer at; 404 elsewhere.
private final class Places: HTTPTransport, DocumentCache {
    private struct State {
        var answers: [String: Result<HTTPResponse, OIDCError>] = [:]
        var asked: [String] = []
        var cached: [WebURL: [UInt8]] = [:]
    }
    private let state = Mutex(State())
    let isCaching: Bool

    init(_ answers: [String: HTTPResponse] = [:], isCaching: Bool = false) {
        self.isCaching = isCaching
        for (url, answer) in answers { self[url] = .success(answer) }
    }

    subscript(url: String) -> Result<HTTPResponse, OIDCError>? {
        get { state.withLock { $0.answers[url] } }
        set { state.withLock { $0.answers[url] = newValue } }
    }
    var asked: [String] {
        state.withLock { (state: inout State) in
            let asked = state.asked
            state.asked = []
            return asked
        }
    }

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        #expect(request.method == .get && request.headers["Authorization"] == nil)
        // The resource itself may answer with a stream that does not end.
        #expect(request.needsOnlyHead == (stage == .resource))
        let answer = state.withLock {
            $0.asked.append(request.url.text)
            return $0.answers[request.url.text]
        }
        return try answer?.get() ?? HTTPResponse(status: 404)
    }

    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { state.withLock { $0.cached[url] } }
    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
        if isCaching { state.withLock { $0.cached[url] = response.body } }
    }
    func forget(_ url: WebURL) { state.withLock { $0.cached[url] = nil } }

    func search(_ url: String) throws -> ResourceSearch {
        try ResourceSearch(
            Fixture.url(url),
            environment: ProviderEnvironment(
                transport: self, cache: self, now: { Fixture.now }, random: { Array(repeating: 1, count: $0) }
            ))
    }
}

@Suite("Who protects a URL")
struct ResourceSearchTests {
    private static let url = "https://mcp.example.com/mcp"
    private static let root = "https://mcp.example.com/.well-known/oauth-protected-resource"
    private static let server = "https://as.example"

    private static func resource(
        _ resource: String = url, servers: [String] = [server], more: String = ""
    ) -> HTTPResponse {
        let list = servers.map { "\"\($0)\"" }.joined(separator: ",")
        return Fixture.json(#"{"resource":"\#(resource)","authorization_servers":[\#(list)]\#(more)}"#)
    }

    private static func challenge(_ parameters: String, status: Int = 401) -> HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders([("WWW-Authenticate", "Bearer \(parameters)")]))
    }

    private static func metadata(
        _ issuer: String = server, at base: String? = nil,
        more: String = #","code_challenge_methods_supported":["S256"]"#
    ) -> HTTPResponse {
        let base = base ?? issuer
        return Fixture.json(
            #"{"issuer":"\#(issuer)","authorization_endpoint":"\#(base)/authorize","#
                + #""token_endpoint":"\#(base)/token"\#(more)}"#)
    }

    // MARK: the resource

    @Test("metadata that cannot be used is fetched once, also if the challenge names a well-known place")
    func once() throws {
        let place = Self.root + "/mcp"
        let unusable = Places([place: Fixture.json("[]")])
        #expect(throws: OIDCError.self) {
            try unusable.search(Self.url).find(after: Self.challenge("resource_metadata=\"\(place)\""))
        }
        #expect(unusable.asked.filter { $0 == place }.count == 1)
    }

    @Test("the challenge's resource_metadata comes first, then the path inserted, then the root")
    func order() throws {
        let places = Places([
            "https://mcp.example.com/custom.json": Self.resource(more: #","scopes_supported":["c"]"#),
            "\(Self.root)/mcp": Self.resource(more: #","scopes_supported":["p"]"#),
            Self.root: Self.resource("https://mcp.example.com", more: #","scopes_supported":["r"]"#),
        ])
        let search = try places.search(Self.url)
        let challenge = Self.challenge(#"resource_metadata="https://mcp.example.com/custom.json", scope="s""#)
        let named = try search.find(after: challenge)
        #expect(named.metadata.scopesSupported == Scope("c") && named.isNamedByChallenge)
        #expect(named.challenge.scope == Scope("s"))
        #expect(places.asked == ["https://mcp.example.com/custom.json"])
        for answer in [
            nil, Self.challenge("realm=x"), HTTPResponse(status: 401), HTTPResponse(status: 200),
            Self.challenge(#"resource_metadata="https://mcp.example.com/custom.json""#, status: 405),
        ] {
            let inserted = try search.find(after: answer)
            #expect(inserted.metadata.scopesSupported == Scope("p") && !inserted.isNamedByChallenge)
            #expect(inserted.metadataURL.text == "\(Self.root)/mcp")
            #expect(places.asked == ["\(Self.root)/mcp"])
        }
        places["\(Self.root)/mcp"] = nil
        let last = try search.find()
        #expect(
            last.metadata.scopesSupported == Scope("r") && last.metadata.resource == "https://mcp.example.com"
        )
        #expect(places.asked == ["\(Self.root)/mcp", Self.root])
        #expect(
            try search.find(
                after: Self.challenge(
                    #"resource_metadata="https://mcp.example.com/custom.json""#, status: 403)
            ).isNamedByChallenge)
    }

    private static let foreign = [
        "https://evil.test/.well-known/oauth-protected-resource", "https://mcp.example.com.evil.test/x",
        "https://mcp.example.com@evil.test/x", "https://mcp.example.com:8443/x", "http://mcp.example.com/x",
        "https://mcp.example.com./x", "https://xn--mcp-9ta.example.com/x", "https://example.com/x",
        "//mcp.example.com/x",
        "/.well-known/oauth-protected-resource", "", "javascript:alert(1)", "file:///etc/passwd",
        "https://u:secret@mcp.example.com/x", "https://mcp.example.com/x#y", "http://127.0.0.1/x",
        "https://mcp.example.com/\u{202e}x",
    ]

    @Test("metadata on another origin is untrusted, and nothing else is asked instead", arguments: foreign)
    func foreignMetadata(_ named: String) throws {
        let places = Places(["\(Self.root)/mcp": Self.resource(), named: Self.resource()])
        let search = try places.search(Self.url)
        let error = Fixture.error {
            try search.find(after: Self.challenge("resource_metadata=\"\(named)\""))
        }
        #expect(error?.kind == .untrusted && error?.member == "resource_metadata")
        #expect(error?.message.contains("secret") == false)
        #expect(places.asked.isEmpty)
        if let url = WebURL(named) { #expect(Fixture.error { try search.find(at: url) }?.kind == .untrusted) }
    }

    @Test("a document that the challenge names for another resource ends the search")
    func mismatch() throws {
        let named = "https://mcp.example.com/custom.json"
        let places = Places([
            named: Self.resource("https://evil.test/mcp"), "\(Self.root)/mcp": Self.resource(),
        ])
        let search = try places.search(Self.url)
        let error = Fixture.error { try search.find(after: Self.challenge("resource_metadata=\"\(named)\"")) }
        #expect(error?.kind == .untrusted && error?.member == "resource")
        #expect(places.asked == [named])
    }

    private static let unusable: [HTTPResponse] = [
        HTTPResponse(status: 404), HTTPResponse(status: 401), HTTPResponse(status: 302), Fixture.html(),
        Fixture.json("[]"), Fixture.json("{"), HTTPResponse(status: 200), HTTPResponse(status: 405),
    ]

    @Test("an answer that cannot be used moves on to the next place", arguments: unusable)
    func goesOn(_ answer: HTTPResponse) throws {
        let named = "https://mcp.example.com/custom.json"
        let places = Places([named: answer, "\(Self.root)/mcp": answer, Self.root: Self.resource()])
        let found = try places.search(Self.url).find(after: Self.challenge("resource_metadata=\"\(named)\""))
        #expect(found.metadataURL.text == Self.root && !found.isNamedByChallenge)
    }

    @Test("if nothing holds, the first refusal is reported")
    func report() throws {
        let places = Places([Self.root: Fixture.html()])
        let search = try places.search(Self.url)
        #expect(Fixture.error { try search.find() }?.message.contains("an HTML page with status 200") == true)
        places["\(Self.root)/mcp"] = .success(HTTPResponse(status: 403))
        #expect(Fixture.error { try search.find() }?.message.contains("status 403") == true)
        let named = "https://mcp.example.com/custom.json"
        places[named] = .success(HTTPResponse(status: 410))
        let challenge = Self.challenge("resource_metadata=\"\(named)\"")
        let gone = Fixture.error { try search.find(after: challenge) }
        #expect(gone?.kind == .refused && gone?.message.contains("/custom.json") == true && gone?.hint != nil)
        let nothing = Fixture.error { try Places().search(Self.url).find() }
        #expect(
            nothing?.message.contains("does not say who protects it") == true && nothing?.kind == .refused)
    }

    @Test("an unreachable resource is reported at once", arguments: [429, 500, 503])
    func unreachable(_ status: Int) throws {
        let places = Places(["\(Self.root)/mcp": HTTPResponse(status: status), Self.root: Self.resource()])
        #expect(Fixture.error { try places.search(Self.url).find() }?.kind == .unreachable)
        #expect(places.asked == ["\(Self.root)/mcp"])
        places["\(Self.root)/mcp"] = .failure(OIDCError(.unreachable, "no route", stage: .discovery))
        #expect(Fixture.error { try places.search(Self.url).find() }?.kind == .unreachable)
    }

    @Test("documents come from the cache, unless they are to be fetched again")
    func cache() throws {
        let places = Places(
            [
                "\(Self.root)/mcp": Self.resource(),
                "\(Self.server)/.well-known/oauth-authorization-server": Self.metadata(),
            ],
            isCaching: true)
        let search = try places.search(Self.url)
        let found = try search.find()
        _ = try search.authorizationServer(of: found.metadata)
        #expect(places.asked.count == 2)
        _ = try search.authorizationServer(of: try search.find().metadata)
        _ = try search.find(at: found.metadataURL)
        #expect(places.asked.isEmpty)
        places["\(Self.root)/mcp"] = .success(Self.resource(servers: ["https://new.example"]))
        let changed = try search.find(refetching: true)
        #expect(changed.metadata.authorizationServers == ["https://new.example"])
        #expect(places.asked == ["\(Self.root)/mcp"])
        #expect(try search.find().metadata == changed.metadata)
        _ = try? search.authorizationServer(of: found.metadata, refetching: true)
        #expect(places.asked == ["\(Self.server)/.well-known/oauth-authorization-server"])
        // A cached document is judged for the URL that is asked now.
        #expect(Fixture.error { try places.search("https://mcp.example.com/other").find() } != nil)
    }

    @Test(
        "a document that is not the resource's own holds for the URL that was asked, unless the resource says the same"
    )
    func prefix() throws {
        let named = "https://mcp.example.com/evil/metadata.json"
        let origin = "https://mcp.example.com/"
        let places = Places([named: Self.resource(origin)])
        let search = try places.search("https://mcp.example.com/evil?x=1")
        let challenge = Self.challenge("resource_metadata=\"\(named)\"")
        #expect(try search.find(after: challenge).prefix?.text == "https://mcp.example.com/evil")
        #expect(places.asked.prefix(2) == [named, Self.root])
        for other in [
            Self.resource(origin, servers: ["https://other.example"]), Self.resource(origin, servers: []),
            Self.resource("https://mcp.example.com"), HTTPResponse(status: 500), Fixture.html(),
        ] {
            places[Self.root] = .success(other)
            #expect(try search.find(after: challenge).prefix?.text == "https://mcp.example.com/evil")
        }
        places[Self.root] = .failure(OIDCError(.unreachable, "no route", stage: .discovery))
        #expect(try search.find(at: Fixture.url(named)).prefix != nil)
        places[Self.root] = .failure(OIDCError(.interrupted, "x", stage: .discovery))
        #expect(Fixture.error { try search.find(after: challenge) }?.kind == .interrupted)
        places[Self.root] = .success(Self.resource(origin))
        #expect(try search.find(after: challenge).prefix == nil)
        // At its own place, or for exactly the URL that was asked, it needs no second word.
        _ = places.asked
        #expect(try search.find().prefix == nil && places.asked.suffix(1) == [Self.root])
        places[named] = .success(Self.resource("https://mcp.example.com/evil/"))
        #expect(
            try places.search("https://mcp.example.com/evil").find(after: challenge).prefix == nil
                && places.asked == [named])
    }

    @Test("the probe has no token, and an answer that the transport refuses counts as none")
    func probe() throws {
        let places = Places([Self.url: Self.challenge(#"scope="s""#)])
        let search = try places.search(Self.url)
        #expect(try search.probe()?.status == 401)
        places[Self.url] = .failure(OIDCError(.refused, "redirects to another origin", stage: .resource))
        #expect(try search.probe() == nil)
        for kind: OIDCError.Kind in [.unreachable, .untrusted, .interrupted, .failed] {
            places[Self.url] = .failure(OIDCError(kind, "x", stage: .resource))
            #expect(Fixture.error { try search.probe() }?.kind == kind)
        }
    }

    @Test("plain http is for loopback")
    func plainHTTP() throws {
        #expect(Fixture.error { try Places().search("http://mcp.example.com/mcp") }?.kind == .usage)
        for url in ["http://localhost:3000/mcp", "http://127.0.0.1/mcp", "http://[::1]:1/mcp"] {
            #expect(try Places().search(url).url.text == url)
        }
    }

    // MARK: its authorization server

    private func server(
        _ places: Places, servers: [String] = [server], issuer: String? = nil, forSignIn: Bool = true,
        url: String = url
    ) throws -> ProviderMetadata {
        places[url + "/metadata"] = .success(Self.resource(url, servers: servers))
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
        for answer in Self.unusable + [Self.metadata(), Self.metadata(issuer, more: "")] {
            let places = Places([
                "https://as.example/.well-known/oauth-authorization-server/t": answer,
                "https://as.example/.well-known/openid-configuration/t": answer, third: Self.metadata(issuer),
            ])
            #expect(try server(places, servers: [issuer]).issuer == issuer)
            #expect(places.asked.last == third)
        }
    }

    @Test(
        "an issuer is used only if its metadata names exactly it",
        arguments: [
            ("https://as.example", "https://as.example/"), ("https://as.example/", "https://as.example"),
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
        let answer = Self.metadata(found, at: "https://as.example")
        let places = Places(Dictionary(uniqueKeysWithValues: urls.map { ($0, answer) }))
        let error = Fixture.error { try server(places, servers: [asked]) }
        #expect(error?.kind == .untrusted && error?.member == "issuer")
    }

    @Test("S256 must be listed for a sign-in, and need not be for other grants")
    func codeChallenge() throws {
        let place = "\(Self.server)/.well-known/oauth-authorization-server"
        for more in [
            "", #","code_challenge_methods_supported":[]"#, #","code_challenge_methods_supported":["plain"]"#,
        ] {
            let places = Places([place: Self.metadata(more: more)])
            let error = Fixture.error { try server(places) }
            #expect(error?.kind == .refused && error?.member == "code_challenge_methods_supported")
            #expect(try server(places, forSignIn: false).issuer == Self.server)
        }
    }

    private static let endpoints = [
        "http://as.example/token", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x",
        "https://as.example/token#x", "as.example/token", "http://127.0.0.1:9/token",
        "https://127.0.0.1/token",
        "https://localhost/token", "https://[::1]/token", "https://2130706433/token",
        "https://x.localhost/token",
    ]

    @Test("what no setting can help with is reported as a fault of theirs")
    func faults() throws {
        func hint(_ answer: HTTPResponse) throws -> String? {
            let places = Places(["\(Self.server)/.well-known/oauth-authorization-server": answer])
            return Fixture.error { try server(places) }?.hint.map { "\($0)" }
        }
        #expect(try hint(Self.metadata(Self.server + "/"))?.contains("names another issuer") == true)
        for answer in [Self.metadata(more: ""), HTTPResponse(status: 404), Fixture.html()] {
            #expect(try hint(answer)?.contains("fault of the resource") == true)
        }
        let scripted = Fixture.json(
            #"{"issuer":"https://as.example","authorization_endpoint":"javascript:alert(1)"}"#)
        #expect(try hint(scripted)?.contains("fault of the resource") == true)
        let page = Places(["\(Self.root)/mcp": Fixture.json("[]")])
        let other = Fixture.error { try page.search(Self.url).find() }?.hint.map { "\($0)" }
        #expect(other?.hasPrefix("check the URL") == true)
        page["\(Self.root)/mcp"] = .success(Fixture.json(#"{"authorization_servers":[]}"#))
        let missing = Fixture.error { try page.search(Self.url).find() }?.hint.map { "\($0)" }
        #expect(missing?.contains("fault of the resource") == true)
    }

    @Test("endpoints are https URLs that do not lead to this machine", arguments: endpoints)
    func badEndpoint(_ url: String) throws {
        let place = "\(Self.server)/.well-known/oauth-authorization-server"
        let s256 = #","code_challenge_methods_supported":["S256"]"#
        for member in [
            #""authorization_endpoint":"\#(url)""#, #""registration_endpoint":"\#(url)""#,
            #""jwks_uri":"\#(url)""#,
            #""mtls_endpoint_aliases":{"token_endpoint":"\#(url)"}"#,
        ] {
            let text =
                #"{"issuer":"\#(Self.server)","token_endpoint":"\#(Self.server)/token"\#(s256),\#(member)}"#
            let places = Places([place: Fixture.json(text)])
            let error = Fixture.error { try server(places) }
            #expect(error?.kind == .refused || error?.kind == .untrusted, "\(member)")
            #expect(error?.member != nil)
        }
    }

    @Test("on loopback, everything may be on loopback, by http")
    func loopback() throws {
        let issuer = "http://localhost:9000"
        let places = Places(["\(issuer)/.well-known/oauth-authorization-server": Self.metadata(issuer)])
        let found = try server(places, servers: [issuer], url: "http://localhost:3000/mcp")
        #expect(found.tokenEndpoint?.text == "\(issuer)/token")
    }

    private static let outages: [Result<HTTPResponse, OIDCError>] =
        [403, 429, 500, 503].map { .success(HTTPResponse(status: $0)) } + [
            .success(metadata("https://evil.test")),
            .failure(OIDCError(.unreachable, "no route", stage: .discovery)),
            .failure(OIDCError(.untrusted, "its certificate could not be verified", stage: .discovery)),
        ]

    @Test(
        "the first authorization server that works is taken, else the first failure reported",
        arguments: outages)
    func several(_ outage: Result<HTTPResponse, OIDCError>) throws {
        let servers = ["https://first.example", "https://second.example", "https://third.example"]
        func place(_ issuer: String) -> String { "\(issuer)/.well-known/oauth-authorization-server" }
        let places = Places([
            place(servers[1]): Self.metadata(servers[1]), place(servers[2]): Self.metadata(servers[2]),
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

    @Test("an interruption ends the search")
    func interrupted() throws {
        let places = Places([
            "https://b.example/.well-known/oauth-authorization-server": Self.metadata("https://b.example")
        ])
        places["https://a.example/.well-known/oauth-authorization-server"] = .failure(
            OIDCError(.interrupted, "SIGINT"))
        let error = Fixture.error { try server(places, servers: ["https://a.example", "https://b.example"]) }
        #expect(error?.kind == .interrupted)
    }

    @Test("an issuer that is named must be one of the resource's, and there must be one")
    func namedIssuer() throws {
        let place = "\(Self.server)/.well-known/oauth-authorization-server"
        let places = Places([place: Self.metadata()])
        for issuer in ["https://as.example/", "https://other.example"] {
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
