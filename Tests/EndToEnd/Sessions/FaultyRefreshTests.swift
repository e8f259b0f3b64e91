import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

/// The provider rotates refresh tokens and revokes the grant when a spent one comes back, so one that is lost on
/// the way ends the session for good.
@Suite("a refresh whose answer is faulty costs no session", .waiting)
struct FaultyRefreshTests {
    /// What answers the request for keys, and the exit code of the refresh.
    enum KeySetAnswer: String, CaseIterable {
        case notFound, forbidden, unauthorized, redirected, html, empty, unavailable, unpublished

        var exit: Int32 {
            switch self {
            case .notFound, .forbidden, .unauthorized, .redirected, .html: 4
            case .empty, .unpublished: 7
            // The access token is handed out, and the old ID token stays.
            case .unavailable: 0
            }
        }

        var response: HTTPResponse {
            switch self {
            case .notFound: HTTPResponse(status: 404)
            case .forbidden: .json(#"{"error":"access_denied"}"#, status: 403)
            case .unauthorized: .json("{}", status: 401, [("WWW-Authenticate", "Basic realm=portal")])
            case .redirected: .json("", status: 302, [("Location", "http://portal.invalid/sign-in")])
            case .html: .json("<!doctype html><title>Accept the terms</title>")
            case .empty: .json(#"{"keys":[]}"#)
            case .unavailable: HTTPResponse(status: 500)
            case .unpublished: .json(#"{"keys":[{"kty":"EC","crv":"P-256","kid":"last-week"}]}"#)
            }
        }
    }

    @Test("keys that cannot be fetched, or did not sign", arguments: KeySetAnswer.allCases)
    func keys(_ answer: KeySetAnswer) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        world.provider.intercept { $0.url.path == "/jwks" ? answer.response : nil }
        try refuses(world, answer.exit)
        world.provider.intercept(nil)
        try recovers(world)
    }

    @Test(
        "a certificate of the key set's server that is not trusted",
        .enabled(if: Installed.programs("python3", "openssl"), "python3 or openssl is not installed"),
        .enabled(if: Installed.certificateAuthorities, "this machine has no certificate authorities"))
    func certificate() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let server = try OddServer(.untrusted)
        try world.edit { $0["jwks_uri"] = "https://127.0.0.1:\(server.port)/jwks" }
        try refuses(world, 7)
        try world.edit { $0["jwks_uri"] = "\(world.provider.origin)/jwks" }
        try recovers(world)
    }

    @Test("the provider's clock is ahead by ten minutes, or behind by two hours", arguments: [600, -7_200])
    func providerClock(offset: Int64) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        world.provider.with { $0.configuration.clockOffset = offset }
        try refuses(world, 7)
        world.provider.with { $0.configuration.clockOffset = 0 }
        try recovers(world)
    }

