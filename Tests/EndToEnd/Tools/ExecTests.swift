import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("exec", .serialized, .waiting)
struct ExecTests {
    @Test("the command finds a fresh token in its environment, but not the client's secret")
    func token() throws {
        let world = try ToolWorld()
        let token = try world.run(["token"], world.machine).output
        let result = try world.run(
            ["exec", "--", "sh", "-c", "echo \"$OIDC_ACCESS_TOKEN\"; env; tr '\\0' ' ' < /proc/$$/cmdline"],
            world.machine)
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(result.code == 0 && lines.first.map { $0 + "\n" } == token, "\(result)")
        #expect(!result.output.contains("OIDC_CLIENT_SECRET") && lines.last?.contains(token) == false)
    }

    @Test("the identity tokens of a CI job do not reach the command, unless --env names that variable")
    func identityTokens() throws {
        let world = try ToolWorld()
        let variables = world.machine.merging([
            "OIDC_ID_TOKEN": "hunter2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "hunter2", "MINE": "hunter2",
            "OIDC_SUBJECT_TOKEN_ENV": "MINE", "TFC_WORKLOAD_IDENTITY_TOKEN_A": "hunter2",
            "BUILDKITE_AGENT_ACCESS_TOKEN": "of-the-job",
        ]) { $1 }
        let result = try world.run(["exec", "env"], variables)
        #expect(result.code == 0 && !result.output.contains("hunter2"), "\(result)")
        #expect(result.output.contains("of-the-job"), "the job's other programs need it")
        let own = try world.run(["exec", "--env", "OIDC_ID_TOKEN", "printenv", "OIDC_ID_TOKEN"], variables)
        #expect(try own.output == world.run(["token"], world.machine).output, "\(own)")
    }

    @Test("--env names another variable, --id-token gives the ID token")
    func variable() throws {
        let world = try ToolWorld()
        let session = try world.signIn()
        let result = try world.run(
            ["exec", "--env", "MINE", "--id-token", "printenv", "MINE"], world.person)
        #expect(result.output == (session.tokens.idToken?.revealed ?? "") + "\n", "\(result)")
        #expect(
            try world.run(["exec", "--env", "MINE", "printenv", "OIDC_ACCESS_TOKEN"], world.person).code == 1)
        for name in ["", "A=B", "1A", "A-B"] {
            #expect(try world.run(["exec", "--env", name, "true"], world.person).code == 2)
        }
    }

    @Test(
        "exec ends with the command's status or signal, as env does",
        arguments: ["exit 42", "kill -9 $$", "kill -TERM $$", "cat"])
    func status(script: String) throws {
        let world = try ToolWorld()
        let ours = try world.run(["exec", "--", "sh", "-c", script], world.machine, input: "piped in")
        let plain = try world.run(["sh", "-c", script], input: "piped in", as: "/usr/bin/env")
        #expect(ours == plain)
    }

    @Test("a command that cannot be run has the exit status of env, and no token is requested")
    func failures() throws {
        let world = try ToolWorld()
        for (command, status) in [("no-such-command", 127), ("/etc/passwd", 126), ("/no/such", 127)] {
            let result = try world.run(["exec", command], world.machine)
            #expect(Int(result.code ?? -1) == status && result.output == "", "\(result)")
            #expect(result.errors.hasPrefix("error: \"\(command)\" cannot be run: "))
        }
        #expect(world.requests.isEmpty)
    }

    @Test("signals, descriptors and arguments reach the command as they are")
    func surroundings() throws {
        let world = try ToolWorld()
        let signals = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        let plain = try world.run(signals, as: "/usr/bin/env")
        #expect(try world.run(["exec"] + signals, world.machine) == plain)
        let descriptors = """
            list='ls /proc/$$/fd'; before=$(env sh -c "$list"); after=$("$1" exec --min-valid 86400 -- sh -c "$list")
            [ "$before" = "$after" ] || echo "$before; $after"
            """
        let difference = try world.run(
            ["sh", "-c", descriptors, "sh", ToolWorld.program], world.machine, as: "/usr/bin/env")
        #expect(difference.output == "", "\(difference)")
        let script = "\"$1\" exec -- printf %s \"$(printf 'a\\377b')\" | od -An -tx1"
        let raw = try world.run(
            ["sh", "-c", script, "sh", ToolWorld.program], world.machine, as: "/usr/bin/env")
        #expect(raw.output == " 61 ff 62\n", "\(raw)")
    }

    @Test("options behind the command are the command's")
    func options() throws {
        let world = try ToolWorld()
        let result = try world.run(["exec", "echo", "--help", "--", "-v"], world.machine)
        #expect(result.output == "--help -- -v\n" && result.errors == "", "\(result)")
    }

    @Test("without a session it is exit 3, and the command does not start")
    func signedOut() throws {
        let world = try ToolWorld()
        let result = try world.run(["exec", "echo", "ran"], world.person)
        #expect(result.code == 3 && result.output == "", "\(result)")
    }

    @Test("a token that is bound to a key is refused")
    func bound() throws {
        let world = try ToolWorld()
        try world.signIn { $0.tokens.access.type = .dpop }
        let result = try world.run(["exec", "echo", "ran"], world.person)
        #expect(
            result.code == 4 && result.output == "" && result.errors.contains("oidc request"), "\(result)")
    }

    @Test("a job that is longer than the token's lifetime runs, with a warning")
    func longJob() throws {
        let world = try ToolWorld()
        let result = try world.run(["exec", "--min-valid", "7200", "echo", "ran"], world.machine)
        #expect(result.output == "ran\n" && result.errors.contains("--min-valid"), "\(result)")
        #expect(try world.run(["exec", "echo", "ran"], world.machine).errors == "")
    }

    @Test("with --login it signs in first if there is no session")
    func login() throws {
        let world = try ToolWorld { $0.deviceInterval = 1 }
        for asks in [true, false] {
            let result = try world.run(
                ["exec", "--login", "--", "printenv", "OIDC_ACCESS_TOKEN"], world.person)
            #expect(result.code == 0 && result.output.utf8.count > 20, "\(result)")
            #expect(result.errors.contains("Sign in at:") == asks, "\(result)")
        }
    }
}
