import Foundation
import OIDCCore
import OIDCCrypto
@testable import OIDCSessions
@testable import Posix
import TestSupport
import Testing

@Suite("sessions whose key a credential helper stores")
struct CredentialHelperTests {
    let scratch = ScratchDirectory()
    var stem: String { SessionKey.example.fileStem }
    var path: String { scratch["oidc/\(stem).sealed"] }

    @Test("the helper stores a key of 32 bytes, and the file the session without a readable secret")
    func roundTrip() throws {
        let helper = FakeHelper(scratch)
        let large = Session.example(String(repeating: "large-token", count: 2_000))
        try helper.store().save(large, replacingDamaged: false)
        #expect(helper.calls() == ["store"])
        #expect(try helper.store().load(.example) == large)
        #expect(helper.calls() == ["get"])
        let file = try #require(scratch.text("oidc/\(stem).sealed"))
        #expect(!file.contains("large-token") && !file.contains("rt-1"))
        #expect(mode(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch["oidc"]) == ["\(stem).sealed"])
        let entry = try #require(scratch.text("keychain/\(helper.entries[0])"))
        let json = try JSONValue(parsing: entry)
        #expect(json["ServerURL"]?.string?.hasPrefix("https://oidc.invalid/\(stem)/") == true)
        #expect(json["Username"] == "oidc")
        #expect(json["Secret"]?.string.flatMap { Base64URL.decode($0) }?.count == 32)
        #expect(json.object?.names == ["ServerURL", "Username", "Secret"])
    }

