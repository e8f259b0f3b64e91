import OIDCCore

/// The request that a transfer serves. Its functions are called on the proxy's thread.
protocol ProxyTransferOwner: AnyObject {
    /// Takes a header line; returns false to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool
    /// Takes a part of the body.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> ProxyTransfer.Reception
    /// Provides a part of the request's body.
    func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> ProxyTransfer.Provision
}

extension ProxyTransfer {
    enum Reception {
        case taken
        /// The caller accepts no bytes for now; libcurl keeps these.
        case pause
        case refuse
    }

    enum Provision {
        case bytes(Int)
        case end
        /// The caller has sent no bytes yet.
        case pause
        case refuse
    }

    /// A request to send.
    struct Order {
        var method: HTTPMethod
        var url: WebURL
        /// The request target to send in place of the URL's.
        var rawTarget: String?
        var fields: [HTTPHeaders.Field]
        var framing: HTTP1.BodyFraming
        var expectsContinue: Bool
    }
}
