import CommandLineKit
import OIDCCore

struct CredentialHeadersCommand: RunnableCommand {
    static let name = "headers"
    static let summary = "Give an agent the headers for a resource"
    static let declaration = Declaration<CredentialHeadersCommand>(
        discussion: """
            Prints a JSON object with the Authorization header, for programs that run a helper for it. Never prompts: \
            without a session it fails. --setup prints what to paste for an agent: claude-code runs this command for \
            an MCP server, claude-code-gateway runs oidc token for the gateway to its models, codex is started \
            behind oidc exec --proxy, as it has no helper and would keep a token until it expires. VS Code and \
            Cursor sign in on their own.
            """,
        examples: [
            Example("oidc credential headers https://mcp.example.com/mcp", "after oidc login URL"),
            Example(
                "oidc credential headers https://mcp.example.com/mcp --setup claude-code",
                "a server for .mcp.json"),
        ],
        operands: [.required(\.url, "URL", "the resource")],
        options: [
            .value(\.agent, "--setup", "AGENT", "print what to paste for this agent"),
            .group(\.options), .group(\.common),
        ])

    var url = ""
    var agent: AgentSetup?
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { agent == nil }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let url = try ResourceOperand.url(url, command: "credential headers", context)
        if let agent {
            _ = try ResourceOperand(url, options, context)
            func line(_ command: [String]) throws(OIDCError) -> CredentialCommandLine {
                try CredentialCommandLine(command, context, options, operand: url)
            }
            if agent == .codex {
                // The printed function starts with this, so it would fail without a session.
                let named = try line(["token"]).profile.map { context.using(profile: $0) } ?? context
                let account = try account(named)
                _ = try account.token(account.demand())
            }
            try context.console.output(
                try agent.text(url) { command throws(OIDCError) in try line(command).line })
            context.console.note(agent.note)
            return 0
        }
        let token = try CredentialToken(.access, try account(context))
        try context.console.output(["Authorization": .string("Bearer \(token.text.revealed)")])
        return 0
    }

    private func account(_ context: CommandContext) throws(OIDCError) -> Account {
        try context.target(url, command: "credential headers", options).account()
    }
}

/// The agents that take a header, or a token, from another program.
enum AgentSetup: String, CaseIterable, OptionValue, Sendable {
    /// The `headersHelper` of an MCP server (anthropics/claude-code issue 48514, read 2026-11).
    case claudeCode = "claude-code"
    /// The `apiKeyHelper` in the settings.
    case claudeCodeGateway = "claude-code-gateway"
    /// `-c` sets a member of config.toml (Codex 0.154, read 2026-11). A token in `bearer_token_env_var` would be
    /// read once, so the server is reached through the proxy.
    case codex

    /// Returns the configuration to paste. `line` completes a command with the URL and its options. JSON
    /// strings are also valid TOML strings.
    func text(
        _ url: WebURL, _ line: (_ command: [String]) throws(OIDCError) -> String
    ) throws(OIDCError) -> String {
        let name = AgentSetup.name(url)
        switch self {
        case .claudeCode:
            let server: JSONValue = [
                "type": "http", "url": .string(url.text),
                "headersHelper": .string(try line(["credential", "headers"])),
            ]
            var servers = JSONObject()
            servers[name] = server
            return (["mcpServers": .object(servers)] as JSONValue).indented
        case .claudeCodeGateway:
            return (["apiKeyHelper": .string(try line(["token"]))] as JSONValue).indented
        case .codex:
            let setting = "mcp_servers.\(name).url=\\\"$OIDC_PROXY_URL\\\""
            // exec would give a URL without a session of its own the token of the profile, and token fails.
            return """
                codex() {
                  \(try line(["token"])) >/dev/null &&
                    \(try line(["exec", "--proxy"])) -- sh -c 'exec codex -c "\(setting)" "$@"' codex "$@"
                }
                """
        }
    }

    var note: String {
        switch self {
        case .claudeCode: "Put this into .mcp.json of the project."
        case .claudeCodeGateway: "Put this into ~/.claude/settings.json."
        case .codex:
            "Put this into ~/.bashrc or ~/.zshrc. codex then reaches the server through oidc, and never has a token."
        }
    }

    /// Returns a name for a server: letters, digits and `_`.
    private static func name(_ url: WebURL) -> String {
        String(decoding: url.host.utf8.map { ASCII.isAlphanumeric($0) ? $0 : .underscore }, as: UTF8.self)
    }
}
