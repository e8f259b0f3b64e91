import Testing

@testable import OIDCCore

@Suite("Who protects a URL")
struct ResourceSearchTests {
    @Test("metadata that cannot be used is fetched once, also if the challenge names a well-known place")
    func once() throws {
        let place = SearchedPlaces.root + "/mcp"
        let unusable = SearchedPlaces([place: Fixture.json("[]")])
        #expect(throws: OIDCError.self) {
            try unusable.search(SearchedPlaces.url).find(
                after: SearchedPlaces.challenge("resource_metadata=\"\(place)\""))
        }
        #expect(unusable.asked.filter { $0 == place }.count == 1)
    }

    @Test("the challenge's resource_metadata comes first, then the path inserted, then the root")
    func order() throws {
        let places = SearchedPlaces([
            "https://mcp.example.com/custom.json": SearchedPlaces.resource(
                more: #","scopes_supported":["c"]"#),
            "\(SearchedPlaces.root)/mcp": SearchedPlaces.resource(more: #","scopes_supported":["p"]"#),
            SearchedPlaces.root: SearchedPlaces.resource(
                "https://mcp.example.com", more: #","scopes_supported":["r"]"#),
        ])
        let search = try places.search(SearchedPlaces.url)
        let challenge = SearchedPlaces.challenge(
            #"resource_metadata="https://mcp.example.com/custom.json", scope="s""#)
        let named = try search.find(after: challenge)
        #expect(named.metadata.scopesSupported == Scope("c") && named.isNamedByChallenge)
        #expect(named.challenge.scope == Scope("s"))
        #expect(places.asked == ["https://mcp.example.com/custom.json"])
        for answer in [
            nil, SearchedPlaces.challenge("realm=x"), HTTPResponse(status: 401), HTTPResponse(status: 200),
            SearchedPlaces.challenge(
                #"resource_metadata="https://mcp.example.com/custom.json""#, status: 405),
        ] {
            let inserted = try search.find(after: answer)
            #expect(inserted.metadata.scopesSupported == Scope("p") && !inserted.isNamedByChallenge)
            #expect(inserted.metadataURL?.text == "\(SearchedPlaces.root)/mcp")
            #expect(places.asked == ["\(SearchedPlaces.root)/mcp"])
        }
        places["\(SearchedPlaces.root)/mcp"] = nil
        let last = try search.find()
        #expect(
            last.metadata.scopesSupported == Scope("r") && last.metadata.resource == "https://mcp.example.com"
        )
        #expect(places.asked == ["\(SearchedPlaces.root)/mcp", SearchedPlaces.root])
        #expect(
            try search.find(
                after: SearchedPlaces.challenge(
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
        let places = SearchedPlaces([
            "\(SearchedPlaces.root)/mcp": SearchedPlaces.resource(), named: SearchedPlaces.resource(),
        ])
        let search = try places.search(SearchedPlaces.url)
        let error = Fixture.error {
            try search.find(after: SearchedPlaces.challenge("resource_metadata=\"\(named)\""))
        }
        #expect(error?.kind == .untrusted && error?.member == "resource_metadata")
        #expect(error?.message.contains("secret") == false)
        #expect(places.asked.isEmpty)
        if let url = WebURL(named) { #expect(Fixture.error { try search.find(at: url) }?.kind == .untrusted) }
    }

    @Test("a document that the challenge names for another resource ends the search")
    func mismatch() throws {
        let named = "https://mcp.example.com/custom.json"
        let places = SearchedPlaces([
            named: SearchedPlaces.resource("https://evil.test/mcp"),
            "\(SearchedPlaces.root)/mcp": SearchedPlaces.resource(),
        ])
        let search = try places.search(SearchedPlaces.url)
        let error = Fixture.error {
            try search.find(after: SearchedPlaces.challenge("resource_metadata=\"\(named)\""))
        }
        #expect(error?.kind == .untrusted && error?.member == "resource")
        #expect(places.asked == [named])
    }

    @Test("an answer that cannot be used moves on to the next place", arguments: SearchedPlaces.unusable)
    func goesOn(_ answer: HTTPResponse) throws {
        let named = "https://mcp.example.com/custom.json"
        let places = SearchedPlaces([
            named: answer, "\(SearchedPlaces.root)/mcp": answer,
            SearchedPlaces.root: SearchedPlaces.resource(),
        ])
        let found = try places.search(SearchedPlaces.url).find(
            after: SearchedPlaces.challenge("resource_metadata=\"\(named)\""))
        #expect(found.metadataURL?.text == SearchedPlaces.root && !found.isNamedByChallenge)
    }

    @Test("if nothing holds, the first refusal is reported")
    func report() throws {
        let places = SearchedPlaces([SearchedPlaces.root: Fixture.html()])
        let search = try places.search(SearchedPlaces.url)
        #expect(Fixture.error { try search.find() }?.message.contains("an HTML page with status 200") == true)
        places["\(SearchedPlaces.root)/mcp"] = .success(HTTPResponse(status: 403))
        #expect(Fixture.error { try search.find() }?.message.contains("status 403") == true)
        let named = "https://mcp.example.com/custom.json"
        places[named] = .success(HTTPResponse(status: 410))
        let challenge = SearchedPlaces.challenge("resource_metadata=\"\(named)\"")
        let gone = Fixture.error { try search.find(after: challenge) }
        #expect(gone?.kind == .refused && gone?.message.contains("/custom.json") == true && gone?.hint != nil)
        let nothing = Fixture.error { try SearchedPlaces().search(SearchedPlaces.url).find() }
        #expect(
            nothing?.message.contains("does not say who protects it") == true && nothing?.kind == .refused)
    }

    @Test("an unreachable resource is reported at once", arguments: [429, 500, 503])
    func unreachable(_ status: Int) throws {
        let places = SearchedPlaces([
            "\(SearchedPlaces.root)/mcp": HTTPResponse(status: status),
            SearchedPlaces.root: SearchedPlaces.resource(),
        ])
        #expect(Fixture.error { try places.search(SearchedPlaces.url).find() }?.kind == .unreachable)
        #expect(places.asked == ["\(SearchedPlaces.root)/mcp"])
        places["\(SearchedPlaces.root)/mcp"] = .failure(
            OIDCError(.unreachable, "no route", stage: .discovery))
        #expect(Fixture.error { try places.search(SearchedPlaces.url).find() }?.kind == .unreachable)
    }

    @Test("documents come from the cache, unless they are to be fetched again")
    func cache() throws {
        let places = SearchedPlaces(
            [
                "\(SearchedPlaces.root)/mcp": SearchedPlaces.resource(),
                "\(SearchedPlaces.server)/.well-known/oauth-authorization-server": SearchedPlaces.metadata(),
            ],
            isCaching: true)
        let search = try places.search(SearchedPlaces.url)
        let found = try search.find()
        _ = try search.authorizationServer(of: found.metadata)
        #expect(places.asked.count == 2)
        _ = try search.authorizationServer(of: try search.find().metadata)
        _ = try search.find(at: #require(found.metadataURL))
        #expect(places.asked.isEmpty)
        places["\(SearchedPlaces.root)/mcp"] = .success(
            SearchedPlaces.resource(servers: ["https://new.example"]))
        let changed = try search.find(refetching: true)
        #expect(changed.metadata.authorizationServers == ["https://new.example"])
        #expect(places.asked == ["\(SearchedPlaces.root)/mcp"])
        #expect(try search.find().metadata == changed.metadata)
        _ = try? search.authorizationServer(of: found.metadata, refetching: true)
        #expect(places.asked == ["\(SearchedPlaces.server)/.well-known/oauth-authorization-server"])
        // A cached document is judged for the URL that is asked now.
        #expect(Fixture.error { try places.search("https://mcp.example.com/other").find() } != nil)
    }

    @Test(
        "a document that is not the resource's own holds for the URL that was asked, unless the resource says the same"
    )
    func prefix() throws {
        let named = "https://mcp.example.com/evil/metadata.json"
        let origin = "https://mcp.example.com/"
        let places = SearchedPlaces([named: SearchedPlaces.resource(origin)])
        let search = try places.search("https://mcp.example.com/evil?x=1")
        let challenge = SearchedPlaces.challenge("resource_metadata=\"\(named)\"")
        #expect(try search.find(after: challenge).prefix?.text == "https://mcp.example.com/evil")
        #expect(places.asked.prefix(2) == [named, SearchedPlaces.root])
        for other in [
            SearchedPlaces.resource(origin, servers: ["https://other.example"]),
            SearchedPlaces.resource(origin, servers: []),
            SearchedPlaces.resource("https://mcp.example.com"), HTTPResponse(status: 500), Fixture.html(),
        ] {
            places[SearchedPlaces.root] = .success(other)
            #expect(try search.find(after: challenge).prefix?.text == "https://mcp.example.com/evil")
        }
        places[SearchedPlaces.root] = .failure(OIDCError(.unreachable, "no route", stage: .discovery))
        #expect(try search.find(at: Fixture.url(named)).prefix != nil)
        places[SearchedPlaces.root] = .failure(OIDCError(.interrupted, "x", stage: .discovery))
        #expect(Fixture.error { try search.find(after: challenge) }?.kind == .interrupted)
        places[SearchedPlaces.root] = .success(SearchedPlaces.resource(origin))
        #expect(try search.find(after: challenge).prefix == nil)
        // At its own place, or for exactly the URL that was asked, it needs no second word.
        _ = places.asked
        #expect(try search.find().prefix == nil && places.asked.suffix(1) == [SearchedPlaces.root])
        places[named] = .success(SearchedPlaces.resource("https://mcp.example.com/evil/"))
        #expect(
            try places.search("https://mcp.example.com/evil").find(after: challenge).prefix == nil
                && places.asked == [named])
    }

    @Test("the probe has no token, and an answer that the transport refuses counts as none")
    func probe() throws {
        let places = SearchedPlaces([SearchedPlaces.url: SearchedPlaces.challenge(#"scope="s""#)])
        let search = try places.search(SearchedPlaces.url)
        #expect(try search.probe()?.status == 401)
        places[SearchedPlaces.url] = .failure(
            OIDCError(.refused, "redirects to another origin", stage: .resource))
        #expect(try search.probe() == nil)
        for kind: OIDCError.Kind in [.unreachable, .untrusted, .interrupted, .failed] {
            places[SearchedPlaces.url] = .failure(OIDCError(kind, "x", stage: .resource))
            #expect(Fixture.error { try search.probe() }?.kind == kind)
        }
    }

    @Test("plain http is for loopback")
    func plainHTTP() throws {
        #expect(Fixture.error { try SearchedPlaces().search("http://mcp.example.com/mcp") }?.kind == .usage)
        for url in ["http://localhost:3000/mcp", "http://127.0.0.1/mcp", "http://[::1]:1/mcp"] {
            #expect(try SearchedPlaces().search(url).url.text == url)
        }
    }
}
