import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@Suite(
    "tokens bound to a client certificate, by the built program", .serialized, .waiting,
    .enabled(if: CertificateFront.isAvailable, "needs python3 and openssl to play the servers"))
struct CertificateBoundTokenTests {
    @Test(
        "the certificate goes to UserInfo's alias and to APIs that may get the token; JWTs by cnf, others by the metadata (RFC 8705 §3, §5)",
        arguments: [true, false])
    func bound(issuesJWTs: Bool) throws {
        let world = try CertificateWorld(issuesJWTs: issuesJWTs)
        defer { world.program.remove() }
        try world.signIn()
        let (front, program) = (world.front, world.program)
        #expect(front.senders("/token") == ["asking robot"])
        #expect(front.senders("/jwks") == ["plain nobody"])
        let userInfo = try program.run("userinfo", "--claim", "email")
        #expect(userInfo.output == "alice@example.com\n", "\(userInfo.errorOutput)")
        #expect(front.senders("/userinfo").allSatisfy { $0 == "asking robot" })

        let api = front.origin("api")
        let refused = try program.run("request", "\(api)/api/hello")
        #expect(refused.status == 2)
        let answer = try program.run("request", "--allow-origin", api, "\(api)/api/hello")
        #expect(answer.status == 0, "\(answer.errorOutput)")
        let own = try program.run("request", "\(front.origin("asking"))/userinfo")
        #expect(own.status == 0, "\(own.errorOutput)")
        #expect(front.senders("/api/hello") == ["api robot"])
    }

    @Test("token and status say that the token is bound, and to what")
    func said() throws {
        let world = try CertificateWorld()
        defer { world.program.remove() }
        try world.signIn()
        let token = try world.program.run("token")
        let note =
            "note: this token is bound to the client certificate and useless without it; call the API with: "
        #expect(token.errorOutput.contains(note + "oidc request URL"), "\(token.errorOutput)")
        let status = try world.program.run("status")
        #expect(status.output.contains(", bound to the client certificate"), "\(status.output)")
        let json = try JSONValue(parsing: try world.program.run("status", "-o", "json").output)
        #expect(json["bound"] == "certificate")
    }

    @Test("the proxy presents the certificate with a bound token, on connections of its own")
    func proxied() throws {
        let world = try CertificateWorld()
        defer { world.program.remove() }
        try world.signIn()
        let api = world.front.origin("api")
        let script = "curl -fsS $OIDC_PROXY_URL/api/hello && curl -fsS $OIDC_PROXY_URL/api/hello"
        let outcome = try world.program.run("exec", "--proxy", api, "--", "sh", "-c", script)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(world.front.senders("/api/hello") == ["api robot", "api robot"])
    }

    @Test("a token that is not bound is sent without the certificate, though the metadata bind opaque tokens")
    func unbound() throws {
        // Keycloak announces the binding for every realm, and binds the tokens of some clients (26.7).
        let world = try CertificateWorld(clientAuth: "none") {
            $0.clients.append(DemoClient(id: "plain", authenticationMethods: ["none"]))
        }
        var program = world.program
        defer { program.remove() }
        program.environment["OIDC_CLIENT_ID"] = "plain"
        let outcome = try program.signIn(at: world.provider)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(try program.run("userinfo").status == 0)
        let api = world.front.origin("api")
        #expect(try program.run("request", "--allow-origin", api, "\(api)/api/hello").status == 0)
        #expect(world.front.senders("/userinfo").allSatisfy { $0 == "plain nobody" })
        #expect(world.front.senders("/api/hello") == ["api nobody"])
        #expect(!(try program.run("token").errorOutput.contains("bound")))

        let proxied = try program.run(
            "exec", "--proxy", api, "--", "sh", "-c", "curl -fsS $OIDC_PROXY_URL/api/hello")
        #expect(proxied.status == 0, "\(proxied.errorOutput)")
        #expect(world.front.senders("/api/hello").last == "api nobody")
        // An API that ends the handshake without a certificate is named.
        let demanding = world.front.origin("demanding")
        #expect(try program.run("request", "--allow-origin", demanding, "\(demanding)/api/hello").status == 5)
        program.environment["OIDC_TLS_CLIENT_CERTIFICATE_FOR"] = demanding
        let named = try program.run("request", "--allow-origin", demanding, "\(demanding)/api/hello")
        #expect(named.status == 0, "\(named.errorOutput)")
        let route = try program.run(
            "exec", "--proxy", demanding, "--", "sh", "-c", "curl -fsS $OIDC_PROXY_URL/api/hello")
        #expect(route.status == 0, "\(route.errorOutput)")
        #expect(world.front.senders("/api/hello").suffix(2) == ["demanding robot", "demanding robot"])
    }

