import OIDCCore
import OIDCSystem

/// The only place that writes: stdout is data, stderr is talk.
struct Console: Sendable {
    let isJSON: Bool
    let isVerbose: Bool
    let isQuiet: Bool

    init(_ common: CommonOptions) {
        isJSON = common.output == .json
        isVerbose = common.isVerbose
        isQuiet = common.isQuiet
    }

    /// Something a person may want to know.
    func note(_ text: String) {
        guard !isQuiet else { return }
        StandardError.write(text + "\n")
    }

    /// Something that a person should know, though it went on.
    func warn(_ text: String) {
        guard !isQuiet else { return }
        StandardError.write("warning: \(text)\n")
    }

    /// Says on a terminal why Ctrl-C has no effect yet.
    func noteFinishing() {
        guard Terminal.isTerminal(.standardError) else { return }
        note("finishing the request in progress; press Ctrl-C again to stop now")
    }

    func trace(_ text: String) {
        guard isVerbose else { return }
        StandardError.write("debug: \(text)\n")
    }

    /// Data: a line of it, whole, or an error.
    func output(_ line: String) throws(OIDCError) {
        try StandardOutput.write(Array((line + "\n").utf8))
    }

    /// A JSON document: indented for people, one line for programs.
    func output(_ json: JSONValue) throws(OIDCError) {
        try output(Terminal.isTerminal(.standardOutput) ? json.indented : json.compact)
    }
}
