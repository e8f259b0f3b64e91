package import OIDCCore

extension CurlTransport {
    /// Sends one request and passes the answer on while it arrives, in bounded memory: no limit on its size,
    /// nothing decompressed, nothing repeated, no redirect followed. `httpTimeout` bounds each silence.
    ///
    /// `onResponse` is called once, before the first byte of the body; what either throws ends the transfer.
    package func stream(
        _ request: HTTPRequest, body: RequestBody? = nil, stage: Stage = .resource,
        onResponse: @escaping (_ status: Int, _ headers: HTTPHeaders) throws(OIDCError) -> Void,
        onBody: @escaping (UnsafeRawBufferPointer) throws(OIDCError) -> Void
    ) throws(OIDCError) {
        try admit(request, stage: stage)
        let exchange = CurlExchange(
            body: body ?? .bytes(request.body), decodesContent: false, stage: stage, onHead: onResponse,
            onBody: onBody)
        let (_, failure) = try perform(request, exchange, end: nil, silence: configuration.httpTimeout)
        if let failure { throw failure }
    }
}
