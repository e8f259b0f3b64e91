import OIDCCore
import Posix
import Synchronization

/// A command on another machine that uses what is lent, started by ssh.
///
/// First, ssh creates a folder there, with mode 0700 (mktemp(1)). Then it forwards a socket in that folder to
/// ours. As the folder is new, there is nothing to unlink, and the command that uses the folder removes it.
struct RemoteLend {
    let host: String
    /// The words that run the script there, and those of the command; the folder comes between them.
    private let quoted: (script: String, command: String)
    private let environment: Variables
    /// More variables that ssh does not get: its configuration may send them, or name programs.
    var withheld: [String] = []
    private static let program = "ssh"
    /// The options without which a command in ssh's configuration would replace ours.
    private static let ownCommand = ["-o", "RemoteCommand=none"]
    /// The name of the socket in the folder.
    private static let socket = "s"

    /// Milliseconds for the first connection, in which the user may have to type a password, and how much of that is left
    /// after a signal.
    private static let patience: (whole: Int64, interrupted: Int64) = (180_000, 10_000)

    init(_ host: String, _ words: [String], _ environment: Variables) throws(OIDCError) {
        self.host = host
        self.environment = environment
        quoted = (try Self.quoted(["/bin/sh", "-c", Self.script]), try Self.quoted(words))
        do throws(Errno) { _ = try Executable.find(Self.program, in: environment) } catch {
            throw .usage("--to needs ssh, which is not installed", hint: "install the OpenSSH client")
        }
    }

    /// Creates the folder, and returns its path. A signal does not end this, as nobody could remove a folder
    /// whose path is not known yet.
    func makeFolder() throws(OIDCError) -> String {
        try Interruption.postponed { () throws(OIDCError) in try requestedFolder() }
    }

    private func requestedFolder() throws(OIDCError) -> String {
        var process = ChildProcess(
            [Self.program, "-T"] + Self.ownCommand + ["--", host, "mktemp -d"], environment: childEnvironment)
        process.errorOutput = .inherited
        process.milliseconds = Self.patience.whole
        process.outputLimit = 65_536
        let end = Mutex<MonotonicTime?>(nil)
        process.isCancelled = {
            guard Interruption.recorded != nil else { return false }
            let moment = end.withLock { end in
                end = end ?? .now().adding(milliseconds: Self.patience.interrupted)
                return end
            }
            return moment.map { .now() >= $0 } ?? false
        }
        let outcome: ChildProcess.Outcome
        do throws(ChildProcess.Failure) { outcome = try process.run() } catch {
            if let signal = Interruption.recorded { throw Interruption.error(signal: signal) }
            throw error.error(setting: "--to", command: [Self.program])
        }
        guard outcome.status.isSuccess else {
            throw OIDCError(
                .unreachable, "ssh to \(DisplayText.clean(host)) \(outcome.status)",
                hint: .text("ssh \(ShellWord.quoted(host)) mktemp -d"))
        }
        // A startup file there may print something first.
        let lines = String(decoding: outcome.output, as: UTF8.self).pieces(between: "\n").map {
            ASCII.trimmed($0)
        }
        guard let folder = lines.last(where: { !$0.isEmpty }), Self.isPlain(folder, limit: 90) else {
            throw OIDCError(
                .failed, "mktemp -d on \(DisplayText.clean(host)) printed no path that can be used",
                hint: .text("ssh \(ShellWord.quoted(host)) mktemp -d"))
        }
        return folder
    }

    private var childEnvironment: Variables {
        ProcessEnvironment.withoutSecrets(environment, and: withheld)
    }

    /// Starts the command, or a login shell, with the socket forwarded. It gets the terminal and our signals.
    func start(_ folder: String, socket path: String) throws(OIDCError) -> ForegroundChild {
        guard Self.isPlain(path, limit: 100) else {
            throw .usage(
                "ssh cannot forward the socket \(DisplayText.clean(path)): its path has characters other than letters, "
                    + "digits and ._-/, or is too long",
                hint: "set XDG_RUNTIME_DIR to a directory of your own")
        }
        do throws(Errno) {
            return try Executable.start(
                arguments(folder, path).map { RawArgument($0) }, named: Self.program, in: environment,
                setting: [:],
                removing: ProcessEnvironment.secretVariables(in: environment)
                    + ProcessEnvironment.jobVariables + withheld)
        } catch {
            throw OIDCError(.failed, "ssh cannot be run: \(error)", hint: error.startHint)
        }
    }

    /// Returns the command line of ssh. Connection sharing is off, as a shared connection would keep the
    /// socket open.
    private func arguments(_ folder: String, _ path: String) -> [String] {
        let hasTerminal = FileDescriptor.standardInput.isTerminal
        let options = [
            "ExitOnForwardFailure=yes", "ControlMaster=no", "ControlPath=none",
        ]
        let far = "exec \(quoted.script) \(folder) \(quoted.command)"
        return [Self.program, "-R", "\(folder)/\(Self.socket):\(path)"] + options.flatMap { ["-o", $0] }
            + Self.ownCommand + [hasTerminal ? "-t" : "-T", "--", host, far]
    }

    /// The script that runs the words after the folder, or a login shell, and then removes the folder, but
    /// only if it is empty, as that machine could print any path.
    private static let script =
        "trap : INT; trap 'exit 129' HUP; trap 'exit 143' TERM; "
        + "trap 'rm -f \"$0/\(socket)\"; rmdir \"$0\"' EXIT; "
        + "OIDC_LENT=\"$0/\(socket)\"; export OIDC_LENT; "
        + "if [ $# -gt 0 ]; then \"$@\"; else \"${SHELL:-/bin/sh}\" -l; fi"

    /// Removes the folder after a broken connection or a signal, unless ssh would have to prompt.
    func removeFolder(_ folder: String) {
        var process = ChildProcess(
            [
                Self.program, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5",
            ] + Self.ownCommand + ["--", host, "rm -f \(folder)/\(Self.socket); rmdir \(folder)"],
            environment: childEnvironment)
        process.milliseconds = 10_000
        _ = Interruption.postponed { try? process.run() }
    }

    /// The status with which ssh ends if the connection failed.
    static let connectionFailed: Int32 = 255

    // MARK: Words

    /// Returns a command line that means the same to every login shell: sh, csh and fish agree on a backslash before
    /// each character that is not plain, and on nothing else.
    static func quoted(_ words: [String]) throws(OIDCError) -> String {
        var quoted: [String] = []
        for word in words {
            guard !word.utf8.contains(where: { ASCII.isControl($0) }) else {
                throw .usage(
                    "a word of the command has a line break or another control character, which shells quote differently",
                    hint: "put the command into a script on that machine")
            }
            quoted.append(
                word.isEmpty
                    ? "''"
                    : word.utf8.reduce(into: [UInt8]()) { bytes, byte in
                        if byte < 0x80, !isPlain(byte) { bytes.append(.backslash) }
                        bytes.append(byte)
                    }.text)
        }
        return quoted.joined(separator: " ")
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        ASCII.isAlphanumeric(byte) || "_-./:,+@".utf8.contains(byte)
    }

    /// Returns whether a path needs no quoting anywhere, also not for ssh.
    private static func isPlain(_ path: String, limit: Int) -> Bool {
        path.hasPrefix("/") && path.utf8.count <= limit
            && path.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "_-./".utf8.contains($0) }
    }
}

extension [UInt8] {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
