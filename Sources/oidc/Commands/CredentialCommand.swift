import CommandLineKit
import OIDCCore
import OIDCSystem

struct CredentialCommand: Command {
    static let name = "credential"
    static let summary = "Give tokens to kubectl, git, docker, aws and gcloud"
    static let subcommands: [any Command.Type] = [
        CredentialKubectlCommand.self, CredentialGitCommand.self, CredentialDockerCommand.self,
        CredentialAWSCommand.self, CredentialGCPCommand.self,
    ]
}

extension CommandContext {
    /// The session of the options; nobody is asked for anything.
    func access(_ options: ProviderOptions) throws(OIDCError) -> SessionAccess {
        try SessionAccess(try provider(options))
    }
}
