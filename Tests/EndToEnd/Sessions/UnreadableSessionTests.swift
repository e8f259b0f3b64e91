import Foundation
import LoopbackHTTP
import OIDCCore
import Posix
import TestSupport
import Testing

@Suite("a session that cannot be read is not a missing one", .serialized, .waiting)
struct UnreadableSessionTests {
    private let provider: ProviderServer
    private let oidc: Program
    private let revocations = RequestLog()
    /// The settings of a shared store that refuses connections.
    private let away: [String: String]

    init() throws {
        provider = try ProviderServer()
        oidc = try Program()
        provider.intercept { [revocations] request in
            if request.url.path == "/revoke" { revocations.note(request) }
            return nil
        }
        let key = oidc.home.appendingPathComponent("store.key").path
        #expect(try oidc.run("config", "new-key", key).status == 0)
        // No other test can take this port.
        away = ["store": "redis://127.0.0.1:1", "store_key_file": key]
    }

    private var variables: [String: String] {
        [
            "OIDC_STORE": away["store"] ?? "", "OIDC_STORE_KEY_FILE": away["store_key_file"] ?? "",
            "OIDC_CLIENT_ID": "demo", "OIDC_ISSUER": provider.origin,
        ]
    }

    /// Writes the profiles `a`, of another client, and `b`.
    private func configure(a: [String: String], b: [String: String] = [:], default name: String? = nil) throws
    {
        func profile(_ client: String, _ more: [String: String]) -> [String: String] {
            ["issuer": provider.origin, "client_id": client].merging(more) { $1 }
        }
        var file: [String: Any] = ["profiles": ["a": profile("other", a), "b": profile("demo", b)]]
        file["default_profile"] = name
        let directory = oidc.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try JSONSerialization.data(withJSONObject: file, options: .sortedKeys)
            .write(to: directory.appendingPathComponent("config.json"))
    }