    @Test("a refresh calls the helper once and stores nothing in it; the key stays, the seal is new")
    func refresh() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        let before = scratch.text("oidc/\(stem).sealed")
        _ = helper.calls()
        let store = helper.store()
        #expect(try store.load(.example) == .example())
        try store.save(.example("at-2"), replacingDamaged: false)
        #expect(try store.load(.example) == .example("at-2"))
        #expect(helper.calls() == ["get"])
        try helper.store().save(.example(), replacingDamaged: true)
        #expect(helper.calls() == ["get"])
        #expect(scratch.text("oidc/\(stem).sealed") != before)
        #expect(helper.entries.count == 1)
    }

    @Test("a missing session is found without calling the helper")
    func nothing() throws {
        let helper = FakeHelper(scratch)
        #expect(try helper.store().load(.example) == nil)
        try helper.store().remove(.example)
        #expect(helper.calls() == [])
    }

    @Test("removing deletes file and key, even if the key no longer exists")
    func removing() throws {
        let helper = FakeHelper(scratch)
        let store = helper.store()
        for isGone in [false, true] {
            try store.save(.example(), replacingDamaged: false)
            if isGone { unlink(scratch["keychain/\(helper.entries[0])"]) }
            try store.remove(.example)
            #expect(try store.load(.example) == nil)
            #expect(helper.entries == [])
        }
    }

    @Test("a session is removed even if its key cannot be erased, with a warning")
    func failingErase() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        helper.install("#!/bin/sh\necho 'the keychain is locked'; exit 1")
        #expect(
            failure { () throws(OIDCError) in try helper.store().remove(.example) }
                == OIDCError(
                    .failed,
                    "the session is forgotten, but its key is still in the keychain: docker-credential-fake"
                        + " erase exited with 1: the keychain is locked", hint: .set(.store, to: "file"),
                    stage: .store))
        #expect(try helper.store().load(.example) == nil)
    }

    struct Damage: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let reason: String
        let harm: @Sendable (FakeHelper, String) throws -> Void
    }

    static let damages = [
        Damage(
            testDescription: "truncated",
            reason:
                "it is not valid JSON: line 1, column 6: the file ends here, but a quote or bracket is still open"
        ) {
            truncate($0.scratch[$1], 5)
        },
        Damage(testDescription: "no seal", reason: "its member entry is missing or wrong") {
            $0.scratch.put(
                "{\"version\":1,\"key\":\"\",\"helper\":\"fake\"}", $1)
        },
        Damage(
            testDescription: "missing key", reason: "docker-credential-fake does not have its key"
        ) { helper, _ in
            for entry in helper.entries { unlink(helper.scratch["keychain/\(entry)"]) }
        },
        Damage(
            testDescription: "key no key", reason: "docker-credential-fake does not have its key"
        ) { helper, _ in
            for entry in helper.entries {
                helper.scratch.put(#"{"Username":"oidc","Secret":"AAAA"}"#, "keychain/\(entry)")
            }
        },
        Damage(
            testDescription: "another key", reason: "the key in docker-credential-fake does not decrypt it"
        ) { helper, _ in
            let secret = Base64URL.encode(Array(repeating: 7, count: 32))
            for entry in helper.entries {
                helper.scratch.put(#"{"Username":"oidc","Secret":"\#(secret)"}"#, "keychain/\(entry)")
            }
        },
        Damage(
            testDescription: "changed seal", reason: "the key in docker-credential-fake does not decrypt it"
        ) {
            var stored = try EncryptedSession(stored: Array(($0.scratch.text($1) ?? "").utf8))
            stored.sealed[20] ^= 1
            $0.scratch.put(stored.json.compact, $1)
        },
        Damage(
            testDescription: "another helper",
            reason: "its key is in docker-credential-pass, but store is docker-credential-fake"
        ) {
            var stored = try EncryptedSession(stored: Array(($0.scratch.text($1) ?? "").utf8))
            stored.helper = "pass"
            $0.scratch.put(stored.json.compact, $1)
        },
    ]

    @Test(
        "what cannot be opened is an error, replaced by a sign-in and forgotten by logout", arguments: damages
    )
    func damaged(_ damage: Damage) throws {
        let helper = FakeHelper(scratch)
        let expected = OIDCError.damagedFile("the session file \(path) is damaged: \(damage.reason)")
        try helper.store().save(.example(), replacingDamaged: false)
        try damage.harm(helper, "oidc/\(stem).sealed")
        #expect(failure { () throws(OIDCError) in try helper.store().load(.example) } == expected)
        #expect(try helper.store().all().map { failure($0.content.get) } == [expected])
        try helper.store().probe(.example)
        try helper.store().save(.example("new"), replacingDamaged: true)
        #expect(try helper.store().load(.example) == .example("new"))
        #expect(helper.entries.count == 1)

        try damage.harm(helper, "oidc/\(stem).sealed")
        try helper.store().remove(.example)
        #expect(try helper.store().load(.example) == nil)
    }

    @Test(
        "what cannot be opened of a machine's counts as none, and its next token replaces it",
        arguments: damages)
    func damagedMachine(_ damage: Damage) throws {
        let helper = FakeHelper(scratch)
        let store = helper.store()
        try store.save(.example(key: .machine), replacingDamaged: false)
        try damage.harm(helper, "oidc/\(SessionKey.machine.fileStem).sealed")
        let later = helper.store()
        #expect(try later.load(.machine) == nil)
        #expect(try later.replace(nil, with: .example("new", key: .machine)))
        #expect(try later.load(.machine) == .example("new", key: .machine))
    }

    @Test("a header that was changed is noticed: it is authenticated with the session")
    func changedHeader() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        var stored = try EncryptedSession(stored: Array((scratch.text("oidc/\(stem).sealed") ?? "").utf8))
        stored.key = SessionKey.other.text
        scratch.put(stored.json.compact, "oidc/\(SessionKey.other.fileStem).sealed")
        #expect(
            failure { () throws(OIDCError) in try helper.store().load(.other) }?.message.hasSuffix(
                "is damaged: the key in docker-credential-fake does not decrypt it") == true)
    }

    @Test("an answer that is kept for an isolated command is asked for once, and forgotten if it is wrong")
    func keptAnswer() async {
        await #expect(processExitsWith: .exitCode(9)) {
            let helper = FakeHelper(ScratchDirectory())
            try helper.store().save(.example(), replacingDamaged: false)
            _ = helper.calls()
            ProgramRule.use(.keepingAnswers)
            try #require(try helper.store().load(.example) == .example())
            ProgramRule.use(.only([:]))
            try #require(try helper.store().load(.example) == .example())
            try #require(helper.calls() == ["get"])
            // Another process has signed in: the kept key is of no use for that.
            let path = "oidc/\(SessionKey.example.fileStem).sealed"
            var stored = try EncryptedSession(stored: Array((helper.scratch.text(path) ?? "").utf8))
            stored.sealed[20] ^= 1
            helper.scratch.put(stored.json.compact, path)
            let refusal = failure { () throws(OIDCError) in try helper.store().load(.example) }
            try #require(refusal?.message.contains("is not run beside an isolated command") == true)
            try #require(helper.calls() == [])
            ProgramRule.use(.keepingAnswers)
            let wrong = failure { () throws(OIDCError) in try helper.store().load(.example) }
            try #require(wrong?.message.hasSuffix("does not decrypt it") == true)
            try #require(helper.calls() == ["get"])
            exit(9)
        }
    }

    @Test("a file of another key or a newer version is not changed")
    func notOurs() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(key: .other), replacingDamaged: false)
        let other = try #require(scratch.text("oidc/\(SessionKey.other.fileStem).sealed"))
        for text in [other, #"{"version":2}"#] {
            scratch.put(text, "oidc/\(stem).sealed")
            let store = helper.store()
            let found = failure { () throws(OIDCError) in try store.load(.example) }
            #expect(found?.kind == .failed)
            #expect(
                failure { () throws(OIDCError) in try store.save(.example(), replacingDamaged: true) }
                    == found)
            #expect(failure { () throws(OIDCError) in try store.probe(.example) } == found)
            #expect(scratch.text("oidc/\(stem).sealed") == text)
        }
    }

    @Test("a key that a sign-in replaced meanwhile is loaded again")
    func replacedKey() throws {
        let helper = FakeHelper(scratch)
        let early = helper.store()
        try early.save(.example(), replacingDamaged: false)
        try helper.store().remove(.example)
        try helper.store().save(.example("new"), replacingDamaged: false)
        #expect(try early.load(.example) == .example("new"))
    }

    @Test("listing all sessions calls a failing helper once, not once per session")
    func listing() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        try helper.store().save(.example(key: .other), replacingDamaged: false)
        #expect(try helper.store().all().map(\.session) == [.example(), .example(key: .other)])
        helper.install("#!/bin/sh\necho \"$1\" >> \"$KEYCHAIN/calls\"; echo locked; exit 1")
        _ = helper.calls()
        #expect(try helper.store().all().map(\.session) == [nil, nil])
        #expect(helper.calls() == ["get"])
    }

    @Test("a helper that prints the key, in whatever form, and fails is quoted without it")
    func printedKey() throws {
        let helper = FakeHelper(scratch)
        try helper.store().save(.example(), replacingDamaged: false)
        let key = String(repeating: "k3Y_-", count: 8) + "abc"
        for text in ["{\\\"Secret\\\":\\\"\(key)\\\"}", "map[Secret:\(key)] is locked", "secret=\(key)"] {
            helper.install("#!/bin/sh\necho '\(text)'; exit 1")
            let found = failure { () throws(OIDCError) in try helper.store().load(.example) }
            #expect(found?.message.contains("ecret") == true, "\(found as Any)")
            #expect(found?.message.contains(key) == false, "\(found as Any)")
        }
    }

    @Test("two state directories have two keys in one keychain")
    func twoDirectories() throws {
        let helper = FakeHelper(scratch)
        let second = SessionStore(
            helper: FakeHelper.name, directory: scratch["two"], environment: helper.environment)
        try helper.store().save(.example("one"), replacingDamaged: false)
        try second.save(.example("two"), replacingDamaged: false)
        try helper.store().remove(.example)
        #expect(try second.load(.example) == .example("two"))
    }

    /// A helper that hangs, as if it prompted, until the file `answer` exists.
    private static let prompting = FakeHelper.keeping.replacingOccurrences(
        of: "case \"$1\" in",
        with: """
            touch "$keychain/prompt"
            while [ ! -f "$keychain/answer" ]; do sleep 0.02; done
            case "$1" in
            """)

    enum Prompt: CaseIterable { case signIn, refresh, leftover }

    @Test("a prompt keeps no other writer of the file waiting", .waiting, arguments: Prompt.allCases)
    func prompt(_ prompt: Prompt) async throws {
        let helper = FakeHelper(scratch)
        let (store, stem) = (helper.store(), stem)
        mkdir(scratch["oidc"], 0o700)
        if prompt != .signIn { try store.save(.example(), replacingDamaged: false) }
        if prompt == .leftover {
            try FileManager.default.moveItem(atPath: path, toPath: scratch["oidc/\(stem).tmp"])
        }
        helper.install(CredentialHelperTests.prompting)
        let later = helper.store()
        async let result = detached { () -> Bool in
            switch prompt {
            case .signIn, .refresh: (try? later.save(.example("at-2"), replacingDamaged: true)) != nil
            case .leftover: (try? later.takeLeftovers(of: .example) { $0 != nil }) == [.example()]
            }
        }
        let end = MonotonicTime.now().adding(seconds: 30)
        while scratch.text("keychain/prompt") == nil, MonotonicTime.now() < end {
            Poll.sleep(until: .now().adding(milliseconds: 5))
        }
        let directory = try #require(try PrivateDirectory.open(scratch["oidc"]))
        #expect((try? FileLock.acquire("\(stem).tmp", in: directory, LockWait(limit: .seconds(2)))) != nil)
        if prompt != .leftover { unlink(scratch["oidc/\(stem).tmp"]) }
        scratch.put("", "keychain/answer")
        #expect(await result)
        if prompt != .leftover { #expect(try later.load(.example) == .example("at-2")) }
    }
}
