import CLibcurl
import OIDCCore
package import Posix

/// A TLS connection through libcurl, which verifies the server as it does for https.
///
/// Unchecked, because only one thread at a time uses a connection.
package final class CurlWire: Wire, @unchecked Sendable {
    private let transfer: CurlTransfer
    private let socket: Int32
    private let configuration: CurlConfiguration

    private init(_ transfer: CurlTransfer, _ socket: Int32, _ configuration: CurlConfiguration) {
        self.transfer = transfer
        self.socket = socket
        self.configuration = configuration
    }

    /// Connects to `host`, a name or an address with a port.
    package static func connect(
        _ host: String, _ configuration: CurlConfiguration, until deadline: MonotonicTime
    ) throws(WireFault) -> CurlWire {
        guard let url = WebURL("https://\(host)") else {
            throw .broken("cannot resolve host \(host)")
        }
        while true {
            let transfer: CurlTransfer
            do throws(OIDCError) {
                transfer = try prepare(url, configuration, until: deadline)
            } catch {
                throw .other(error)
            }
            let code = transfer.perform()
            if code == .ok, let socket = transfer.socket { return CurlWire(transfer, socket, configuration) }
            if transfer.needsBundle(configuration) { continue }
            switch code {
            case .timedOut: throw .slow
            case .abortedByCallback: throw .interrupted
            // The host was not resolved, or the connection was refused: another server may answer.
            case .unresolvedHost, .noConnection: throw .broken(CurlFailure.meaning(of: code))
            default: throw .other(transfer.failure(configuration).error)
            }
        }
    }

    private static func prepare(
        _ url: WebURL, _ configuration: CurlConfiguration, until deadline: MonotonicTime
    ) throws(OIDCError) -> CurlTransfer {
        try configuration.caFile?.check()
        try configuration.clientCertificate?.check()
        guard oidc_curl() != nil else {
            throw OIDCError(
                .failed, "store: TLS needs libcurl: \(String(cString: oidc_curl_problem()))", stage: .store)
        }
        var direct = configuration
        direct.proxy = .none
        direct.connectTimeout = .milliseconds(deadline.milliseconds(from: .now()))
        let order = CurlTransfer.Order(
            method: .get, url: url, fields: [], body: .bytes([]), usesClientCertificate: true, purpose: .wire,
            stage: .store)
        return try CurlTransfer(order, direct, client: nil)
    }

    package func send(_ bytes: [UInt8], until deadline: MonotonicTime) throws(WireFault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            var count = 0
            let code = rest.withUnsafeBytes { transfer.send($0, &count) }
            if code == .again { try wait(.writing, until: deadline) } else { try check(code) }
            rest = rest.dropFirst(count)
        }
    }

    package func receive(until deadline: MonotonicTime) throws(WireFault) -> [UInt8] {
        while true {
            if Interruption.pending != nil { throw .interrupted }
            guard MonotonicTime.now() < deadline else { throw .slow }
            var code = CurlCode.ok
            let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
                var count = 0
                code = transfer.receive(UnsafeMutableRawBufferPointer(buffer), &count)
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
        transfer.noteEnd(.code(code))
        // With TLS 1.3, a server refuses a client certificate after the handshake.
        let failure = CurlTLSFailure(failure: transfer.failure(configuration), code: code)
        if let refusal = failure.alertAfterHandshake { throw .other(refusal) }
        throw .broken(CurlFailure.meaning(of: code))
    }

    private func wait(_ direction: Poll.Direction, until deadline: MonotonicTime) throws(WireFault) {
        try WireWait.wait(for: socket, direction, until: deadline)
    }
}
