import CommandLineKit
import OIDCCore
import Posix

struct CredentialGitCommand: RunnableCommand {
    static let name = "git"
    static let summary = "Give git a token as its password"
    static let declaration = Declaration<CredentialGitCommand>(
        discussion: """
            Answers for the hosts in the setting `git_hosts`, over https (on loopback also http), and prints \
            nothing for other hosts. Without a session, git is told to stop instead of asking for a password. What git stores is ignored; what git erases is refreshed before the next use.
            """,
        examples: [
            Example("oidc credential git --setup git.example.com", "the commands that configure git"),
            Example("oidc credential git --setup", "the same for the hosts in git_hosts"),
            Example("git credential fill <<< url=https://git.example.com", "try it"),
        ],
        operands: [
            .optional(
                \.action, "get|store|erase|HOST", "the operation; with --setup, a host",
                completion: .values(["get", "store", "erase"]))
        ],
        options: [
            .flag(\.isSetup, "--setup", "print the commands that configure git, for HOST or git_hosts"),
            .group(\.options), .group(\.common),
        ])

    var action: String?
    var isSetup = false
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func validate() throws(UsageError) {
        if action == nil, !isSetup { throw UsageError("missing operation: get, store or erase") }
    }

    /// Answers git. Ignores unknown operations, as a helper must (gitcredentials(7)).
    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        let input = try UserFile.readStandardInput(limit: GitCredential.limit)
        guard action == "get" || action == "erase" else { return 0 }
        let question = try GitCredential(parsing: input)
        let settings = try context.settings(options)
        guard let host = question.served(by: try settings.tools.gitHosts.checked()) else { return 0 }
        let account = try Account(ProviderContext(settings, context))
        if action == "erase" {
            if let password = question.password { try account.expire(password) }
            return 0
        }
        do throws(OIDCError) {
            try context.console.output(question.answer(host, try CredentialToken(.access, account)))
        } catch {
            // Otherwise, git asks for a password, which would go to a server that takes tokens.
            if error.kind == .loginRequired { try context.console.output("quit=1") }
            throw error
        }
        return 0
    }

    /// Prints the commands that configure git. The empty helper resets those configured for all hosts.
    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var options = options
        let named = try action.map { text throws(OIDCError) in try host(text) }
        if let named, try !context.settings(options).tools.gitHosts.checked().contains(where: named.isSame) {
            options.assignments.append("\(Setting.gitHosts.name)=\(named.json.compact)")
        }
        let command = try CredentialCommandLine("git", context, options)
        let all = try command.settings.tools.gitHosts.required(example: "git.example.com")
        let hosts = all.filter { named?.isSame($0) ?? true }
        for host in hosts {
            let isLoopback = WebURL("http://\(host.host)")?.isLoopback == true
            let name = ShellWord.quoted("credential.\(isLoopback ? "http" : "https")://\(host.host).helper")
            try context.console.output("git config --global --replace-all \(name) ''")
            try context.console.output(
                "git config --global --add \(name) \(ShellWord.quoted("!\(command.line)"))")
        }
        return 0
    }

    /// Returns the host that the operand names. It may also be a URL, as people copy it from a browser.
    private func host(_ text: String) throws(OIDCError) -> CredentialHost {
        let url = WebURL(text) ?? WebURL("https://\(text)")
        guard let url, url.query == nil, !text.contains("@") else {
            throw .usage(
                "--setup: expected a host, as in git.example.com, found \(DisplayText.quoted(text, limit: 80))",
                hint: .run("credential git --setup git.example.com"))
        }
        return CredentialHost(host: url.hostAndPort, username: nil)
    }
}

extension CredentialHost {
    fileprivate func isSame(_ other: CredentialHost) -> Bool { ASCII.isSameIgnoringCase(host, other.host) }

    fileprivate var json: JSONValue { [["host": .string(host)]] }
}
