import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("credential --setup", .serialized, .waiting)
struct CredentialSetupTests {
    @Test("the printed setup contains the options that were given")
    func setups() throws {
        let world = try ToolWorld()
        try world.configure([
            "profiles": [
                "wo rk": [
                    "issuer": .string(world.issuer), "client_id": "demo",
                    "git_hosts": [["host": "git.example.com"], ["host": "127.0.0.1:80"]],
                    "docker_registries": [["host": "registry.example.com"]],
                    "aws_role_arn": "arn:aws:iam::1:role/dev",
                ]
            ]
        ])
        let program = ToolWorld.program
        func setUp(_ kind: String, _ more: [String] = []) throws -> String {
            let result = try world.run(["credential", kind, "--setup", "-p", "wo rk"] + more)
            #expect(result.code == 0, "\(result)")
            return result.output
        }
        #expect(
            try setUp("kubectl") == """
                apiVersion: v1
                kind: Config
                users:
                - name: "oidc-wo rk"
                  user:
                    exec:
                      apiVersion: client.authentication.k8s.io/v1
                      command: "\(program)"
                      args: ["credential", "kubectl", "-p", "wo rk"]
                      interactiveMode: Never
                      provideClusterInfo: false
                      installHint: "oidc is not installed, or not on the PATH"

                """)
        let git = try setUp("git", ["--set", "account=x"])
        #expect(
            git.hasPrefix(
                "git config --global --replace-all credential.https://git.example.com.helper ''\n"
                    + "git config --global --add credential.https://git.example.com.helper '!\(program) credential git -p "
                    + #"'\''wo rk'\'' --set account=x'"#), "\(git)")
        #expect(git.contains("credential.http://127.0.0.1:80.helper"))
        #expect(
            try JSONValue(parsing: try setUp("docker"))["credHelpers"]?["registry.example.com"]?.string
                == "oidc")
        #expect(
            try setUp("aws")
                == "[profile 'wo rk']\ncredential_process = \(program) credential aws -p 'wo rk'\n")
        #expect(try world.run(["credential", "gcp", "--setup", "-p", "wo rk"]).code == 2)
        let kubectl = try world.run(
            ["credential", "kubectl", "--setup", "--audience", "a"],
            [
                "OIDC_ISSUER": "https://b.example", "OIDC_CLIENT_ID": "c", "OIDC_AUDIENCE": "not this",
                "OIDC_CLIENT_SECRET": "hunter2",
            ])
        #expect(
            kubectl.output.contains(
                #"args: ["credential", "kubectl", "-p", "wo rk", "--issuer", "https://b.example", "--client-id", "c", "#
                    + #""--audience", "a"]"#), "\(kubectl)")
        let password = try world.run(
            ["credential", "kubectl", "--setup"], ["OIDC_ISSUER": "https://me:hunter2@b.example"])
        #expect(password.code == 2 && password.output.isEmpty)
        let docker = try world.run([
            "credential", "docker", "--setup", "--set", #"docker_registries=[{"host":"r.example.com"}]"#,
        ])
        #expect(docker.code == 0)
        #expect(docker.errors.contains("the profile has to set docker_registries"), "\(docker)")
        #expect(!(try world.run(["credential", "docker", "--setup"])).errors.contains("has to hold"))
        try world.configure(["profiles": ["work": ["issuer": .string(world.issuer), "client_id": "demo"]]])
        let google = try world.run(["credential", "gcp", "--setup"]).json()
        #expect(
            google["credential_source"]?["executable"]?["command"]?.string
                == "\(program) credential gcp -p work")
    }

    @Test(
        "a program that was set up for a profile gets no token of another provider, which a variable names",
        arguments: ["kubectl", "aws"])
    func otherProvider(program: String) throws {
        let world = try ToolWorld()
        try world.configure(["profiles": ["work": ["issuer": .string(world.issuer), "client_id": "demo"]]])
        let words = ["credential", program, "-p", "work"]
        let refused = try world.run(words, ["OIDC_ISSUER": "https://other.example"])
        #expect(refused.code == 2 && refused.errors.hasSuffix("try: unset OIDC_ISSUER\n"), "\(refused)")
        #expect(!(try world.run(words, ["OIDC_ISSUER": world.issuer]).errors.contains("unset")))
    }

    @Test("the setup names the profile, also the default one, and kubectl's user is named after it")
    func profiles() throws {
        let world = try ToolWorld()
        let registries: JSONValue = [["host": "registry.example.com"]]
        try world.configure([
            "default_profile": "default",
            "profiles": [
                "default": ["issuer": .string(world.issuer), "client_id": "demo"],
                "work": [
                    "issuer": .string(world.issuer), "client_id": "demo", "docker_registries": registries,
                ],
            ],
        ])
        for (options, user) in [
            ([], "oidc"), (["-p", "work"], "oidc-work"),
            (["-p", "work", "--account", "bob"], "oidc-work-bob"),
            (["--account", "bob"], "oidc-default-bob"),
        ] as [([String], String)] {
            let setup = try world.run(["credential", "kubectl", "--setup"] + options)
            #expect(setup.output.contains("- name: \(user)\n") && setup.output.contains(#""-p""#), "\(setup)")
            #expect(setup.errors.contains("kubectl --user=\(user) …"))
        }
        let docker = try world.run(["credential", "docker", "--setup", "-p", "work"])
        #expect(
            try JSONValue(parsing: docker.output)["credHelpers"]?["registry.example.com"]?.string
                == "oidc-work")
        #expect(docker.errors.contains("~/.local/bin/docker-credential-oidc-work"))
    }

    @Test(
        "paths in the setup are absolute, as the other program runs elsewhere",
        arguments: [
            ["kubectl"], ["git", "--set", #"git_hosts=[{"host":"git.example.com"}]"#],
            ["aws", "--set", "aws_role_arn=arn:aws:iam::1:role/dev"],
        ])
    func absolute(_ kind: [String]) throws {
        let program = try Program()
        defer { program.remove() }
        let home = try #require(realpath(program.home.path, nil).map { String(cString: $0) })
        let profile = #"{"profiles":{"w":{"issuer":"https://a.example","client_id":"b"}}}"#
        let file = program.home.appendingPathComponent("two.json")
        try Data(profile.utf8).write(to: file)
        chmod(file.path, 0o600)
        let settings = [
            "ca_file=tls/ca.pem", "client_secret_file=w/sec", #"client_secret_command=["./w/x","y"]"#,
        ].flatMap { ["--set", $0] }
        for variables in [[:], ["OIDC_CONFIG": "two.json"]] {
            let named = variables.isEmpty ? ["--config", "two.json"] : []
            let words = ["credential"] + kind + ["--setup", "-p", "w"] + named
            let outcome = try program.start(words + settings.prefix(2), variables).finish()
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.output.contains("\(home)/two.json"), "\(outcome)")
            #expect(outcome.output.contains("ca_file=\(home)/tls/ca.pem"), "\(outcome)")
            let more = try program.start(words + settings.suffix(2), variables).finish()
            #expect(more.output.contains("\(home)/./w/x") || more.output.contains("\(home)/w/x"), "\(more)")
        }
    }

    @Test("git is configured for a host that is an operand; JSON is needed only for more")
    func gitHost() throws {
        let world = try ToolWorld()
        try world.configure(["issuer": .string(world.issuer), "client_id": "demo"])
        for host in ["git.example.com", "https://git.example.com/"] {
            let setup = try world.run(["credential", "git", "--setup", host])
            #expect(setup.code == 0, "\(setup)")
            let lines = setup.output.split(separator: "\n")
            #expect(lines.count == 2 && lines[1].contains("credential.https://git.example.com.helper"))
            #expect(lines[1].contains(#"--set '\''git_hosts=[{"host":"git.example.com"}]'\''"#), "\(lines)")
        }
        // The printed helper answers for the host.
        let access = try world.signIn().tokens.access
        let answer = try world.run(
            ["credential", "git", "get", "--set", #"git_hosts=[{"host":"git.example.com"}]"#],
            input: "protocol=https\nhost=git.example.com\n\n")
        #expect(answer.output.contains(access.token.revealed))
        try world.configure([
            "issuer": .string(world.issuer), "client_id": "demo",
            "git_hosts": [["host": "git.example.com"], ["host": "other.example.com"]],
        ])
        let known = try world.run(["credential", "git", "--setup", "git.example.com"])
        #expect(!known.output.contains("--set") && !known.output.contains("other"), "\(known)")
        let wrong = try world.run(["credential", "git", "--setup", "me@git.example.com"])
        #expect(wrong.code == 2 && wrong.errors.contains("expected a host"), "\(wrong)")
    }

    @Test("a hint to sign in does not repeat what only the helper needs")
    func helperOptions() throws {
        let world = try ToolWorld()
        try world.configure(["issuer": .string(world.issuer), "client_id": "demo"])
        let git = try world.run(
            [
                "credential", "git", "get", "--set", #"git_hosts=[{"host":"git.example.com"}]"#, "--set",
                "leeway=5",
            ],
            input: "protocol=https\nhost=git.example.com\n\n")
        #expect(git.code == 3 && git.errors.hasSuffix("\n  try: oidc login --set leeway=5\n"), "\(git)")
        let aws = try world.run(["credential", "aws", "--set", "aws_role_arn=arn:aws:iam::1:role/dev"])
        #expect(aws.code == 3 && aws.errors.hasSuffix("\n  try: oidc login\n"), "\(aws)")
    }
}
