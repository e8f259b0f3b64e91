import CommandLineKit
import LoopbackHTTP
import OIDCCore
import OIDCProxy
import Posix

struct ProxyCommand: RunnableCommand {
    static let name = "proxy"
    static let summary = "Add the token to requests of programs that must not hold it"
    static let declaration = Declaration<ProxyCommand>(
        discussion: """
            Listens on this machine, prints one line for each URL, and forwards requests to it with a fresh token, \
            until it gets a signal. If you signed in to the URL, that session's token is used, otherwise the \
            profile's: name only servers that it is meant for. The printed URL contains a secret: whoever knows it can use the \
            token, but never sees it. Without URLs, the routes are those of the setting proxy_routes.
            """,
        examples: [
            Example("oidc proxy https://api.example.com/v1", "prints http://127.0.0.1:PORT/SECRET/"),
            Example("oidc proxy --listen unix:api.sock URL", "for programs that speak HTTP over a socket"),
            Example("oidc exec --proxy URL -- agent", "for the life of one command"),
        ],
        operands: [.rest(\.urls, "URL", "an https URL, or a loopback URL; everything below it is reachable")],
        options: [
            .number(
                \.port, "--port", "N", in: 1...65_535, "the port on 127.0.0.1", defaultText: "a free one"),
            .value(\.listen, "--listen", "unix:PATH", "listen on a Unix socket instead, mode 0600"),
            .number(
                \.idleTimeout, "--idle-timeout", "SECONDS", in: 1...31_536_000,
                "end after this time without a request"),
            .number(
                \.timeout, "--timeout", "SECONDS", in: 1...86_400, "how long a server may take to answer"),
            .value(
                \.log, "--log", "FILE", "log each request, without secrets; - is stdout", completion: .file),
            .flag(\.mayLogIn, "--login", "sign in if there is no session, or if a server asks for more"),
            .flag(\.isWithoutProfile, "--no-profile", "with --login: do not save the sign-in as a profile"),
            .group(\.options), .group(\.common),
        ])

    var urls: [String] = []
    var port: Int?
    var listen: String?
    var idleTimeout: Int?
    var timeout = 300
    var log: String?
    var mayLogIn = false
    var isWithoutProfile = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try UsageError.refuseWithoutLogin(isWithoutProfile, mayLogIn)
        if port != nil, listen != nil { throw UsageError("--port and --listen cannot be used together") }
        if let listen { _ = try ProxyCommand.socketPath(listen) }
        if log == "" { throw UsageError("--log takes a file, or - for stdout") }
    }

    private static func socketPath(_ text: String) throws(UsageError) -> String {
        guard text.hasPrefix("unix:"), text.utf8.count > 5 else {
            throw UsageError("--listen takes unix:PATH", hint: .text("for a TCP port, use --port N"))
        }
        return String(text.dropFirst(5))
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let context = context.keepingProfile(!isWithoutProfile)
        let provider = try context.provider(options)
        let routes = try ProxyRoutes.routes(urls, provider, onSocket: listen != nil)
        let log = try log.map { path throws(OIDCError) in try ProxyLog(context.path(path), context.console) }
        let (sessions, indices) = try ProxySession.sessions(of: routes, provider, mayLogIn: mayLogIn)
        let first = try sessions.map { session throws(OIDCError) in
            try session.firstToken(toleratesOutage: true)
        }
        var configuration = try sessions[0].configuration(timeout: timeout)
        configuration.idleTimeout = idleTimeout.map { Int64($0) * 1_000 }
        if let log { configuration.log = log.add }
        let endpoint = try endpoint()
        let server = try ProxyServer(
            endpoint, routes: Array(zip(routes, indices)),
            sources: try sessions.map { session throws(OIDCError) in try session.source() }, first: first,
            configuration)
        let warning =
            switch endpoint {
            case .port: ProxyVariables.warning(in: context.environment)
            case .socket(let path): SocketListener.warning(of: path)
            }
        if let warning { context.console.warn(warning) }
        for (index, route) in routes.enumerated() {
            try announce(server.url(of: index), route, context)
        }
        defer { log?.finish() }
        StandardError.startBacklog()
        switch server.run() {
        case .interrupted(let signal): return context.console.ended(bySignal: signal)
        case .idle, .readable: return 0
        }
    }

    private func endpoint() throws(OIDCError) -> ProxyEndpoint {
        guard let listen else { return .port(port.map { UInt16(clamping: $0) }) }
        do throws(UsageError) { return .socket(path: try ProxyCommand.socketPath(listen)) } catch {
            throw OIDCError(error)
        }
    }

    /// Prints the URL for callers and the URL that it forwards to.
    private func announce(
        _ url: String, _ route: ProxyRoute, _ context: CommandContext
    ) throws(OIDCError) {
        guard context.console.isJSON else {
            let line = "\(url) → \(route.url.text)"
            return try context.console.output(Terminal.text(line, environment: context.environment))
        }
        var object = JSONObject()
        object["url"] = .string(url)
        object["target"] = .string(route.url.text)
        object["socket"] = listen.map { .string(String($0.dropFirst(5))) }
        try StandardOutput.write(JSONValue.object(object).compact + "\n")
    }
}
