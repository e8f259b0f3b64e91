public import OIDCCore
import Synchronization

/// The requests that came to one server, in their order.
public final class Seen: Sendable {
    private let requests = Mutex<[HTTPRequest]>([])

    public init() {}

    public func note(_ request: HTTPRequest) { requests.withLock { $0.append(request) } }

    public var all: [HTTPRequest] { requests.withLock { $0 } }
    public var paths: [String] { all.map(\.url.path) }
}
