import OIDCCore
import OIDCProxy
import Posix

/// The log of a proxy, with one line for each request. No request waits for its reader.
final class ProxyLog {
    private let backlog: Backlog
    private let console: Console
    private var isBroken = false
    private var hasDropped = false

    /// Creates a log that appends to a file; `-` is stdout.
    init(_ path: String, _ console: Console) throws(OIDCError) {
        self.console = console
        guard path != "-" else {
            backlog = Backlog(.standardOutput)
            return
        }
        do throws(Errno) {
            backlog = Backlog(try FileDescriptor.open(appendingTo: path))
        } catch {
            let reason =
                switch error {
                case .tooManyLinks: "it is a symbolic link"
                case .noReader: "it is a pipe without a reader"
                default: "\(error)"
                }
            throw .usage("--log \(DisplayText.clean(path)) cannot be written: \(reason)")
        }
    }

    func add(_ entry: ProxyLogEntry) {
        checkFailure()
        guard !isBroken, !backlog.add((console.isJSON ? entry.json.compact : entry.line) + "\n"), !hasDropped
        else { return }
        console.warn("the reader of the request log does not read: lines are dropped")
        hasDropped = true
    }

    /// Writes the remaining lines at the end, but waits only a moment for the reader.
    func finish() {
        backlog.finish(milliseconds: 2_000)
        checkFailure()
    }

    private func checkFailure() {
        guard !isBroken, let failure = backlog.failure else { return }
        isBroken = true
        console.warn("cannot write to the request log: \(failure)")
    }
}

extension ProxyLogEntry {
    fileprivate var line: String {
        let words = [
            "\(time)", route?.text ?? "-", method, path ?? "-", status.map(String.init) ?? "-", "\(bytes)",
            "\(milliseconds)", "\(refreshes)",
        ]
        return DisplayText.clean(words.joined(separator: " "), limit: 20_000)
    }

    fileprivate var json: JSONValue {
        [
            "time": .string("\(time)"), "route": JSONValue(route?.text), "method": .string(method),
            "path": JSONValue(path), "status": status.map { JSONValue(Int64($0)) } ?? .null,
            "bytes": JSONValue(Int64(bytes)), "milliseconds": JSONValue(milliseconds),
            "refreshes": JSONValue(Int64(refreshes)),
        ]
    }
}
