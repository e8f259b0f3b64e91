import Foundation
import TestSupport
import Testing

@Suite(
    "a registered client that the server has forgotten", .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct LostClientTests {
    @Test(
        "a profile's client that the server may have forgotten is registered again by the command in the hint"
    )
    func profile() throws {
        let world = try ResourceWorld()
        let issuer = world.server.issuer
        expectSuccess(try world.run(["register", "-p", "work", "--issuer", issuer, "--scope", "api"]))
        let run = try world.program.start(["login", "-p", "work", "--timeout", "3"], ["BROWSER": "true"])
        let outcome = run.finish()
        let line = "oidc register -p work --force"
        #expect(outcome.status == 6 && outcome.errorOutput.contains(line), "\(outcome)")
        expectSuccess(try world.run(line.split(separator: " ").dropFirst().map(String.init)))
        #expect(world.server.registrations.count == 2)
        expectSuccess(try world.run(["login", "-p", "work"]))
        #expect(
            world.server.authorizations.last?["client_id"] == world.server.tokenRequests[0].form["client_id"])
    }

    @Test("a server that does not register us for itself is exit 2 with the line that names a client")
    func closed() throws {
        let world = try ResourceWorld { $0.registrationStatus = 401 }
        let outcome = try world.run(["login", world.url])
        #expect(outcome.status == 2 && world.tabs.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("try: oidc login \(world.url) --client-id ID\n"), "\(outcome)")
    }

    @Test(
        "a sign-in that nothing comes back from registers another client the next time",
        arguments: [("8", nil, 6), ("60", SIGINT, 130)] as [(String, Int32?, Int32)])
    func unanswered(limit: String, signal: Int32?, status: Int32) throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let run = try world.program.start(["login", world.url, "--timeout", limit], ["BROWSER": "true"])
        if let signal {
            try #require(run.errorOutput { $0.contains("Sign in at:") ? true : nil } == true)
            run.signal(signal)
        }
        let outcome = run.finish()
        #expect(outcome.status == status)
        if signal == nil {
            let hint = "try: oidc login \(world.url), which registers another client"
            #expect(outcome.errorOutput.contains(hint), "\(outcome.errorOutput)")
        }
        #expect(world.server.registrations.count == 1)
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.registrations.count == 2 && world.program.sessionFiles.count == 1)
    }
}