    @Test(
        "this machine's clock is behind by ten minutes, or ahead by two hours",
        .enabled(if: Installed.programs("faketime"), "faketime is not installed"),
        .disabled(if: Program.isSanitized),
        arguments: ["-10m", "+2h"])
    func ownClock(offset: String) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try refuses(world, 7) { try at(offset, world, "token", "--refresh") }
        #expect(world.refreshes == 1)
        try recovers(world)
    }

    @Test(
        "two machines with clocks ten minutes apart and one state directory",
        .enabled(if: Installed.programs("faketime"), "faketime is not installed"),
        .disabled(if: Program.isSanitized))
    func twoClocks() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        for _ in 0..<3 {
            try refuses(world, 7) { try at("-10m", world, "token", "--refresh") }
            try recovers(world)
        }
        // Neither has the time of the provider.
        world.provider.with { $0.configuration.clockOffset = -300 }
        for _ in 0..<2 {
            try refuses(world, 7) { try at("-10m", world, "token", "--refresh") }
            try forgetDocuments(world)
            _ = try world.program.run("token", "--refresh")
        }
        world.provider.with { $0.configuration.clockOffset = 0 }
        try recovers(world)
    }

    @Test(
        "a rotated refresh token is kept even if the access token is unusable",
        arguments: [
            String(repeating: "a", count: 65_537), "a\r\nX-Injected: yes", "",
        ])
    func accessToken(_ token: String) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let provider = world.provider
        provider.intercept { [weak provider] request in
            guard let provider, request.url.path == "/token" else { return nil }
            var response = provider.with { $0.handle(request, at: Clock.now()) }
            guard var answer = (try? JSONValue(parsing: response.body))?.object else { return response }
            answer["access_token"] = .string(token)
            response.body = JSONValue.object(answer).bytes
            return response
        }
        try refuses(world, 4)
        provider.intercept(nil)
        try recovers(world)
    }

    @Test("with any small limit of open files: a token, or exit 1 and the session stays")
    func descriptors() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        for limit in Array(4...32) + [48, 256] {
            try forgetDocuments(world)
            let outcome = try world.runBelowShell("ulimit -n \(limit)", ["token", "--refresh"])
            #expect((outcome.status == 0) == !outcome.token.isEmpty, "\(limit): \(outcome.errorOutput)")
            // 127: not even the program's libraries could be opened.
            let expected: [Int32] = limit == 256 ? [0] : [0, 1, 127]
            #expect(expected.contains(outcome.status), "\(limit): \(outcome.errorOutput)")
        }
        try recovers(world)
    }

    /// Whether this process may mount a file system of its own.
    static let canMount: Bool = {
        guard getuid() == 0, Installed.programs("mount", "umount", "dd") else { return false }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "mount-\(UUID().uuidString)")
        guard mkdir(folder.path, 0o700) == 0 else { return false }
        defer { rmdir(folder.path) }
        let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" && umount \"$1\""
        let child = ChildProcess(
            ["/bin/sh", "-c", script, "sh", folder.path],
            environment: Variables(ProcessInfo.processInfo.environment))
        return (try? child.run().status) == .exited(0)
    }()

    @Test(
        "a file system that is full: the refresh token is not presented",
        .enabled(if: canMount, "no file system can be mounted here"))
    func fullDisk() throws {
        let world = try SessionWorld()
        defer { world.remove() }
        try FileManager.default.createDirectory(at: world.directory, withIntermediateDirectories: true)
        let place = world.directory.path
        try world.shell("mount -t tmpfs -o size=64k,nr_inodes=32,mode=0700 tmpfs \"$1\"", [place])
        defer { try? world.shell("umount -l \"$1\"", [place]) }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        try world.shell("dd if=/dev/zero of=\"$1/fill\" bs=1k 2>/dev/null; true", [place])
        try refuses(world, 1)
        #expect(world.refreshes == 0)
        // Not a page is free, and not even an empty file can be made.
        try world.shell("i=0; while touch \"$1/n$i\" 2>/dev/null; do i=$((i+1)); done", [place])
        try refuses(world, 1)
        #expect(world.refreshes == 0)
        try world.shell("rm -f \"$1\"/fill \"$1\"/n*", [place])
        try recovers(world)
    }

    @Test(
        "a file system that fills during the request: the successor is stored in the space that was reserved",
        .enabled(if: canMount, "no file system can be mounted here"))
    func fillingDisk() throws {
        let world = try SessionWorld()
        defer { world.remove() }
        try FileManager.default.createDirectory(at: world.directory, withIntermediateDirectories: true)
        let place = world.directory.path
        try world.shell("mount -t tmpfs -o size=96k,mode=0700 tmpfs \"$1\"", [place])
        defer { try? world.shell("umount -l \"$1\"", [place]) }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            let fill = ChildProcess(
                ["/bin/dd", "if=/dev/zero", "of=\(place)/fill", "bs=1k"], environment: [:])
            _ = try? fill.run()
            return nil
        }
        try refuses(world, 0)
        world.provider.intercept(nil)
        try world.shell("rm -f \"$1/fill\"", [place])
        try recovers(world)
    }

    /// The refresh ends with that exit code, and a token is on stdout only if it is 0.
    private func refuses(
        _ world: SessionWorld, _ exit: Int32, _ refresh: (() throws -> Program.Outcome)? = nil
    ) throws {
        try forgetDocuments(world)
        let outcome = try refresh?() ?? world.program.run("token", "--refresh")
        #expect(outcome.status == exit, "\(outcome.errorOutput)")
        #expect(outcome.token.isEmpty == (exit != 0))
        guard exit != 0 else { return }
        #expect(!outcome.errorOutput.contains("oidc login"), "\(outcome.errorOutput)")
    }

    /// The fault is over: the next refresh succeeds, and the provider accepts the token.
    private func recovers(_ world: SessionWorld) throws {
        try forgetDocuments(world)
        let outcome = try world.program.run("token", "--refresh")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(!outcome.token.isEmpty)
        #expect(world.accepts(outcome.token))
    }

    /// Metadata and keys are fetched again.
    private func forgetDocuments(_ world: SessionWorld) throws {
        let cache = world.program.home.appendingPathComponent(".cache/oidc")
        guard FileManager.default.fileExists(atPath: cache.path) else { return }
        try FileManager.default.removeItem(at: cache)
    }

    /// One run whose clock is off by that much.
    private func at(_ offset: String, _ world: SessionWorld, _ arguments: String...) throws -> Program.Outcome
    {
        try forgetDocuments(world)
        return try world.program.start(
            ["faketime", "-f", offset, Program.path] + arguments, ["FAKETIME_DONT_FAKE_MONOTONIC": "1"],
            executable: "/usr/bin/env"
        ).finish()
    }
}
