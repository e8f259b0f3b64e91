/// A request and how to read its answer, both pure; `HTTPTransport.perform` is the one line of I/O between.
public struct EndpointCall<Value> {
    public let request: HTTPRequest
    /// The step of the protocol, for messages: an endpoint by the name that metadata gives it.
    public let stage: Stage
    public let read: (HTTPResponse) throws(OIDCError) -> Value

    public init(
        _ request: HTTPRequest, stage: Stage, read: @escaping (HTTPResponse) throws(OIDCError) -> Value
    ) {
        self.request = request
        self.stage = stage
        self.read = read
    }
}
