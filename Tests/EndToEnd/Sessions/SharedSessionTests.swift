import Foundation
import OIDCCore
import OIDCSessions
import OIDCSystem
import TestSupport
import Testing

@Suite("sessions of the command line and the library are the same", .serialized, .waitingLong)
struct SharedSessionTests {
    @Test(
        "the library uses and refreshes a session of oidc login; oidc token prints its new token, until it signs out"
    )
    func both() async throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        var configuration = ClientConfiguration(issuer: world.provider.origin, clientID: "demo")
        configuration.store = SessionStore(directory: world.directory.path)
        let client = OIDCClient(configuration)
        let first = try await client.accessToken().token.revealed
        #expect(try world.program.run("token").token == first)

        try world.age()
        let second = try await client.accessToken().token.revealed
        #expect(second != first)
        #expect(try world.program.run("token").token == second)
        #expect(world.refreshes == 1)

        #expect(try await client.signOut() == .revoked)
        #expect(try world.program.run("token").status == 3)
    }
}
