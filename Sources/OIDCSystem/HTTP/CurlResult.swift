/// How a transfer ended, before it is judged.
struct CurlResult {
    enum Ending {
        /// A CURLcode.
        case code(Int32)
        case cancelled
        /// The end of the whole sign-in.
        case deadline
        /// The end of this request.
        case timeOut
        /// Nothing moved for too long.
        case silence
    }

    var ending: Ending
    /// libcurl's own words, fit for a terminal.
    var text = ""
    var systemError: Int32 = 0
    /// The proxy's answer to CONNECT; 0 without one.
    var proxyStatus = 0
    var isResolved = false
    /// Whether the request may have reached the other side.
    var isSent = false
    /// Whether anything of the answer came, interim answers included.
    var isAnswerBegun = false
    var isReusedConnection = false

    var isSuccess: Bool {
        if case .code(0) = ending { true } else { false }
    }
}

extension CurlConfiguration {
    /// What ends a request, a pause or anything else from outside.
    var interruption: CurlResult.Ending? {
        if !Interruption.isPostponed, isCancelled() { return .cancelled }
        if let deadline, MonotonicTime.now() >= deadline { return .deadline }
        return nil
    }
}
