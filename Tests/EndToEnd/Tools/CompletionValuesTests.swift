import Foundation
import TestSupport
import Testing

/// What the built program offers for its own lines; the completer's rules are tested in `CommandLineKitTests`.
@Suite("completion of profiles, settings and resources", .serialized, .waiting)
struct CompletionValuesTests {
    private static let configuration = """
        {"profiles": {
          "work": {"issuer": "https://a.example", "client_id": "x",
                   "resources": [{"title": "Files", "url": "https://api.example/"}]},
          "home": {"issuer": "https://b.example", "client_id": "y"},
          "bad\\u001bname": {"issuer": "https://c.example", "client_id": "z"}}}
        """

    /// The answer to fish for these words, the last at the cursor.
    private func answer(_ words: String..., configuration: String? = configuration) throws -> [String] {
        let program = try Program()
        defer { program.remove() }
        if let configuration {
            let directory = program.home.appendingPathComponent(".config/oidc")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data(configuration.utf8).write(to: directory.appendingPathComponent("config.json"))
        }
        let outcome = try program.start(["completions", "fish", "--complete", "--", "oidc"] + words).finish()
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.isEmpty)
        return outcome.output.split(separator: "\n").dropFirst().map(String.init)
    }

    @Test("profiles come from the configuration file, without names that a terminal would interpret")
    func profiles() throws {
        #expect(try answer("token", "-p", "") == ["work\thttps://a.example", "home\thttps://b.example"])
        #expect(try answer("--profile=h") == ["--profile=home\thttps://b.example"])
    }

    @Test("without a configuration file, or with a broken one, there are no profiles and no error")
    func broken() throws {
        #expect(try answer("token", "-p", "", configuration: nil).isEmpty)
        #expect(try answer("token", "-p", "", configuration: "{").isEmpty)
        #expect(try answer("resources", "", configuration: "{").isEmpty)
        #expect(try answer("--config", "nowhere.json", "token", "-p", "").isEmpty)
    }

    @Test("--set completes keys, then the values of a key that has a list of them")
    func settings() throws {
        #expect(
            try answer("token", "--set", "dp") == ["dpop=\tbind tokens to a key (RFC 9449; default: false)"])
        #expect(try answer("token", "--set", "dpop=") == ["dpop=true", "dpop=false"])
        #expect(try answer("token", "--set=par=r") == ["--set=par=require"])
        #expect(try answer("token", "--set", "issuer=").isEmpty)
        #expect(try answer("login", "--set", "prompt=c") == ["prompt=consent", "prompt=create"])
        #expect(try answer("token", "--set", "nonsense=").isEmpty)
        #expect(
            try answer("token", "--set", "client_secret").contains { $0.hasPrefix("client_secret=") } == false
        )
    }

    @Test("config set completes keys and values, use the profiles, and unset what the profile sets")
    func config() throws {
        #expect(
            try answer("config", "set", "dp") == ["dpop=\tbind tokens to a key (RFC 9449; default: false)"])
        #expect(
            try answer("config", "set", "par=off", "flow=")
                == ["auto", "browser", "device", "paste"].map { "flow=\($0)" })
        #expect(try answer("config", "use", "w") == ["work\thttps://a.example"])
        #expect(
            try answer("config", "unset", "-p", "home", "")
                .map { String($0.prefix { $0 != "\t" }) } == ["issuer", "client_id"])
    }

    @Test(
        "config init completes providers, then the parameters of the one that was typed, then listed values")
    func providers() throws {
        #expect(try answer("config", "init", "gitla") == ["gitlab\tGitLab"])
        #expect(
            try answer("config", "init", "-p", "work", "okta", "") == [
                "domain=\tthe organization's domain", "server=\tthe authorization server's ID",
            ])
        #expect(
            try answer("config", "init", "okta", "domain=a.okta.com", "s").map { $0.prefix(7) } == ["server="]
        )
        #expect(
            try answer("config", "init", "okta", "server=") == ["server=org", "server=default"])
        #expect(try answer("config", "init", "-p", "google", "okta", "domain=x", "se").count == 1)
        #expect(try answer("config", "init", "google", "").isEmpty)
        #expect(try answer("config", "init", "nobody", "").isEmpty)
    }

    @Test("resources are those of the profile on the line")
    func resources() throws {
        #expect(try answer("-p", "work", "resources", "") == ["Files\thttps://api.example/"])
        #expect(try answer("-p", "home", "resources", "").isEmpty)
    }

    @Test("the options of sign-in list their values")
    func values() throws {
        #expect(try answer("login", "--flow", "") == ["auto", "browser", "device", "paste"])
        #expect(try answer("login", "--flow=d") == ["--flow=device"])
        #expect(try answer("token", "-o", "j") == ["json"])
    }
}
