import CommandLineKit
import DemoProvider
import LoopbackHTTP
import OIDCCore
import OIDCSignIn
import Posix

struct DemoCommand: RunnableCommand {
    static let name = "demo"
    static let summary = "Try a complete sign-in, without an account"
    static let declaration = Declaration<DemoCommand>(
        discussion: """
            Starts a provider on this machine, then signs in, fetches the claims, refreshes and signs out, signs in to a \
            URL, and explains each step. Ends with commands to try next. Opens the browser if there is one, or else simulates it. Leaves no files behind.
            """,
        examples: [
            Example("oidc demo", "a guided tour"),
            Example("oidc demo --serve", "keep the provider running, for config.example.json"),
            Example("oidc demo --serve --enforce fapi2", "a provider that checks FAPI 2.0 strictly"),
        ],
        options: [
            .flag(\.isServing, "--serve", "keep the provider running until Ctrl-C"),
            .number(
                \.port, "--port", "N", in: 1...65_535, "the provider's port with --serve", defaultText: "9480"
            ),
            .value(
                \.profile, "--enforce", "PROFILE", oneOf: DemoConfiguration.Profile.allCases.map(\.rawValue),
                "the security profile that the provider enforces, with --serve"),
            .flag(\.isWithoutBrowser, "--no-browser", "simulate the browser, even if there is one"),
            .group(\.common),
        ])

    var isServing = false
    var port: Int?
    var profile: String?
    var isWithoutBrowser = false
    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func validate() throws(UsageError) {
        if port != nil, !isServing { throw UsageError("--port requires --serve") }
        if profile != nil, !isServing { throw UsageError("--enforce requires --serve") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard isServing else {
            let choice = BrowserChoice.resolve(.current(environment: context.environment))
            let browser = isWithoutBrowser || !choice.isAvailable ? nil : choice
            try DemoTour(context: context, browser: browser).run()
            return 0
        }
        return try serve(port.map { UInt16(clamping: $0) } ?? Self.usualPort, context)
    }

    /// The port in config.example.json.
    static let usualPort: UInt16 = 9_480

    private func serve(_ port: UInt16, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let server: LoopbackServer
        do throws(OIDCError) { server = try LoopbackServer(LoopbackAddress(ports: .fixed(port))) } catch {
            throw OIDCError(error.kind, error.message, hint: .run("demo --serve --port N"))
        }
        let profile = profile.flatMap { DemoConfiguration.Profile(rawValue: $0) }
        let configuration = profile.map { DemoConfiguration(enforcing: $0) }
        var provider = try DemoProvider.local(at: server.origin, configuration ?? DemoConfiguration())
        let resource = try DemoProvider.resource(at: server.origin).text
        let clients = provider.configuration.clients.map { "  " + $0.summary }.joined(separator: "\n")
        if let profile = provider.configuration.profile {
            context.console.note(
                """
                The demo provider runs at \(server.origin) until Ctrl-C, and enforces \(profile.rawValue).
                In another terminal:

                  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
                  oidc register --issuer \(server.origin) --set private_key_file=key.pem \\
                    --set security_profile=\(profile.rawValue)
                  oidc login
                """)
            return serve(&provider, server, context)
        }
        context.console.note(
            """
            The demo provider runs at \(server.origin) until Ctrl-C.
            In another terminal:

              oidc login --issuer \(server.origin) --client-id demo

            Or sign in to a URL, and request it:

              oidc login \(resource)
              oidc request \(resource)

            Clients:

            \(clients)
              \(DemoClient.documentURL) (public, as client_metadata_url)
            """)
        if port == Self.usualPort {
            context.console.note(
                "\nor, with the profiles of config.example.json: oidc login --config config.example.json")
        }
        return serve(&provider, server, context)
    }

    private func serve(
        _ provider: inout DemoProvider, _ server: LoopbackServer, _ context: CommandContext
    ) -> Int32 {
        let console = context.console
        StandardError.startBacklog()
        let event = server.serve { request in
            guard server.isOurHost(request) else { return HTTPResponse.misdirected }
            guard let request = request.request(to: server.origin) else { return HTTPResponse(status: 400) }
            let response = provider.handle(request, at: Clock.now())
            console.trace("\(request.method) \(request.url.path) → \(response.status)")
            return response
        }
        guard case .interrupted(let signal) = event else { return 0 }
        return console.ended(bySignal: signal)
    }
}
