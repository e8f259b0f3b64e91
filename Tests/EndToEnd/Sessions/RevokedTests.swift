import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("revoked tokens are dropped", .waiting)
struct RevokedTests {
    @Test("a revoked access token is not printed again; the next one is new")
    func accessToken() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let before = try world.program.run("token").token
        #expect(try world.program.run("revoke").status == 0)
        #expect(!(try String(contentsOf: world.file, encoding: .utf8)).contains(before))
        let status = try world.program.run("status")
        #expect(status.status == 0 && status.output.contains("access token  revoked\n"), "\(status)")
        let sent = RequestLog()
        world.provider.intercept { request in
            sent.note(request)
            return nil
        }
        for words in [["revoke"], ["introspect"], ["inspect", "--type", "access"]] {
            let again = try world.program.start(words).finish()
            #expect(again.status == 2 && again.output == "" && sent.all.isEmpty, "\(again)")
            #expect(again.error == "the session has no access token: it was revoked", "\(again)")
        }
        let after = try world.program.run("token")
        #expect(after.status == 0 && after.token != before)
    }

    @Test("a token that could not be dropped afterwards is not revoked")
    func notDroppable() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let revocations = RequestLog()
        world.provider.intercept { request in
            if request.url.path == "/revoke" { revocations.note(request) }
            return nil
        }
        // The session cannot be written where no space can be reserved for it.
        let temporary = try world.file.deletingPathExtension().appendingPathExtension("reserved")
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
        let outcome = try world.program.run("revoke")
        #expect(outcome.status == 1, "\(outcome.errorOutput)")
        #expect(revocations.all.isEmpty)
        try FileManager.default.removeItem(at: temporary)
        #expect(try world.program.run("revoke").status == 0)
        #expect(revocations.all.count == 1)
    }

    @Test("the refresh token that a refresh just brings is revoked, not the one before it")
    func duringRefresh() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let (refreshes, revocations) = (RequestLog(), RequestLog())
        world.provider.intercept { request in
            if request.url.path == "/revoke" { revocations.note(request) }
            guard request.url.path == "/token" else { return nil }
            refreshes.note(request)
            // The revocation is tried meanwhile.
            for _ in 0..<150 where revocations.all.isEmpty { usleep(10_000) }
            return nil
        }
        let before = try Data(contentsOf: world.file)
        let refresh = try world.program.start(["token", "--refresh"])
        for _ in 0..<3000 where refreshes.all.isEmpty { usleep(10_000) }
        #expect(try world.program.run("revoke", "--refresh-token").status == 0)
        #expect(refresh.finish().status == 0)
        let body = String(decoding: try #require(revocations.all.first).body, as: UTF8.self)
        let token = FormEncoding.decode(body)?.first { $0.name == "token" }?.value
        #expect(token.map { !String(decoding: before, as: UTF8.self).contains($0) } == true)
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test("a revoked refresh token ends the session, and status reports that at once")
    func refreshToken() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        #expect(try world.program.run("revoke", "--refresh-token").status == 0)
        #expect(try world.program.run("status").status == 3)
        let token = try world.program.run("token")
        #expect(token.status == 3 && token.output == "")
    }

    @Test("a token on stdin that is the session's is dropped too")
    func pasted() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let before = try world.program.run("token").token
        let run = try world.program.start(["revoke", "-"], input: .text(before + "\n"))
        #expect(run.finish().status == 0)
        #expect(try world.program.run("token").token != before)
    }
}
