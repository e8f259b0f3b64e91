import Foundation
import LoopbackHTTP
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("lend: a slow provider, and callers that have gone", .serialized, .waitingLong)
struct LendQueueTests {
    @Test("fifty callers at a provider that does not answer cause one request; what is stored does not wait")
    func silentProvider() throws {
        let world = try LendWorld(variables: ["OIDC_HTTP_TIMEOUT": "4"])
        let provider = world.world.provider
        let requests = RequestCounter()
        provider.intercept { request in
            if request.url.path == "/token" { requests.add() }
            return nil
        }
        provider.delayTokens(milliseconds: 600_000)
        let start = Date()
        let waiting = (0..<50).compactMap { _ in
            world.connection(LendWorld.body("access_token", #""renew":true"#))
        }
        #expect(waiting.count == 50)
        let stored = (world.post(LendWorld.body("access_token")), world.post(LendWorld.body("terms")))
        #expect(stored.0.contains("\"access\"") && stored.1.contains("\"profile\""), "\(stored)")
        #expect(Date().timeIntervalSince(start) < 3.5)
        let answers = waiting.map { $0.received(within: 30) }
        #expect(answers.allSatisfy { $0.contains("\"unreachable\"") }, "\(answers.last ?? "")")
        #expect(Date().timeIntervalSince(start) < 20)
        provider.delayTokens(milliseconds: 0)
        // The provider has one thread, so it has read all by then.
        _ = try world.world.run(["discover", provider.origin])
        #expect(requests.value == 1)
    }

    @Test(
        "one program takes all places, and another is served all the same, from the store and by the provider"
    )
    func crowded() throws {
        let world = try LendWorld()
        let provider = world.world.provider
        provider.delayTokens(milliseconds: 600_000)
        let crowd = (0..<280).compactMap { _ in
            world.connection(LendWorld.body("access_token", #""renew":true"#))
        }
        #expect(crowd.count == 280)
        // A program that has the most gets no more.
        #expect(world.post(LendWorld.body("terms")).contains("too many callers"))
        let stored = try world.run("token")
        #expect(stored.status == 0, "\(stored)")
        let renewed = try world.start(["token", "--refresh"])
        usleep(500_000)
        provider.delayTokens(milliseconds: 0)
        let outcome = renewed.finish()
        #expect(outcome.status == 0 && outcome.output != stored.output, "\(outcome)")
        withExtendedLifetime(crowd) {}
    }

    @Test("whoever has the most places gives one to a new request, and nobody more than that")
    func places() throws {
        let process = try #require(ProcessFamily.Member(running: getpid()))
        let (own, other) = (LendCaller(user: 1, process: process), LendCaller(user: 2, process: nil))
        let unknown = LendCaller(user: 1, process: nil)
        func taken(by caller: LendCaller, from counts: [(LendCaller, Int)]) -> Int? {
            let start = MonotonicTime.now()
            let callers = counts.flatMap { Array(repeating: $0.0, count: $0.1) }
            return LendPlaces.taken(
                by: caller,
                from: callers.enumerated().map { ($0.element, start.adding(milliseconds: Int64($0.offset))) })
        }
        #expect(taken(by: own, from: []) == nil)
        // The last one that came, of one program or of all that nobody can tell apart.
        #expect(taken(by: own, from: [(unknown, 4)]) == 3)
        #expect(taken(by: unknown, from: [(own, 4)]) == 3)
        #expect(taken(by: own, from: [(unknown, 3), (own, 1)]) == 2)
        // A share of each program of a user, and before that one of each user.
        #expect(taken(by: own, from: [(unknown, 3), (own, 2)]) == nil)
        #expect(taken(by: own, from: [(own, 4)]) == nil)
        #expect(taken(by: other, from: [(own, 2), (unknown, 3)]) == 4)
        #expect(taken(by: other, from: [(own, 2), (other, 2)]) == nil)
        #expect(taken(by: own, from: [(other, 8), (unknown, 7)]) == 14)
        #expect(taken(by: own, from: [(other, 9), (unknown, 7)]) == 8)
        let now = MonotonicTime.now()
        let waiting = [own, unknown, unknown, other].map { ($0, now) }
        #expect([1, 2].contains(LendPlaces.last(of: waiting) { _ in true }))
        #expect(LendPlaces.last(of: waiting) { $0.user == 2 } == 3)
    }

    @Test("renewals that wait for the same refresh share its token")
    func renewals() throws {
        let world = try LendWorld()
        world.world.provider.delayTokens(milliseconds: 1_500)
        let waiting = (0..<20).compactMap { _ in
            world.connection(LendWorld.body("access_token", #""renew":true"#))
        }
        let tokens = waiting.map { LendWorld.members($0.received(within: 30))["access"]?["token"]?.string }
        #expect(tokens.count == 20 && Set(tokens).count == 1 && tokens[0] != nil, "\(tokens)")
        #expect(world.world.provider.requestCount(grant: "refresh_token") == 1)
    }

    @Test("a caller that hung up is not logged as served, and nothing is requested for it any more")
    func gone() throws {
        let world = try LendWorld()
        world.world.provider.delayTokens(milliseconds: 1_500)
        var callers: [RawConnection?] = []
        for more in [#""renew":true"#, #""scope":"openid""#] {
            callers.append(world.connection(LendWorld.body("access_token", more)))
            usleep(300_000)
        }
        callers = []
        let line = world.log("no longer waits")
        #expect(line?.contains("work: no access token to \"x@y, oidc z\"") == true, "\(line ?? "")")
        usleep(2_000_000)
        #expect(!world.lender.errorOutput.contains("left, to"), "\(world.lender.errorOutput)")
        #expect(world.world.provider.requestCount(grant: "refresh_token") == 1)
    }
}

@Suite("lend --ask", .serialized, .waitingLong)
struct LendQuestionTests {
    /// A stand-in for the program of SSH_ASKPASS, and what it was asked.
    private final class Asker {
        let folder: String
        var program: String { folder + "/ask" }
        var variables: [String: String] { ["SSH_ASKPASS": program, "SSH_ASKPASS_REQUIRE": "force"] }
        var asked: [Substring] {
            ((try? String(contentsOfFile: folder + "/asked", encoding: .utf8)) ?? "").split(separator: "\n")
        }

        init(_ script: String) throws {
            folder = FileManager.default.temporaryDirectory.path + "/ask-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try ExecutableScript.write(
                "#!/bin/sh\ncd \(folder)\nenv >variables\necho $$ >process\n"
                    + "echo \"$SSH_ASKPASS_PROMPT $1\" >>asked\n\(script)\n",
                to: URL(fileURLWithPath: program))
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func allow() { _ = FileManager.default.createFile(atPath: folder + "/yes", contents: nil) }

        /// The number of the process that asks, once it does.
        var process: Int32? {
            let end = Date().addingTimeInterval(30)
            while Date() < end {
                let text = (try? String(contentsOfFile: folder + "/process", encoding: .utf8)) ?? ""
                if let number = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)) { return number }
                usleep(10_000)
            }
            return nil
        }
    }

    private static let patient = "[ -e yes ] && exit 0; exec sleep 100"

    private func hasEnded(_ process: Int32, within seconds: Double) -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            if kill(process, 0) != 0 { return true }
            usleep(20_000)
        }
        return false
    }

    @Test("each new program is confirmed by SSH_ASKPASS; a refusal is exit 4, and there is no token")
    func programs() throws {
        let asker = try Asker("case \"$1\" in *bob@*) exit 0;; esac; exit 1")
        let world = try LendWorld(
            ["-p", "work", "--ask"],
            variables: asker.variables.merging(["OIDC_SUBJECT_TOKEN_ENV": "MINE", "MINE": "secret"]) { $1 })
        #expect(try world.run("status").status == 0)
        #expect(try world.run("token").status == 0)
        #expect(try world.run("token").status == 0)
        let denied = try world.run("token", variables: ["USER": "eve"])
        #expect(
            denied.status == 4 && denied.output == "" && denied.errorOutput.contains("refused"), "\(denied)")
        #expect(asker.asked.count == 3, "\(asker.asked)")
        #expect(asker.asked.first?.hasPrefix("confirm Lend profile work to \"bob@") == true)
        let variables = try String(contentsOfFile: asker.folder + "/variables", encoding: .utf8)
        #expect(!variables.contains("secret") && variables.contains("SSH_ASKPASS_PROMPT"))
    }

    @Test(
        "an answer is about the program that the kernel names, whatever it says of itself",
        arguments: [true, false])
    func claims(_ isAllowed: Bool) throws {
        let asker = try Asker("[ -e yes ]")
        if isAllowed { asker.allow() }
        let world = try LendWorld(["-p", "work", "--ask"], variables: asker.variables)
        for user in ["a", "b", "c"] {
            let answer = world.post(LendWorld.body("access_token", user: user))
            #expect(answer.contains("\"access\"") == isAllowed, "\(answer)")
        }
        #expect(asker.asked.count == 1, "\(asker.asked)")
        // Another program is another caller.
        asker.allow()
        #expect(try world.run("token").status == 0)
        #expect(asker.asked.count == 2, "\(asker.asked)")
    }

    @Test("an answer to exec is not for the program that its process executes next")
    func executed() throws {
        let asker = try Asker("exit 0")
        let world = try LendWorld(["-p", "work", "--ask"], variables: asker.variables)
        #expect(try world.run("exec", "--", Program.path, "token").status == 0)
        #expect(asker.asked.count == 2, "\(asker.asked)")
        let body = LendWorld.body("access_token")
        let commands = ["exec ", #"exec\n"#, "EXEC", " exec make", "exec --proxy", "z"]
        for (index, command) in commands.enumerated() {
            let asked = asker.asked.count
            for _ in 0..<2 {
                let claim = body.replacing(#""command":"z""#, with: #""command":"\#(command)""#)
                #expect(world.post(claim).contains("\"access\""))
            }
            // The first one that stays is the answer for all that follow.
            #expect(asker.asked.count == asked + (index < 4 ? 2 : index == 4 ? 1 : 0), "\(asker.asked)")
        }
    }

    @Test(
        "one program has two requests that wait for an answer, and after three refusals no new one is asked about"
    )
    func flood() throws {
        let asker = try Asker("for i in $(seq 600); do [ -e yes ] && exit 1; sleep 0.05; done; exit 1")
        let world = try LendWorld(["-p", "work", "--ask"], variables: asker.variables)
        let waiting = (0..<2).compactMap { world.connection(LendWorld.body("access_token", user: "u\($0)")) }
        _ = try #require(asker.process)
        #expect(world.post(LendWorld.body("access_token", user: "u3")).contains("too many callers"))
        asker.allow()
        #expect(waiting.map { $0.received(within: 30) }.allSatisfy { $0.contains("refused") })
        for _ in 0..<4 { #expect(try world.run("token").status == 4) }
        #expect(asker.asked.count == 3, "\(asker.asked)")
    }

    @Test(
        "requests that wait are refused, too, once three programs of their user were; each user has eight places"
    )
    func silence() throws {
        let asker = try Asker("for i in $(seq 600); do [ -e yes ] && exit 1; sleep 0.05; done; exit 1")
        let world = try LendWorld(["-p", "work", "--ask"], variables: asker.variables)
        let callers = try (0..<9).map { _ in try world.start(["token"]) }
        _ = try #require(asker.process)
        // The ninth finds no place; which one that is, nobody knows.
        let deadline = MonotonicTime.now().adding(seconds: 60)
        while callers.allSatisfy(\.isRunning), MonotonicTime.now() < deadline { usleep(20_000) }
        asker.allow()
        let outcomes = callers.map { $0.finish() }
        #expect(outcomes.map(\.status).sorted() == [4, 4, 4, 4, 4, 4, 4, 4, 5], "\(outcomes)")
        #expect(asker.asked.count == 3, "\(asker.asked)")
    }

    @Test("the question about a program that has ended is withdrawn, and others are asked about")
    func withdrawn() throws {
        let asker = try Asker(Self.patient)
        let world = try LendWorld(["-p", "work", "--ask"], variables: asker.variables)
        let caller = try world.start(["token"])
        let process = try #require(asker.process)
        caller.signal(SIGKILL)
        _ = caller.finish()
        #expect(hasEnded(process, within: 20))
        asker.allow()
        let other = try world.run("token")
        #expect(other.status == 0, "\(other)")
        #expect(!world.lender.errorOutput.contains("token to"), "\(world.lender.errorOutput)")
    }

    @Test("the question ends with the lender", arguments: [SIGTERM, SIGALRM])
    func end(_ number: Int32) throws {
        let asker = try Asker(Self.patient)
        let time = number == SIGALRM ? ["--for", "3s"] : []
        let world = try LendWorld(["-p", "work", "--ask"] + time, variables: asker.variables)
        let caller = try world.start(["token"])
        let process = try #require(asker.process)
        if number != SIGALRM { world.lender.signal(number) }
        _ = world.lender.finish(within: 30)
        #expect(hasEnded(process, within: 1))
        #expect(caller.finish().status == 5)
    }

    @Test(
        "at the terminal, what was typed before the question is not its answer, and a log line leaves it readable",
        .enabled(if: FileManager.default.isExecutableFile(atPath: TerminalRun.launcher)))
    func terminal() throws {
        let world = try ToolWorld()
        try world.signIn()
        let run = try TerminalRun(try Program(at: world), ["lend", "--ask"], columns: 400, world.person)
        let socket = run.wait { text in
            text.split(separator: "\n").first { $0.hasSuffix(".sock") }.map(String.init)
        }
        let path = try #require(socket, "\(run.text)")
        func questions(_ count: Int) -> Bool {
            run.wait { $0.components(separatedBy: "[y/N]").count > count ? true : nil } == true
        }
        let own = LendWorld.connection(path, LendWorld.body("access_token"))
        #expect(questions(1))
        run.type("y\n")
        #expect(own?.received(within: 20).contains("\"access\"") == true)
        run.type("y\ny\n")
        usleep(300_000)
        let far = try Program(["OIDC_LENT": path, "USER": "bob", "OIDC_ISSUER": world.issuer])
        defer { far.remove() }
        let caller = try far.start(["token"])
        #expect(questions(2))
        usleep(1_000_000)
        #expect(caller.isRunning)
        #expect(
            LendWorld.connection(path, LendWorld.body("access_token"))?.received(within: 20)
                .contains("\"access\"") == true)
        #expect(questions(3), "\(run.text)")
        run.type("n\n")
        let outcome = caller.finish()
        #expect(outcome.status == 4 && outcome.output == "", "\(outcome)")
        let mixed = run.text.split(separator: "\n").filter { $0.contains("[y/N]") && $0.contains("left, to") }
        #expect(mixed.isEmpty, "\(mixed)")
        run.type("\u{3}")
        _ = run.finish()
    }

    @Test("what a caller says is in quotation marks, and none of them is its own")
    func quotation() throws {
        let body = LendWorld.body("terms", user: #"x\" (as it says) through \"ssh"#)
        let claim = try LendRequest(parsing: Array(body.utf8)).claim
        #expect(claim.user.contains("\""))
        #expect(claim.text == "\"x (as it says) through ssh@y, oidc z\"")
    }

    /// A program chooses its name itself, as it does its claims.
    @Test("the name of a caller's program is marked as its own claim, its user is not")
    func programName() throws {
        let claim = try LendRequest(parsing: Array(LendWorld.body("terms").utf8)).claim
        func words(_ user: UInt32) throws -> String {
            let process = try #require(ProcessFamily.Member(running: getpid()))
            let caller = LendCaller(user: user, process: process)
            let name = try #require(caller.name)
            return LendServer.words(caller, claim).replacing("through \(name)", with: "through NAME")
        }
        #expect(try words(getuid()) == "\(claim.text) through NAME (as it says)")
        #expect(try words(4_000_000) == "\(claim.text) through NAME (as it says) of user 4000000")
    }
}
