import OIDCCore
import TestSupport
import Testing

/// What the built program says to command lines that users of other programs type.
@Suite("the command line of the built program", .serialized, .waiting)
struct CommandLineTests {
    private func run(_ words: [String]) throws -> Program.Outcome {
        let program = try Program()
        defer { program.remove() }
        return try program.start(words).finish()
    }

    @Test(
        "the program and the commands that only have subcommands print their help",
        arguments: ["", "config", "credential"])
    func alone(words: String) throws {
        let words = words.split(separator: " ").map(String.init)
        let outcome = try run(words)
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.isEmpty)
        // The program itself lists its commands on fewer lines than with `help`.
        let help = words.isEmpty ? outcome : try run(["help"] + words)
        #expect(outcome.output == help.output)
    }

    @Test(
        "words and options of other programs are pointed at what they mean",
        arguments: [
            ("whoami", "oidc status"), ("version", "oidc --version"), ("list", "oidc status --all"),
            ("auth login", "oidc login"), ("auth logout", "oidc logout"), ("auth", "oidc login"),
            ("--device", "oidc login --flow device"), ("login --device", "oidc login --flow device"),
            ("login --json=1", "oidc help login"),
            (
                "token --client-secret=x",
                "set client_secret_file, client_secret_command or OIDC_CLIENT_SECRET"
            ),
        ])
    func otherNames(line: String, hint: String) throws {
        let outcome = try run(line.split(separator: " ").map(String.init))
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errorOutput.hasSuffix("\n  try: \(hint)\n"))
    }

    @Test(
        "an unknown value of an option is refused with the nearest known one",
        arguments: [
            (
                "login --flow devise",
                "--flow takes auto, browser, device or paste, not 'devise', did you mean device?"
            ),
            ("token -o jsn", "--output takes text or json, not 'jsn', did you mean json?"),
            ("token --type ID", "--type takes access or id, not 'ID'"),
        ])
    func words(line: String, message: String) throws {
        let outcome = try run(line.split(separator: " ").map(String.init))
        #expect(outcome.status == 2)
        #expect(outcome.error == message)
    }

    @Test("an unknown grant is refused before anything is requested")
    func grant() throws {
        let outcome = try run(["token", "--grant", "client_credential"])
        #expect(outcome.status == 2)
        #expect(outcome.error?.hasSuffix("not 'client_credential', did you mean client_credentials?") == true)
    }

    @Test("--json is short for -o json, also for an error")
    func json() throws {
        let outcome = try run(["completions", "--json", "--bogus"])
        #expect(outcome.status == 2)
        #expect(try JSONValue(parsing: outcome.errorOutput)["error"]?["kind"]?.string == "usage")
        let pkce = try run(["pkce", "--json"])
        #expect(try JSONValue(parsing: pkce.output)["code_verifier"]?.string != nil)
    }

    @Test("--version names the libraries that are used here, as JSON")
    func version() throws {
        let text = try run(["--version"]).output
        #expect(text.hasPrefix("oidc "))
        let json = try JSONValue(parsing: try run(["--version", "-o", "json"]).output)
        #expect(json["name"] == "oidc" && json["version"]?.string.map { text.includes($0) } == true)
        #expect(
            json["libcurl"]?.string?.hasPrefix("7.") == true
                || json["libcurl"]?.string?.hasPrefix("8.") == true)
        #expect(json["openssl"]?.string?.hasPrefix("3.") == true)
    }

    @Test("an option is not the value of the option before it")
    func missingValue() throws {
        let outcome = try run(["token", "--issuer", "--version"])
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.error == "--issuer needs a value")
    }

    @Test("the help is JSON with -o json")
    func helpAsJSON() throws {
        let whole = try JSONValue(parsing: try run(["help", "-o", "json"]).output)
        #expect(whole["name"]?.string == "oidc")
        #expect(whole["commands"]?.array?.contains { $0["name"]?.string == "token" } == true)
        let token = try JSONValue(parsing: try run(["token", "--help", "--json"]).output)
        #expect(token["name"]?.string == "oidc token")
        let type = token["options"]?.array?.first { $0["name"]?.string == "--type" }
        #expect(type?["default"]?.string == "access")
        #expect(type?["choices"]?.array?.compactMap(\.string) == ["access", "id"])
        let codes = try JSONValue(parsing: try run(["help", "exit-codes", "--json"]).output)
        #expect(codes["entries"]?.array?.first == ["term": "0", "meaning": "done"])
        let config = try JSONValue(parsing: try run(["config", "--json", "--help"]).output)
        #expect(config["commands"]?.array?.first?["name"]?.string == "show")
    }
}
