import OIDCCore
import Posix

/// The names that a server lists, page by page. Their number, size and time are limited, as a server may claim
/// for ever that there are more.
struct SharedListing {
    private static let pageLimit = 50_000
    static let byteLimit = 16 << 20
    static let timeLimit = Duration.seconds(30)

    private let server: String
    private let deadline: MonotonicTime
    private var found: Set<String> = []
    private var pages = 0
    private var bytes = 0

    init(server: String, timeLimit: Duration = SharedListing.timeLimit) {
        self.server = server
        deadline = MonotonicTime.now().adding(milliseconds: timeLimit.milliseconds)
    }

    var names: [String] { Array(found) }

    /// Counts a page. Called before each request for one.
    mutating func beginPage() throws(OIDCError) {
        try Interruption.throwIfPending()
        pages += 1
        guard pages <= SharedListing.pageLimit, MonotonicTime.now() < deadline else { throw endless }
    }

    mutating func add(_ name: String) throws(OIDCError) {
        guard found.insert(name).inserted else { return }
        bytes += name.utf8.count
        guard bytes <= SharedListing.byteLimit else { throw endless }
    }

    private var endless: OIDCError { .sharedStore(server, "its list of sessions does not end") }
}
