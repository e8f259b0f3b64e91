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

/// A request and how to read its answer, both pure; `HTTPTransport.perform` is the one line of I/O between.
public struct EndpointCall<Value> {
    /// The request to send.
    public let request: HTTPRequest
    /// The step of the protocol, for messages: an endpoint by the name that metadata gives it.
    public let stage: Stage
    /// Reads the answer.
    public let read: (HTTPResponse) throws(OIDCError) -> Value

    /// Makes a call of a request and what reads its answer.
    public init(
        _ request: HTTPRequest, stage: Stage, read: @escaping (HTTPResponse) throws(OIDCError) -> Value
    ) {
        self.request = request
        self.stage = stage
        self.read = read
    }
}
