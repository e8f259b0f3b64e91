import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("a provider with many tenants: the ID token names its own, and the session keeps to it")
struct TenantTests {
    private static let other = "99999999-2222-3333-4444-555555555555"

    private func provider(_ change: (inout Tenancy) -> Void = { _ in }) throws -> InMemoryProvider {
        let provider = try InMemoryProvider()
        var tenancy = Tenancy()
        change(&tenancy)
        provider.play(tenancy)
        return provider
    }

    private func refused(_ signIn: () throws -> Session) throws -> OIDCError {
        let error = try #require(#expect(throws: OIDCError.self) { try signIn() })
        #expect(error.kind == .untrusted, "\(error.message)")
        return error
    }

    @Test("the configured issuer is an alias, or the template beside the URL of the metadata")
    func signIn() throws {
        let provider = try provider()
        let expected = Tenancy.issuer(of: try #require(Tenancy().tenant))
        let alias = try provider.signIn(at: Tenancy.common)
        #expect(alias.endpoints.issuer == expected && alias.key.provider == Tenancy.common)
        let template = try provider.signIn(at: Tenancy.template, metadataURL: Tenancy.metadataURL)
        #expect(template.endpoints.issuer == expected && template.key.provider == Tenancy.template)
    }

    @Test(
        "iss is the template with the token's own tid, which is one path segment",
        arguments: [
            (nil, nil, "tid: expected"), ("a/../b", nil, "tid: expected"), ("", nil, "tid: expected"),
            ("{tenantid}", nil, "tid: expected"), (other, Tenancy.issuer(of: "a"), "iss: expected"),
            (other, "https://evil.example/\(other)/v2.0", "iss: expected"),
            (other, Tenancy.template, "iss: expected"), (other, Tenancy.common, "iss: expected"),
        ] as [(String?, String?, String)])
    func issuer(_ tenant: String?, _ issuer: String?, _ message: String) throws {
        let provider = try provider {
            $0.tenant = tenant
            $0.issuer = issuer
        }
        let error = try refused { try provider.signIn(at: Tenancy.common) }
        #expect(error.message.contains("id_token: \(message)"), "\(error.message)")
        #expect(provider.with { $0.requestCount(.jwks) } == 0)
        #expect(provider.with { $0.requestCount(.revocation) } > 0)
    }

    @Test("any other provider may put anything into tid")
    func ordinary() throws {
        let provider = try provider {
            $0.metadataIssuer = Tenancy.common
            $0.tenant = Self.other
        }
        let error = try refused { try provider.signIn(at: Tenancy.common) }
        #expect(error.message.contains("iss: expected \"\(Tenancy.common)\""), "\(error.message)")
    }

    @Test(
        "a key that names another issuer verifies nothing; one that names this issuer, a template of it, or none does",
        arguments: [
            (nil, true), (Tenancy.template, true), (Tenancy.issuer(of: other), true),
            (Tenancy.issuer(of: "a"), false), ("https://evil.example/{tenantid}/v2.0", false),
            (Tenancy.common, false), ("\(InMemoryProvider.issuer)/{tenant}/v2.0", false),
            ("https://op.example/{tenant}", false), ("CN=some authority", false),
        ] as [(String?, Bool)])
    func keys(_ keyIssuer: String?, _ isUsed: Bool) throws {
        let provider = try provider {
            $0.tenant = Self.other
            $0.keyIssuer = keyIssuer
        }
        guard !isUsed else {
            #expect(throws: Never.self) { try provider.signIn(at: Tenancy.common) }
            return
        }
        let error = try refused { try provider.signIn(at: Tenancy.common) }
        #expect(error.cause == .signature && error.message.contains("issuer is"), "\(error.message)")
    }

    @Test("a session is of the tenant that signed in first: another is refused, and its tokens are revoked")
    func pinned() throws {
        let provider = try provider()
        let first = try provider.signIn(at: Tenancy.common)
        #expect(throws: Never.self) { try provider.signIn(at: Tenancy.common, after: first) }
        provider.play(Tenancy(tenant: Self.other))
        provider.with { $0.resetCounts() }
        let error = try refused { try provider.signIn(at: Tenancy.common, after: first) }
        #expect(error.hint == .advice(.keepTenantsApart))
        #expect(error.message.contains("as at the first sign-in"), "\(error.message)")
        #expect(provider.with { $0.requestCount(.revocation) } > 0)
        #expect(throws: Never.self) { try provider.signIn(at: Tenancy.common) }
    }

    @Test("a refresh keeps exactly the same tenant")
    func refreshed() throws {
        let provider = try provider()
        let session = try provider.signIn(at: Tenancy.common)
        let refresh = TokenRefresh(
            context: provider.environment,
            tokenEndpoint: TokenEndpoint(url: session.endpoints.token, client: Client(id: "demo")))
        let next = try refresh.refresh(session, for: .own).session
        #expect(next.endpoints.issuer == session.endpoints.issuer)
        provider.play(Tenancy(tenant: Self.other))
        let error = try #require(
            #expect(throws: OIDCError.self) { try refresh.refresh(next, for: .own) })
        #expect(error.kind == .untrusted && error.member == "iss", "\(error.message)")
    }

    @Test("the tenant of the redirect is the ID token's (RFC 9207)")
    func redirect() throws {
        let provider = try provider { $0.tenant = Self.other }
        #expect(throws: Never.self) {
            try provider.signIn(at: Tenancy.common, iss: Tenancy.issuer(of: Self.other))
        }
        #expect(throws: Never.self) { try provider.signIn(at: Tenancy.common, iss: Tenancy.template) }
        let error = try refused { try provider.signIn(at: Tenancy.common, iss: Tenancy.issuer(of: "a")) }
        #expect(error.message.contains("as in the redirect"), "\(error.message)")
    }
}
