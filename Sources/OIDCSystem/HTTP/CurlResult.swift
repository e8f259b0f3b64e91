/// The raw result of a transfer.
struct CurlResult {
    enum Ending {
        /// A CURLcode.
        case code(Int32)
        case cancelled
        /// The overall deadline has passed.
        case deadline
        /// The time limit of this request has passed.
        case timeOut
        /// The time limit without bytes in either direction has passed.
        case silence
    }

    var ending: Ending
    /// libcurl's error text, safe for a terminal.
    var text = ""
    var systemError: Int32 = 0
    /// The status of the proxy's answer to CONNECT; 0 if there is none.
    var proxyStatus = 0
    var isResolved = false
    /// Whether the server may have received the request.
    var isSent = false
    /// Whether any part of the answer came, including interim answers.
    var hasAnswerBytes = false
    var isReusedConnection = false
    /// The TLS library's result for the server's certificate (CURLINFO_SSL_VERIFYRESULT): OpenSSL's
    /// `X509_V_…`.
    var certificateVerification = 0

    var isSuccess: Bool {
        if case .code(0) = ending { true } else { false }
    }

    /// Whether the transfer ended or reached its own time limit; false if a signal or the overall deadline
    /// ended it.
    var isEndOfBody: Bool {
        switch ending {
        case .code, .timeOut, .silence: true
        case .cancelled, .deadline: false
        }
    }
}

extension CurlConfiguration {
    /// The reason to end requests and pauses early; nil if there is none.
    var interruption: CurlResult.Ending? {
        if !Interruption.isPostponed, isCancelled() { return .cancelled }
        if let deadline, MonotonicTime.now() >= deadline { return .deadline }
        return nil
    }
}
