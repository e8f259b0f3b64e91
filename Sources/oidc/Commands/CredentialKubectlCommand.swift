import CommandLineKit
import OIDCCore
import Posix

struct CredentialKubectlCommand: RunnableCommand {
    static let name = "kubectl"
    static let summary = "Give kubectl a token (ExecCredential)"
    static let declaration = Declaration<CredentialKubectlCommand>(
        discussion: """
            Answers in the version that KUBERNETES_EXEC_INFO asks for, v1 or v1beta1. Never prompts: without a \
            session it fails, and kubectl shows the error.
            """,
        examples: [
            Example("oidc credential kubectl --setup -p work", "lines for kubectl's configuration"),
            Example("oidc credential kubectl --type access", "for a cluster that accepts access tokens"),
        ],
        options: [
            .value(\.type, "--type", "TYPE", "the token to return"),
            .flag(\.isSetup, "--setup", "print the lines for kubectl's configuration"),
            .group(\.options), .group(\.common),
        ])

    var type = TokenKind.id
    var isSetup = false
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { !isSetup }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        let credential = try KubernetesCredential(
            executionInfo: context.environment["KUBERNETES_EXEC_INFO"])
        let account = try context.target(ofProgram: options).account()
        guard type == .access || account.key.grant.needsUser else {
            throw .noIDToken(
                account.key.grant, hint: "if the cluster accepts access tokens, give --type access")
        }
        let token = try CredentialToken(type, account)
        try context.console.output(credential.answer(token).compact)
        return 0
    }

    /// Prints kubectl's configuration for version `v1` of its exec API (kubectl 1.22 and later). JSON strings
    /// are valid YAML.
    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let command = try CredentialCommandLine("kubectl", context, options, type: type)
        let name = userName(command)
        let words = command.words.map { JSONValue.string($0).compact }
        try context.console.output(
            """
            apiVersion: v1
            kind: Config
            users:
            - name: \(isPlain(name) ? name : JSONValue.string(name).compact)
              user:
                exec:
                  apiVersion: \(KubernetesCredential.group)/v1
                  command: \(words[0])
                  args: [\(words.dropFirst().joined(separator: ", "))]
                  interactiveMode: Never
                  provideClusterInfo: false
                  installHint: "oidc is not installed, or not on the PATH"
            """)
        context.console.note(
            "Put the user below `users:` in ~/.kube/config, or save all of it as a file that KUBECONFIG names "
                + "too; then: kubectl --user=\(ShellWord.quoted(name)) …")
        return 0
    }

    /// Returns the name of kubectl's user: kubectl keeps only the first of several users of one name, and would send
    /// its token to the cluster of another.
    private func userName(_ command: CredentialCommandLine) -> String {
        let profile = command.profile ?? "default"
        let account = command.settings.token.account
        let parts =
            ["oidc"] + (profile == "default" && account == nil ? [] : [profile])
            + (account.map { [$0] } ?? [])
        return parts.joined(separator: "-")
    }

    /// Returns whether a string means itself in YAML.
    private func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "-_.".utf8.contains($0) }
    }
}
