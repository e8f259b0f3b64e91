import Testing

@testable import OIDCCore

@Suite("Protected resource metadata (RFC 9728)")
struct ProtectedResourceTests {
    private static let url = "https://mcp.example.com/mcp"

    private func metadata(
        _ text: String, for url: String = url, allowsInsecureHTTP: Bool = false
    ) throws -> ProtectedResourceMetadata {
        try ProtectedResourceMetadata(
            document: Fixture.object(text), for: Fixture.url(url), allowsInsecureHTTP: allowsInsecureHTTP)
    }

    @Test("the members that we use are read, and others are ignored")
    func reads() throws {
        let found = try metadata(
            #"{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://as.example","#
                + #""https://as.example/t/","https://as.example"],"scopes_supported":["a","b c","a"],"#
                + #""bearer_methods_supported":["header"],"dpop_bound_access_tokens_required":true,"#
                + #""dpop_signing_alg_values_supported":["ES256"],"resource_name":7,"jwks_uri":[]}"#)
        #expect(found.resource == Self.url)
        #expect(found.authorizationServers == ["https://as.example", "https://as.example/t/"])
        #expect(found.scopesSupported?.tokens == ["a", "b", "c"])
        #expect(found.bearerMethodsSupported == ["header"])
        #expect(found.requiresDPoP)
        #expect(found.dpopSigningAlgorithms == ["ES256"])
        let least = try metadata(#"{"resource":"https://mcp.example.com/mcp"}"#)
        #expect(least.authorizationServers.isEmpty && least.scopesSupported == nil && !least.requiresDPoP)
    }

    @Test(
        "a member of a wrong type is refused",
        arguments: [
            #""authorization_servers":"https://as.example""#, #""authorization_servers":[7]"#,
            #""scopes_supported":"a b""#, #""scopes_supported":[{}]"#, #""bearer_methods_supported":true"#,
            #""dpop_bound_access_tokens_required":"yes""#, #""dpop_signing_alg_values_supported":{}"#,
        ])
    func wrongType(_ member: String) throws {
        let error = Fixture.error { try metadata(#"{"resource":"\#(Self.url)",\#(member)}"#) }
        #expect(error?.kind == .refused && error?.stage == .discovery && error?.member != nil)
    }

    private static let covered: [(String, String)] = [
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp?x=1"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/a/b"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/"),
        ("https://mcp.example.com/mcp/", "https://mcp.example.com/mcp"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/group%2Fproject"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/file%2etxt"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/..."),
        ("https://mcp.example.com", "https://mcp.example.com/anything"),
        ("https://mcp.example.com/", "https://mcp.example.com"),
        ("https://mcp.example.com", "https://MCP.example.com:443/mcp"),
        ("https://mcp.example.com/mcp?t=1", "https://mcp.example.com/mcp?t=1"),
        ("http://localhost:3000/mcp", "http://localhost:3000/mcp"),
    ]

    @Test("a resource covers its own origin at and below its path", arguments: covered)
    func covers(_ resource: String, _ url: String) throws {
        #expect(try metadata(#"{"resource":"\#(resource)"}"#, for: url).resource == resource)
    }

    private static let uncovered: [(String, String)] = [
        // Origins that look alike
        ("https://mcp.example.com.evil.test/mcp", url), ("https://evil.test/mcp", url),
        ("https://mcp.example.com@evil.test/mcp", url), ("https://mcp.example.com:8443/mcp", url),
        ("http://mcp.example.com/mcp", url), ("https://mcp.example.com./mcp", url),
        ("https://xn--mcp-example-com.test/mcp", url), ("https://mcp.exam\u{0440}le.com/mcp", url),
        ("https://mcp-example.com/mcp", url), ("https://example.com/mcp", url),
        ("https://*.example.com/mcp", url), ("http://localhost:3000/mcp", "http://127.0.0.1:3000/mcp"),
        ("http://[::1]:3000/mcp", "http://localhost:3000/mcp"),
        // Other paths
        ("https://mcp.example.com/mcp2", url), ("https://mcp.example.com/mc", url),
        ("https://mcp.example.com/MCP", url), ("https://mcp.example.com/mcp/a", url),
        ("https://mcp.example.com/%6dcp", url), ("https://mcp.example.com//mcp", url),
        ("https://mcp.example.com/mcp#a", url), ("https://mcp.example.com/mcp?t=1", url),
        ("https://mcp.example.com/mcp?t=1", url + "?t=2"),
        ("https://mcp.example.com/mcp?t=1", url + "/a?t=1"),
        ("https://mcp.example.com/a/../mcp", url), ("https://mcp.example.com/./mcp", url),
        // URLs that a server could read as another path
        (url, url + "/../admin"), (url, url + "/%2e%2e/admin"), (url, url + "/%2E./admin"),
        (url, url + "/..%2fadmin"), (url, url + "/..%5cadmin"), (url, url + "/%252e%252e/admin"),
        (url, url + "/%25%32%65%25%32%65/admin"), (url, url + "/%%32%65%%32%65/admin"),
        (url, url + "/..%25%32%66admin"), (url, url + "/%2525252525252e./admin"),
        (url, url + "/%25252e%25252e%25252fadmin"), (url, url + "/..;x=y/admin"), (url, url + "/."),
        (url, url + "%2f..%2fadmin"), ("https://mcp.example.com", "https://mcp.example.com/a/../b"),
        // Not URLs
        ("", url), ("/mcp", url), ("urn:example:mcp", url), ("javascript:alert(1)", url),
        ("file:///mcp", url), ("mcp.example.com/mcp", url), ("https://", url),
        ("https://u:p@mcp.example.com/mcp", url),
    ]

    @Test("anything else is untrusted, and both are named", arguments: uncovered)
    func doesNotCover(_ resource: String, _ url: String) throws {
        let text = JSONValue.object(JSONObject([("resource", .string(resource))])).compact
        let error = Fixture.error { try metadata(text, for: url) }
        #expect(error?.kind == .untrusted && error?.stage == .discovery && error?.member == "resource")
        #expect(error?.message.contains(":p@") == false)
    }

    @Test("without a resource nothing is trusted")
    func noResource() throws {
        for text in ["{}", #"{"resource":null}"#, #"{"authorization_servers":["https://as.example"]}"#] {
            #expect(
                Fixture.error { try metadata(text) }?.message
                    == "discovery: resource: expected a prefix of https://mcp.example.com/mcp, found none")
        }
        #expect(Fixture.error { try metadata(#"{"resource":7}"#) }?.kind == .refused)
    }

    private static let badServers = [
        "", "as.example", "http://as.example", "https://as.example?x", "https://as.example#x",
        "javascript:alert(1)",
        "file:///etc/passwd", "ftp://as.example", "https://u:p@as.example", "https://as.example/\\n",
        "https://as.example/{tenantid}", "https://as.ex\u{0430}mple",
    ]

    @Test("an authorization server is an https URL, or http on loopback", arguments: badServers)
    func badServer(_ issuer: String) throws {
        let document = JSONValue.object(
            JSONObject([
                ("resource", .string(Self.url)), ("authorization_servers", .array([.string(issuer)])),
            ]))
        let error = Fixture.error { try metadata(document.compact) }
        #expect(error?.kind == .refused && error?.member == "authorization_servers")
    }

    @Test("an authorization server that cannot be used is passed over for the next one")
    func badServerBesideGood() throws {
        let document =
            #"{"resource":"\#(Self.url)","authorization_servers":["javascript:alert(1)","https://as.example","#
            + #""http://as.example"]}"#
        #expect(try metadata(document).authorizationServers == ["https://as.example"])
    }

    private static let local = [
        "http://127.0.0.1:9000", "https://127.0.0.1", "http://localhost", "https://localhost:8443/a",
        "https://app.localhost", "https://127.9.9.9", "https://[::1]", "https://[::ffff:127.0.0.1]",
        "https://0x7f.1",
        "https://2130706433", "https://0.0.0.0", "https://localhost.",
    ]

    @Test("a resource elsewhere must not lead to a server on this machine", arguments: local)
    func localServer(_ issuer: String) throws {
        let text = #"{"resource":"\#(Self.url)","authorization_servers":["https://as.example","\#(issuer)"]}"#
        let error = Fixture.error { try metadata(text) }
        #expect(error?.kind == .untrusted && error?.member == "authorization_servers")
        #expect(Fixture.error { try metadata(text, allowsInsecureHTTP: true) }?.kind == .untrusted)
        let resource = "http://localhost:3000/mcp"
        let here = #"{"resource":"\#(resource)","authorization_servers":["\#(issuer)"]}"#
        #expect(try metadata(here, for: resource).authorizationServers == [issuer])
    }

    private static let privateAddresses = [
        "https://10.0.0.5", "https://172.16.0.1", "https://172.31.255.255:8443/a", "https://192.168.1.1",
        "https://169.254.169.254", "https://100.64.0.1", "https://0xa.1", "https://167772165",
        "https://[fd00::1]", "https://[fe80::1]", "https://[::ffff:10.0.0.5]", "https://[64:ff9b::c0a8:101]",
        "https://10.0.0.5.", "https://[::ffff:0:10.0.0.5]", "https://[2002:c0a8:101::1]",
        "https://[2001:0:1:2::f5ff:fffa]", "https://[64:ff9b:1::1]", "https://[fec0::1]",
        "https://198.18.0.1",
        "https://192.0.0.1",
    ]

    @Test(
        "a resource elsewhere must not lead to a private address, in any spelling; a resource there may",
        arguments: privateAddresses)
    func privateServer(_ issuer: String) throws {
        let text = #"{"resource":"\#(Self.url)","authorization_servers":["https://as.example","\#(issuer)"]}"#
        let error = Fixture.error { try metadata(text) }
        #expect(error?.kind == .untrusted && error?.member == "authorization_servers")
        for resource in ["https://192.168.7.7/mcp", "http://localhost:3000/mcp"] {
            let here = #"{"resource":"\#(resource)","authorization_servers":["\#(issuer)"]}"#
            #expect(try metadata(here, for: resource).authorizationServers == [issuer])
        }
    }

    @Test(
        "names, which may resolve to private addresses behind a VPN, and public addresses are accepted",
        arguments: [
            "https://10.example", "https://192.168.1.1.example", "https://172.32.0.1", "https://100.128.0.1",
            "https://[2001:db8::1]", "https://11.0.0.1", "https://[2002:808:808::1]", "https://198.20.0.1",
            "https://192.0.1.1", "https://login.corp.internal",
        ])
    func publicServer(_ issuer: String) throws {
        let text = #"{"resource":"\#(Self.url)","authorization_servers":["\#(issuer)"]}"#
        #expect(try metadata(text).authorizationServers == [issuer])
    }

    @Test("a document names a bounded number of servers")
    func manyServers() throws {
        func text(_ count: Int) -> String {
            let servers = (0..<count).map { #""https://as\#($0).example""# }.joined(separator: ",")
            return #"{"resource":"\#(Self.url)","authorization_servers":[\#(servers)]}"#
        }
        #expect(try metadata(text(16)).authorizationServers.count == 16)
        #expect(Fixture.error { try metadata(text(17)) }?.member == "authorization_servers")
    }

    private static let places: [(String, [String])] = [
        (
            "https://mcp.example.com/mcp",
            ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
        ),
        (
            "https://mcp.example.com/a/b/",
            [
                "/.well-known/oauth-protected-resource/a/b/", "/.well-known/oauth-protected-resource/a/b",
                "/.well-known/oauth-protected-resource",
            ]
        ),
        ("https://mcp.example.com/", ["/.well-known/oauth-protected-resource"]),
        ("https://mcp.example.com", ["/.well-known/oauth-protected-resource"]),
        (
            "https://mcp.example.com/mcp?k=v#f",
            [
                "/.well-known/oauth-protected-resource/mcp?k=v", "/.well-known/oauth-protected-resource/mcp",
                "/.well-known/oauth-protected-resource",
            ]
        ),
    ]

    @Test("the well-known URLs have the path inserted, then not; each is there once", arguments: places)
    func wellKnown(_ url: String, _ expected: [String]) throws {
        let urls = ProtectedResourceMetadata.wellKnownURLs(for: try Fixture.url(url))
        #expect(urls.map(\.text) == expected.map { "https://mcp.example.com\($0)" })
    }
}
