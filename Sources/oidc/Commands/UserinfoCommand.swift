import CommandLineKit
import CurlHTTP
import OIDCCore
import OIDCAccount
import Posix

struct UserinfoCommand: RunnableCommand {
    static let name = "userinfo"
    static let summary = "Print the claims of the signed-in user"
    static let declaration = Declaration<UserinfoCommand>(
        discussion: """
            Requests the provider's UserInfo endpoint. The response must be about the same user as the ID token; \
            a signed response is verified. Claims that other issuers make (`_claim_names`) are printed as they came. \
            With --distributed, they are verified with the keys of their issuers, and fetched if the provider did not \
            send them; those that cannot be verified are left out with a warning, and --claim fails for one of them.
            """,
        examples: [
            Example("oidc userinfo | jq -r .email", "one claim, with jq"),
            Example("oidc userinfo --claim email", "one claim, without jq"),
            Example("oidc userinfo --distributed", "with the claims of other issuers"),
        ],
        options: [
            .value(\.claim, "--claim", "NAME", "print only this claim, as text without quotes"),
            .flag(\.isDistributed, "--distributed", "verify claims of other issuers, and fetch missing ones"),
            .flag(\.mayLogIn, "--login", "sign in if there is no session"),
            .flag(\.isWithoutProfile, "--no-profile", "with --login: do not save the sign-in as a profile"),
            .group(\.options), .group(\.common),
        ])

    var claim: String?
    var isDistributed = false
    var mayLogIn = false
    var isWithoutProfile = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try UsageError.refuseWithoutLogin(isWithoutProfile, mayLogIn)
        if claim?.isEmpty == true { throw UsageError("--claim takes the name of a claim, not ''") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let context = context.keepingProfile(!isWithoutProfile)
        let target = try context.target(options)
        guard case .settings = target else {
            throw .usage(
                "userinfo is about a provider's user, and the session in use is for a resource",
                hint: .words("name a profile of a provider with -p: ", .run("config list")))
        }
        let (claims, own) = try target.with(mayLogIn: mayLogIn, fetch)
        guard let claim else {
            try context.console.output(.object(claims))
            return 0
        }
        guard let value = claims[claim], value != .null else { throw missing(claim, own) }
        guard !context.console.isJSON else {
            try context.console.output(value)
            return 0
        }
        try context.console.output(value.string.map(Self.printable) ?? value.compact)
        return 0
    }

    /// Returns the error for a claim that is missing from the provider's `claims`.
    private func missing(_ claim: String, _ claims: JSONObject) -> OIDCError {
        let name = DisplayText.clean(claim)
        guard !isDistributed || !ClaimSources.isAboutSources(claim) else {
            return OIDCError(
                .refused, "userinfo: \(name): no claim of another issuer was verified", stage: .userInfo)
        }
        guard isDistributed || !ClaimSources.isNamed(claim, in: claims) else {
            return OIDCError(
                .refused,
                "userinfo: \(name): another issuer makes this claim, and the provider only names it",
                hint: .run("userinfo --distributed --claim", claim), stage: .userInfo)
        }
        let known = claims.members.filter { $0.value != .null }.map(\.name)
        return OIDCError(
            .refused, "userinfo: \(name): the provider sent no such claim",
            hint: "it sent: \(DisplayText.clean(known.joined(separator: ", ")))", stage: .userInfo)
    }

    /// Returns the claims to print, and the provider's own.
    private func fetch(_ account: Account) throws(OIDCError) -> (JSONObject, own: JSONObject) {
        let provider = account.provider
        let transport = try provider.transport()
        let environment = provider.environment(over: transport)
        provider.warnOfOther(.userInfo, than: (try? account.load())?.endpoints.userInfo)
        let claims = try ownClaims(account, environment)
        guard isDistributed else { return (claims, claims) }
        let outcome = ClaimSources(
            namedBy: (try? account.load())?.endpoints.userInfo,
            clientID: try provider.settings.client.requiredID(), leeway: provider.settings.network.leeway,
            algorithms: provider.settings.securityProfile >= .fapi2 ? SecurityProfile.algorithms : nil,
            context: provider.environment(over: transport.forClaims())
        ).resolve(claims, only: claim.flatMap { ClaimSources.isAboutSources($0) ? nil : $0 })
        for refusal in outcome.refusals {
            let isAsked = claim.map { (claims[$0] ?? .null) == .null } ?? false
            if refusal.error.kind == .interrupted || isAsked { throw refusal.error }
            let names = DisplayText.clean(refusal.claims.joined(separator: ", "), limit: 200)
            provider.context.console.warn(refusal.error, "\(names) left out")
        }
        return (outcome.claims, claims)
    }

    private func ownClaims(
        _ account: Account, _ environment: OIDCContext
    ) throws(OIDCError) -> JSONObject {
        let provider = account.provider
        return try ProtectedRequest(account, environment: environment).userInfo(
            leeway: provider.settings.network.leeway, allowsInsecureHTTP: provider.allowsInsecureHTTP,
            isSigned: provider.settings.client.userInfoAlgorithm != nil,
            alias: { provider.alias(of: $0, for: .userInfo, environment) },
            stepUpHint: { provider.settings.loginLine(for: $0) }
        ) { session throws(OIDCError) in
            let metadata = try provider.metadata(environment, for: [.authorization, .token, .keys])
            return try UserInfo.Signing(metadata) { () throws(OIDCError) in
                try provider.client(metadata, method: session.clientAuthentication, environment)
            }
        }
    }

    /// Returns a claim as text. If stdout is a terminal, removes the characters that control it.
    private static func printable(_ text: String) -> String {
        Terminal.isTerminal(.standardOutput) ? DisplayText.clean(text, limit: 65_536) : text
    }
}

extension CurlTransport {
    /// Returns the transport for claims of other issuers: it ends every request after `seconds`, and never presents the
    /// client certificate, so its connections are its own.
    func forClaims(seconds: Int64 = ClaimSources.limits.seconds) -> CurlTransport {
        var bounded = configuration
        bounded.deadline = MonotonicTime.now().adding(seconds: seconds)
        bounded.clientCertificate = nil
        bounded.certificateOrigins = []
        return CurlTransport(bounded)
    }
}
