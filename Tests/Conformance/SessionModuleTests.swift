import CurlHTTP
import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("client conformance: after the sign-in", .serialized, .waiting)
struct SessionModuleTests {
    private func signedIn(
        scope: String? = nil, _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> (ProviderServer, Program) {
        let provider = try Module.server([], change)
        let program = try Program(provider)
        let outcome = try program.signIn(at: provider, scope.map { ["--scope", $0] } ?? [])
        try #require(outcome.status == 0, "\(outcome.errorOutput)")
        return (provider, program)
    }

    @Test(
        "oidcc-client-test-aggregated-claims, oidcc-client-test-distributed-claims: shown as they came, not fetched"
    )
    func otherIssuersClaims() throws {
        let (provider, program) = try signedIn()
        defer { program.remove() }
        let body = """
            {"sub":"alice","_claim_names":{"age":"src1","score":"src2"},"_claim_sources":{"src1":{"JWT":"e30.e30.x"},\
            "src2":{"endpoint":"\(provider.origin)/claims","access_token":"ksj3n283dke"}}}
            """
        let sent = RequestLog()
        provider.intercept { request in
            sent.note(request)
            guard request.url.path == "/userinfo" else { return nil }
            let headers = HTTPHeaders([("Content-Type", "application/json")])
            return HTTPResponse(status: 200, headers: headers, body: Array(body.utf8))
        }
        let outcome = try program.run("userinfo", "-o", "json")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(try JSONValue(parsing: outcome.output) == JSONValue(parsing: body))
        #expect(sent.all.count == 1)
    }

    @Test(
        "oidcc-client-test-aggregated-claims, oidcc-client-test-distributed-claims: with --distributed, verified and fetched"
    )
    func distributedClaims() throws {
        let (provider, program) = try signedIn(scope: "openid address phone")
        defer { program.remove() }
        let plain = try JSONValue(parsing: program.run("userinfo").output)
        #expect(plain["address"] == nil && plain["_claim_names"]?["address"] == "registry", "\(plain)")
        let named = try program.run("userinfo", "--claim", "phone_number")
        #expect(named.status == 4 && named.output.isEmpty, "\(named)")
        #expect(named.errorOutput.contains("oidc userinfo --distributed --claim phone_number"), "\(named)")
        #expect(provider.requestCount(.claims) == 0)
        let outcome = try program.run("userinfo", "--distributed")
        #expect(outcome.status == 0 && outcome.errorOutput.isEmpty, "\(outcome)")
        let claims = try JSONValue(parsing: outcome.output)
        #expect(claims["sub"] == "alice" && claims["phone_number"] == "+1 555 0100", "\(outcome)")
        #expect(claims["address"]?["country"] == "Exampleland", "\(outcome)")
        #expect(claims["_claim_sources"]?["carrier"] == ["iss": .string(provider.origin)], "\(outcome)")
        let one = try program.run("userinfo", "--distributed", "--claim", "phone_number")
        #expect(one.status == 0 && one.output == "+1 555 0100\n", "\(one)")
        let sources = try program.run("userinfo", "--distributed", "--claim", "_claim_names")
        #expect(sources.status == 0, "\(sources)")
        #expect(
            try JSONValue(parsing: sources.output) == ["address": "registry", "phone_number": "carrier"])
        let absent = try program.run("userinfo", "--distributed", "--claim", "shoe_size")
        #expect(absent.status == 4 && absent.errorOutput.contains("it sent: sub"), "\(absent)")
        #expect(!absent.errorOutput.contains("address"), "\(absent)")
        let source = try #require(plain["_claim_sources"]?["carrier"]?["access_token"]?.string)
        let own = provider.with { $0.requests(to: .userinfo).compactMap { $0.headers["Authorization"] } }
        let presented = provider.with { $0.requests(to: .claims).compactMap { $0.headers["Authorization"] } }
        #expect(presented.count == 3 && !source.isEmpty && presented.allSatisfy { !own.contains($0) })
    }

