import CommandLineKit
import OIDCCore
import OIDCAccount

struct TokenCommand: RunnableCommand {
    static let name = "token"
    static let summary = "Print a valid access token"
    static let declaration = Declaration<TokenCommand>(
        discussion: """
            Prints the access token and a newline. A fresh token is read from the store, without the network; a \
            stale token is refreshed first, once for any number of processes. With --grant, the token is obtained \
            without a user, and stored too. With -o json, other members of the provider's answer that are not \
            secrets, such as Salesforce's instance_url, are in "extra". With a URL, it is the token of that resource, \
            or of the provider with that issuer.
            """,
        examples: [
            Example("curl -H \"$(oidc token --header)\" https://api.example.com/", "call an API"),
            Example(
                "oidc token https://mcp.example.com/mcp", "the token of a resource, after oidc login URL"),
            Example(
                "oidc token --login --issuer https://login.example.com --client-id cli",
                "sign in if needed, from nothing to a token"),
            Example("oidc token --grant client_credentials -o json", "a machine token, in CI"),
        ],
        operands: [.optional(\.url, "URL", "the resource that the token is for, or the provider")],
        options: [
            .number(
                \.minimumValidity, "--min-valid", "SECONDS", in: 0...86_400,
                "minimum remaining validity, but never more than half of the lifetime"),
            .value(\.type, "--type", "TYPE", "the token to print"),
            .flag(\.isHeader, "--header", "print it as an Authorization header"),
            .flag(\.isForced, "--refresh", "get a new one even if the stored one is fresh"),
            .flag(\.mayLogIn, "--login", "sign in if there is no session"),
            .flag(\.isWithoutProfile, "--no-profile", "with --login: do not save the sign-in as a profile"),
            .group(\.options), .group(\.common),
        ])

    var url: String?
    var minimumValidity = 60
    var type = TokenKind.access
    var isHeader = false
    var isForced = false
    var mayLogIn = false
    var isWithoutProfile = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try UsageError.refuseWithoutLogin(isWithoutProfile, mayLogIn)
        if isHeader, type == .id { throw UsageError("--header is for access tokens, not --type id") }
        if isHeader, common.output == .json {
            throw UsageError("--header and -o json cannot be used together")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let context = context.keepingProfile(!isWithoutProfile)
        // The session before a sign-in. One that a sign-in has just created is not refreshed.
        let target = try context.target(url, command: "token", options, mayBeProvider: true)
        let earlier = mayLogIn && isForced ? (try? target.stored()).flatMap { try? $0.load() } : nil
        try target.with(mayLogIn: mayLogIn) { account throws(OIDCError) in
            guard type == .access || account.key.grant.needsUser else {
                throw .noIDToken(account.key.grant, hint: "leave --type id out")
            }
            var isNew = false
            if mayLogIn, isForced { isNew = try account.load() != earlier }
            try print(account, forced: isForced && !isNew, context)
        }
        return 0
    }

    private func print(
        _ account: Account, forced: Bool, _ context: CommandContext
    ) throws(OIDCError) {
        switch type {
        case .access: try printAccessToken(account, forced: forced, context)
        case .id: try printIDToken(account, forced: forced, context)
        }
    }

    private func printAccessToken(
        _ account: Account, forced: Bool, _ context: CommandContext
    ) throws(OIDCError) {
        let demand = account.demand(minimumValidity: Int64(minimumValidity))
        let delivery: SessionTokens.Delivery
        if forced {
            let stored = try account.load()
            if stored != nil, account.key.grant.needsUser { try account.checkServer() }
            let own = try stored.flatMap { session throws(OIDCError) in
                session.accessToken(from: session.source(for: demand))
            }
            delivery = try account.refreshed(demand, loaded: stored, refusing: .of(own))
        } else {
            delivery = try account.token(demand)
        }
        let token = delivery.access
        if context.console.isJSON {
            var json = token.json.object ?? JSONObject()
            json["extra"] = delivery.session.tokens.extra.shown
            try context.console.output(.object(json))
        } else if isHeader {
            try context.console.output("Authorization: \(try token.credentials(.token))")
        } else {
            try context.console.output(token.token.revealed)
        }
        let bond: String? =
            switch delivery.session.bond(of: token) {
            case .key: "a key of its session"
            case .certificate: "the client certificate"
            case nil: nil
            }
        guard let bond else { return }
        let line = context.console.line.text(.run("request URL"))
        context.console.note(
            "note: this token is bound to \(bond) and useless without it; call the API with: \(line)")
    }

    private func printIDToken(
        _ account: Account, forced: Bool, _ context: CommandContext
    ) throws(OIDCError) {
        let idToken = try account.idToken(minimumValidity: Int64(minimumValidity), forced: forced)
        guard context.console.isJSON else { return try context.console.output(idToken.compact) }
        try context.console.output([
            "id_token": .string(idToken.compact), "token_type": "Bearer",
            "expires_at": JSONValue(idToken.expiresAt.secondsSinceEpoch),
            "scope": JSONValue((try? account.load())??.grantedScope?.text),
        ])
    }
}
