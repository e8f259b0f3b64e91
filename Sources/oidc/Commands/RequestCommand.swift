import CommandLineKit
import OIDCCore

struct RequestCommand: RunnableCommand {
    static let name = "request"
    static let summary = "Call an API with the token"
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    static let declaration = Declaration<RequestCommand>(
        discussion: """
            Prints the response body. The token is sent to the provider, to the profile's resources, and to the \
            resource that it was issued for by oidc login URL; name any other API with --allow-origin. With --login, \
            signs in if the answer asks for it, or for more scope or a stronger sign-in. With -o json, the \
            response must be JSON, and is indented on a terminal.
            """,
        examples: [
            Example("oidc request https://api.example.com/me", "an API of the profile's resources"),
            Example("oidc request --login https://mcp.example.com/mcp", "sign in first if needed"),
            Example(
                "oidc request POST URL -d @order.json --allow-origin ORIGIN", "send a file to another API"),
        ],
        exitCodes: [
            ExitCode("0", "status 2xx"), ExitCode("3", "sign in first, or for more"),
            ExitCode("4", "3xx or 4xx"), ExitCode("5", "5xx"),
        ],
        operands: [
            .optional(
                \.method, "METHOD", "default: GET, or POST with a body",
                completion: .values(methods)),
            .required(\.url, "URL", "an https URL, or a loopback URL"),
        ],
        options: [
            .value(\.namedMethod, "--method", "METHOD", "the method, as an option", short: "X"),
            .repeated(
                \.allowedOrigins, "--allow-origin", "ORIGIN", "also send the token to this origin"),
            .flag(\.mayLogIn, "--login", "sign in if the answer asks for it"),
            .flag(\.isWithoutProfile, "--no-profile", "with --login: do not save the sign-in as a profile"),
            .group(\.request), .group(\.options), .group(\.common),
        ])

    var method: String?
    /// The method of `-X`, as curl has it.
    var namedMethod: String?
    var url = ""
    var allowedOrigins: [String] = []
    var mayLogIn = false
    var isWithoutProfile = false
    var request = RequestOptions()
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try UsageError.refuseWithoutLogin(isWithoutProfile, mayLogIn)
        try request.validate(with: common)
        if let method, WebURL(method) != nil, WebURL(url) == nil {
            throw Self.methods.contains(url)
                ? UsageError("the method comes before the URL", hint: .command(["request", url, method]))
                : UsageError(
                    "unexpected argument \(UsageError.quoted(url)) after the URL",
                    hint: .command(["request", "POST", method, "-d", "DATA"]))
        }
        if method != nil, namedMethod != nil {
            throw UsageError("the method is given twice", hint: .text("leave --method out"))
        }
        if let method = method ?? namedMethod { _ = try HTTPMethod(operand: method) }
        guard WebURL(url) != nil else {
            if method == nil, Self.methods.contains(url) {
                throw UsageError(
                    "the URL is missing after the method \(url)",
                    hint: .command(["request", url, "https://api.example.com/"]))
            }
            throw UsageError(
                ResourceOperand.fault(of: url),
                hint: ResourceOperand.meantURL(url).map { .command(["request", $0.text]) })
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let context = context.keepingProfile(!isWithoutProfile)
        // A fragment is not sent, and no resource has one.
        guard let url = WebURL(String(url.prefix { $0 != "#" })) else { throw .usage("expected a URL") }
        let given = try context.provider(options)
        let isForResource = given.lent == nil && options.resource.isEmpty && allowedOrigins.isEmpty
        // A session of the URL comes before that of the only profile that is signed in.
        let own = isForResource ? try ResourceOperand(url, given.settings, context).inProfile() : nil
        var provider = own.map { ProviderContext($0.settings, $0.context) } ?? given
        if let own, let account = try own.stored() {
            return try resourceRequest(url, own, provider).run(account)
        }
        let owner = provider.context
        var isOfResource = false
        switch try owner.target(of: provider, options, mayBeMeant: maySend(url, owner)) {
        case .settings(let found): provider = found
        // The URL names its resource itself.
        case .url(let resource):
            isOfResource = true
            // Its profile is not that of another URL.
            if own == nil || resource.settings.profile == own?.settings.profile {
                provider = ProviderContext(resource.settings, resource.context)
            }
        }
        guard provider.lent == nil else { return try runLent(provider, url) }
        let operand = own.map { ResourceOperand(url, provider.settings, $0.context) }
        let request = try resourceRequest(url, operand, provider)
        if let operand, operand.settings.profile != own?.settings.profile,
            let account = try operand.stored()
        {
            return try request.run(account)
        }
        let isForAssertion = provider.settings.token.grant == .idJAG
        if let operand, isOfResource || !provider.namesProvider || isForAssertion {
            return try request.runWithoutSession(operand)
        }
        let account = try Account(provider, mayKeepNothing: mayLogIn)
        let session = try account.load()
        let allowed = try AllowedOrigins(provider, session, naming: allowedOrigins)
        // A token of its own is meant for a URL that has or had one: allowing its origin would send it another.
        if let operand, !allowed.contains(url) {
            let others = try ProfileSessions.profiles(besides: operand.settings.profile, operand.context)
            let hasOwn = mayLogIn || operand.isForMachine ? true : try operand.hasTokenOfItsOwn(others)
            if hasOwn { return try request.runWithoutSession(operand) }
        }
        try allowed.check(url)
        // Without a session, a sign-in must be for the server that the URL names, not for the profile's, unless the
        // profile lists the URL as one of its APIs.
        let isListed = provider.settings.tools.resources.contains { $0.url.origin == url.origin }
        if session == nil, !isListed, account.key.grant.needsUser, let operand,
            try operand.isProtectedResource()
        {
            return try request.runWithoutSession(operand)
        }
        return try request.run(account)
    }