    /// Writes what is in place of a session of profile `a`.
    private func put(_ text: String) throws {
        let name = SessionKey(provider: provider.origin, clientID: "other").fileStem
        let directory = oidc.home.appendingPathComponent(".local/state/oidc")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = directory.appendingPathComponent("\(name).json")
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    @Test(
        "without a default profile, no other profile's session is used or ended",
        arguments: ["away", "without a key", "damaged"])
    func otherProfile(fault: String) throws {
        defer { oidc.remove() }
        try oidc.storeSession(at: provider)
        switch fault {
        case "away": try configure(a: away)
        case "without a key": try configure(a: ["store": away["store"] ?? ""])
        default:
            try configure(a: [:])
            try put("{")
        }
        let status: [String: Int32] = ["away": 5, "without a key": 2, "damaged": 3]
        for command in ["token", "logout"] {
            let outcome = try oidc.run(command)
            #expect(outcome.status == status[fault] && outcome.output == "", "\(outcome)")
            let start =
                fault == "without a key"
                ? "profile a is not valid: " : "the session of profile a cannot be read: "
            #expect(outcome.error?.hasPrefix(start) == true, "\(outcome)")
            #expect(outcome.errorOutput.contains("try: oidc \(command) -p b, or: "), "\(outcome)")
        }
        #expect(revocations.all.isEmpty)
        #expect(try oidc.run("token", "-p", "b").status == 0)
        #expect(try oidc.run("logout", "-p", "b").status == 0)
        // Nor is it said that no provider is set.
        let outcome = try oidc.run("token")
        #expect(outcome.status == status[fault], "\(outcome)")
        #expect(outcome.errorOutput.contains("try: choose a profile with -p (a, b), or: "), "\(outcome)")
    }

    @Test("without a default profile, a request needs the sessions of those profiles that may be meant")
    func request() throws {
        defer { oidc.remove() }
        try configure(a: away.merging(["issuer": "https://op.example"]) { $1 }, b: away)
        let own = try oidc.run("request", "\(provider.origin)/userinfo")
        #expect(
            own.status == 5 && own.error?.hasPrefix("the session of profile b cannot be read: ") == true,
            "\(own)")
        let other = try oidc.run("request", "http://127.0.0.1:1/")
        #expect(other.status == 3 && other.error?.hasPrefix("not signed in to ") == true, "\(other)")
        let named = try oidc.run("request", "--allow-origin", "http://127.0.0.1:1", "http://127.0.0.1:1/")
        #expect(
            named.status == 5 && named.error?.hasPrefix("the session of profile a cannot be read: ") == true,
            "\(named)")
    }

    @Test("with a default profile, no other profile's store is asked")
    func usual() throws {
        defer { oidc.remove() }
        let silent = try LoopbackServer()
        defer { silent.close() }
        try oidc.storeSession(at: provider)
        try configure(a: away.merging(["store": "redis://127.0.0.1:\(silent.port)"]) { $1 }, default: "b")
        #expect(try oidc.run("token").status == 0)
        let isAsked = silent.listeners.contains {
            Poll.wait(for: $0.rawValue, .reading, until: .now(), isInterruptible: false)
        }
        #expect(!isAsked)
    }

    @Test("two profiles that can be read and are signed in are named, whatever the others are")
    func several() throws {
        defer { oidc.remove() }
        try oidc.storeSession(at: provider)
        try configure(a: ["client_id": "demo"])
        let two = try oidc.run("token")
        #expect(two.status == 2 && two.error?.contains("several profiles are signed in") == true, "\(two)")
        let logout = try oidc.run("logout", "--local")
        #expect(logout.errorOutput.contains("  try: oidc logout --local -p "), "\(logout)")
    }

    @Test(
        "the only store is away: that is the error, with or without the provider's URL; no session is needed for a page"
    )
    func onlyStore() throws {
        defer { oidc.remove() }
        var variables = variables
        variables["OIDC_ISSUER"] = nil
        for words in [["token"], ["logout"], ["token", provider.origin], ["logout", provider.origin]] {
            let outcome = try oidc.start(words, variables).finish()
            #expect(outcome.status == 5 && outcome.error?.hasPrefix("store: redis://") == true, "\(outcome)")
        }
        let page = try oidc.start(
            ["request", "--login", "\(provider.origin)/.well-known/openid-configuration"], variables
        )
        .finish()
        #expect(page.status == 0, "\(page)")
    }

    @Test("the session of a provider's URL may be in a profile's store that is away")
    func providerURL() throws {
        defer { oidc.remove() }
        try configure(a: [:], b: away)
        let outcome = try oidc.run("token", provider.origin)
        #expect(outcome.status == 5, "\(outcome)")
    }

    @Test(
        "logout URL of a provider fails if a store is away, or a session there cannot be read",
        arguments: [[], ["-o", "json"]])
    func logoutURL(options: [String]) throws {
        defer { oidc.remove() }
        try configure(a: away, b: away)
        let outcome = try oidc.start(["logout", provider.origin] + options).finish()
        #expect(outcome.status == 5 && outcome.output == "", "\(outcome)")
        #expect(!outcome.errorOutput.contains("there was no session"), "\(outcome)")
        try configure(a: [:])
        try put(#"{"version":99,"key":{}}"#)
        let token = try oidc.run("token", provider.origin)
        #expect(token.status == 1 && token.errorOutput.contains("written by a newer oidc"), "\(token)")
        let newer = try oidc.start(["logout", provider.origin] + options).finish()
        #expect(newer.status == 4 && newer.output.isEmpty == options.isEmpty, "\(newer)")
        #expect(newer.errorOutput.contains("written by a newer oidc"), "\(newer)")
    }

    /// A shared store with these records, which can only be read. Without the records, nobody may list them.
    private func shared(_ records: [String: String]?) throws -> ScriptedServer {
        try ScriptedServer { peer in
            func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = recv(peer.descriptor, &buffer, buffer.count, 0), count > 0 {
                text += String(decoding: buffer[..<count], as: UTF8.self)
                // Each word stands after its length.
                let lines = text.components(separatedBy: "\r\n")
                let wordCount = Int(lines[0].dropFirst()) ?? 0
                guard wordCount > 0, lines.count > 2 * wordCount + 1 else { continue }
                let words = (1...wordCount).map { lines[2 * $0] }
                text = lines[(2 * wordCount + 1)...].joined(separator: "\r\n")
                switch (words[0], records) {
                case ("SCAN", nil):
                    peer.write("-NOPERM this user has no permissions to run the 'scan' command\r\n")
                case ("SCAN", let records?):
                    let keys = words.contains { $0.hasPrefix("oidc:session:") } ? records.keys.sorted() : []
                    let names = keys.map { bulk("oidc:session:{\($0)}") }.joined()
                    peer.write("*2\r\n\(bulk("0"))*\(keys.count)\r\n\(names)")
                case ("GET", _):
                    let name = words[1].split(separator: "{").last.map { String($0.dropLast()) } ?? ""
                    peer.write(records?[name].map(bulk) ?? "$-1\r\n")
                default: peer.write("+OK\r\n")
                }
            }
        }
    }

    /// A record that was sealed with an unknown key.
    private func record(of key: SessionKey, format: Int64 = 1) -> String {
        let record: JSONValue = [
            "format": JSONValue(format), "key": .string(key.text), "content": "session", "version": 1,
            "key_id": "000000000000", "sealed": "AAAA",
        ]
        return record.compact
    }

    @Test(
        "logout URL ends what it can, and fails for a session of the URL that cannot be opened here",
        arguments: ["another key", "newer format", "no list"])
    func sharedSession(fault: String) throws {
        defer { oidc.remove() }
        let key = SessionKey(provider: provider.origin, clientID: "other", account: "alice")
        let records = [key.fileStem: record(of: key, format: fault == "newer format" ? 2 : 1)]
        let store = try shared(fault == "no list" ? nil : records)
        try configure(a: away.merging(["store": "redis://127.0.0.1:\(store.port)"]) { $1 }, default: "b")
        let reason = [
            "another key": "was sealed with the key 000000000000",
            "newer format": "was written by a newer oidc",
            "no list": "NOPERM",
        ]
        for hasOther in [true, false] {
            if hasOther { try oidc.storeSession(at: provider) }
            let outcome = try oidc.run("logout", provider.origin)
            #expect(outcome.status == (fault == "newer format" ? 1 : 2), "\(outcome)")
            #expect(outcome.error?.contains(reason[fault] ?? "") == true, "\(outcome)")
            #expect(outcome.errorOutput.contains("Signed out of") == hasOther, "\(outcome)")
            #expect(!outcome.errorOutput.contains("there was no session"), "\(outcome)")
        }
        #expect(revocations.all.count == 2 && oidc.sessionFiles.isEmpty)
        guard fault != "no list" else { return }
        // Neither option names that session.
        for words in [["--account", "bob"], ["--client-id", "third"]] {
            let outcome = try oidc.start(["logout", provider.origin] + words).finish()
            #expect(outcome.status == 0, "\(outcome)")
        }
    }

    @Test(
        "a record in a shared store that is useless, or another client's, is a warning of logout URL, if it may be there"
    )
    func sharedJunk() throws {
        defer { oidc.remove() }
        let key = SessionKey(provider: provider.origin, clientID: "other", account: "alice")
        // Of a client that nothing on this machine names.
        let theirs = SessionKey(provider: provider.origin, clientID: "theirs")
        let elsewhere = SessionKey(provider: provider.origin + "/realm", clientID: "theirs")
        let store = try shared([
            "127.0.0.1-cli-0000000000000000": record(of: key), "127.0.0.1-cli-0000000000000001": "junk",
            "op.example-cli-0000000000000001": "junk", theirs.fileStem: record(of: theirs),
            elsewhere.fileStem: record(of: elsewhere),
        ])
        try configure(a: away.merging(["store": "redis://127.0.0.1:\(store.port)"]) { $1 }, default: "b")
        for hasOther in [true, false] {
            if hasOther { try oidc.storeSession(at: provider) }
            let outcome = try oidc.run("logout", provider.origin)
            #expect(outcome.status == 0, "\(outcome)")
            let warnings = outcome.errorOutput.components(
                separatedBy: "it may be one at \(provider.origin), and stays")
            #expect(warnings.count == 4, "\(outcome)")
            #expect(outcome.errorOutput.hasSuffix("no session was ended\n") == !hasOther, "\(outcome)")
        }
        let named = try oidc.run("logout", provider.origin, "--client-id", "theirs")
        #expect(named.status == 2 && named.error?.contains(theirs.fileStem) == true, "\(named)")
    }

    @Test("logout URL of a provider ends what it can, and fails for a profile that is not valid")
    func invalidProfile() throws {
        defer { oidc.remove() }
        try configure(a: ["store": "nowhere"], default: "b")
        try oidc.storeSession(at: provider)
        let outcome = try oidc.run("logout", provider.origin)
        #expect(outcome.status == 2 && outcome.errorOutput.contains("Signed out of"), "\(outcome)")
        #expect(outcome.error?.contains("store") == true, "\(outcome)")
    }

    @Test(
        "logout URL leaves no session file of the URL without a word",
        arguments: ["open", "link", "damaged", "newer"], [nil, "alice"])
    func sessionFile(fault: String, account: String?) throws {
        defer { oidc.remove() }
        try configure(a: [:], default: "a")
        try oidc.storeSession(at: provider)
        let key = SessionKey(provider: provider.origin, clientID: "other", account: account)
        let file = oidc.home.appendingPathComponent(".local/state/oidc/\(key.fileStem).json")
        let newer: JSONValue = ["version": 99, "key": .string(key.text)]
        try Data((fault == "damaged" ? "{" : newer.compact).utf8).write(to: file)
        try FileManager.default.setAttributes(
            [.posixPermissions: fault == "open" ? 0o644 : 0o600], ofItemAtPath: file.path)
        if fault == "link" {
            try FileManager.default.moveItem(at: file, to: oidc.home.appendingPathComponent("moved"))
            try FileManager.default.createSymbolicLink(
                at: file, withDestinationURL: oidc.home.appendingPathComponent("moved"))
        }
        let outcome = try oidc.run("logout", provider.origin)
        #expect(outcome.errorOutput.contains("Signed out of"), "\(outcome)")
        #expect(outcome.errorOutput.contains(file.path), "\(outcome)")
        // Without a profile or a key in it, a file may be another session's at the host, and stays.
        let isKnown = account == nil || fault == "newer"
        #expect(outcome.status == (isKnown ? 4 : 1), "\(outcome)")
        let isThere = (try? FileManager.default.attributesOfItem(atPath: file.path)) != nil
        #expect(isThere != isKnown, "\(outcome)")
        #expect(outcome.errorOutput.contains("it may be one at \(provider.origin), and stays") != isKnown)
    }

    @Test(
        "revoke says that a session that cannot be read may still have the token", arguments: [false, true])
    func revoke(asJSON: Bool) throws {
        defer { oidc.remove() }
        let words = ["revoke", "-"] + (asJSON ? ["-o", "json"] : [])
        let outcome = try oidc.start(words, input: .text("some-token\n"), variables).finish()
        #expect(revocations.all.count == 1 && outcome.status == 5, "\(outcome)")
        #expect(outcome.output.contains(#""provider":"revoked""#) == asJSON, "\(outcome)")
        #expect(outcome.errorOutput.contains("the session may still have it"), "\(outcome)")
        #expect(outcome.errorOutput.contains("run the command again later"), "\(outcome)")
    }

    @Test("a state directory that others may change is refused with a shared store, too; the hint works")
    func wideDirectory() throws {
        defer { oidc.remove() }
        let path = oidc.home.appendingPathComponent(".local/state/oidc").path
        func set(_ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        func run(_ words: String...) throws -> Program.Outcome { try oidc.start(words, variables).finish() }
        // A missing directory is not refused: the server is asked.
        #expect(try run("token").status == 5)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try set(0o777)
        let commands = [
            ["token"], ["token", "--refresh"], ["status"], ["logout"], ["logout", "--all"],
            ["logout", "--local"],
            ["login", "--flow", "device"], ["token", "--set", "grant=client_credentials"],
        ]
        for words in commands {
            let outcome = try oidc.start(words, variables).finish()
            #expect(outcome.status == 1 && outcome.output == "", "\(outcome)")
            #expect(
                outcome.error == "the directory \(path) is open to others: expected mode 0700, found 0777",
                "\(outcome)")
            #expect(outcome.errorOutput.hasSuffix("  try: chmod 700 \(path)\n"), "\(outcome)")
        }
        let doctor = try run("doctor", "--offline")
        #expect(
            doctor.status == 1 && doctor.output.contains("problem  store          the directory "),
            "\(doctor)")
        // Nobody else can move what is in these.
        for mode in [0o1777, 0o755, 0o700] {
            try set(mode)
            #expect(try run("token").status == 5)
        }
    }

    @Test("config rm says that a session may stay")
    func removal() throws {
        defer { oidc.remove() }
        try configure(a: away)
        let outcome = try oidc.run("config", "rm", "a")
        #expect(
            outcome.status == 0 && outcome.errorOutput.contains("Its session, if there is one, stays"),
            "\(outcome)")
    }
}
