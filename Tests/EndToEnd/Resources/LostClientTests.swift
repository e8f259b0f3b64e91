import Foundation
import TestSupport
import Testing

@Suite(
    "a registered client that the server has forgotten", .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct LostClientTests {
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
