/// A blocking HTTP client.
public protocol HTTPTransport: Sendable {
    /// Sends one request and returns its whole answer. Throws an error of kind `unreachable`, `untrusted` (a
    /// certificate), `refused` (an answer that is too large or not HTTP) or `failed` (a missing library),
    /// with the stage.
    func send(_ request: HTTPRequest, stage: OIDCError.Stage) throws(OIDCError) -> HTTPResponse
}

extension HTTPTransport {
    /// Sends a call's request and reads the answer.
    public func perform<Value>(_ call: EndpointCall<Value>) throws(OIDCError) -> Value {
        try call.read(try send(call.request, stage: call.stage))
    }
}

/// A request and the function that reads its answer; `HTTPTransport.perform` does the I/O between the two.
public struct EndpointCall<Value> {
    /// The request to send.
    public let request: HTTPRequest
    /// The step of the protocol, for messages.
    public let stage: OIDCError.Stage
    /// The function that reads the answer.
    public let read: (HTTPResponse) throws(OIDCError) -> Value

    /// Creates a call from a request and the function that reads its answer.
    public init(
        _ request: HTTPRequest, stage: OIDCError.Stage,
        read: @escaping (HTTPResponse) throws(OIDCError) -> Value
    ) {
        self.request = request
        self.stage = stage
        self.read = read
    }
}
