package import OIDCCore
import Synchronization

/// The requests that one server received, in their order.
package final class RequestLog: Sendable {
    private let requests = Mutex<[HTTPRequest]>([])

    package init() {}

    package func note(_ request: HTTPRequest) { requests.withLock { $0.append(request) } }

    package var all: [HTTPRequest] { requests.withLock { $0 } }
    package var paths: [String] { all.map(\.url.path) }
}
