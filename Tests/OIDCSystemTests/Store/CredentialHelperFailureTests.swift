import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import Posix
import Testing

@Suite("credential helpers that fail")
struct CredentialHelperFailureTests {
    let scratch = ScratchDirectory()

    struct Misbehavior: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let script: String
        let message: String
        var hint = Hint.set(.store, to: "file")
    }

    static let misbehaviors = [
        Misbehavior(
            testDescription: "exit 1 with a reason", script: "printf 'no \\033[31mkeychain\\n'; exit 1",
            message: "docker-credential-fake get exited with 1: no [31mkeychain"),
        Misbehavior(
            testDescription: "exit 2 with a reason on stderr", script: "echo why >&2; exit 2",
            message: "docker-credential-fake get exited with 2: why"),
        Misbehavior(
            testDescription: "exit 1 without a word", script: "exit 1",
            message: "docker-credential-fake get exited with 1"),
        Misbehavior(
            testDescription: "killed", script: "kill -9 $$",
            message: "docker-credential-fake get was ended by SIGKILL"),
        Misbehavior(
            testDescription: "garbage", script: "echo garbage",
            message:
                "docker-credential-fake get: expected JSON with Username and Secret, found something else"),
        Misbehavior(
            testDescription: "nothing", script: ":",
            message:
                "docker-credential-fake get: expected JSON with Username and Secret, found something else"),
        Misbehavior(
            testDescription: "no secret", script: #"echo '{"Username":"oidc"}'"#,
            message:
                "docker-credential-fake get: expected JSON with Username and Secret, found something else"),
        Misbehavior(
            testDescription: "endless", script: "exec cat /dev/zero",
            message: "docker-credential-fake get: an answer of more than 65536 bytes"),
    ]

    @Test("a failure is reported in the helper's words, and nothing is lost", arguments: misbehaviors)
    func misbehaving(_ helper: Misbehavior) throws {
        let fake = FakeHelper(scratch)
        try fake.store().save(.example(), replacingDamaged: false)
        fake.install("#!/bin/sh\n[ \"$1\" = get ] || exit 0\n\(helper.script)\n")
        #expect(
            failure { () throws(OIDCError) in try fake.store().load(.example) }
                == OIDCError(.failed, helper.message, hint: helper.hint, stage: .store))
        #expect(
            failure { () throws(OIDCError) in try fake.store().probe(.example) }
                == OIDCError(.failed, helper.message, hint: helper.hint, stage: .store))
        fake.install(FakeHelper.keeping)
        #expect(try fake.store().load(.example) == .example())
    }

    @Test("a helper that hangs is ended in time")
    func hanging() throws {
        let fake = FakeHelper(scratch)
        try fake.store().save(.example(), replacingDamaged: false)
        fake.install("#!/bin/sh\nexec sleep 60\n")
        #expect(
            failure { () throws(OIDCError) in try fake.store(milliseconds: 50).load(.example) }
                == OIDCError(
                    .failed, "docker-credential-fake get: no answer within 0 s",
                    hint: .advice(.unlockKeychain), stage: .store))
    }

    @Test("a helper that is missing or not a program is a usage error, and nothing is stored elsewhere")
    func missing() throws {
        let fake = FakeHelper(scratch)
        try fake.store().save(.example(), replacingDamaged: false)
        unlink(scratch["bin/docker-credential-fake"])
        let expected = OIDCError(
            .usage, "store: the program docker-credential-fake is not on PATH",
            hint: .advice(.installHelper), stage: .store)
        let store = fake.store()
        #expect(failure { () throws(OIDCError) in try store.load(.example) } == expected)
        #expect(failure { () throws(OIDCError) in try store.probe(.example) } == expected)
        #expect(
            failure { () throws(OIDCError) in try store.save(.example(key: .other), replacingDamaged: true) }
                == expected)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"])
                == ["\(SessionKey.example.fileStem).sealed"])
        scratch.put("x", "bin/docker-credential-fake", mode: 0o600)
        #expect(
            failure { () throws(OIDCError) in try store.load(.example) }
                == OIDCError(
                    .usage, "store: docker-credential-fake cannot be run: Permission denied",
                    hint: .set(.store, to: "file"), stage: .store))
    }

    @Test("the probe refuses a helper that does not keep what it is given, and leaves nothing behind")
    func forgetful() throws {
        let fake = FakeHelper(scratch)
        try fake.store().probe(.example)
        #expect(fake.calls() == ["store", "get", "erase"])
        #expect(fake.entries == [])
        fake.install(
            "#!/bin/sh\n[ \"$1\" = get ] || exit 0\necho '{\"Username\":\"oidc\",\"Secret\":\"other\"}'\n")
        #expect(
            failure { () throws(OIDCError) in try fake.store().probe(.example) }
                == OIDCError(
                    .failed, "docker-credential-fake does not return what it stored",
                    hint: .set(.store, to: "file"), stage: .store))
    }

    @Test("probes that were cut short leave one entry in all, and the next probe removes it")
    func cutShortProbes() throws {
        let fake = FakeHelper(
            scratch,
            script: FakeHelper.keeping.replacingOccurrences(of: "erase)", with: "erase) exit 0 ;; never)"))
        for _ in 0..<3 { try fake.store().probe(.example) }
        #expect(fake.entries.count == 1)
        fake.install(FakeHelper.keeping)
        try fake.store().probe(.example)
        #expect(fake.entries == [])
    }

    @Test("probes at the same time take turns, and leave no file behind")
    func parallelProbes() async throws {
        let fake = FakeHelper(scratch)
        let stores = (0..<12).map { _ in fake.store() }
        let failures = await withTaskGroup(of: OIDCError?.self) { group in
            for store in stores {
                group.addTask { failure { () throws(OIDCError) in try store.probe(.example) } }
            }
            return await group.reduce(into: [OIDCError]()) { failures, failure in
                if let failure { failures.append(failure) }
            }
        }
        #expect(failures == [])
        #expect(fake.entries == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"]) == [])
    }

    @Test("a secret that a helper repeats in its error is not shown")
    func secretInError() {
        let fake = FakeHelper(scratch, script: "#!/bin/sh\necho cannot store \"$(cat)\"; exit 1\n")
        #expect(
            failure { () throws(OIDCError) in try fake.store().probe(.example) }
                == OIDCError(
                    .failed, "docker-credential-fake store exited with 1", hint: .set(.store, to: "file"),
                    stage: .store))
    }

    @Test("the client's secret is not in the environment of the helper")
    func environment() throws {
        let fake = FakeHelper(
            scratch, script: "#!/bin/sh\necho \"${OIDC_CLIENT_SECRET-none}\" >&2; exit 1\n")
        var environment = fake.environment
        environment["OIDC_CLIENT_SECRET"] = "hush"
        let store = SessionStore(
            helper: FakeHelper.name, directory: scratch["oidc"], environment: environment)
        #expect(
            failure { () throws(OIDCError) in try store.probe(.example) }?.message
                == "docker-credential-fake store exited with 1: none")
    }
}
