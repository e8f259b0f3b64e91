import OIDCCore
import OIDCProxy
import Posix

/// The log of a proxy, with one line for each request. Lines are written together after each round of
/// requests.
final class ProxyLog {
    private let descriptor: FileDescriptor
    private let console: Console
    private var lines = ""
    private var isBroken = false

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
        lines += (console.isJSON ? entry.json.compact : entry.line) + "\n"
    }

    func flush() {
        guard !lines.isEmpty else { return }
        defer { lines = "" }
        guard !isBroken else { return }
        do throws(Errno) {
            try descriptor.writeAll(Array(lines.utf8))
        } catch {
            isBroken = true
            console.warn("cannot write to the request log: \(error)")
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
