import OIDCCore
package import Posix

/// The body and the answer of one call.
final class CurlExchange: CurlClient {
    private(set) var head = ResponseHead()
    private(set) var receivedBytes = 0
    /// The reason why one of our callbacks ended the transfer.
    package private(set) var refusal: OIDCError?
    /// The time of the last bytes in either direction.
    private(set) var lastActivity = MonotonicTime.now()
    /// The body source that had no bytes yet; sending resumes when it is readable.
    private(set) var awaitedInput: FileDescriptor?

    let body: RequestBody
    let decodesContent: Bool
    /// Whether the transfer ends after the header if the body may be long.
    private let endsAfterHead: Bool
    let stage: Stage
    private var sentBytes = 0
    /// Whether the answer has started.
    private var hasBegun = false
    private let onHead: (Int, HTTPHeaders) throws(OIDCError) -> Void
    private let onBody: (UnsafeRawBufferPointer) throws(OIDCError) -> Void

    init(
        body: RequestBody, decodesContent: Bool = true, endsAfterHead: Bool = false, stage: Stage,
        onHead: @escaping (Int, HTTPHeaders) throws(OIDCError) -> Void = { _, _ in },
        onBody: @escaping (UnsafeRawBufferPointer) throws(OIDCError) -> Void
    ) {
        self.body = body
        self.decodesContent = decodesContent
        self.endsAfterHead = endsAfterHead
        self.stage = stage
        self.onHead = onHead
        self.onBody = onBody
    }

    /// Records activity. Waiting for our own input counts too, as only the server's silence is limited.
    func touch() {
        lastActivity = .now()
    }

    func inputIsReady() {
        awaitedInput = nil
    }

    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        // Later lines do not count as activity, so a slow header or endless interim answers reach the time
        // limit.
        if !hasBegun { touch() }
        hasBegun = true
        switch head.take(line) {
        // Only the fields that can be read matter.
        case .more, .interim, .malformed: return true
        case .complete where endsAfterHead && announcesLongBody: return false
        case .complete:
            touch()
            return attempt { () throws(OIDCError) in try onHead(head.status, head.headers) }
        case .encoded:
            refusal = OIDCError(
                .refused, "\(stage.title): the answer has a transfer coding that was not requested",
                stage: stage)
            return false
        case .tooLarge:
            refusal = OIDCError(
                .refused, "\(stage.title): the header of the answer is too large", stage: stage)
            return false
        }
    }

    /// Whether the body may be long or endless; then a new connection costs less than reading it.
    private var announcesLongBody: Bool {
        let headers = head.headers
        let type = headers["Content-Type"] ?? ""
        if ASCII.lowercased(type).hasPrefix("text/event-stream") { return true }
        guard let length = headers["Content-Length"] else { return head.status < 400 }
        return (Int(length) ?? .max) > 65_536
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> CurlTransfer.Reception {
        defer { touch() }
        receivedBytes += bytes.count
        return attempt { () throws(OIDCError) in try onBody(bytes) } ? .taken : .refuse
    }

    private func attempt(_ step: () throws(OIDCError) -> Void) -> Bool {
        do {
            try step()
            return true
        } catch {
            refusal = error
            return false
        }
    }

    func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision {
        defer { touch() }
        switch body {
        case .bytes(let bytes): return read(bytes, into: buffer)
        case .descriptor(let descriptor): return read(descriptor, into: buffer)
        case .prefixed(let bytes, let descriptor):
            return sentBytes < bytes.count ? read(bytes, into: buffer) : read(descriptor, into: buffer)
        }
    }

    private func read(_ bytes: [UInt8], into buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision
    {
        let count = min(buffer.count, bytes.count - sentBytes)
        bytes.withUnsafeBytes { source in
            buffer.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: source[sentBytes..<sentBytes + count]))
        }
        sentBytes += count
        return count > 0 ? .bytes(count) : .end
    }

    private func read(_ descriptor: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer)
        -> CurlTransfer.Provision
    {
        guard descriptor.isReadyToRead else {
            awaitedInput = descriptor
            return .pause
        }
        do throws(Errno) {
            let bytes = try descriptor.read(limit: buffer.count)
            buffer.copyBytes(from: bytes)
            return bytes.isEmpty ? .end : .bytes(bytes.count)
        } catch {
            refusal = OIDCError(
                .failed, "\(stage.title): the body to send cannot be read: \(error)", stage: stage)
            return .refuse
        }
    }
}

/// The source of a request's body.
package enum RequestBody: Hashable, Sendable {
    case bytes([UInt8])
    /// A descriptor that is read to its end while its bytes are sent, in bounded memory. It stays open.
    case descriptor(FileDescriptor)
    /// The bytes that were already read from a descriptor, and the descriptor with the rest.
    case prefixed([UInt8], FileDescriptor)

    /// The length; nil if it is not known in advance.
    var length: Int64? {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .descriptor(let descriptor): descriptor.remainingLength
        case .prefixed(let bytes, let descriptor):
            descriptor.remainingLength.map { Int64(bytes.count) + $0 }
        }
    }

    var knownByteCount: Int { length.map { Int(clamping: $0) } ?? 0 }
}
