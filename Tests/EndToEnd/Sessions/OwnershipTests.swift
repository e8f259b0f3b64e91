import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a session is sent only to the provider it came from", .serialized, .waiting)
struct OwnershipTests {
    @Test("two issuers with the same client ID never get each other's tokens")
    func twoIssuers() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let other = try SessionWorld()
        defer { other.remove() }
        var program = world.program
        program.environment["OIDC_ISSUER"] = other.provider.origin
        #expect(try program.run("token").status == 3)
        #expect(try program.signIn(at: other.provider).status == 0)
        #expect(program.sessionFiles.count == 2)
        let first = try world.program.run("token", "--refresh").token
        let second = try program.run("token", "--refresh").token
        #expect(first != second)
        let secrets = try world.program.sessionFiles.map { try String(contentsOf: $0, encoding: .utf8) }
        #expect(secrets.count == 2)
        let sent = other.provider.with { $0.log.map { String(decoding: $0.request.body, as: UTF8.self) } }
        let sentFirst = world.provider.with {
            $0.log.map { String(decoding: $0.request.body, as: UTF8.self) }
        }
        #expect(world.refreshes == 1)
        #expect(other.refreshes == 1)
        let refresh = { (bodies: [String]) in Set(bodies.filter { $0.contains("grant_type=refresh_token") }) }
        #expect(refresh(sent).isDisjoint(with: refresh(sentFirst)))
    }

    @Test("the session file of one issuer, renamed to another's, is not used, not sent and not overwritten")
    func exchangedFiles() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let other = try SessionWorld.signedIn()
        defer { other.remove() }
        let foreign = try other.bytes
        try world.put(foreign)
        for command in [
            ["token"], ["token", "--refresh"], ["login", "--flow", "browser", "--no-browser"], ["status"],
        ] {
            let outcome = try world.program.start(command).finish()
            #expect(outcome.status == 1, "\(command): \(outcome.errorOutput)")
            #expect(outcome.errorOutput.contains("another session's key"))
            #expect(outcome.errorOutput.contains("try: move it away: mv "))
        }
        #expect(try world.bytes == foreign)
        #expect(world.refreshes == 0)
        #expect(other.refreshes == 0)
    }

    @Test("a token_endpoint that is edited in later does not get the session's refresh token")
    func editedEndpoint() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let thief = try SessionWorld()
        defer { thief.remove() }
        try world.age()
        let outcome = try world.program.run(
            "token", "--set", "token_endpoint=\(thief.provider.origin)/token")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(world.refreshes == 1)
        #expect(thief.provider.with { $0.log.isEmpty })
    }

    @Test("without an issuer the token endpoint is the key: another endpoint has another session")
    func keyedByTokenEndpoint() throws {
        let world = try SessionWorld()
        defer { world.remove() }
        let thief = try SessionWorld()
        defer { thief.remove() }
        var program = world.program
        program.environment["OIDC_ISSUER"] = nil
        let origin = world.provider.origin
        program.environment["OIDC_AUTHORIZATION_ENDPOINT"] = "\(origin)/authorize"
        program.environment["OIDC_TOKEN_ENDPOINT"] = "\(origin)/token"
        program.environment["OIDC_SCOPE"] = "api:read offline_access"
        let signIn = try program.signIn(at: world.provider)
        #expect(signIn.status == 0, "\(signIn.errorOutput)")
        #expect(try program.run("token", "--refresh").status == 0)
        program.environment["OIDC_TOKEN_ENDPOINT"] = "\(thief.provider.origin)/token"
        #expect(try program.run("token").status == 3)
        #expect(thief.provider.with { $0.log.isEmpty })
    }

    @Test("sessions differ by client, audience and account, not by the profile's name")
    func keys() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        for other in [["--client-id", "x"], ["--audience", "https://api"], ["--account", "work"]] {
            let outcome = try world.program.start(["token"] + other).finish()
            #expect(outcome.status == 3)
            #expect(outcome.errorOutput.contains(other[1]))
        }
        var program = world.program
        program.environment["OIDC_ISSUER"] = nil
        program.environment["OIDC_CLIENT_ID"] = nil
        let direct = try program.run("token", "--issuer", world.provider.origin, "--client-id", "demo")
        #expect(direct.status == 0)
    }
}
