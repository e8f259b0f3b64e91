import CommandLineKit
import OIDCCore
import Posix
import Testing

@testable import oidc

@Suite("the environment of the programs that are started")
struct ChildEnvironmentTests {
    private static let secrets = [
        "OIDC_CLIENT_SECRET", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "OIDC_ID_TOKEN", "CI_JOB_JWT_V2",
        "CIRCLE_OIDC_TOKEN_V2", "BITBUCKET_STEP_OIDC_TOKEN", "TFC_WORKLOAD_IDENTITY_TOKEN",
        "TFC_WORKLOAD_IDENTITY_TOKEN_PROD", "SYSTEM_ACCESSTOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN",
    ]

    private func settings(_ options: [String], _ variables: Variables) throws -> Settings {
        try SettingsLoader(environment: variables, common: CommonOptions())
            .load(try options.map { try SettingsLoader.assignment($0) }, from: nil, in: "")
    }

    @Test("has neither the client's secret nor an identity token of a CI job, and everything else")
    func secrets() throws {
        let others: Variables = [
            "PATH": "/bin", "OIDC_ISSUER": "https://op.example", "ACTIONS_ID_TOKEN_REQUEST_URL": "u",
        ]
        var environment = others
        for name in Self.secrets { environment[name] = "hunter2" }
        #expect(try settings([], [:]).childEnvironment(environment) == others)
    }

    @Test(
        "a child process does not get the variable that subject_token_env names, in any layer",
        arguments: [
            (["subject_token_env=MY_TOKEN"], [:]), ([], ["OIDC_SUBJECT_TOKEN_ENV": "MY_TOKEN"]),
            (["subject_token_env=OTHER"], ["OIDC_SUBJECT_TOKEN_ENV": "MY_TOKEN"]),
            (
                ["issuer=https://b.example"],
                ["OIDC_SUBJECT_TOKEN_ENV": "MY_TOKEN", "OIDC_ISSUER": "https://a.example"]
            ),
        ] as [([String], Variables)])
    func subjectToken(options: [String], variables: Variables) throws {
        let environment: Variables = ["MY_TOKEN": "hunter2", "PATH": "/bin"]
        #expect(try settings(options, variables).childEnvironment(environment) == ["PATH": "/bin"])
    }

    @Test("does not have the URL of a shared store if it holds a password, used or not")
    func storePassword() throws {
        let url: Variables = ["OIDC_STORE": "redis://:hunter2@h/0", "OIDC_STORE_KEY_FILE": "/k"]
        #expect(try settings([], url).childEnvironment(url) == ["OIDC_STORE_KEY_FILE": "/k"])
        #expect(try settings(["store=file"], url).childEnvironment(url) == ["OIDC_STORE_KEY_FILE": "/k"])
        let plain: Variables = ["OIDC_STORE": "redis://h/0", "OIDC_STORE_KEY_FILE": "/k"]
        #expect(try settings([], plain).childEnvironment(plain) == plain)
    }

    @Test(
        "a program that must not see the secrets goes without the variables from which a command prints one",
        arguments: [
            (#"["printenv","STORE_KEY"]"#, ["STORE_KEY"]),
            (#"["sh","-c","echo \"$STORE_KEY\"; cat ${TMPDIR:-/tmp}/x"]"#, ["STORE_KEY"]),
            (#"["python3","-c","import os; print(os.environ['STORE_KEY'])"]"#, ["STORE_KEY"]),
            (#"["sh","-c","cat $HOME/$XDG_KEY"]"#, []), (#"["pass","show","store"]"#, []),
        ] as [(String, [String])])
    func secretCommands(command: String, names: [String]) throws {
        let environment: Variables = [
            "STORE_KEY": "hunter2", "HOME": "/h", "PATH": "/bin", "TMPDIR": "/t", "XDG_KEY": "k",
            "OTHER": "o",
        ]
        for setting in ["OIDC_STORE_KEY_COMMAND", "OIDC_CLIENT_SECRET_COMMAND"] {
            let settings = try settings([], [setting: command])
            let named = settings.variablesOfSecretCommands
            #expect(environment.names().filter { named.contains($0) } == names)
            // The command itself gets it.
            #expect(settings.childEnvironment(environment)["STORE_KEY"] == "hunter2")
        }
        // Also if another setting is in effect.
        let other = try settings(["store_key_file=/k"], ["OIDC_STORE_KEY_COMMAND": command])
        #expect(environment.names().filter { other.variablesOfSecretCommands.contains($0) } == names)
    }
}
