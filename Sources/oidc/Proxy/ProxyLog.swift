import OIDCCore
import OIDCProxy
import Posix

/// The log of a proxy, with one line for each request. Lines are written together after each round of
/// requests. A slow reader does not block: its lines are kept up to a limit, and dropped beyond it.
final class ProxyLog {
    private let descriptor: FileDescriptor
    private let console: Console
    private var pending: ArraySlice<UInt8> = []
    private var isBroken = false
    private var hasDropped = false

    /// The maximum number of bytes that wait for the reader.
    private static let limit = 1 << 20
    /// The number of bytes that a ready pipe accepts without blocking (`PIPE_BUF`).
    private static let portion = 4_096

    /// Creates a log that appends to a file; `-` is stdout.
    init(_ path: String, _ console: Console) throws(OIDCError) {
        self.console = console
        guard path != "-" else {
            descriptor = .standardOutput
            return
        }
        do throws(Errno) {
            descriptor = try FileDescriptor.open(appendingTo: path)
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
        guard !isBroken else { return }
        let line = (console.isJSON ? entry.json.compact : entry.line) + "\n"
        guard pending.count + line.utf8.count <= ProxyLog.limit else {
            if !hasDropped { console.warn("the reader of the request log does not read: lines are dropped") }
            hasDropped = true
            return
        }
        pending += line.utf8
    }

    /// Writes the remaining lines at the end, but waits only a moment for the reader.
    func finish() {
        let end = MonotonicTime.now().adding(seconds: 2)
        flush()
        while !pending.isEmpty, MonotonicTime.now() < end {
            Poll.wait(for: descriptor.rawValue, .writing, until: end, isInterruptible: false)
            flush()
        }
    }

    func flush() {
        while !pending.isEmpty, Poll.isReady(descriptor.rawValue, .writing) {
            do throws(Errno) {
                pending = pending.dropFirst(try descriptor.write(pending.prefix(ProxyLog.portion)))
            } catch {
                guard error != .wouldBlock else { return }
                (pending, isBroken) = ([], true)
                console.warn("cannot write to the request log: \(error)")
            }
        }
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
