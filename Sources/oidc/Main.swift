import CommandLineKit
import OIDCCore
import OIDCSignIn
import Posix

@main
struct Main {
    static func main() {
        Platform.secureStandardDescriptors()
        Platform.forbidDumps()
        let arguments = ProcessEnvironment.arguments
        switch DetachedProcess.task(in: Array(arguments.dropFirst())) {
        case LateResult.task: Platform.exit(LateResult.run())
        case WaitingProcess.task: Platform.exit(WaitingProcess.run())
        default: break
        }
        let code = run(Array(arguments.dropFirst()), calledAs: arguments.first ?? "oidc")
        StandardError.finish()
        Platform.exit(code)
    }

    static func run(_ arguments: [String], calledAs name: String) -> Int32 {
        var words = arguments
        let program = name.split(separator: "/").last.map(String.init) ?? name
        if program.hasPrefix(DockerCredential.helper) {
            let profile = program.dropFirst(DockerCredential.helper.count)
            words =
                ["credential", "docker"] + (profile.isEmpty ? [] : ["-p", String(profile.dropFirst())])
                + words
        }
        // pip and uv run a program of this name.
        if program == CredentialKeyringCommand.name { words = ["credential", program] + words }
        var line: InvokedLine?
        do {
            let code = try invoke(words, &line)
            return signalCode ?? code
        } catch {
            let code = signalCode ?? Diagnostics.exitCode(error)
            let common = CommonOptions.lenient(words)
            Diagnostics.write(
                error.ended(bySignal: signalCode != nil), asJSON: common.output == .json, exitCode: code,
                line: line ?? InvokedLine(common, words: words, environment: ProcessEnvironment.current))
            return code
        }
    }

    /// Runs the command of the words, and sets `line` if they could be parsed.
    private static func invoke(_ words: [String], _ line: inout InvokedLine?) throws(OIDCError) -> Int32 {
        try Interruption.install()
        let invocation: Invocation
        do { invocation = try Program.oidc.parse(words) } catch {
            throw OIDCError(error, correcting: words)
        }
        switch invocation {
        case .help(let text, let path):
            let isJSON = CommonOptions.lenient(words).output == .json
            try StandardOutput.writePage(
                isJSON
                    ? HelpDocument.json(Program.oidc, path).compact + "\n"
                    : Terminal.text(text, environment: ProcessEnvironment.current))
            return 0
        case .version:
            let common: CommonOptions
            do { common = try CommonOptions.checked(words) } catch { throw OIDCError(error) }
            try common.validate()
            let isJSON = common.output == .json
            try StandardOutput.write(Array(((isJSON ? Version.json.compact : Version.text) + "\n").utf8))
            return 0
        case .run(let command, let path):
            // Casts to the concrete type first: a cast to the protocol scans every conformance record.
            guard let command = command as? TokenCommand ?? command as? any RunnableCommand else {
                throw OIDCError.usage(
                    "oidc \(path.joined(separator: " ")) needs a subcommand",
                    hint: .run("help", path))
            }
            let invoked = InvokedLine(
                command, path: path, words: words, environment: ProcessEnvironment.current)
            line = invoked
            try command.common.validate()
            guard command.common.profiles.count < 2 || command is LendCommand else {
                throw OIDCError.usage("--profile is given twice", hint: .run("help", path))
            }
            guard command.common.output == .text || command.hasJSONForm else {
                throw OIDCError.usage(
                    "oidc \(path.joined(separator: " ")) has no JSON output", hint: "leave -o json out")
            }
            let context = CommandContext(
                console: Console(command.common, line: invoked), environment: ProcessEnvironment.current,
                common: command.common)
            ProcessEnvironment.forgetKeyLog()
            // A shell calls completions at each Tab, and doctor reports the variables itself.
            if !["completions", "doctor"].contains(path.first) { StrayVariables.warn(context) }
            if sweepers.contains(path.first) { WaitingSignIns(context.environment)?.sweep(context) }
            return try command.run(context)
        }
    }

    /// The commands that clean up sign-ins which nobody finished.
    private static let sweepers: [String?] = ["login", "logout", "status", "doctor"]

    /// The exit code of the first signal. It is used even if everything succeeded meanwhile, or if a command
    /// reported the interruption as another error.
    private static var signalCode: Int32? { Interruption.recorded.map { 128 + $0 } }
}
