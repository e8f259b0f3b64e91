/// Sends one request and returns its whole answer. Blocking; an error names the stage that failed.
public protocol HTTPTransport: Sendable {
    /// Throws `OIDCError` of kind `unreachable`, `untrusted` (a certificate), `refused` (an answer that
    /// is too large or no HTTP), or `failed` (the library is missing).
    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse
}

extension HTTPTransport {
    /// Sends a call's request and reads the answer.
    public func perform<Value>(_ call: EndpointCall<Value>) throws(OIDCError) -> Value {
        try call.read(try send(call.request, stage: call.stage))
    }
}
