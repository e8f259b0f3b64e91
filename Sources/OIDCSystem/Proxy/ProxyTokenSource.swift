package import OIDCCore

/// Where the proxy gets a session's tokens. The functions run on threads of their own.
package struct ProxyTokenSource: Sendable {
    /// Returns a fresh token, or another one than a refused one.
    package var token:
        @Sendable (_ refused: SessionTokens.Delivery?) throws(OIDCError) -> SessionTokens.Delivery
    /// Signs in for more after an answer that asks for that, and returns a token of the new session; nil if nobody may
    /// be asked.
    package var stepUp:
        (
            @Sendable (_ refused: SessionTokens.Delivery, _ answer: HTTPResponse) throws(OIDCError) ->
                SessionTokens.Delivery
        )?
    /// Returns why no token is available without signing in; nil if one is.
    package var ending: @Sendable () -> OIDCError?
    /// Called once when a session has ended.
    package var onEnd: @Sendable (OIDCError) -> Void
    package var environment: ProviderEnvironment
    /// Seconds that a token must still be valid, unless half its lifetime is less.
    package var minimumValidity: Int64 = 60

    package init(
        environment: ProviderEnvironment,
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
