package import CurlHTTP
package import OIDCCore
package import OIDCAccount

/// The source of a session's tokens. Its functions run on background threads, except `onEnd`, which runs on
/// the proxy's.
package struct ProxyTokenSource: Sendable {
    /// An answer that requires a sign-in, and the URL that gave it.
    package struct Answer: Sendable {
        package let head: HTTPResponse
        package let url: WebURL

        package init(_ head: HTTPResponse, of url: WebURL) {
            self.head = head
            self.url = url
        }
    }

    /// The function that returns a fresh token, or one other than a refused one.
    package var token:
        @Sendable (_ refused: SessionTokens.Delivery?) throws(OIDCError) -> SessionTokens.Delivery
    /// The function that signs in, and returns a token of the new session: a step-up that an answer requires, or without
    /// an answer, because nothing else can replace a refused token. Nil if the user must not be prompted.
    package var stepUp:
        (
            @Sendable (_ refused: SessionTokens.Delivery, _ answer: Answer?) throws(OIDCError) ->
                SessionTokens.Delivery
        )?
    /// Returns whether `token` waits for the user to sign in, as the session is gone.
    package var isAsking: @Sendable () -> Bool = { false }
    /// The function that returns why no token is available without signing in; nil if one is.
    package var ending: @Sendable () -> OIDCError?
    /// The function to call once when the session has ended.
    package var onEnd: @Sendable (OIDCError) -> Void
    package var environment: OIDCContext
    /// The certificate of the session's client, for tokens that are bound to it.
    package var clientCertificate: CurlConfiguration.ClientCertificate?
    /// The origins that get the certificate with every request.
    package var certificateOrigins: Set<String> = []
    /// The seconds for which a token must still be valid, or half its lifetime if that is less.
    package var minimumValidity: Int64 = 60

    package init(
        environment: OIDCContext,
        token: @escaping @Sendable (SessionTokens.Delivery?) throws(OIDCError) -> SessionTokens.Delivery,
        ending: @escaping @Sendable () -> OIDCError? = { nil },
        onEnd: @escaping @Sendable (OIDCError) -> Void = { _ in }
    ) {
        self.environment = environment
        self.token = token
        self.ending = ending
        self.onEnd = onEnd
    }
}
