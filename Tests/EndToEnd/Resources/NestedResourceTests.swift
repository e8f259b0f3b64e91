import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "resources below others, in the built program", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct NestedResourceTests {
    private static let place = "/.well-known/oauth-protected-resource"

    /// Makes the resource's origin answer as several resources, by the path: each takes any token, and names the server
    /// and the identifier that are given.
    private func nest(_ world: ResourceWorld, _ resources: [String: (identifier: String, server: String)]) {
        let origin = world.resource.origin
        world.resource.change {
            $0.anyAnswer = { request in
                let path = request.url.path
                if path.hasPrefix(Self.place) {
                    let own = path.dropFirst(Self.place.count)
                    guard let found = resources[own.isEmpty ? "/" : String(own)] else {
                        return HTTPResponse(status: 404)
                    }
                    return .value([
                        "resource": .string(origin + found.identifier),
                        "authorization_servers": [.string(found.server)],
                    ])
                }
                guard request.headers["Authorization"] == nil else { return .value(["ok": true]) }
                let value = "Bearer resource_metadata=\"\(origin)\(Self.place)\(path == "/" ? "" : path)\""
                return HTTPResponse(status: 401, headers: HTTPHeaders([("WWW-Authenticate", value)]))
            }
        }
    }

    @Test(
        "login asks the URL it was given, also below a resource with a session; logout ends only what it names"
    )
    func ownSession() throws {
        let world = try ResourceWorld()
        let (origin, issuer) = (world.resource.origin, world.server.issuer)
        nest(world, ["/": ("/", issuer), "/a": ("/a", issuer)])
        expectSuccess(try world.run(["login", origin + "/"]))
        expectSuccess(try world.run(["login", origin + "/a"]))
        #expect(world.server.authorizations.map { $0["resource"] } == [origin + "/", origin + "/a"])
        let tokens = try ["/", "/a", "/b"].map { try world.run(["token", origin + $0]).output }
        #expect(tokens[0] == tokens[2] && tokens[0] != tokens[1] && !tokens.contains(""))
        let elsewhere = try world.run(["logout", origin + "/b"])
        #expect(elsewhere.status == 2 && elsewhere.errorOutput.contains("try: oidc logout \(origin)/\n"))
        expectSuccess(try world.run(["logout", origin + "/a"]))
        #expect(try world.run(["token", origin + "/"]).output == tokens[0])
        // The session above is there again.
        #expect(try world.run(["token", origin + "/a"]).output == tokens[0])
    }

    @Test("logout ends what was signed in to by the URL, also if the resource has another identifier by now")
    func changedIdentifier() throws {
        let world = try ResourceWorld()
        let (origin, issuer) = (world.resource.origin, world.server.issuer)
        nest(world, ["/a": ("/", issuer)])
        expectSuccess(try world.run(["login", origin + "/a"]))
        nest(world, ["/a": ("/a", issuer)])
        expectSuccess(try world.run(["login", origin + "/a"]))
        #expect(world.program.sessionFiles.count == 2)
        expectSuccess(try world.run(["logout", origin + "/a"]))
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test(
        "logout of a path that claims to be part of the whole origin leaves the session of that, at another server"
    )
    func claimedLogout() throws {
        let world = try ResourceWorld()
        let origin = world.resource.origin
        nest(world, ["/": ("/", world.server.issuer), "/a": ("/", world.other.issuer)])
        expectSuccess(try world.run(["login", origin + "/"]))
        expectSuccess(try world.run(["login", origin + "/a"]))
        let token = try world.run(["token", origin + "/"]).output
        expectSuccess(try world.run(["logout", origin + "/a"]))
        #expect(try world.run(["token", origin + "/"]).output == token)
        #expect(!world.server.log.contains { $0.url.path == "/revoke" })
    }

    @Test("a path that names the whole origin as its resource does not decide where others sign in")
    func claimedOrigin() throws {
        let world = try ResourceWorld()
        let origin = world.resource.origin
        nest(world, ["/evil": ("/", world.other.issuer), "/good": ("/good", world.server.issuer)])
        expectSuccess(try world.run(["login", origin + "/evil"]))
        expectSuccess(try world.run(["token", origin + "/evil/below"]))
        #expect(try world.run(["token", origin + "/good"]).status == 3)
        #expect(try world.run(["request", origin + "/"]).status == 3)
        world.forget()
        expectSuccess(try world.run(["login", origin + "/good"]))
        #expect(world.other.log.isEmpty && !world.server.tokenRequests.isEmpty)
        // It is known by both of its URLs.
        expectSuccess(try world.run(["logout", origin + "/"]))
        #expect(try world.run(["token", origin + "/evil"]).status == 3)
    }

    @Test("a path's metadata holds for the whole resource that says the same of itself")
    func confirmedOrigin() throws {
        let world = try ResourceWorld()
        let (origin, issuer) = (world.resource.origin, world.server.issuer)
        nest(world, ["/": ("/", issuer), "/a": ("/", issuer)])
        expectSuccess(try world.run(["login", origin + "/a"]))
        let tokens = try ["/", "/a", "/b"].map { try world.run(["token", origin + $0]).output }
        #expect(Set(tokens).count == 1 && !tokens.contains(""))
    }
}
