import CurlHTTP
public import OIDCCore
import OIDCCrypto
import Posix

extension OIDCContext {
    /// Creates a context with this machine's clock and random numbers. Without a transport, requests go through libcurl.
    public init(transport: (any HTTPTransport)? = nil) {
        self.init(transport: transport ?? CurlTransport(), now: { Clock.now() }, random: Random.bytes)
    }

    /// Runs steps on a thread of their own, outside the cooperative pool, as they wait for the network. If
    /// the task is canceled, libcurl and `AsyncTransport` stop waiting, with an error of kind `interrupted`,
    /// unless the request may have used up a code or a refresh token.
    public func run<Value: Sendable>(
        _ steps: @escaping @Sendable (OIDCContext) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        try await blocking { isCancelled throws(OIDCError) in try steps(cancelled(if: isCancelled)) }
    }

    /// Returns the context with a transport that stops waiting once `isCancelled` returns true, if it can.
    func cancelled(if isCancelled: @escaping @Sendable () -> Bool) -> OIDCContext {
        var context = self
        if let curl = transport as? CurlTransport {
            context.transport = curl.cancelled(if: isCancelled)
        } else if let transport = transport as? AsyncTransport {
            context.transport = transport.cancelled(if: isCancelled)
        }
        return context
    }
}