    private func resourceRequest(
        _ url: WebURL, _ operand: ResourceOperand?, _ provider: ProviderContext
    ) throws(OIDCError) -> ResourceRequest {
        try RequestOptions.checkScheme(url, allowsInsecureHTTP: provider.allowsInsecureHTTP)
        let isJSON = provider.context.console.isJSON
        let call = try request.call(url, method ?? namedMethod, isJSON: isJSON)
        return ResourceRequest(call: call, mayLogIn: mayLogIn, operand: operand)
    }

    /// Returns a function that says whether the token of a profile could be sent to a URL.
    private func maySend(_ url: WebURL, _ context: CommandContext) -> (ProfileSessions.Profile) -> Bool {
        { profile in
            guard let settings = profile.settings else { return false }
            let provider = ProviderContext(settings, context)
            return (try? AllowedOrigins(provider, nil, naming: allowedOrigins))?.contains(url) == true
        }
    }

    /// Sends the request with a token that is lent: to the origins that its lender names, or that options name.
    private func runLent(_ provider: ProviderContext, _ url: WebURL) throws(OIDCError) -> Int32 {
        if mayLogIn { try provider.refuseIfLent("--login") }
        try RequestOptions.checkScheme(url, allowsInsecureHTTP: provider.allowsInsecureHTTP)
        let call = try request.call(url, method ?? namedMethod, isJSON: common.output == .json)
        let account = try Account(provider)
        if allowedOrigins.isEmpty { try provider.checkLent(url) }
        guard try AllowedOrigins(provider, try account.load(), naming: allowedOrigins).contains(url) else {
            throw .usage(
                "\(url.origin) is neither the provider nor one of the resources of the profile that is lent, "
                    + "so it gets no token",
                hint: .words(
                    "give ", .options(["--allow-origin", url.origin]), " if the token is meant for it"))
        }
        return try ResourceRequest(call: call).run(account)
    }
}
