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

    /// Something that a user may want to know.
    func note(_ text: String) {
        guard !isQuiet else { return }
        Console.write(text)
    }

    /// A warning; the command continues.
    func warn(_ text: String) {
        guard !isQuiet else { return }
        Console.write("warning: \(text)")
    }

    /// Says on a terminal why Ctrl-C has no effect yet.
    func noteFinishing() {
        guard Terminal.isTerminal(.standardError) else { return }
        note("finishing the request in progress; press Ctrl-C again to stop now (the session may be lost)")
    }

    func trace(_ text: String) {
        guard isVerbose else { return }
        Console.write("debug: \(text)")
    }

    /// Names in these texts come from files and providers, also inside commands that can be pasted.
    private static func write(_ text: String) {
        StandardError.write(DisplayText.lines(text) + "\n")
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
