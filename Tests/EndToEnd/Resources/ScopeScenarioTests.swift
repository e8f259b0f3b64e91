import OIDCCore
import TestSupport
import Testing

/// The scenarios about scopes, by the names that the MCP conformance suite gives them.
@Suite(
    "resource scenarios: scopes", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ScopeScenarioTests {
    private func scopes(_ world: ResourceWorld) -> [Scope?] {
        world.server.authorizations.map { $0["scope"].map { Scope($0) } }
    }

    @Test("scope-from-www-authenticate: the challenge's scope, not the metadata's")
    func fromChallenge() throws {
        let world = try ResourceWorld {
            _ in
        } resource: {
            $0.challengeScope = "mcp:basic"
            $0.metadata = ["scopes_supported": ["mcp:basic", "mcp:admin"]]
        }
        expectSuccess(try world.call())
        #expect(scopes(world) == [Scope("mcp:basic")])
    }

    @Test("scope-from-scopes-supported: all of the metadata's scopes, if the challenge has none")
    func fromMetadata() throws {
        let world = try ResourceWorld {
            _ in
        } resource: {
            $0.metadata = ["scopes_supported": ["mcp:basic", "mcp:read", "mcp:write"]]
        }
        expectSuccess(try world.call())
        #expect(scopes(world) == [Scope("mcp:basic mcp:read mcp:write")])
    }

    @Test("scope-omitted-when-undefined: no scope parameter, if nobody names one")
    func omitted() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.call())
        #expect(scopes(world) == [nil])
    }

    /// A resource that wants one scope for everything, and another one for calls of tools.
    private func stepUpWorld() throws -> ResourceWorld {
        let world = try ResourceWorld {
            _ in
        } resource: {
            $0.challengeScope = "mcp:basic"
            $0.metadata = ["scopes_supported": ["mcp:profile"]]
        }
        let (server, rules) = (world.server, world.resource.rules)
        world.resource.change {
            $0.answer = { request, token in
                let isCall = String(decoding: request.body, as: UTF8.self).contains("tools/call")
                let needed = isCall ? "mcp:write" : "mcp:basic"
                guard let scope = server.scope(of: token), !scope.contains(needed) else { return nil }
                return rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", needed)])
            }
        }
        return world
    }

    @Test("scope-step-up: 403 insufficient_scope leads to one more sign-in for the union of scopes")
    func stepUp() throws {
        let world = try stepUpWorld()
        expectSuccess(try world.call("tools/list"))
        expectSuccess(try world.call("tools/call"))
        #expect(scopes(world).map { Set($0?.tokens ?? []) } == [["mcp:basic"], ["mcp:basic", "mcp:write"]])
        expectSuccess(try world.call("tools/list"))
        #expect(world.tabs.count == 2)
    }

    @Test("without --login, a step-up is exit 3 with the command that gives it")
    func stepUpHint() throws {
        let world = try stepUpWorld()
        expectSuccess(try world.call("tools/list"))
        let outcome = try world.call("tools/call", options: [])
        #expect(outcome.status == 3 && outcome.output.isEmpty, "\(outcome)")
        let hint = try #require(outcome.errorOutput.split(separator: "\n").last)
        #expect(hint.contains("oidc login \(world.url)"), "\(hint)")
        #expect(hint.contains("--scope") && hint.contains("mcp:write") && hint.contains("mcp:basic"))
        #expect(world.tabs.count == 1)
    }

    @Test("scope-retry-limit: a resource that always wants more gets at most three sign-ins")
    func retryLimit() throws {
        let world = try ResourceWorld {
            _ in
        } resource: {
            $0.challengeScope = "mcp:admin"
            $0.metadata = ["scopes_supported": ["mcp:admin"]]
        }
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, _ in
                rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", "mcp:admin")])
            }
        }
        let outcome = try world.call()
        #expect([3, 4].contains(outcome.status), "\(outcome)")
        #expect((1...3).contains(world.server.authorizations.count))
        #expect((1...4).contains(world.resource.credentials.count))
    }
}
