/// libcurl's result of a call or a transfer (CURLE_…).
package struct CurlCode: Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    package static let ok = CurlCode(0)
    package static let unsupportedProtocol = CurlCode(1)
    package static let failedInit = CurlCode(2)
    package static let unresolvedProxy = CurlCode(5)
    package static let unresolvedHost = CurlCode(6)
    package static let noConnection = CurlCode(7)
    package static let strangeReply = CurlCode(8)
    /// An error of the HTTP/2 connection, such as one that the server ends with a GOAWAY.
    package static let http2 = CurlCode(16)
    package static let partialAnswer = CurlCode(18)
    /// Also a header line beyond libcurl's limit.
    package static let outOfMemory = CurlCode(27)
    package static let timedOut = CurlCode(28)
    package static let handshakeFailed = CurlCode(35)
    package static let abortedByCallback = CurlCode(42)
    package static let unknownOption = CurlCode(48)
    /// A certificate for another host, before libcurl 7.62.
    package static let otherHost = CurlCode(51)
    package static let noAnswer = CurlCode(52)
    package static let sendFailed = CurlCode(55)
    package static let receiveFailed = CurlCode(56)
    package static let ownCertificate = CurlCode(58)
    package static let cipher = CurlCode(59)
    package static let untrustedCertificate = CurlCode(60)
    package static let undecodableContent = CurlCode(61)
    /// The body would have to be sent again.
    package static let bodyNotRewound = CurlCode(65)
    package static let cryptoEngine = CurlCode(66)
    package static let unusableAuthorities = CurlCode(77)
    /// Nothing can be sent or received now.
    package static let again = CurlCode(81)
    package static let unusableRevocationList = CurlCode(82)
    package static let otherIssuer = CurlCode(83)
    package static let pinnedKeyMismatch = CurlCode(90)
    package static let certificateStatus = CurlCode(91)
    package static let http2Stream = CurlCode(92)
    package static let proxyHandshake = CurlCode(97)
    package static let clientCertificateNeeded = CurlCode(98)
    package static let headerTooLarge = CurlCode(100)

    /// Whether the server's certificate, or the proxy's, could not be verified.
    var isCertificateRefusal: Bool {
        switch self {
        case .otherHost, .untrustedCertificate, .otherIssuer, .pinnedKeyMismatch, .certificateStatus: true
        default: false
        }
    }

    /// Whether the TLS connection could not be made.
    var isTLSFailure: Bool {
        switch self {
        case .handshakeFailed, .ownCertificate, .cipher, .cryptoEngine, .unusableAuthorities,
            .unusableRevocationList, .clientCertificateNeeded:
            true
        default: isCertificateRefusal
        }
    }
}
