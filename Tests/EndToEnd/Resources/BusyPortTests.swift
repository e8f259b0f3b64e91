import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite(
    "sign-ins at once", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct BusyPortTests {
    @Test("fourteen sign-ins at once all succeed")
    func fourteen() throws {
        let worlds = try (0..<14).map { _ in try ResourceWorld() }
        let runs = try worlds.map {
            try $0.program.start(
                ["login", $0.url, "--timeout", "120"], ["OIDC_REDIRECT_PORTS": ""])
        }
        for run in runs { expectSuccess(run.finish()) }
    }

    /// Listens on every port of the list, as other sign-ins do. One that a connection of another test has for a moment
    /// is waited for: it would be free again when the sign-in looks.
    private func occupied(_ ports: [UInt16]) -> [LoopbackServer] {
        ports.compactMap { port in
            let end = Date().addingTimeInterval(20)
            while true {
                if let server = try? LoopbackServer(LoopbackAddress(ports: .fixed(port))) { return server }
                guard Date() < end else { return nil }
                usleep(20_000)
            }
        }
    }

    @Test("if the usual ports are in use, a client is registered for others; it is kept for the next time")
    func registersAgain() throws {
        let world = try ResourceWorld()
        let usual: [UInt16] = [23_761, 23_762, 23_763, 23_764]
        let busy = occupied(usual)
        defer { for server in busy { server.close() } }
        for _ in 0..<2 {
            let outcome = try world.program.run("login", world.url, variables: ["OIDC_REDIRECT_PORTS": ""])
            #expect(outcome.status == 0, "\(outcome)")
        }
        let urls = world.server.registrations.last?["redirect_uris"]?.array?.compactMap(\.string) ?? []
        #expect(urls.count == 4)
        #expect(urls.allSatisfy { url in !usual.contains { url.contains(":\($0)/") } }, "\(urls)")
        #expect(world.server.registrations.count == 1)
    }

    @Test("ports that the settings name are waited for, and the wait says why")
    func waits() throws {
        let world = try ResourceWorld()
        let listed = try #require(world.program.environment["OIDC_REDIRECT_PORTS"])
        let ports = try JSONValue(parsing: listed).array?.compactMap { $0.integer.map { UInt16($0) } } ?? []
        let busy = occupied(ports)
        let run = try world.program.start(["login", world.url, "--timeout", "60"])
        let said = run.errorOutput { $0.contains("in use by other sign-ins: waiting") ? true : nil }
        #expect(said == true)
        #expect(world.tabs.isEmpty)
        busy.first?.close()
        expectSuccess(run.finish())
    }

    @Test("the wait for a port ends with the time limit")
    func limit() throws {
        let world = try ResourceWorld()
        let listed = try #require(world.program.environment["OIDC_REDIRECT_PORTS"])
        let ports = try JSONValue(parsing: listed).array?.compactMap { $0.integer.map { UInt16($0) } } ?? []
        let busy = occupied(ports)
        defer { for server in busy { server.close() } }
        let outcome = try world.run(["login", world.url, "--timeout", "3"])
        #expect(outcome.status == 6 && outcome.errorOutput.contains("by other sign-ins"), "\(outcome)")
        #expect(world.tabs.isEmpty)
    }
}
