import CommandLineKit

struct CredentialCommand: Command {
    static let name = "credential"
    static let summary = "Give tokens to kubectl, git, docker, aws and gcloud"
    static let subcommands: [any Command.Type] = [
        CredentialKubectlCommand.self, CredentialGitCommand.self, CredentialDockerCommand.self,
        CredentialAWSCommand.self, CredentialGCPCommand.self,
    ]
}