    @Test(
        "oidcc-client-test-aggregated-claims, oidcc-client-test-distributed-claims: what cannot be verified is left out",
        arguments: [
            ("e30.e30.x", 7, "signature"),
            (
                "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2JhbmsuZXhhbXBsZSIsInBob25lX251bWJlciI6IjEifQ.", 7,
                "alg"
            ),
            (nil, 4, "401"),
        ] as [(String?, Int32, String)])
    func unverifiedSources(token: String?, code: Int32, word: String) throws {
        let (provider, program) = try signedIn(scope: "openid address phone")
        defer { program.remove() }
        provider.intercept { request in
            guard request.url.path == "/claims" else { return nil }
            guard let token else { return HTTPResponse(status: 401) }
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/jwt")]),
                body: Array(token.utf8))
        }
        let outcome = try program.run("userinfo", "--distributed")
        #expect(outcome.status == 0, "\(outcome)")
        let claims = try JSONValue(parsing: outcome.output)
        #expect(claims["phone_number"] == nil && claims["address"] != nil, "\(outcome)")
        #expect(claims["_claim_names"] == ["address": "registry"], "\(outcome)")
        #expect(outcome.errorOutput.hasPrefix("warning: phone_number left out: claims: "), "\(outcome)")
        #expect(outcome.errorOutput.contains(word), "\(outcome)")
        let one = try program.run("userinfo", "--distributed", "--claim", "phone_number")
        one.expectRefusal(code, word)
        let other = try program.run("userinfo", "--distributed", "--claim", "sub")
        #expect(other.status == 0 && other.output == "alice\n" && other.errorOutput.isEmpty, "\(other)")
    }

    @Test(
        "oidcc-client-test-scope-userinfo-claims, oidcc-client-test-userinfo-bearer-header, and never oidcc-client-test-userinfo-bearer-body"
    )
    func userInfo() throws {
        let (provider, program) = try signedIn()
        defer { program.remove() }
        let outcome = try program.run("userinfo")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let claims = try JSONValue(parsing: outcome.output)
        #expect(claims["sub"] == "alice" && claims["email"] == "alice@example.com" && claims["name"] != nil)
        let request = try #require(provider.with { $0.requests(to: .userinfo).first })
        #expect(request.headers["Authorization"]?.hasPrefix("Bearer ") == true)
        #expect(request.url.query == nil && request.body.isEmpty)
    }

    @Test("oidcc-client-test-userinfo-signed")
    func signedUserInfo() throws {
        let (provider, program) = try signedIn { $0.signsUserInfo = true }
        defer { program.remove() }
        let outcome = try program.run("userinfo", "--claim", "email")
        #expect(provider.requestCount(.userinfo) == 1)
        #expect(outcome.status == 0 && outcome.output == "alice@example.com\n", "\(outcome.errorOutput)")
    }

    @Test(
        "oidcc-client-test-userinfo-invalid-sub, and signed answers that are not valid",
        arguments: [
            (.subjectInvalid, false, "sub"), (.subjectMissing, false, "sub"), (.subjectNumber, false, "sub"),
            (.subjectInvalid, true, "sub"), (.issuerInvalid, true, "iss"), (.audienceInvalid, true, "aud"),
            (.unsigned, true, "alg"), (.signatureInvalid, true, "signature"),
        ] as [(UserInfoFault, Bool, String)])
    func badUserInfo(fault: UserInfoFault, isSigned: Bool, name: String) throws {
        let (provider, program) = try signedIn { $0.signsUserInfo = isSigned }
        defer { program.remove() }
        provider.with { _ = $0.faults.insert(.userInfo(fault)) }
        let outcome = try program.run("userinfo")
        outcome.expectRefusal(outcome.status == 4 ? 4 : 7, name)
        #expect(program.sessionFiles.count == 1)
    }

    @Test("oidcc-client-test-refresh-token: the newest refresh token is the one presented")
    func refresh() throws {
        let (provider, program) = try signedIn()
        defer { program.remove() }
        for count in 1...3 {
            let outcome = try program.run("token", "--refresh")
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
            #expect(provider.requestCount(grant: "refresh_token") == count)
        }
        let presented = provider.with { $0.requests(to: .token) }.compactMap { request in
            FormEncoding.decode(String(decoding: request.body, as: UTF8.self))?
                .first { $0.name == "refresh_token" }?.value
        }
        #expect(Set(presented).count == 3)
    }

    @Test(
        "oidcc-client-test-refresh-token-invalid-issuer, oidcc-client-test-refresh-token-invalid-sub: the answer is refused, the session stays",
        arguments: [
            (.issuerInvalid, "iss"), (.subjectInvalid, "sub"), (.audienceInvalid, "aud"),
            (.signatureInvalid, "signature"), (.unsigned, "alg"),
        ] as [(IDTokenFault, String)])
    func badRefresh(fault: IDTokenFault, name: String) throws {
        let (provider, program) = try signedIn { $0.rotatesRefreshTokens = false }
        defer { program.remove() }
        let file = try #require(program.sessionFiles.first)
        let before = try Data(contentsOf: file)
        provider.with { _ = $0.faults.insert(.refreshedIDToken(fault)) }
        try program.run("token", "--refresh").expectRefusal(7, name)
        #expect(try Data(contentsOf: file) == before)
        provider.with { $0.faults = [] }
        #expect(try program.run("token", "--refresh").status == 0)
    }

    @Test("FAPI 2.0 client: refresh test: a 401 from the resource is one refresh and one more call")
    func resourceRefresh() throws {
        let (provider, program) = try signedIn()
        defer { program.remove() }
        provider.with { $0.inject(.answer(.resource, .unauthorized), times: 1) }
        let outcome = try program.run("request", "\(provider.origin)/api/hello")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(provider.requestCount(grant: "refresh_token") == 1)
        #expect(provider.requestCount(.resource) == 2)
    }

    @Test("oidcc-client-test-dynamic-registration: registers, and the new client signs in")
    func registration() throws {
        let provider = try Module.server()
        let url = try #require(WebURL("\(provider.origin)/register"))
        let call = try Registration(clientName: "conformance", redirectURIs: ["http://127.0.0.1/callback"])
            .call(
                at: url)
        let client = try CurlTransport().perform(call)
        let program = try Program(provider, client: client.clientID)
        defer { program.remove() }
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }
}
