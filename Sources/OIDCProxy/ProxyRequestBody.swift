import CurlHTTP
import LoopbackHTTP
import OIDCCore

/// The body of a caller's request, read while it is forwarded. A short one is kept, so it can be sent again.
struct ProxyRequestBody {
    /// The size limit of a kept body, in bytes.
    private static let keepLimit = 65_536

    private enum Source {
        case length(missing: Int)
        case chunked(HTTP1.ChunkedDecoder)
    }

    private var source: Source
    private(set) var isWhole = false
    /// The bytes so far; nil if there are too many or they are no longer needed.
    private var kept: [UInt8]? = []
    private var replayed = 0
    private var isLastAttempt = false

    init(_ framing: HTTP1.BodyFraming) {
        switch framing {
        case .length(let length):
            source = .length(missing: length)
            isWhole = length == 0
        case .chunked: source = .chunked(HTTP1.ChunkedDecoder())
        }
    }

    /// Whether the request can be sent again from its start.
    var canRepeat: Bool { kept != nil && !isLastAttempt }

    mutating func repeatFromStart() { replayed = 0 }

    /// Keeps no more bytes, as the request will not be sent again. Those that this attempt has not sent yet stay.
    mutating func forget() {
        isLastAttempt = true
        if replayed == kept?.count { kept = nil }
    }

    mutating func provide(
        _ buffer: UnsafeMutableRawBufferPointer, from connection: HTTP1Connection
    ) throws(HTTP1.Rejection) -> CurlTransfer.Provision {
        if let kept, replayed < kept.count {
            let count = min(buffer.count, kept.count - replayed)
            kept.withUnsafeBytes { bytes in
                buffer.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: bytes[replayed..<replayed + count]))
            }
            replayed += count
            if isLastAttempt { forget() }
            return .bytes(count)
        }
        guard !isWhole else { return .end }
        let provision = try read(buffer, from: connection)
        if case .bytes(let count) = provision { keep(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
        return provision
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        guard let count = kept?.count else { return }
        if count + bytes.count <= Self.keepLimit {
            kept?.append(contentsOf: bytes)
            replayed = count + bytes.count
        } else {
            kept = nil
        }
    }

    private mutating func read(
        _ buffer: UnsafeMutableRawBufferPointer, from connection: HTTP1Connection
    ) throws(HTTP1.Rejection) -> CurlTransfer.Provision {
        switch source {
        case .length(let missing):
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(missing, buffer.count)])
            guard let count = connection.receiveBody(into: room) else { return .pause }
            guard count > 0 else { return .refuse }
            source = .length(missing: missing - count)
            isWhole = missing == count
            return .bytes(count)
        case .chunked(var decoder):
            defer { source = .chunked(decoder) }
            while true {
                guard let count = connection.receiveBody(into: buffer) else { return .pause }
                guard count > 0 else { return .refuse }
                let received = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                let (content, used) = try decoder.decode(received)
                if used < count {
                    connection.giveBack(UnsafeRawBufferPointer(rebasing: received[used...]))
                }
                isWhole = decoder.isComplete
                if content > 0 { return .bytes(content) }
                if isWhole { return .end }
            }
        }
    }
}
