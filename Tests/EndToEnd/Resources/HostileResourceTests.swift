import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "hostile resources, in the built program", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct HostileResourceTests {
    /// Expects a refusal before anything was sent to a server or shown in a browser, and a clean error.
    private func expectRefusal(
        _ world: ResourceWorld, _ outcome: Program.Outcome, _ statuses: Set<Int32> = [7],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            statuses.contains(outcome.status) && outcome.output.isEmpty, "\(outcome)",
            sourceLocation: sourceLocation)
        #expect(world.tabs.isEmpty, "\(world.tabs)", sourceLocation: sourceLocation)
        #expect(world.server.tokenRequests.isEmpty, sourceLocation: sourceLocation)
        #expect(world.program.sessionFiles.isEmpty, sourceLocation: sourceLocation)
        let isClean = outcome.errorOutput.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 }
        #expect(isClean, "\(outcome.errorOutput.debugDescription)", sourceLocation: sourceLocation)
    }

    @Test(
        "an identifier that only looks like the resource is refused",
        arguments: [
            "%@mcp/deeper", "%@mc", "http://localhost:%p/mcp", "http://127.0.0.1:%p.evil.example/mcp",
            "http://127.0.0.1:%p@evil.example/mcp", "%@mcp/../mcp", "%@%6Dcp", "%@mcp?tenant=1", "%@mcp#f",
            "%@mcp\\u001b[2J",
        ])
    func identifiers(text: String) throws {
        let world = try ResourceWorld()
        let port = try #require(world.resource.origin.split(separator: ":").last)
        let identifier = text.replacing("%@", with: world.resource.origin + "/").replacing("%p", with: port)
        let value = try JSONValue(parsing: #""\#(identifier)""#)
        world.resource.change { $0.metadata = ["resource": value] }
        expectRefusal(world, try world.call())
        #expect(world.server.log.isEmpty)
    }

    @Test(
        "metadata that a challenge names elsewhere is not fetched, and nothing else is tried",
        arguments: [
            "%o/metadata", "file:///etc/passwd", "javascript:alert(1)", "http://evil.example/metadata",
        ])
    func metadataElsewhere(text: String) throws {
        let world = try ResourceWorld()
        world.resource.change { $0.namedMetadata = text.replacing("%o", with: world.other.origin) }
        expectRefusal(world, try world.call())
        #expect(world.other.log.isEmpty && world.server.log.isEmpty)
        #expect(!world.resource.paths.contains { $0.hasPrefix("/.well-known/") })
    }

    @Test("metadata is not fetched from another origin that it redirects to")
    func metadataRedirect() throws {
        let world = try ResourceWorld()
        let target = world.other.origin + "/metadata"
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path.hasPrefix("/.well-known/") else { return nil }
                return HTTPResponse(status: 302, headers: HTTPHeaders([("Location", target)]))
            }
        }
        expectRefusal(world, try world.call(), [4, 7])
        #expect(world.other.log.isEmpty)
    }

    @Test(
        "an endpoint that is neither an https nor a loopback URL is never opened or asked",
        arguments: ["authorization_endpoint", "token_endpoint", "registration_endpoint"],
        ["javascript:alert(1)", "file:///etc/passwd", "http://evil.example/x"])
    func endpoints(name: String, url: String) throws {
        let world = try ResourceWorld { $0.metadata = [name: .string(url)] }
        expectRefusal(world, try world.call(), [4, 7])
    }

    @Test("metadata without S256 is refused", arguments: [.null, ["plain"]] as [JSONValue])
    func challengeMethods(value: JSONValue) throws {
        let world = try ResourceWorld { $0.metadata = ["code_challenge_methods_supported": value] }
        let outcome = try world.call()
        expectRefusal(world, outcome, [4, 7])
        #expect(outcome.errorOutput.contains("S256") && world.server.registrations.isEmpty)
    }

    @Test("a bomb of challenges costs nothing: the well-known place is asked")
    func challengeBomb() throws {
        let world = try ResourceWorld()
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path == "/mcp", request.headers["Authorization"] == nil else { return nil }
                let long = String(repeating: "Bearer a=\"\\\"\", ", count: 3_000)
                return HTTPResponse(status: 401, headers: HTTPHeaders([("WWW-Authenticate", long)]))
            }
        }
        expectSuccess(try world.call())
        #expect(world.tabs.count == 1)
    }

    @Test("documents are bounded", arguments: [true, false])
    func documentBomb(ofResource: Bool) throws {
        let world = try ResourceWorld()
        let filler = JSONValue.string(String(repeating: "x", count: 2 << 20))
        if ofResource {
            world.resource.change { $0.metadata["filler"] = filler }
        } else {
            world.server.change { $0.metadata["filler"] = filler }
        }
        expectRefusal(world, try world.call(), [4, 5, 7])
    }

    @Test("a resource that refuses every token gets at most three sign-ins, and exit 3 or 4")
    func endless401() throws {
        let world = try ResourceWorld()
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, _ in
                rules.challenge(401, at: request.url.origin, [("error", "invalid_token")])
            }
        }
        let outcome = try world.call()
        #expect([3, 4].contains(outcome.status) && outcome.output.isEmpty, "\(outcome)")
        #expect((1...3).contains(world.tabs.count) && world.resource.log.count <= 12)
    }

    @Test("a resource that asks for a stronger sign-in without end gets at most three")
    func endlessStepUp() throws {
        let world = try ResourceWorld()
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, _ in
                rules.challenge(
                    401, at: request.url.origin,
                    [
                        ("error", "insufficient_user_authentication"), ("acr_values", "strong"),
                        ("max_age", "0"),
                    ])
            }
        }
        let outcome = try world.call()
        #expect([3, 4].contains(outcome.status) && outcome.output.isEmpty, "\(outcome)")
        #expect((2...3).contains(world.tabs.count), "\(world.tabs)")
        let asked = try #require(world.server.authorizations.last)
        #expect(asked["acr_values"] == "strong" && asked["max_age"] == "0")
    }

    @Test(
        "a token that a challenge repeats is not shown, not even with -v",
        arguments: [
            #"resource_metadata="https://evil.example/%t""#, #"scope="%t \\ b""#,
            #"resource_metadata="%o/%t""#, #"error="%t", error_description="%t""#,
        ])
    func repeatedToken(parameters: String) throws {
        let world = try ResourceWorld()
        expectSuccess(try world.call())
        world.resource.change {
            $0.answer = { request, token in
                let text = parameters.replacing("%t", with: token)
                    .replacing("%o", with: request.url.origin)
                return HTTPResponse(
                    status: 401, headers: HTTPHeaders([("WWW-Authenticate", "Bearer \(text)")]))
            }
        }
        let outcome = try world.call(options: ["-v"])
        #expect(outcome.status != 0 && outcome.output.isEmpty, "\(outcome)")
        for credentials in Set(world.resource.credentials) {
            let token = credentials.dropFirst("Bearer ".utf8.count)
            #expect(!outcome.errorOutput.contains(token), "\(outcome.errorOutput)")
            #expect(!world.resource.log.contains { $0.url.path.contains(token) } && world.other.log.isEmpty)
        }
    }

    @Test("the token is not sent along a redirect", arguments: [301, 303, 307, 308])
    func redirect(status: Int) throws {
        let world = try ResourceWorld()
        let target = world.other.origin + "/mcp"
        world.resource.change {
            $0.answer = { _, _ in HTTPResponse(status: status, headers: HTTPHeaders([("Location", target)])) }
        }
        #expect(try world.call().status == 4)
        #expect(world.other.log.isEmpty && world.resource.credentials.count == 1)
    }

    @Test("a redirect out of the resource is not followed, and the error says so")
    func redirectOutside() throws {
        let world = try ResourceWorld(resource: { $0.answerToGet = nil })
        world.resource.change {
            $0.answer = { _, _ in HTTPResponse(status: 302, headers: HTTPHeaders([("Location", "/other")])) }
        }
        let outcome = try world.run(["request", "--login", world.url])
        #expect(outcome.status == 4)
        let target = "\(world.resource.origin)/other"
        #expect(
            outcome.error?.contains("a redirect to \(target), outside the resource") == true,
            "\(outcome.errorOutput)")
    }

    @Test(
        "a challenge's scope outside its alphabet is refused",
        arguments: ["a\tb", "a\\\\b", "a\\\"b", "caf\u{e9}"])
    func scopes(scope: String) throws {
        let world = try ResourceWorld {
            _ in
        } resource: {
            $0.challengeScope = scope
        }
        expectRefusal(world, try world.call(), [4, 7])
    }

    @Test(
        "a registration answer with another redirect, or an unusable client id, is refused",
        arguments: [
            ["redirect_uris": ["https://evil.example/callback"]],
            ["redirect_uris": ["http://127.0.0.1/callback", "https://evil.example/callback"]],
            ["client_id": "a\nb"], ["client_id": ""], ["client_id": 7], ["client_id": .null],
        ] as [[String: JSONValue]])
    func registration(answer: [String: JSONValue]) throws {
        let world = try ResourceWorld { $0.registered = answer }
        expectRefusal(world, try world.call(), [4, 7])
        #expect(world.server.registrations.count == 1)
    }

    @Test("a token goes to the resource that it was issued for, and to no other path or host")
    func otherPlaces() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.call())
        world.forget()
        expectSuccess(try world.call(path: "/below", options: []))
        for url in [world.resource.origin + "/mcpx", world.resource.origin, world.other.origin + "/mcp"] {
            let outcome = try world.run(["request", url])
            #expect([2, 3].contains(outcome.status), "\(url): \(outcome)")
            #expect(try world.run(["token", url]).output.isEmpty)
        }
        #expect(world.resource.credentials.count == 1 && world.other.log.isEmpty)
    }
}
