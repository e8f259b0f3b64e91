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
            With --distributed, they are verified with the keys of their issuers, and fetched if they did not come \
            along; those that cannot be verified are left out with a warning, and --claim fails for one of them.
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
        let claims = try target.with(mayLogIn: mayLogIn, fetch)
        guard let claim else {
            try context.console.output(.object(claims))
            return 0
        }
        guard let value = claims[claim], value != .null else { throw missing(claim, claims) }
        guard !context.console.isJSON else {
            try context.console.output(value)
            return 0
        }
        try context.console.output(value.string.map(Self.printable) ?? value.compact)
        return 0
    }

    private func missing(_ claim: String, _ claims: JSONObject) -> OIDCError {
        let name = DisplayText.clean(claim)
        guard isDistributed || !ClaimSources.names(in: claims).contains(claim) else {
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

    private func fetch(_ account: Account) throws(OIDCError) -> JSONObject {
        let provider = account.provider
        let transport = try provider.transport()
        let environment = provider.environment(over: transport)
        provider.warnOfOther(.userInfo, than: (try? account.load())?.endpoints.userInfo)
        let claims = try ownClaims(account, environment)
        guard isDistributed else { return claims }
        let end = MonotonicTime.now().adding(seconds: ClaimSources.limits.seconds)
        let outcome = ClaimSources(
            namedBy: (try? account.load())?.endpoints.userInfo,
            clientID: try provider.settings.client.requiredID(), leeway: provider.settings.network.leeway,
            context: provider.environment(over: transport.bounded(by: end))
        ).resolve(claims, only: claim)
        for refusal in outcome.refusals {
            if refusal.error.kind == .interrupted || claim != nil && claims[claim ?? ""] == nil {
                throw refusal.error
            }
            let names = DisplayText.clean(refusal.claims.joined(separator: ", "), limit: 200)
            provider.context.console.warn(refusal.error, "\(names) left out")
        }
        return outcome.claims
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
