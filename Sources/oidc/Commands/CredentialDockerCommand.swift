import CommandLineKit
import OIDCCore
import Posix

struct CredentialDockerCommand: RunnableCommand {
    static let name = "docker"
    static let summary = "Give docker a token as its password"
    static let declaration = Declaration<CredentialDockerCommand>(
        discussion: """
            Implements the protocol of docker's credential helpers, also under the names docker-credential-oidc and \
            docker-credential-oidc-PROFILE. \
            Answers for the registries in the setting `docker_registries`.
            """,
        examples: [
            Example("oidc credential docker --setup", "lines for ~/.docker/config.json"),
            Example("echo registry.example.com | docker-credential-oidc get", "try it"),
        ],
        operands: [
            .optional(
                \.action, "get|store|erase|list|version", "the operation",
                completion: .values(["get", "store", "erase", "list", "version"]))
        ],
        options: [
            .flag(\.isSetup, "--setup", "print the lines for docker's configuration"),
            .group(\.options), .group(\.common),
        ])

    var action: String?
    var isSetup = false
    var options = ProviderOptions()
    var common = CommonOptions()
    /// `store` and `erase` print nothing.
    var hasJSONForm: Bool { isSetup || action == "get" || action == "list" }

    func validate() throws(UsageError) {
        guard !isSetup else { return }
        guard let action, ["get", "store", "erase", "list", "version"].contains(action) else {
            let problem = action.map { "unknown operation \(UsageError.quoted($0))" } ?? "missing operation"
            throw UsageError("\(problem): get, store, erase, list or version")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        switch action {
        case "get": return try get(context)
        case "list":
            let hosts = try context.settings(options).tools.dockerRegistries.checked()
            try context.console.output(DockerCredential.list(hosts).compact)
        case "version": try context.console.output("docker-credential-oidc (oidc) v\(Version.number)")
        default: _ = try UserFile.readStandardInput(limit: 1 << 20)
        }
        return 0
    }

    /// Prints the credential. A failure is printed to stdout too, because docker does not show a helper's
    /// stderr.
    private func get(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var failure = DockerCredential.notFound
        var answer: String?
        do throws(OIDCError) { answer = try found(context) } catch {
            guard error.kind != .interrupted else { throw error }
            Diagnostics.write(error, asJSON: context.console.isJSON, exitCode: 1)
            if !isWithoutSession(context) { failure = DockerCredential.text(error) }
        }
        try context.console.output(answer ?? failure)
        return answer == nil ? 1 : 0
    }

    /// Returns the answer with a token; nil for a registry that is not configured.
    private func found(_ context: CommandContext) throws(OIDCError) -> String? {
        let input = try UserFile.readStandardInput(limit: DockerCredential.limit)
        let settings = try context.settings(options)
        let hosts = try settings.tools.dockerRegistries.checked()
        guard let (text, url) = DockerCredential.registry(input),
            let host = hosts.first(where: { $0.serves(url) })
        else { return nil }
        let token = try CredentialToken(.access, try Account(ProviderContext(settings, context)))
        return DockerCredential.answer(text, host, token).compact
    }

    /// Returns whether there is no session. Docker then continues without a password, which would hide any
    /// other failure.
    private func isWithoutSession(_ context: CommandContext) -> Bool {
        do throws(OIDCError) {
            let account = try Account(try context.provider(options))
            guard account.key.grant.needsUser else { return false }
            return try account.load() == nil
        } catch {
            return false
        }
    }

    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let command = try CredentialCommandLine("docker", context, options)
        let hosts = try command.settings.tools.dockerRegistries.required(example: "registry.example.com")
        let profile = command.profile.flatMap { isPlain($0) ? $0 : nil }
        let suffix = profile.map { "-\($0)" } ?? ""
        var helpers = JSONObject()
        for host in hosts { helpers[host.host] = .string("oidc\(suffix)") }
        try context.console.output((["credHelpers": .object(helpers)] as JSONValue).indented)
        context.console.note(
            "Docker finds the helper by its name on PATH: "
                + "ln -s \"$(command -v oidc)\" ~/.local/bin/\(DockerCredential.helper)\(suffix)\n"
                + "It takes no options: "
                + (profile == nil
                    ? "it uses the default profile, or OIDC_PROFILE."
                    : "its name says which profile it uses."))
        let given = command.settings.layers.entries.filter { $0.origin.layer == .options }
        if !given.isEmpty {
            context.console.warn(
                "docker passes it no options, so the profile has to set "
                    + given.map(\.setting.name).joined(separator: ", "))
        }
        return 0
    }

    /// Returns whether a profile's name can be a part of a program's name.
    private func isPlain(_ name: String) -> Bool {
        name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "-_.".utf8.contains($0) }
    }
}
