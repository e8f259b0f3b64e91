import CommandLineKit
import OIDCCore
import OIDCSystem

struct UserinfoCommand: RunnableCommand {
    static let name = "userinfo"
    static let summary = "Print the claims of the signed-in user"
    static let declaration = Declaration<UserinfoCommand>(
        discussion: """
            Requests the provider's UserInfo endpoint. The response must be about the same user as the ID token; \
            a signed response is verified.
            """,
        examples: [
            Example("oidc userinfo | jq -r .email", "one claim, with jq"),
            Example("oidc userinfo --claim email", "one claim, without jq"),
        ],
        options: [
            .value(\.claim, "--claim", "NAME", "print only this claim, without quotes"),
            .flag(\.mayLogIn, "--login", "sign in if there is no session"),
            .group(\.provider), .group(\.common),
        ])

    var claim: String?
    var mayLogIn = false
    var provider = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if claim?.isEmpty == true { throw UsageError("--claim takes the name of a claim, not ''") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let setup = ProviderSetup(try context.settings(provider), context)
        let access = try SessionAccess(setup, mayKeepNothing: mayLogIn)
        let seen = mayLogIn ? try? access.load() : nil
        let claims: JSONObject
        do {
            claims = try fetch(access)
        } catch {
            guard mayLogIn, error.kind == .loginRequired, access.key.grant.needsPerson else { throw error }
            let access = try LoginOnDemand(setup: setup, access: access, seen: seen).run()
            claims = try fetch(access)
        }
        guard let claim else {
            try context.console.output(.object(claims))
            return 0
        }
        guard let value = claims[claim], value != .null else {
            throw OIDCError(
                .refused, "userinfo: \(DisplayText.clean(claim)): the provider sent no such claim",
                hint: "claims: \(DisplayText.clean(claims.names.joined(separator: ", ")))", stage: .userInfo)
        }
        try context.console.output(value.string.map(Self.printable) ?? value.compact)
        return 0
    }

    private func fetch(_ access: SessionAccess) throws(OIDCError) -> JSONObject {
        let setup = access.setup
        return try ProtectedRequest(access, environment: try setup.environment()).userInfo(
            leeway: setup.leeway, allowsInsecureHTTP: setup.allowsInsecureHTTP,
            stepUpHint: { .text(setup.loginLine(for: $0)) })
    }

    /// A bare claim goes to a terminal as it is: without what a terminal acts on.
    private static func printable(_ text: String) -> String {
        Terminal.isTerminal(.standardOutput) ? DisplayText.clean(text, limit: 65_536) : text
    }
}
