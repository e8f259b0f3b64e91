import CommandLineKit
import OIDCCore
import OIDCSystem

/// The kind of a session's token.
enum TokenKind: String, CaseIterable, OptionValue, Sendable {
    case access
    case id
}

/// The token to introspect or revoke: the session's, or one on stdin. Tokens are never taken from arguments.
struct TokenOperand {
    let source: String?
    let isRefreshToken: Bool

    var hint: TokenTypeHint { isRefreshToken ? .refreshToken : .accessToken }

    /// Returns the token, and the session if it is the session's.
    func token(_ provider: ProviderContext) throws(OIDCError) -> (Redacted<String>, Session?) {
        if source != nil {
            let text = ASCII.trimmed(try InputText.read("-", named: "stdin"))
            guard !text.isEmpty else {
                throw OIDCError.usage("stdin is empty", hint: "name a file with one after <")
            }
            return (Redacted(text), nil)
        }
        let access = try SessionAccess(provider)
        let session = try access.session()
        guard isRefreshToken else {
            let source = session.source(for: access.demand())
            guard let token = session.accessToken(from: source)?.token else {
                guard source == .own else {
                    throw OIDCError.usage("the session has no token for that scope or resource")
                }
                throw session.noAccessToken
            }
            return (token, session)
        }
        guard let token = session.tokens.refreshToken else {
            throw OIDCError(
                .loginRequired, "the session has no refresh token", hint: provider.settings.scopedLoginLine)
        }
        return (token, session)
    }
}

/// A command about a token: the session's, or one on stdin.
protocol TokenOperandCommand: RunnableCommand {
    var source: String? { get set }
    var isRefreshToken: Bool { get set }
    var options: ProviderOptions { get set }
    var common: CommonOptions { get set }
}

extension TokenOperandCommand {
    static func tokenDeclaration(
        _ discussion: String, examples: [Example], refreshToken help: String
    ) -> Declaration<Self> {
        Declaration(
            discussion: discussion, examples: examples,
            operands: [.optional(\.source, "-", "read the token from stdin", completion: .values(["-"]))],
            options: [
                .flag(\.isRefreshToken, "--refresh-token", help), .group(\.options), .group(\.common),
            ])
    }

    var operand: TokenOperand { TokenOperand(source: source, isRefreshToken: isRefreshToken) }

    func validate() throws(UsageError) {
        try TokenOperand.validate(source, hint: "oidc \(Self.name) - < FILE")
    }
}

extension Session {
    /// The error for a session whose access token was revoked and not replaced.
    var noAccessToken: OIDCError {
        .usage("the session has no access token: it was revoked", hint: "get a new one: oidc token")
    }
}

extension TokenOperand {
    static func validate(_ source: String?, hint: String) throws(UsageError) {
        guard let source, source != "-" else { return }
        throw UsageError(
            "a token is not taken from the command line, where every process can read it", hint: hint)
    }
}

/// An endpoint where the client authenticates: the session's, or else the provider's.
struct AuthenticatedEndpoint {
    let url: WebURL
    let client: Client
    let environment: ProviderEnvironment

    /// Creates the endpoint. Calls `onNotOffered` before the error for a provider without such an endpoint.
    init(
        provider: ProviderContext, endpoint: ProviderEndpoint, session: Session?,
        onNotOffered: () throws(OIDCError) -> Void = {}
    ) throws(OIDCError) {
        environment = try provider.environment()
        let kept = endpoint == .revocation ? session?.endpoints.revocation : session?.endpoints.introspection
        if let session, let kept {
            url = kept
            client = try provider.client(nil, method: session.clientAuthentication, environment)
            return
        }
        guard session == nil else {
            try onNotOffered()
            throw OIDCError.notOffered(
                endpoint, isDiscovered: session?.endpoints.issuer != nil,
                hint: .text("set \(endpoint.rawValue), and sign in again"))
        }
        let metadata = try provider.metadata(environment, for: [endpoint])
        if metadata.url(endpoint, presentingCertificate: true) == nil {
            try onNotOffered()
            _ = try metadata.require(endpoint)
        }
        client = try provider.client(metadata, environment)
        url = try metadata.require(endpoint, presentingCertificate: client.presentsCertificate)
    }

    func perform<Value>(
        _ call: (WebURL, Client, ProviderEnvironment) throws(OIDCError) -> EndpointCall<Value>
    ) throws(OIDCError) -> Value {
        try environment.transport.perform(try call(url, client, environment))
    }
}
