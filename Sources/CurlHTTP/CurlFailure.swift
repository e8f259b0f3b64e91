import CLibcurl
package import OIDCCore
import Posix

/// The error of a failed transfer, with the stage and the host, but nothing from query, headers or body.
package struct CurlFailure {
    let result: CurlResult
    let request: HTTPRequest
    let stage: Stage
    let configuration: CurlConfiguration

    package init(result: CurlResult, request: HTTPRequest, stage: Stage, configuration: CurlConfiguration) {
        self.result = result
        self.request = request
        self.stage = stage
        self.configuration = configuration
    }

    private var host: String { request.url.hostAndPort }

    package var error: OIDCError {
        switch result.ending {
        case .cancelled: error(.interrupted, "interrupted while waiting for \(host)")
        case .deadline: error(.timedOut, "timed out waiting for \(host)")
        case .timeOut, .silence: timeOut
        case .code where isShort:
            error(
                .failed, "no connection to \(host): \(Errno(result.systemError))",
                hint: Errno(result.systemError).shortageHint)
        case .code(let code): judged(code)
        }
    }

    /// Whether this machine or process has no descriptor or memory left for a connection.
    private var isShort: Bool { !result.isSent && Errno(result.systemError).isShortage }

    private func judged(_ code: CurlCode) -> OIDCError {
        switch code {
        case .unresolvedProxy:
            error(.unreachable, "cannot resolve the proxy for \(host)", hint: "check \(proxyVariables)")
        case .unresolvedHost:
            error(
                .unreachable, "cannot resolve host \(request.url.host)",
                hint: "check the name, and this machine's network and DNS")
        case .noConnection: connectFailure
        case .timedOut: timeOut
        case .unsupportedProtocol, .strangeReply, .undecodableContent: notHTTP(code)
        case .outOfMemory where result.isSent, .headerTooLarge where result.isSent:
            error(.refused, "the header of the answer is too large")
        case .outOfMemory: error(.failed, "libcurl has no memory for a request")
        case _ where code.isTLSFailure: CurlTLSFailure(failure: self, code: code).error
        case .abortedByCallback where result.hasReadInVain:
            error(.refused, "\(host) keeps sending data that is not part of an answer")
        // libcurl tries to repeat an unanswered request, which we refuse or the body does not allow.
        case .http2, .noAnswer, .bodyNotRewound,
            .abortedByCallback where result.isSent:
            broken("\(host) closed the connection without answering")
        case .http2Stream: broken("\(host) ended the request without answering")
        case .partialAnswer: incomplete
        case .sendFailed, .receiveFailed, .proxyHandshake: brokenConnection
        default: error(.unreachable, "the request to \(host) failed: \(Self.meaning(of: code))")
        }
    }

    func error(_ kind: OIDCError.Kind, _ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(
            kind, "\(stage.title): \(message)", hint: hint, stage: stage,
            code: stage == .store && result.isSent && kind != .interrupted ? .noStoreAnswer : nil)
    }

    /// Returns libcurl's fixed text for a code; its text for a transfer may quote the proxy's password.
    package static func meaning(of code: CurlCode) -> String {
        guard let words = oidc_curl()?.pointee.easy_strerror(code.number) else {
            return "libcurl error \(code.number)"
        }
        return DisplayText.clean(String(cString: words))
    }

    private var proxyVariables: String {
        if case .url = configuration.proxy { return "the proxy's URL" }
        // The variables in libcurl's order.
        let own = request.url.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        let variables = ProcessEnvironment.current
        return (own + ["all_proxy", "ALL_PROXY"]).first { variables[$0]?.isEmpty == false } ?? own[0]
    }

    private var connectFailure: OIDCError {
        // Only a proxy from the variables or the caller can have an unknown scheme.
        if result.text.hasPrefix("Unsupported proxy") {
            return error(
                .unreachable, "cannot use the proxy for \(host): its URL is not supported",
                hint: "check \(proxyVariables)")
        }
        let reason =
            result.systemError != 0
            ? Errno(result.systemError).description : Self.meaning(of: .noConnection)
        if isAboutProxy {
            return error(
                .unreachable, "cannot connect to the proxy for \(host): \(reason)",
                hint: "check \(proxyVariables)")
        }
        return error(
            .unreachable, "cannot connect to \(host): \(reason)",
            hint: request.url.isLoopback
                ? "check that it is running on this port"
                : "check the host, this machine's network and its proxy settings")
    }

    /// Whether the unreachable host is the proxy: libcurl names the host, as in `Failed to connect to
    /// proxy.example port 3128`.
    private var isAboutProxy: Bool {
        switch configuration.proxy {
        case .none: false
        case _ where request.url.isLoopback: false
        case .url: true
        case .environment:
            result.text.includes(" via ")
                || result.text.hasPrefix("Failed to connect to ")
                    && !ASCII.lowercased(result.text).includes(" \(request.url.host) ")
        }
    }

    private var timeOut: OIDCError {
        if result.isSent {
            let limit = configuration.httpTimeout.words
            let isSilence = if case .silence = result.ending { true } else { false }
            return error(
                .unreachable,
                (isSilence
                    ? "nothing came from \(host) for \(limit)"
                    : "no complete answer from \(host) within \(limit)")
                    + aftermath,
                hint: .advice(.raiseHTTPTimeout))
        }
        let step = result.isResolved ? "cannot connect to \(host)" : "cannot resolve host \(request.url.host)"
        let limit = min(configuration.connectTimeout, configuration.httpTimeout)
        return error(
            .unreachable, "\(step) within \(limit.words)",
            hint: "try again later, or check this machine's network and its proxy settings")
    }

    private func notHTTP(_ code: CurlCode) -> OIDCError {
        code == .undecodableContent
            ? error(.refused, "the answer of \(host) cannot be decompressed")
            : error(.refused, "\(host) does not answer with HTTP", hint: "check the host and the port")
    }

    private var brokenConnection: OIDCError {
        if !result.isSent, result.proxyStatus >= 300 { return proxyRefusal(status: result.proxyStatus) }
        let tls = CurlTLSFailure(failure: self, code: .receiveFailed)
        if let refusal = tls.alertAfterHandshake { return refusal }
        let reason = result.systemError != 0 ? ": \(Errno(result.systemError))" : ""
        return broken("the connection to \(host) broke\(reason)")
    }

    /// Returns the error for a proxy's refusal; some proxies answer 401 instead of 407 to a wrong password.
    func proxyRefusal(status: Int) -> OIDCError {
        let hint: Hint =
            [401, 407].contains(status)
            ? "set user and password in \(proxyVariables)" : "check \(proxyVariables) and no_proxy"
        return error(
            .unreachable, "the proxy does not connect to \(host): it answered \(status)", hint: hint)
    }

    /// The error for an answer that the provider did not send to its end.
    var incomplete: OIDCError { broken("the answer from \(host) is incomplete") }

    private func broken(_ message: String) -> OIDCError {
        error(.unreachable, message + aftermath, hint: .tryAgain(seconds: nil))
    }

    /// A warning that the server may have acted on the request; empty if repeating the request is harmless.
    private var aftermath: String {
        guard result.isSent, stage != .store, request.method != .get, request.method != HTTPMethod("HEAD")
        else { return "" }
        let actor = stage == .resource ? "server" : "provider"
        return " after the request was sent; the \(actor) may have acted on it"
    }
}

extension Duration {
    /// The duration for messages: `30 s`.
    package var words: String {
        milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }
}
