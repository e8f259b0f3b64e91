import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("settings, by the built program", .serialized, .waiting)
struct SettingsTests {
    @Test(
        "a value that a setting cannot have is refused with 2 and its name",
        arguments: [
            "flow=zz", "par=Require", "token_request_format=xml", "response_mode=fragment", "timeout=0",
            "port=0", "port=99999", "leeway=-1", "client_assertion_audience=z", "ca_file=", "browser=[]",
            "resources=[{\"x\":1}]", "client_auth=zzz", "grant=bogus", "subject_token_source=zzz", "dpop=yes",
            "scope=a\"b", "jwks_uri=nowhere", "redirect_ports=[0]", "extra_token_params=[]",
        ])
    func refused(assignment: String) throws {
        let program = try Program(["OIDC_ISSUER": "http://127.0.0.1:9", "OIDC_CLIENT_ID": "demo"])
        defer { program.remove() }
        let name = assignment.prefix { $0 != "=" }
        let option = try program.run("config", "show", "--set", assignment)
        #expect(option.status == 2)
        #expect(option.output == "")
        #expect(option.error?.contains(name) == true)
    }

    @Test(
        "a value that a setting cannot have is found in a file, by check and by every command",
        arguments: [
            "\"port\":99999", "\"timeout\":-1", "\"browser\":[]", "\"browser\":[\"sh\",\"-c\",\"%s\"]",
            "\"client_auth\":\"zzz\"",
            "\"client_id\":\"\"",
            "\"store\":\"bogus\"", "\"store\":\"helper:../x\"", "\"token_endpoint\":\"http://example.com/t\"",
            "\"issuer\":\"http://example.com\"", "\"dpop\":\"true\"", "\"unknown\":1",
            "\"redirect_uri\":\"javascript:alert(1)\"", "\"redirect_uri\":\"Data:text/html,x\"",
            "\"redirect_uri\":\"/callback\"", "\"redirect_uri\":\"http://example.com/callback\"",
            "\"post_logout_redirect_uri\":\"javascript:alert(1)\"",
        ])
    func checked(member: String) throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data("{\(member)}".utf8).write(to: file)
        let outcome = try program.run("config", "check", "--config", file.path)
        #expect(outcome.status == 2, "\(outcome.errorOutput)")
    }

    @Test(
        "user and password in a URL are refused, and not shown",
        arguments: [
            ["status", "--issuer", "https://me:hunter2@login.example.com"],
            ["login", "--issuer", "https://me:hunter2@login.example.com/tenant"],
            ["login", "--issuer", "me:hunter2@login.example.com"],
            ["config", "show", "--set", "token_endpoint=https://me:hunter2@login.example.com/token"],
            ["config", "init", "--client-id", "x", "--issuer", "https://me:hunter2@login.example.com"],
            ["token", "--set", "ca_file=/none", "--issuer", "https://me:hunt//er2@login.example.com"],
        ])
    func userInformation(arguments: [String]) throws {
        let program = try Program(["OIDC_CLIENT_ID": "demo"])
        defer { program.remove() }
        let outcome = try program.start(arguments).finish()
        #expect(outcome.status == 2)
        #expect(outcome.error?.contains("found") == true)
        #expect(!(outcome.output + outcome.errorOutput).contains("hunt"), "\(outcome.errorOutput)")
    }

    @Test("~/ is the home directory, also where no shell expands it")
    func home() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("c.json")
        try Data(#"{"issuer":"http://127.0.0.1:9","client_id":"demo"}"#.utf8).write(to: file)
        #expect(try program.run("config", "path", "--config=~/c.json").token == file.path)
        let variables = ["OIDC_CONFIG": "~/c.json", "OIDC_STATE_DIR": "~/state"]
        #expect(try program.run("config", "path", variables: variables).token == file.path)
        let status = try program.run("status", "--config=~/c.json")
        #expect(status.status == 3 && status.errorOutput.contains("try: oidc login --config '~/c.json'"))
        let location = try program.run("doctor", variables: variables).output
        #expect(location.contains("~/state, 0 sessions"), "\(location)")
        let verifier = program.home.appendingPathComponent("v.txt")
        try Data(String(repeating: "a", count: 43).utf8).write(to: verifier)
        #expect(try program.run("pkce", "--verifier-file=~/v.txt").status == 0)
    }

    @Test("OIDC_STATE_DIR may be relative; doctor reports a relative XDG variable, which is ignored")
    func relativeDirectory() throws {
        let program = try Program(["OIDC_ISSUER": "http://127.0.0.1:9", "OIDC_CLIENT_ID": "demo"])
        defer { program.remove() }
        let outcome = try program.run("doctor", variables: ["XDG_STATE_HOME": "here"])
        let line = outcome.output.split(separator: "\n").first { $0.hasPrefix("warning  variables ") }
        #expect(line?.contains("XDG_STATE_HOME") == true, "\(outcome.output)")
        #expect(outcome.output.contains(".local/state/oidc"))
        #expect(program.files(in: "here").isEmpty)
        let own = try program.run("doctor", variables: ["OIDC_STATE_DIR": "here"])
        #expect(own.output.contains("~/here"), "\(own.output)")
    }

    @Test("profile names are shown without control characters, so similar ones can be distinguished")
    func profileNames() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        let name = "we\\u001b[31mird\\u202e"
        try Data(#"{"profiles":{"\#(name)":{"issuer":"http://127.0.0.1:9","flow":"device"}}}"#.utf8).write(
            to: file)
        for words in [
            ["config", "show"], ["config", "check"], ["status"], ["doctor"], ["token"],
            ["status", "-p", "other"],
            ["config", "show", "-o", "json"], ["token", "-o", "json"], ["config", "check", "-o", "json"],
        ] {
            let outcome = try program.start(words + ["--config", file.path]).finish()
            for scalar in (outcome.output + outcome.errorOutput).unicodeScalars where scalar != "\n" {
                #expect(scalar.value >= 0x20 && scalar.value != 0x202E, "\(words): \(outcome)")
            }
        }
        try Data(#"{"profiles":{"work\#u{200B}":{}}}"#.utf8).write(to: file)
        let outcome = try program.run("config", "show", "-p", "work", "--config", file.path)
        #expect(outcome.error?.contains("there is no profile \"work\"") == true)
        #expect(outcome.errorOutput.contains(#"did you mean work\u{200B}?"#), "\(outcome.errorOutput)")
        let setting = try program.run("config", "show", "--set", "flow=auto\u{200B}")
        #expect(setting.error?.contains(#"found "auto\u{200B}""#) == true, "\(setting.errorOutput)")
        let unknown = try program.run("config", "show", "--set", "issuer\u{200B}=x")
        #expect(unknown.error?.contains(#"unknown setting "issuer\u{200B}""#) == true)
    }

    @Test("a secret is not taken from the command line")
    func secret() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run("token", "--set", "client_secret=hunter2")
        #expect(outcome.status == 2)
        #expect(!outcome.errorOutput.contains("hunter2"))
    }

    @Test("an option wins over a variable, a variable over the profile, and config show says which")
    func precedence() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data(#"{"client_id":"file","issuer":"https://a.example","audience":"file"}"#.utf8).write(to: file)
        let outcome = try program.start(
            ["config", "show", "--config", file.path, "--audience", "option"], ["OIDC_CLIENT_ID": "variable"]
        ).finish()
        let lines = outcome.output.split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
        #expect(lines.contains("client_id variable (OIDC_CLIENT_ID)"))
        #expect(lines.contains("audience option (--audience)"))
        #expect(lines.contains("issuer https://a.example (profile default)"))
    }

    /// A directory that is not the working directory, with a configuration that names its neighbors.
    private func neighbors(_ program: Program, _ settings: String) throws -> URL {
        let directory = program.home.appendingPathComponent("conf")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appendingPathComponent("config.json")
        try Data(settings.utf8).write(to: file)
        return file
    }

    private func put(_ text: String, _ file: URL, mode: Int) throws {
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    @Test("a configuration in a directory in which others may replace it is refused")
    func openDirectory() throws {
        let program = try Program()
        defer { program.remove() }
        let file = try neighbors(program, #"{"issuer":"https://127.0.0.1:9","client_id":"x"}"#)
        let directory = file.deletingLastPathComponent().path
        for (mode, code) in [(0o777, 2), (0o770, 2), (0o1777, 0), (0o755, 0)] as [(Int, Int32)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory)
            let outcome = try program.run("config", "list", "--config", file.path)
            #expect(outcome.status == code, "\(outcome)")
            #expect(
                outcome.errorOutput.contains("in which others may replace it") == (code == 2)
                    && outcome.errorOutput.contains("chmod go-w \(directory)") == (code == 2), "\(outcome)")
        }
    }

    @Test(
        "relative paths in a configuration are relative to its directory",
        arguments: [#""client_secret_file":"secret""#, #""client_secret_command":["./print"]"#])
    func relative(setting: String) throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let file = try neighbors(
            program,
            #"{"issuer":"\#(provider.origin)","client_id":"demo-confidential",\#(setting)}"#)
        let directory = file.deletingLastPathComponent()
        try put("demo-secret", directory.appendingPathComponent("secret"), mode: 0o600)
        try ExecutableScript.write(
            "#!/bin/sh\necho demo-secret\n", to: directory.appendingPathComponent("print"))
        for path in [file.path, "conf/config.json"] {
            let outcome = try program.run(
                "token", "--grant", "client_credentials", "--refresh", "--config", path)
            #expect(outcome.status == 0, "\(path): \(outcome.errorOutput)")
        }
        let elsewhere = try program.run(
            "token", "--grant", "client_credentials", "--refresh", "--config", file.path,
            "--set", "client_secret_file=secret")
        #expect(elsewhere.status == 2, "an option is seen from the working directory")
        let shown = try program.run("config", "show", "--config", file.path).output
        #expect(shown.contains(directory.path + "/"))
    }

    @Test("a relative path on the command line is written as an absolute one")
    func written() throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run(
            "config", "init", "--issuer", provider.origin, "--client-id", "c", "--set", "client_secret_file=s"
        )
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let shown = try program.run("config", "show", "-o", "json").output
        let value = try JSONValue(parsing: shown)["settings"]?["client_secret_file"]?["value"]?.string
        let home = try #require(realpath(program.home.path, nil))
        defer { free(home) }
        #expect(value == String(cString: home) + "/s")
    }

    @Test("the arguments of the program that has the secret are not shown")
    func commandArguments() throws {
        let program = try Program(["OIDC_CLIENT_SECRET_COMMAND": #"["/bin/echo","hunter2","hunter3"]"#])
        defer { program.remove() }
        for options in [[], ["-o", "json"]] {
            let outcome = try program.start(["config", "show"] + options).finish()
            #expect(outcome.output.contains("/bin/echo") && !outcome.output.contains("hunter"))
        }
    }

    @Test(
        "a secret file that others may read is reported, and one that they may write is refused",
        arguments: [
            (0o600, 0, false), (0o640, 0, true), (0o604, 0, true), (0o620, 2, false), (0o602, 2, false),
        ])
    func secretFile(mode: Int, status: Int32, isTold: Bool) throws {
        let provider = try ProviderServer()
        let program = try Program(provider, client: "demo-confidential", ["OIDC_STORE": "none"])
        defer { program.remove() }
        let file = program.home.appendingPathComponent("secret")
        try put("demo-secret", file, mode: mode)
        let outcome = try program.run(
            "token", "--grant", "client_credentials", "--set", "client_secret_file=\(file.path)")
        #expect(outcome.status == status, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("warning: client_secret_file") == isTold)
        #expect(outcome.errorOutput.isEmpty == (status == 0 && !isTold), "\(outcome.errorOutput)")
    }

    @Test(
        "text with an invisible character is refused, as a list or hint that repeats it would be wrong",
        arguments: [
            ("work", 3), ("é x", 3), ("a\nb", 2), ("a\u{1B}[2J", 2), ("é\u{202E}x", 2), ("a\u{A0}b", 2),
        ]
            as [(String, Int32)])
    func invisibleCharacters(account: String, status: Int32) throws {
        let program = try Program(ProviderServer())
        defer { program.remove() }
        #expect(try program.run("token", "--account", account).status == status)
        #expect(try program.run("token", "--set", "account=\(account)").status == status)
    }

    @Test("a resource is an absolute URI without a fragment, wherever it is set")
    func resource() throws {
        let program = try Program(ProviderServer())
        defer { program.remove() }
        for (text, status) in [("https://api.example/", 3), ("not a uri", 2), ("https://api.example/#a", 2)] {
            #expect(try program.run("token", "--resource", text).status == Int32(status))
            #expect(try program.run("token", "--set", "resource=\(text)").status == Int32(status))
            let variable = try program.start(["token"], ["OIDC_RESOURCE": text]).finish()
            #expect(variable.status == Int32(status))
        }
    }

    @Test("a profile's secret does not follow another issuer or client that an option names")
    func secretStays() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data(#"{"client_id":"c","issuer":"https://a.example","client_secret":"hunter2"}"#.utf8)
            .write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let own = try program.run("config", "show", "--config", file.path)
        #expect(own.output.contains("client_secret"))
        #expect(!own.output.contains("hunter2"))
        for option in [["--issuer", "https://b.example"], ["--client-id", "d"]] {
            let other = try program.start(["config", "show", "--config", file.path] + option).finish()
            #expect(other.status == 0)
            #expect(!other.output.contains("client_secret"))
        }
    }
}
