import CLibcurl
import OIDCCore
package import Posix

/// A TLS connection through libcurl, which verifies the server as it does for https.
///
/// Unchecked, because only one thread at a time uses a connection.
package final class CurlWire: Wire, @unchecked Sendable {
    private let library: UnsafePointer<oidc_curl_library>
    private let easy: OpaquePointer
    private let socket: Int32
    private let errorText: UnsafeMutablePointer<CChar>
    private let failure: @Sendable (CurlResult) -> CurlFailure

    private init(
        _ library: UnsafePointer<oidc_curl_library>, _ easy: OpaquePointer, _ socket: Int32,
        _ errorText: UnsafeMutablePointer<CChar>, _ failure: @escaping @Sendable (CurlResult) -> CurlFailure
    ) {
        self.library = library
        self.easy = easy
        self.socket = socket
        self.errorText = errorText
        self.failure = failure
    }

    deinit {
        withoutBrokenPipeSignal { library.pointee.easy_cleanup(easy) }
        errorText.deallocate()
    }

    /// Connects to `host`, a name or an address with a port.
    package static func connect(
        _ host: String, _ configuration: CurlConfiguration, until deadline: MonotonicTime
    ) throws(WireFault) -> CurlWire {
        guard let url = WebURL("https://\(host)") else {
            throw .broken("cannot resolve host \(host)")
        }
        do throws(OIDCError) {
            try configuration.caFile?.check()
            try configuration.clientCertificate?.check()
        } catch {
            throw .other(error)
        }
        let request = HTTPRequest(.get, url, usesClientCertificate: true)
        let failure = { @Sendable (result: CurlResult) in
            CurlFailure(result: result, request: request, stage: .store, configuration: configuration)
        }
        var (wire, result) = try open(url, configuration, until: deadline, failure)
        if configuration.needsBundle(after: result, from: url) {
            (wire, result) = try open(url, configuration, until: deadline, failure)
        }
        if let wire { return wire }
        switch result.ending {
        case .code(.timedOut): throw .slow
        // The host was not resolved, or the connection was refused: another server may answer.
        case .code(let code) where code == .unresolvedHost || code == .noConnection:
            throw .broken(CurlFailure.meaning(of: code))
        default: throw .other(failure(result).error)
        }
    }

    private static func open(
        _ url: WebURL, _ configuration: CurlConfiguration, until deadline: MonotonicTime,
        _ failure: @escaping @Sendable (CurlResult) -> CurlFailure
    ) throws(WireFault) -> (CurlWire?, CurlResult) {
        guard let library = oidc_curl(), let easy = library.pointee.easy_init() else {
            throw .other(
                OIDCError(
                    .failed, "store: TLS needs libcurl: \(String(cString: oidc_curl_problem()))",
                    stage: .store))
        }
        let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(OIDC_CURL_ERROR_SIZE))
        errorText[0] = 0
        var options = CurlOptions(easy)
        let setup = CurlSetup(library: library, configuration: configuration, stage: .store)
        let trustsDirectoryAlone = setup.setConnectOnly(url, errorText, until: deadline, &options)
        let code: CurlCode =
            options.rejected == nil
            ? CurlCode(withoutBrokenPipeSignal { library.pointee.easy_perform(easy) }) : .unknownOption
        var socket: Int32 = -1
        if code == .ok, oidc_curl_get_socket(easy, &socket) == 0, socket >= 0 {
            let wire = CurlWire(library, easy, socket, errorText, failure)
            return (wire, CurlResult(ending: .code(code)))
        }
        defer {
            withoutBrokenPipeSignal { library.pointee.easy_cleanup(easy) }
            errorText.deallocate()
        }
        var result = CurlResult(ending: .code(code), text: String(cString: errorText))
        result.certificateVerification = CurlInfo.number(OIDC_CURLINFO_SSL_VERIFYRESULT, of: easy)
        result.trustsDirectoryAlone = trustsDirectoryAlone
        return (nil, result)
    }

    package func send(_ bytes: [UInt8], until deadline: MonotonicTime) throws(WireFault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            var count = 0
            let code = rest.withUnsafeBytes { buffer in
                withoutBrokenPipeSignal {
                    CurlCode(library.pointee.easy_send(easy, buffer.baseAddress, buffer.count, &count))
                }
            }
            if code == .again { try wait(.writing, until: deadline) } else { try check(code) }
            rest = rest.dropFirst(count)
        }
    }

    package func receive(until deadline: MonotonicTime) throws(WireFault) -> [UInt8] {
        while true {
            if Interruption.pending != nil { throw .interrupted }
            guard MonotonicTime.now() < deadline else { throw .slow }
            var count = 0
            var code = CurlCode.ok
            let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
                code = CurlCode(library.pointee.easy_recv(easy, buffer.baseAddress, buffer.count, &count))
                filled = code == .ok ? count : 0
            }
            if code == .again {
                try wait(.reading, until: deadline)
                continue
            }
            try check(code)
            guard !bytes.isEmpty else { throw .broken("closed the connection") }
            return bytes
        }
    }

    private func check(_ code: CurlCode) throws(WireFault) {
        guard code != .ok else { return }
        // With TLS 1.3, a server refuses a client certificate after the handshake.
        var result = CurlResult(ending: .code(code))
        result.text = String(cString: errorText)
        if let refusal = CurlTLSFailure(failure: failure(result), code: code).alertAfterHandshake {
            throw .other(refusal)
        }
        throw .broken(CurlFailure.meaning(of: code))
    }

    private func wait(_ direction: Poll.Direction, until deadline: MonotonicTime) throws(WireFault) {
        try WireWait.wait(for: socket, direction, until: deadline)
    }
}

extension CurlSetup {
    /// Sets the options of a connection that libcurl only opens, as the caller sends and receives its bytes.
    /// Returns whether the machine's directory of authorities is used alone.
    fileprivate func setConnectOnly(
        _ url: WebURL, _ errorText: UnsafeMutablePointer<CChar>, until deadline: MonotonicTime,
        _ options: inout CurlOptions
    ) -> Bool {
        options.set(OIDC_CURLOPT_URL, url.text)
        options.set(OIDC_CURLOPT_NOSIGNAL, 1)
        options.set(OIDC_CURLOPT_CONNECT_ONLY, 1)
        options.set(OIDC_CURLOPT_PROXY, "")
        options.offer(OIDC_CURLOPT_SSL_ENABLE_ALPN, 0)
        let left = deadline.milliseconds(from: .now())
        options.set(OIDC_CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, min(left, 3_600_000))))
        _ = oidc_curl_keep_sockets(options.easy)
        options.set(OIDC_CURLOPT_ERRORBUFFER, pointer: errorText)
        setClientCertificate(&options)
        return setTrust(url, &options)
    }
}
