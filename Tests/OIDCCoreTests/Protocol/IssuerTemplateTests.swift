import Testing

@testable import OIDCCore

@Suite("issuer templates: one path segment is {tenantid}")
struct IssuerTemplateTests {
    private static let text = "https://login.example/{tenantid}/v2.0"

    @Test(
        "the placeholder is one whole path segment, and the rest is an issuer",
        arguments: [
            (text, true), ("https://login.example/{tenantid}", true),
            ("http://127.0.0.1:1/a/{tenantid}/b", true),
            ("https://{tenantid}.login.example/v2.0", false), ("https://{tenantid}/v2.0", false),
            ("https://login.example/x{tenantid}/v2.0", false), ("https://login.example/{tenantid}x", false),
            ("https://login.example/{tenantid}/{tenantid}", false), ("https://login.example/{tenant}", false),
            ("https://login.example/?{tenantid}", false), ("https://login.example/a?b=/{tenantid}", false),
            ("https://login.example/{tenantid}/a?b", false), ("https://login.example/{tenantid}/#a", false),
            ("https://a:b@login.example/{tenantid}", false), ("{tenantid}", false), ("/{tenantid}", false),
            ("https://login.example/", false), ("ftp://login.example/{tenantid}", false),
        ])
    func form(_ text: String, _ isTemplate: Bool) {
        #expect((IssuerTemplate(text) != nil) == isTemplate)
    }

    @Test("a tenant is letters, digits and hyphens: it never reaches into another segment")
    func tenants() throws {
        let template = try #require(IssuerTemplate(Self.text))
        #expect(template.issuer(of: "a-1B") == "https://login.example/a-1B/v2.0")
        for tenant in [
            "", "a/b", "..", ".", "a.b", "a%2Fb", "a?b", "a#b", "a b", "é", "{tenantid}", "a\u{0}",
            String(repeating: "a", count: 65),
        ] {
            #expect(template.issuer(of: tenant) == nil, "\(tenant)")
        }
        for (issuer, tenant) in [
            ("https://login.example/a/v2.0", "a"), ("https://login.example/a/v1.0", nil),
            ("https://login.example/a/b/v2.0", nil), ("https://login.example//v2.0", nil),
            ("https://login.example/v2.0", nil), ("https://login.example.evil/a/v2.0", nil),
            (Self.text, nil), ("", nil), ("https://login.example/a/v2.0/", nil),
        ] {
            #expect(template.tenant(of: issuer) == tenant, "\(issuer)")
        }
    }

    @Test("a template matches an issuer with a word for {tenantid}, and never one with a tenant's UUID")
    func alias() throws {
        let template = try #require(IssuerTemplate(Self.text))
        for (configured, mayStand) in [
            ("https://login.example/common/v2.0", true), ("https://login.example/organizations/v2.0", true),
            ("https://login.example/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0", false),
            ("https://login.example/9188040D-6C67-4C5B-B112-36A304B66DAD/v2.0", false),
            ("https://other.example/common/v2.0", false), ("https://login.example:444/common/v2.0", false),
            ("http://login.example/common/v2.0", false), ("https://login.example/common/v1.0", false),
            ("https://login.example/contoso.example/v2.0", false),
        ] {
            #expect(template.mayStand(for: configured) == mayStand, "\(configured)")
        }
    }

    @Test("a template's origin is known, and no request goes to it")
    func url() {
        #expect(WebURL.ofIssuer(Self.text)?.origin == "https://login.example")
        #expect(WebURL.ofIssuer("https://login.example")?.text == "https://login.example")
        #expect(WebURL.ofIssuer("https://login.example/{x}") == nil)
        let error = Fixture.error { try ProviderMetadata.wellKnownURLs(issuer: Self.text) }
        #expect(error?.kind == .usage && error?.hint == .advice(.setMetadataURL))
        #expect(throws: Never.self) { try ProviderMetadata.checkedIssuer(Self.text) }
        #expect(SessionKey(provider: Self.text, clientID: "c").fileStem.hasPrefix("login.example-c-"))
    }

    @Test(
        "metadata name the configured issuer, or a template that may stand for it; what else differs is refused",
        arguments: [
            ("https://login.example/common/v2.0", text, nil), (text, text, nil),
            (
                "https://login.example/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0", text,
                "name the tenant in the issuer: the one that was found is a template"
            ),
            (
                "https://login.example/consumers/v2.0",
                "https://login.example/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
                .useIssuer("https://login.example/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0")
            ), (text, "https://login.example/a/v2.0", .useIssuer("https://login.example/a/v2.0")),
            (
                "https://login.example/common/v2.0", "https://login.example/a/v2.0",
                .advice(.checkIssuerSpelling)
            ),
            (
                "https://login.example/common/v2.0", "https://evil.example/a/v2.0",
                .advice(.checkIssuerSpelling)
            ),
            (
                text, "https://evil.example/{tenantid}/v2.0",
                "name the tenant in the issuer: the one that was found is a template"
            ),
            (
                "https://other.example/common/v2.0", text,
                "name the tenant in the issuer: the one that was found is a template"
            ),
        ] as [(String, String, Hint?)])
    func metadata(_ configured: String, _ found: String, _ hint: Hint?) throws {
        let document = try Fixture.document(["issuer": .string(found)])
        let error = Fixture.error {
            let metadata = try ProviderMetadata(document: document, expectedIssuer: configured)
            #expect(metadata.issuer == found)
        }
        #expect(error?.hint == hint)
        #expect(error?.kind == hint.map { _ in .untrusted })
    }

    @Test("a redirect's iss is the template with any tenant in it, or the template (RFC 9207)")
    func redirects() throws {
        var metadata = try Fixture.metadata()
        metadata.issuer = Self.text
        let pending = try Fixture.request().begin(metadata, random: Fixture.random())
        func accept(_ iss: String) throws(OIDCError) -> AuthorizationCode? {
            try pending.accept([
                FormEncoding.Pair("code", "abc"), FormEncoding.Pair("state", pending.state.revealed),
                FormEncoding.Pair("iss", iss),
            ])
        }
        #expect(try accept("https://login.example/a/v2.0")?.issuer == "https://login.example/a/v2.0")
        #expect(throws: Never.self) { try accept(Self.text) }
        for iss in ["https://evil.example/a/v2.0", "https://login.example/a/b/v2.0", "https://login.example"]
        {
            #expect(Fixture.error { try accept(iss) }?.kind == .untrusted, "\(iss)")
        }
    }
}
