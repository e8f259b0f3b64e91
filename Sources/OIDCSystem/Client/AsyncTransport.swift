public import OIDCCore
import Posix
import Synchronization

/// A transport over an asynchronous HTTP client, such as `URLSession` or AsyncHTTPClient.
///
/// A step waits for its answer on the thread that runs it, which must not be one of the cooperative pool:
/// `OIDCClient` and `OIDCContext.run` use a thread of their own.
public struct AsyncTransport: HTTPTransport {
    private let exchange: @Sendable (HTTPRequest) async throws -> HTTPResponse
    private var isCancelled: @Sendable () -> Bool = { false }

    /// Creates a transport from a function that sends a request. If it throws anything but an `OIDCError`, the server
    /// counts as unreachable.
    public init(_ exchange: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) {
        self.exchange = exchange
    }

    /// Sends a request and waits for its answer. A cancellation ends the wait, unless the request presents a secret
    /// that may be used up.
    public func send(_ request: HTTPRequest, stage: OIDCError.Stage) throws(OIDCError) -> HTTPResponse {
        let arrival: Arrival
        do throws(Errno) { arrival = try Arrival() } catch {
            throw OIDCError(.failed, "\(stage.title): no pipe: \(error)", stage: stage)
        }
        let task = Task.detached { [exchange] in
            do {
                arrival.end(.success(try await exchange(request)))
            } catch {
                let known = error as? OIDCError
                arrival.end(
                    .failure(
                        known
                            ?? OIDCError(
                                .unreachable,
                                "\(stage.title): cannot connect to \(DisplayText.clean(request.url.origin))",
                                stage: stage)))
            }
        }
        while true {
            if let answer = arrival.wait() { return try answer.get() }
            guard isCancelled(), !request.redeemsSingleUseSecret else { continue }
            task.cancel()
            throw OIDCError(.interrupted, "interrupted", stage: stage)
        }
    }

    func cancelled(if isCancelled: @escaping @Sendable () -> Bool) -> AsyncTransport {
        var transport = self
        transport.isCancelled = isCancelled
        return transport
    }
}

/// The arrival of an answer at the thread that waits for it.
private final class Arrival: Sendable {
    private let answer = Mutex<Result<HTTPResponse, OIDCError>?>(nil)
    private let reading: FileDescriptor
    private let writing: FileDescriptor

    init() throws(Errno) {
        (reading, writing) = try FileDescriptor.pipe()
    }

    /// Stores the answer, and wakes the waiting thread by closing the pipe.
    func end(_ result: Result<HTTPResponse, OIDCError>) {
        answer.withLock { $0 = result }
        writing.close()
    }

    /// Waits a moment for the answer; returns nil if it has not arrived.
    func wait() -> Result<HTTPResponse, OIDCError>? {
        Poll.wait(for: reading.rawValue, .reading, until: .now().adding(milliseconds: 100))
        return answer.withLock { $0 }
    }

    deinit { reading.close() }
}
