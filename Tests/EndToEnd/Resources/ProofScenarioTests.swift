import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// The scenarios of tokens that are bound to a key, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: tokens bound to a key", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ProofScenarioTests {
    private func proofWorld(nonce: String?) throws -> ResourceWorld {
        let world = try ResourceWorld {
            $0.requiresProof = true
            $0.nonce = nonce
            $0.metadata = ["dpop_signing_alg_values_supported": ["ES256"]]
        } resource: {
            $0.scheme = "DPoP"
        }
        return world
    }

    @Test("dpop: the token is bound to a key, and each request has a proof of its own")
    func dpop() throws {
        let world = try proofWorld(nonce: nil)
        expectSuccess(try world.call())
        expectSuccess(try world.call())
        #expect(world.tabs.count == 1)
        #expect(world.resource.credentials.allSatisfy { $0.hasPrefix("DPoP ") })
        let proofs = (world.server.log + world.resource.log).flatMap { $0.headers.values("DPoP") }
        #expect(proofs.count == 3 && Set(proofs).count == 3)
    }

    @Test("dpop-nonce: the nonces of server and resource are used, each at its own place")
    func dpopNonce() throws {
        let world = try proofWorld(nonce: "as-nonce")
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, token in
                let check = checkedProof(request, accessToken: token, nonce: "rs-nonce")
                guard case .failure(let refusal) = check, refusal.wantsNonce else { return nil }
                var answer = rules.challenge(401, at: request.url.origin, [("error", "use_dpop_nonce")])
                answer.headers["DPoP-Nonce"] = "rs-nonce"
                return answer
            }
        }
        expectSuccess(try world.call())
        #expect(world.tabs.count == 1)
        let nonces = { (requests: [HTTPRequest]) in
            requests.compactMap { $0.headers["DPoP"] }.map {
                (try? JWS(compact: $0))?.claims?["nonce"]?.string
            }
        }
        #expect(nonces(world.server.log) == [nil, "as-nonce"])
        #expect(nonces(world.resource.log) == [nil, "rs-nonce"])
    }

    @Test("a resource that asks for one nonce after another leads to no sign-in")
    func endlessNonce() throws {
        let world = try proofWorld(nonce: nil)
        expectSuccess(try world.call())
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, token in
                var answer = rules.challenge(401, at: request.url.origin, [("error", "use_dpop_nonce")])
                answer.headers["DPoP-Nonce"] = "nonce-\(request.headers["DPoP"]?.utf8.count ?? 0)"
                return answer
            }
        }
        let outcome = try world.call()
        #expect(outcome.status == 4 && outcome.errorOutput.contains("asks again for the nonce"), "\(outcome)")
        #expect(world.tabs.count == 1)
    }

    @Test("a server that gives plain tokens for a resource that takes only bound ones is at fault")
    func unboundTokens() throws {
        let world = try ResourceWorld { _ in
        } resource: {
            $0.metadata = ["dpop_bound_access_tokens_required": true]
        }
        world.server.change {
            $0.token = { _ in .value(["access_token": "plain", "token_type": "Bearer", "expires_in": 60]) }
        }
        let outcome = try world.call()
        #expect(outcome.status == 4 && outcome.errorOutput.contains("fault of the resource"), "\(outcome)")
        #expect(!outcome.errorOutput.contains("dpop=false"))
    }

    @Test("dpop=false is refused for a resource that requires bound tokens, before a browser is opened")
    func refusedBinding() throws {
        let world = try ResourceWorld { _ in
        } resource: {
            $0.metadata = ["dpop_bound_access_tokens_required": true]
        }
        let outcome = try world.run(["login", world.url, "--set", "dpop=false"])
        #expect(
            outcome.errorOutput.hasSuffix(
                """
                error: \(world.url) requires tokens that are bound to a key (DPoP)
                  try: leave --set dpop=false out

                """), "\(outcome.errorOutput)")
        #expect(outcome.status == 2 && world.tabs.isEmpty)
    }

    @Test("a helper that cannot prove the key is told to use the proxy, which works for that resource")
    func credential() throws {
        let world = try proofWorld(nonce: nil)
        world.resource.change { $0.metadata = ["dpop_bound_access_tokens_required": true] }
        expectSuccess(try world.call())
        let outcome = try world.run(["credential", "headers", world.url])
        #expect(outcome.status == 4 && outcome.output.isEmpty)
        #expect(outcome.errorOutput.hasSuffix("  try: oidc proxy \(world.url)\n"), "\(outcome.errorOutput)")
    }
}
