import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: DPoP")
struct ProofTests {
    /// A client with a key of its own.
    private struct Prover {
        var world: DemoWorld
        var key: DPoPKey
        var nonce: String?

        init(_ change: (inout DemoConfiguration) -> Void = { _ in }) throws {
            world = try DemoWorld {
                $0.user = .approves("alice")
                change(&$0)
            }
            key = try .generate()
        }

        func proof(_ method: HTTPMethod, _ path: String, token: String? = nil) throws -> (String, String) {
            let proof = try key.proof(
                method: method, url: try world.url(path), accessToken: token, nonce: nonce, now: world.now,
                random: { Random.bytes($0) })
            return ("DPoP", proof)
        }

        mutating func redeem() throws -> HTTPResponse {
            let code = try #require(try world.callback()["code"])
            return try world.post(
                "/token",
                [
                    ("grant_type", "authorization_code"), ("code", code), ("client_id", "demo"),
                    ("redirect_uri", DemoWorld.redirect), ("code_verifier", DemoWorld.verifier),
                ], headers: [try proof(.post, "/token")])
        }

        mutating func get(_ path: String, _ token: String) throws -> HTTPResponse {
            let proof = try proof(.get, path, token: token)
            return try world.get(path, headers: [("Authorization", "DPoP \(token)"), proof])
        }
    }

    @Test("a token requested with a proof is bound to its key")
    func bound() throws {
        var prover = try Prover()
        let tokens = try prover.redeem().json()
        #expect(tokens["token_type"] == "DPoP")
        let token = try tokens.text("access_token")
        #expect(try prover.get("/userinfo", token).status == 200)
        #expect(try prover.world.userInfo(token).status == 401)
        prover.key = try .generate()
        let foreign = try prover.get("/userinfo", token)
        #expect(foreign.status == 401)
        #expect(foreign.challenges.first?.error == "invalid_token")
    }

    @Test("an unbound token is not accepted with the DPoP scheme")
    func unboundUnderDPoP() throws {
        var prover = try Prover()
        let token = try prover.world.signIn().text("access_token")
        #expect(try prover.get("/userinfo", token).status == 401)
    }

    @Test("a proof that was sent before is refused, at the token endpoint and at a resource")
    func replay() throws {
        var prover = try Prover()
        let token = try prover.redeem().json().text("access_token")
        let headers = [
            ("Authorization", "DPoP \(token)"), try prover.proof(.get, "/userinfo", token: token),
        ]
        #expect(try prover.world.get("/userinfo", headers: headers).status == 200)
        let again = try prover.world.get("/userinfo", headers: headers)
        #expect(again.status == 401)
        #expect(again.challenges.first?.error == "invalid_dpop_proof")
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("client_id", "demo")]
        let proof = try prover.proof(.post, "/token")
        #expect(try prover.world.post("/token", refresh, headers: [proof]).oauthError == "invalid_grant")
        #expect(
            try prover.world.post("/token", refresh, headers: [proof]).oauthError == "invalid_dpop_proof")
    }

    @Test(
        "a proof for another method, address or token, or of another time, is refused",
        arguments: ["method", "address", "token", "age", "two"])
    func wrongProof(what: String) throws {
        var prover = try Prover()
        let token = try prover.redeem().json().text("access_token")
        var proofs = [
            try prover.proof(
                what == "method" ? .post : .get, what == "address" ? "/token" : "/userinfo",
                token: what == "token" ? "another" : token)
        ]
        if what == "age" { prover.world.now = prover.world.now.adding(61) }
        if what == "two" { proofs.append(try prover.proof(.get, "/userinfo", token: token)) }
        let response = try prover.world.get(
            "/userinfo", headers: [("Authorization", "DPoP \(token)")] + proofs)
        #expect(response.status == 401)
        #expect(response.challenges.first?.error == "invalid_dpop_proof")
    }

    @Test("a bound refresh token of a public client works only with its key")
    func refreshBinding() throws {
        var prover = try Prover()
        let token = try prover.redeem().json().text("refresh_token")
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "demo")]
        #expect(try prover.world.post("/token", pairs).oauthError == "invalid_grant")
        let own = prover.key
        prover.key = try .generate()
        let foreign = try prover.proof(.post, "/token")
        #expect(try prover.world.post("/token", pairs, headers: [foreign]).oauthError == "invalid_grant")
        prover.key = own
        let right = try prover.proof(.post, "/token")
        #expect(try prover.world.post("/token", pairs, headers: [right]).status == 200)
    }

    @Test("if nonces are required, each server requires its own")
    func nonces() throws {
        var prover = try Prover {
            $0.requiresDPoPNonceAtToken = true
            $0.requiresDPoPNonceAtResource = true
        }
        let first = try prover.redeem()
        #expect(DPoP.nonce(demandedBy: first) != nil)
        prover.nonce = DPoP.nonce(in: first)
        let token = try prover.redeem().json().text("access_token")
        let second = try prover.get("/api/hello", token)
        #expect(DPoP.isNonceDemand(resourceResponse: second))
        prover.nonce = DPoP.nonce(in: second)
        #expect(try prover.get("/api/hello", token).status == 200)
        prover.world.now = prover.world.now.adding(300)
        prover.world.provider.configuration.accessTokenLifetime = 3_600
        prover.nonce = "rs-made-up"
        #expect(try prover.get("/api/hello", token).status == 401)
    }

    @Test("a demanded nonce is replaced after five minutes and refused after ten")
    func nonceAge() throws {
        var prover = try Prover {
            $0.requiresDPoPNonceAtToken = true
            $0.accessTokenLifetime = 3_600
        }
        prover.nonce = DPoP.nonce(in: try prover.redeem())
        prover.world.now = prover.world.now.adding(599)
        let late = try prover.redeem()
        #expect(late.status == 200)
        #expect(DPoP.nonce(in: late) != prover.nonce)
        prover.world.now = prover.world.now.adding(1)
        #expect(try prover.redeem().oauthError == "use_dpop_nonce")
    }

    @Test("a provider that requires DPoP issues no token without a proof")
    func required() throws {
        var prover = try Prover { $0.requiresDPoP = true }
        let code = try #require(try prover.world.callback()["code"])
        #expect(try prover.world.redeem(code).oauthError == "invalid_dpop_proof")
    }

    @Test("dpop_jkt binds the code to a key")
    func codeBinding() throws {
        var prover = try Prover()
        let code = try #require(try prover.world.callback(["dpop_jkt": prover.key.thumbprint])["code"])
        #expect(try prover.world.redeem(code).oauthError == "invalid_grant")
    }

    @Test("a fault answers Bearer although the token is bound")
    func typeBearer() throws {
        var prover = try Prover()
        prover.world.provider.faults = [.tokenResponse(.typeBearer)]
        #expect(try prover.redeem().json()["token_type"] == "Bearer")
    }
}