    @Test("a DPoP-bound token is not bound to the certificate, which the provider's endpoints still get")
    func proven() throws {
        let world = try CertificateWorld { $0.clients[$0.clients.count - 1].certificateThumbprint = nil }
        defer { world.program.remove() }
        var program = world.program
        program.environment["OIDC_CLIENT_ID"] = "demo"
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        program.environment["OIDC_DPOP"] = "true"
        #expect(try program.signIn(at: world.provider).status == 0)
        #expect(try program.run("userinfo").status == 0)
        #expect(world.front.senders("/token") == ["asking robot"])
        #expect(world.front.senders("/userinfo").allSatisfy { $0 == "plain nobody" })
        let json = try JSONValue(parsing: try program.run("status", "-o", "json").output)
        #expect(json["bound"] == "dpop")
    }

    @Test("logout, introspect and userinfo use the aliases, also with a session that has the plain endpoints")
    func plainSession() throws {
        let world = try CertificateWorld()
        defer { world.program.remove() }
        try world.signIn()
        let plain = world.front.origin("plain")
        try world.editSession { session in
            for (name, path) in [
                ("userinfo_endpoint", "userinfo"), ("revocation_endpoint", "revoke"),
                ("introspection_endpoint", "introspect"),
            ] {
                #expect(session[name] as? String == "\(world.front.origin("asking"))/\(path)")
                session[name] = "\(plain)/\(path)"
            }
        }
        #expect(try world.program.run("userinfo").status == 0)
        let introspected = try world.program.run("introspect")
        #expect(introspected.output.contains("\"active\":true"), "\(introspected.errorOutput)")
        let outcome = try world.program.run("logout")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let last = ["/userinfo", "/introspect", "/revoke"].map { world.front.senders($0).last }
        #expect(last == ["asking robot", "asking robot", "asking robot"])
    }

    @Test("claims of other issuers are fetched without the certificate, even at an origin that gets it")
    func claimSources() throws {
        let world = try CertificateWorld()
        defer { world.program.remove() }
        try world.signIn("--scope", "openid phone")
        let (plain, asking) = (world.front.origin("plain"), world.front.origin("asking"))
        world.provider.intercept { [weak provider = world.provider] request in
            guard request.url.path == "/userinfo", let provider else { return nil }
            var answer = provider.with { $0.handle(request, at: Clock.now()) }
            let text = String(decoding: answer.body, as: UTF8.self)
            answer.body = Array(text.replacing("\(plain)/claims", with: "\(asking)/claims").utf8)
            return answer
        }
        var program = world.program
        program.environment["OIDC_TLS_CLIENT_CERTIFICATE_FOR"] = asking
        let outcome = try program.run("userinfo", "--distributed", "--claim", "phone_number")
        #expect(outcome.status == 0 && outcome.output == "+1 555 0100\n", "\(outcome)")
        #expect(world.front.senders("/claims") == ["asking nobody"])
        #expect(world.front.senders("/userinfo").last == "asking robot")
    }

    @Test("a client registers at the alias of the registration endpoint")
    func registered() throws {
        let world = try CertificateWorld()
        defer { world.program.remove() }
        var program = world.program
        program.environment["OIDC_CLIENT_ID"] = nil
        program.environment["OIDC_CLIENT_AUTH"] = "none"
        let outcome = try program.run("register")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(world.front.senders("/register") == ["asking robot"])
    }
}
