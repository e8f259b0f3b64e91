import CommandLineKit
import OIDCCore
import OIDCSystem

@main
struct Main {
    static func main() {
        Platform.secureStandardDescriptors()
        Platform.forbidDumps()
        let arguments = ProcessEnvironment.arguments
        Platform.exit(run(Array(arguments.dropFirst()), calledAs: arguments.first ?? "oidc"))
    }

    static func run(_ arguments: [String], calledAs name: String) -> Int32 {
        var words = arguments
        if name.hasSuffix("docker-credential-oidc") { words = ["credential", "docker"] + words }
        do {
            let code = try invoke(words)
            return postponedCode ?? code
        } catch {
            let code = exitCode(error)
            let common = CommonOptions.lenient(words)
            let isJSON = common.output == .json
            let report = Diagnostics.report(
                error.ended(bySignal: postponedCode != nil), asJSON: isJSON, exitCode: code,
                completion: HintCompletion(
                    common, words: words, environment: ProcessEnvironment.current),
                style: Console.style)
            StandardError.write(
                isJSON ? report : Terminal.text(report, environment: ProcessEnvironment.current))
            return code
        }
    }

    private static func invoke(_ words: [String]) throws(OIDCError) -> Int32 {
        try Interruption.install()
        let invocation: Invocation
        do { invocation = try Program.oidc.parse(words) } catch { throw OIDCError(error) }
        switch invocation {
        case .help(let text, let path):
            let isJSON = CommonOptions.lenient(words).output == .json
            try StandardOutput.write(
                isJSON
                    ? HelpDocument.json(Program.oidc, path).compact + "\n"
                    : Terminal.text(text, environment: ProcessEnvironment.current))
            return 0
        case .version:
            let isJSON = CommonOptions.lenient(words).output == .json
            try StandardOutput.write(Array(((isJSON ? Version.json.compact : Version.text) + "\n").utf8))
            return 0
        case .run(let command, let path):
            // Casts to the concrete type first: a cast to the protocol scans every conformance record.
            guard let command = command as? TokenCommand ?? command as? any RunnableCommand else {
                throw OIDCError.usage(
                    "oidc \(path.joined(separator: " ")) needs a command of its own",
                    hint: "oidc help \(path.joined(separator: " "))")
            }
            guard command.common.output == .text || command.hasJSONForm else {
                throw OIDCError.usage(
                    "oidc \(path.joined(separator: " ")) has no JSON form", hint: "leave -o json out")
            }
            let context = CommandContext(
                console: Console(command.common, words: words), environment: ProcessEnvironment.current,
                common: command.common)
            ProcessEnvironment.forgetKeyLog()
            return try command.run(context)
        }
    }

    /// The exit code of a signal that was postponed; it ends the program even if everything succeeded meanwhile.
    private static var postponedCode: Int32? {
        Interruption.wasPostponed ? Interruption.recorded.map { 128 + $0 } : nil
    }

    private static func exitCode(_ error: OIDCError) -> Int32 {
        if let postponedCode { return postponedCode }
        guard error.kind == .interrupted, let signal = Interruption.pending else {
            return Diagnostics.exitCode(error)
        }
        return 128 + signal
    }
}
