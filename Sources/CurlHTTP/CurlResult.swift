import CLibcurl
import OIDCCore
import Posix

/// The raw result of a transfer.
package struct CurlResult {
    package enum Ending {
        case code(CurlCode)
        case cancelled
        /// The overall deadline has passed.
        case deadline
        /// The time limit of this request has passed.
        case timeOut
        /// The time limit without bytes in either direction has passed.
        case silence
    }

    package var ending: Ending
    /// libcurl's error text, safe for a terminal.
    package var text = ""
    var systemError: Int32 = 0
    /// The status of the proxy's answer to CONNECT; 0 if there is none.
    var proxyStatus = 0
    var isResolved = false
    /// Whether the server may have received the request.
    package var isSent = false
    /// Whether any part of the answer came, including interim answers.
    package var hasAnswerBytes = false
    var isReusedConnection = false
    /// Whether the transfer was ended as the server sent what is not part of an answer.
    var hasReadInVain = false
    /// Whether libcurl had the directory of certificate authorities and not the bundle.
    package var trustsDirectoryAlone = false
    /// The TLS library's result for the server's certificate (CURLINFO_SSL_VERIFYRESULT): OpenSSL's
    /// `X509_V_…`.
    package var certificateVerification = 0

    package init(
        ending: Ending, text: String = "", systemError: Int32 = 0, proxyStatus: Int = 0,
        isResolved: Bool = false, isSent: Bool = false, hasAnswerBytes: Bool = false,
        isReusedConnection: Bool = false, certificateVerification: Int = 0
    ) {
        self.ending = ending
        self.text = text
        self.systemError = systemError
        self.proxyStatus = proxyStatus
        self.isResolved = isResolved
        self.isSent = isSent
        self.hasAnswerBytes = hasAnswerBytes
        self.isReusedConnection = isReusedConnection
        self.certificateVerification = certificateVerification
    }

    package var isSuccess: Bool {
        if case .code(.ok) = ending { true } else { false }
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

extension CurlResult {
    /// Reads from a handle how its transfer ended.
    package init(
        _ ending: Ending, of easy: OpaquePointer, errorText: UnsafePointer<CChar>, isSent: Bool,
        hasAnswerBytes: Bool
    ) {
        self.init(
            ending: ending, text: DisplayText.clean(String(cString: errorText)),
            systemError: Int32(clamping: CurlInfo.number(OIDC_CURLINFO_OS_ERRNO, of: easy)),
            proxyStatus: CurlInfo.number(OIDC_CURLINFO_HTTP_CONNECTCODE, of: easy),
            isResolved: CurlInfo.offset(OIDC_CURLINFO_NAMELOOKUP_TIME_T, of: easy) > 0, isSent: isSent,
            hasAnswerBytes: hasAnswerBytes,
            certificateVerification: CurlInfo.number(OIDC_CURLINFO_SSL_VERIFYRESULT, of: easy))
    }
}

/// What a handle reports about its last transfer (CURLINFO_…); 0 if it does not.
enum CurlInfo {
    static func number(_ info: Int, of easy: OpaquePointer) -> Int {
        var value = 0
        return CurlCode(oidc_curl_get_long(easy, Int32(info), &value)) == .ok ? value : 0
    }

    static func text(_ info: Int, of easy: OpaquePointer) -> String? {
        var text: UnsafePointer<CChar>?
        guard CurlCode(oidc_curl_get_string(easy, Int32(info), &text)) == .ok, let text else { return nil }
        return String(cString: text)
    }

    static func offset(_ info: Int, of easy: OpaquePointer) -> Int64 {
        var value: Int64 = 0
        return CurlCode(oidc_curl_get_offset(easy, Int32(info), &value)) == .ok ? value : 0
    }
}

extension CurlConfiguration {
    /// The reason to end requests and pauses early; nil if there is none.
    package var interruption: CurlResult.Ending? {
        if !Interruption.isPostponed, isCancelled() { return .cancelled }
        if let deadline, MonotonicTime.now() >= deadline { return .deadline }
        return nil
    }
}
