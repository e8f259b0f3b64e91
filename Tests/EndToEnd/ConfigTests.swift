import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("profiles, by the built program", .serialized, .waiting)
struct ConfigTests {
    private let program: Program
    private let file: URL

    init() throws {
        var program = try Program()
        file = program.home.appendingPathComponent("config.json")
        program.environment["OIDC_CONFIG"] = file.path
        self.program = program
    }

    private func write(_ text: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    private var text: String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }

    private static let two = """
        { "profiles":
            {
            "home": {"issuer": "https://a.example",   "client_id":"x"},

            "work": { "issuer" : "https://a.example",
                      "client_id" : "x", "account": "w"}
        } }

        """

    @Test("set and unset change one line of a file and keep the rest; the file stays private")
    func change() throws {
        defer { program.remove() }
        try write(Self.two, mode: 0o644)
        #expect(
            try program.run("config", "set", "-p", "work", "flow=device", "scope=openid email").status == 0)
        let set = Self.two.replacingOccurrences(
            of: "\"account\": \"w\"}",
            with: "\"account\": \"w\", \"flow\": \"device\", \"scope\": \"openid email\"}")
        #expect(text == set)
        #expect(try program.run("config", "set", "-p", "work", "flow=paste").status == 0)
        #expect(text == set.replacingOccurrences(of: "device", with: "paste"))
        let outcome = try program.run("config", "unset", "-p", "work", "flow", "scope", "-o", "json")
        #expect(try JSONValue(parsing: outcome.output)["unset"] == ["flow", "scope"])
        #expect(text == Self.two)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test(
        "--verbose logs the configuration file and the profile in use",
        arguments: [
            ["list"], ["path"], ["check"], ["use", "work"], ["set", "flow=device"], ["unset", "account"],
            ["show"],
            ["init", "-p", "new", "--client-id", "x", "--set", "token_endpoint=http://127.0.0.1:9/t"],
        ])
    func verbose(arguments: [String]) throws {
        defer { program.remove() }
        try write(
            #"{"default_profile":"home","profiles":{"home":{"account":"a"},"work":{"client_id":"x"}}}"#)
        let outcome = try program.start(["config", "-v"] + arguments).finish()
        let profile = arguments[0] == "init" ? "new" : "home"
        #expect(
            outcome.errorOutput.contains("debug: configuration: \(file.path), profile \(profile)\n"),
            "\(outcome)")
    }

    @Test("check looks at every profile, and says which of them has a problem")
    func check() throws {
        defer { program.remove() }
        try write(
            #"""
            {"profiles": {
              "a": {"issuer": "https://a.example", "client_id": "x"},
              "b": {"issuer": "b.example", "client_id": "x"},
              "c": {"issuer": "https://a.example", "client_id": "x"},
              "d": {"issuer": "https://a.example", "client_id": "x", "redirect_uri": "foo"}
            }}
            """#)
        let outcome = try program.run("config", "check")
        #expect(outcome.status == 2)
        let lines = outcome.errorOutput.split(separator: "\n").map(String.init)
        #expect(lines.prefix(2) == ["profile a: ok", "profile c: ok"])
        #expect(lines.contains { $0.hasPrefix("warning: redirect_uri: ") && $0.hasSuffix("(profile d)") })
        #expect(outcome.error?.hasSuffix("found b.example (profile b)") == true, "\(outcome)")
    }

    @Test("a variable with a mistake is named, with the command that corrects it")
    func variable() throws {
        var program = program
        defer { program.remove() }
        program.environment["OIDC_CONFIG"] = nil
        program.environment["OIDC_ISSUER"] = "login.example.com"
        program.environment["OIDC_CLIENT_ID"] = "x"
        let outcome = try program.run("token")
        #expect(outcome.status == 2 && outcome.error?.hasSuffix("(from OIDC_ISSUER)") == true, "\(outcome)")
        #expect(outcome.errorOutput.contains("try: export OIDC_ISSUER=https://login.example.com\n"))
    }

    @Test(
        "a value that config check would refuse is refused by set, and nothing is written",
        arguments: [
            "port=0", "flow=devise", "store=bogus", "issuer=http://a.example", "prot=1", "client_secret=x",
            "port",
            "redirect_uri=javascript:alert(1)", #"browser=["sh","-c","%s"]"#, "scope=a\"b",
            "issuer=https://me:hunter2@a.example", #"extra_authorize_params={"state":"x"}"#,
            #"extra_token_params={"client_secret":"x"}"#, "resource=x y#", "aws_role_arn=x",
            #"resources=[{"title":"a","url":"api.example.com"}]"#,
            #"git_hosts=[{"host":"https://a.example"}]"#, #"docker_registries=[{"host":"a.example/v2"}]"#,
            #"proxy_routes=[{"url":"http://api.example.com"}]"#, #"proxy_routes=[{"url":"x"}]"#,
        ])
    func refused(assignment: String) throws {
        defer { program.remove() }
        try write(Self.two)
        let outcome = try program.run("config", "set", "-p", "home", assignment)
        #expect(outcome.status == 2)
        #expect(outcome.error != nil && !outcome.errorOutput.contains("hunter2"))
        #expect(text == Self.two)
    }

    @Test("no file is created for a value that is refused", arguments: ["port=0", "client_secret=x", "port"])
    func notCreated(assignment: String) throws {
        defer { program.remove() }
        #expect(try program.run("config", "set", assignment).status == 2)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("unset refuses to break a profile, and repairs one with a misspelled setting")
    func repair() throws {
        defer { program.remove() }
        try write(#"{"profiles":{"a":{"isuer":"https://a.example","prot":1}}}"#)
        let first = try program.run("config", "unset", "isuer")
        #expect(first.status == 0)
        #expect(first.errorOutput.contains("warning: unknown setting \"prot\""), "\(first.errorOutput)")
        #expect(try program.run("config", "unset", "prot").errorOutput.contains("warning") == false)
        #expect(text == #"{"profiles":{"a":{}}}"#)
        try write(#"{"issuer":"http://a.example","allow_insecure_http":true}"#)
        let broken = try program.run("config", "unset", "allow_insecure_http")
        #expect(broken.status == 2)
        #expect(broken.error?.contains("plain http") == true)
    }

    @Test("a profile with a mistake does not get a second one, by set or unset, and can be changed otherwise")
    func secondMistake() throws {
        defer { program.remove() }
        let flawed = #"{"prot":1,"issuer":"http://a.example","allow_insecure_http":true,"flow":"auto"}"#
        try write(flawed)
        for change in [
            ["set", "allow_insecure_http=false"], ["unset", "allow_insecure_http"],
            ["set", "token_endpoint=https://a b"],
        ] {
            let outcome = try program.run("config", change[0], change[1])
            #expect(outcome.status == 2 && outcome.error?.contains("prot") == false, "\(outcome)")
            #expect(text == flawed)
        }
        let other = try program.run("config", "set", "flow=device")
        #expect(other.status == 0 && other.errorOutput.contains("warning: unknown setting \"prot\""))
        try write(#"{"port":"x","redirect_uri":"javascript:alert(1)"}"#)
        #expect(try program.run("config", "set", "port=8080").status == 0)
        #expect(try program.run("config", "unset", "redirect_uri").errorOutput.contains("warning") == false)
        #expect(text == #"{"port":8080}"#)
    }

    @Test(
        "a new profile leaves the one that is used without -p as it is",
        arguments: [
            (#"{"default":{},"other":{}}"#, "default", nil), (#"{"work":{}}"#, "work", "work"),
            (#"{"a":{},"b":{}}"#, "new", "new"), (#"{"default":{}}"#, "default", nil),
        ] as [(String, String, String?)])
    func newProfile(profiles: String, chosen: String, written: String?) throws {
        defer { program.remove() }
        try write(#"{"profiles":\#(profiles)}"#)
        #expect(try program.run("config", "init", "-p", "new", "spotify", "--client-id", "x").status == 0)
        #expect(try JSONValue(parsing: text)["default_profile"]?.string == written)
        let shown = try JSONValue(parsing: try program.run("config", "show", "-o", "json").output)
        #expect(shown["profile"]?.string == chosen)
    }

    @Test("a file without profiles is named in the hint")
    func noProfiles() throws {
        defer { program.remove() }
        try write("{}")
        let outcome = try program.run("config", "show", "-p", "x", "--config", file.path)
        #expect(outcome.errorOutput.hasSuffix("  try: oidc config init -p x --config \(file.path)\n"))
    }

    @Test("set creates the first profile, but not a second one, whose name may be misspelled")
    func profiles() throws {
        defer { program.remove() }
        #expect(try program.run("config", "set", "-p", "work", "issuer=https://a.example").status == 0)
        let made: JSONValue = [
            "default_profile": "work", "profiles": ["work": ["issuer": "https://a.example"]],
        ]
        #expect(try JSONValue(parsing: text) == made)
        let other = try program.run("config", "set", "-p", "wrok", "flow=device")
        #expect(other.status == 2)
        #expect(other.error?.hasSuffix("did you mean work?") == true)
        #expect(other.errorOutput.hasSuffix("  try: oidc config list\n"))
        try write(#"{"issuer":"https://a.example"}"#)
        #expect(try program.run("config", "set", "client_id=x").status == 0)
        #expect(text == #"{"issuer":"https://a.example","client_id":"x"}"#)
    }

    @Test("use changes the default profile, and repairs one that does not exist")
    func use() throws {
        defer { program.remove() }
        try write(Self.two)
        let several = try program.run("config", "set", "flow=device")
        #expect(several.errorOutput.hasSuffix("  try: oidc config use home\n"), "\(several.errorOutput)")
        #expect(try program.run("config", "use", "work").status == 0)
        #expect(try JSONValue(parsing: text)["default_profile"] == "work")
        #expect(try program.run("config", "use", "wrok").status == 2)
        #expect(try program.run("config", "show", "-o", "json").output.contains(#""profile":"work""#))
        try write(#"{"default_profile":"gone","profiles":{"a":{}}}"#)
        #expect(try program.run("config", "show").errorOutput.hasSuffix("  try: oidc config use a\n"))
        #expect(try program.run("config", "use", "a").errorOutput.hasPrefix("The default profile is a.\n"))
        #expect(text == #"{"default_profile":"a","profiles":{"a":{}}}"#)
    }

    @Test("list marks the default, names a profile that is not valid, and says which share a session")
    func list() throws {
        defer { program.remove() }
        try write(Self.two.replacingOccurrences(of: ", \"account\": \"w\"", with: ""))
        #expect(try program.run("config", "use", "work").status == 0)
        let listed = try program.run("config", "list")
        #expect(listed.status == 0)
        let rows = listed.output.split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(
            rows == [
                "PROFILE PROVIDER CLIENT SIGNED IN", "home https://a.example x no, same session as work",
                "* work https://a.example x no, same session as home",
            ])
        let note = "oidc config set -p home account=home\n"
        // The note comes with the change that makes it so, and not with any other.
        for (change, isNoted) in [
            ("flow=device", false), ("client_id=y", false), ("client_id=x", true), ("account=home", false),
        ] {
            let outcome = try program.run("config", "set", "-p", "home", change)
            #expect(outcome.errorOutput.contains(note) == isNoted, "\(change) \(outcome)")
        }
        try write(#"{"profiles":{"a":{"issuer":"https://a.example","client_id":"x"},"b":{"prot":1}}}"#)
        let json = try JSONValue(parsing: try program.run("config", "list", "-o", "json").output)
        #expect(json.array?.map { $0["profile"] } == ["a", "b"])
        #expect(json.array?.map { $0["default"] } == [false, false])
        #expect(json.array?.first?["issuer"] == "https://a.example" && json.array?.first?["client_id"] == "x")
        #expect(json.array?.last?["problem"]?.string?.contains("prot") == true)
    }

    @Test("list says who is signed in")
    func signedIn() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        try program.signIn(at: provider)
        let file = program.home.appendingPathComponent("list.json")
        try Data(
            #"{"profiles":{"demo":{"issuer":"\#(provider.origin)","client_id":"demo"},"b":{}}}"#.utf8
        ).write(to: file)
        let outcome = try program.run("config", "list", "--config", file.path)
        #expect(outcome.output.contains("alice@example.com"), "\(outcome)")
        let json = try program.run("config", "list", "--config", file.path, "-o", "json", "-p", "demo")
        #expect(try JSONValue(parsing: json.output).array?.first?["signed_in"] == true)
    }

    @Test("parallel changes of one file are all kept")
    func parallel() throws {
        defer { program.remove() }
        try write(#"{"profiles":{"a":{}}}"#)
        let names = ["login_hint", "acr_values", "ui_locales", "account", "audience", "private_key_id"]
        let runs = try names.map { try program.start(["config", "set", "\($0)=x"]) }
        #expect(runs.map { $0.finish().status } == names.map { _ in 0 })
        let profile = try JSONValue(parsing: text)["profiles"]?["a"]?.object
        #expect(Set(profile?.names ?? []) == Set(names))
    }

    @Test("parallel changes by different commands, which add, change and rename profiles, are all kept")
    func parallelCommands() throws {
        defer { program.remove() }
        try write(#"{"default_profile":"a","profiles":{"a":{},"b":{}}}"#)
        let added = (1...4).map { "new\($0)" }
        let changes =
            added.map { ["init", "-p", $0, "spotify", "--client-id", "x"] }
            + [["set", "-p", "a", "flow=device"], ["rename", "b", "c"], ["set", "-p", "a", "account=x"]]
        let runs = try changes.map { try program.start(["config"] + $0) }
        #expect(runs.map { $0.finish().status } == changes.map { _ in 0 })
        let profiles = try #require(try JSONValue(parsing: text)["profiles"]?.object)
        #expect(Set(profiles.names) == Set(added + ["a", "c"]))
        #expect(
            profiles["a"] == ["flow": "device", "account": "x"]
                || profiles["a"] == ["account": "x", "flow": "device"])
    }

    @Test("no command writes into a file that others can write or replace")
    func foreign() throws {
        defer { program.remove() }
        try write("{}", mode: 0o666)
        let outcome = try program.run("config", "init", "spotify", "--client-id", "x")
        #expect(outcome.status == 2 && text == "{}", "\(outcome)")
        #expect(outcome.errorOutput.contains("may be written by others"), "\(outcome)")
    }

    @Test("a file that others can read is not given a secret, and one that others can write is not changed")
    func permissions() throws {
        defer { program.remove() }
        try write(#"{"client_secret":"hunter2"}"#, mode: 0o644)
        let open = try program.run("config", "set", "flow=device")
        #expect(open.status == 2)
        #expect(open.errorOutput.contains("chmod 600") && !open.errorOutput.contains("hunter2"))
        try write("{}", mode: 0o666)
        #expect(try program.run("config", "set", "flow=device").status == 2)
        #expect(try program.run("config", "use", "default").status == 2)
        #expect(text == "{}")
    }
}
