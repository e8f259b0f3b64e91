import OIDCCore
import OIDCSessions
import OIDCShared
import Posix

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The sandbox that hides this user's sessions from the command of `exec --proxy`. Without it, a program of
/// the same user can read the store and run `oidc token` itself.
///
/// bubblewrap starts the command in a namespace of processes of its own, so it cannot look into this one, and mounts
/// empty directories over the sessions, the settings and the sockets of the user's own services.
struct Isolation {
    private let program: String
    private let environment: Variables
    private let directories: [String]
    private let files: [String]
    /// The files that the command can read but not change.
    private let unchanged: [String]
    /// The programs that are run outside while the command runs, by their names.
    private let programs: [String: String]
    /// The variables with secrets that the settings of any profile name, also those from which their commands print a
    /// secret.
    let secretVariables: [String]

    /// Finds bubblewrap, and checks that it can make the sandbox here.
    init(_ provider: ProviderContext) throws(OIDCError) {
        let context = provider.context
        environment = context.environment
        do throws(Errno) { program = try Executable.find("bwrap", in: environment) } catch {
            throw OIDCError(
                .failed, "--isolate: bubblewrap, which hides the sessions from the command, is not installed",
                hint: "install the package bubblewrap")
        }
        let own = StateDirectories(environment: environment)
        own.createAll()
        let configuration = context.settingsLoader.path
        let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        // The command would find these without a variable, too.
        let known = [
            "/run/user/\(FileStatus.currentUser)", SubjectToken.kubernetesDirectory, Isolation.displays,
            // Windows Subsystem for Linux: programs of Windows, which can start others here, and its displays.
            "/run/WSL", "/mnt/wslg",
        ]
        let usual = Isolation.usual(environment).flatMap { environment -> [String?] in
            let place = StateDirectories(environment: environment)
            // A later sign-in without these variables stores its session there.
            place.createAll()
            return [
                place.state, place.cache,
                place.configuration.flatMap(StateDirectories.ownDirectory(ofConfiguration:)),
            ]
        }
        // Of a configuration elsewhere, only the file is hidden, not its directory, which may be that of a project.
        let places = ([own.state, own.cache] + usual).compactMap { $0 }
        try Isolation.refuseLinks(places)
        let hidden = (places + [runtime].compactMap { $0 } + known).compactMap(UserFile.resolved)
        if let configuration, FilePath.isInherited(configuration) {
            throw Isolation.inherited(configuration, named: "the configuration")
        }
        let inUse = try Isolation.settingsInUse(provider)
        let configurations = Isolation.configurations(context)
        let all = inUse + configurations.dropFirst().flatMap { Isolation.settings(in: $0, context) }
        secretVariables = all.flatMap { $0.secretVariables + $0.variablesOfSecretCommands }
        let named =
            try Isolation.secretFiles(all) + configurations.compactMap(\.path)
            + Isolation.storeSockets(all, environment)
            + [environment["XAUTHORITY"], environment["HOME"].map { "\($0)/.Xauthority" }].compactMap { $0 }
            + Isolation.displaySockets(environment)
            + Isolation.busAddresses(environment).compactMap(Isolation.socket(ofBus:))
        try Isolation.checkBus(inUse, context)
        Isolation.checkDisplay(context.console)
        Isolation.checkMachine(inUse, context.console)
        let mounts = MountTable.current
        let directories = Array(Set(hidden + hidden.flatMap(mounts.otherPaths))).sorted()
        self.directories = directories
        // A configuration may be a link to a file elsewhere.
        let found = named.compactMap(UserFile.resolved).filter { file in
            // A secret may be named as /dev/stdin, which may be a device that others need.
            ![.device, .directory].contains((try? FilePath.status(file))?.kind)
                && !directories.contains { file.hasPrefix($0 + "/") }
        }
        let files = Array(Set(found + found.flatMap(mounts.otherPaths))).sorted()
        self.files = files
        programs = Isolation.files(of: Isolation.helpers(inUse), environment)
        unchanged = Set(programs.values).filter { file in
            !files.contains(file) && !directories.contains { file.hasPrefix($0 + "/") }
        }.sorted()
        try check()
        if let agent = programs.keys.min() {
            context.console.warn(
                "--isolate: \(agent) is run while the command runs, which can change what it calls and reads")
        }
    }

    /// Keeps what programs answer from now on, for the time when the command runs.
    static func keepAnswers() { ProgramRule.use(.keepingAnswers) }

    /// Runs only the programs of now from now on.
    func runOnlyKeptPrograms() { ProgramRule.use(.only(programs)) }

    /// Returns the programs that are run outside while the command runs: Buildkite's agent, as its tokens are short-lived.
    private static func helpers(_ inUse: [Settings]) -> [String] {
        let sources = inUse.flatMap { settings in
            [Setting.subjectTokenSource, .clientAssertionSource].map { settings.layers.text($0) }
        }
        return sources.contains(SubjectTokenSource.buildkite.rawValue) ? ["buildkite-agent"] : []
    }

    /// Returns the files of programs, by their names.
    private static func files(of names: [String], _ environment: Variables) -> [String: String] {
        var programs: [String: String] = [:]
        for name in names {
            let path = (try? Executable.find(name, in: environment)).flatMap(UserFile.resolved)
            if let path { programs[name] = path }
        }
        return programs
    }

    /// Returns environments without the variables that name the user's own directories: the command may remove them, and
    /// then use the default ones.
    private static func usual(_ environment: Variables) -> [Variables] {
        [["OIDC_"], ["OIDC_", "XDG_"]].map { prefixes in
            environment.filter { name in !prefixes.contains { name.hasPrefix($0) } }
        }
    }

    /// Returns the settings in use, and those of every profile beside them.
    private static func settingsInUse(_ provider: ProviderContext) throws(OIDCError) -> [Settings] {
        let file = try provider.context.settingsLoader.file()
        guard let file else { return [provider.settings] }
        return [provider.settings] + (try settings(of: file, provider.context))
    }

    /// Returns the configuration in use, and those that the command would find with another `--config`, `OIDC_CONFIG` or
    /// home.
    private static func configurations(_ context: CommandContext) -> [SettingsLoader] {
        var seen: Set<String> = []
        let others = ([context.environment] + usual(context.environment)).map {
            SettingsLoader(environment: $0, common: CommonOptions())
        }
        return ([context.settingsLoader] + others).filter { loader in
            guard let path = loader.path else { return false }
            let file = UserFile.resolved(path) ?? path
            let isInUse = seen.isEmpty
            return seen.insert(file).inserted
                && (isInUse || (try? FilePath.status(file))?.kind == .regular)
        }
    }

    /// Returns the settings of the profiles in a configuration that is not in use. What they name is not for the command
    /// either.
    private static func settings(in loader: SettingsLoader, _ context: CommandContext) -> [Settings] {
        guard loader.path.flatMap(UserFile.resolved) != nil else { return [] }
        do throws(OIDCError) {
            guard let file = try loader.file() else { return [] }
            return try settings(of: file, context)
        } catch {
            var error = error
            // The hint would be about the file in use.
            error.hint = nil
            context.console.warn(
                error, "--isolate: the secret files and sockets that this file names are not hidden")
            return []
        }
    }

    private static func settings(
        of file: ConfigurationFile, _ context: CommandContext
    ) throws(OIDCError) -> [Settings] {
        var all: [Settings] = []
        for profile in file.profiles {
            all.append(try file.settings(of: profile.name, home: context.environment["HOME"]))
        }
        return all
    }

    /// Returns the sockets of every shared store and lender that a profile, an option or a variable names. Those of this
    /// user's own lenders are in the hidden directories, unless they were put elsewhere.
    private static func storeSockets(_ all: [Settings], _ environment: Variables) -> [String] {
        let named = all.flatMap { $0.layers.given }
            .filter { $0.setting == .store }
            .compactMap { entry in
                entry.value.string.flatMap {
                    LentSocket.path(inSetting: $0) ?? (try? SharedStoreURL($0))?.socket
                }
            }
        let variable = environment[LentSocket.variable].flatMap { $0.isEmpty ? nil : $0 }
        return (named + [variable].compactMap { $0 }).map { SettingFile.path($0, home: environment["HOME"]) }
    }

    /// Returns the secret files of every profile, and of the options and variables. Refuses an open one of the settings in
    /// use, the first, as the command would inherit it.
    private static func secretFiles(_ all: [Settings]) throws(OIDCError) -> [String] {
        let settings: [Setting] = [
            .clientSecretFile, .privateKeyFile, .privateKeyPassphraseFile, .decryptionKeyFile,
            .tlsClientKey, .callbackKey, .storeKeyFile, .subjectTokenFile, .actorTokenFile,
        ]
        let files = all.map { one in settings.compactMap { one.layers.file($0) } }
        for file in files.first ?? [] where FilePath.isInherited(file.path) {
            throw inherited(file.path, named: file.name)
        }
        return files.joined().map(\.path)
    }

    private static func inherited(_ path: String, named name: String) -> OIDCError {
        .usage(
            "--isolate: \(name) is \(DisplayText.clean(path)), which is open, so the command could read it too",
            hint: "name the file itself, without a redirection from it, or a command that prints the secret")
    }

    /// Returns the addresses of the session bus, which are tried in turn.
    private static func busAddresses(_ environment: Variables) -> [String] {
        (environment["DBUS_SESSION_BUS_ADDRESS"] ?? "").split(separator: ";").map(String.init)
            .filter { $0.utf8.contains(.colon) && !$0.hasPrefix("disabled:") }
    }

    /// Returns the path of a D-Bus socket; nil for an address without one, or with an escaped one.
    private static func socket(ofBus address: String) -> String? {
        guard let start = address.pieces(between: "path=").dropFirst().first else { return nil }
        let path = start.utf8.prefix { $0 != .comma }
        return path.contains(.percent) ? nil : String(Substring(path))
    }

    /// Warns of a session bus that no directory hides: an abstract socket belongs to the network, which the command shares
    /// to reach the proxy. Refuses it if that bus leads to the keychain that has the sessions.
    private static func checkBus(_ inUse: [Settings], _ context: CommandContext) throws(OIDCError) {
        let addresses = busAddresses(context.environment)
        guard let bus = addresses.first(where: { socket(ofBus: $0) == nil }) else { return }
        let message =
            "--isolate: the session bus at \(DisplayText.clean(bus, limit: 200)) cannot be hidden from the command"
        guard !inUse.contains(where: { ["keychain", "helper:secretservice"].contains($0.store) }) else {
            throw OIDCError(
                .failed, "\(message), and leads to the keychain with the sessions",
                hint: .run("config set", "store=file"))
        }
        context.console.warn("\(message): what listens there can act for it outside")
    }

    /// Warns if a profile or a variable takes its identity from the machine's metadata service: that gives it to every
    /// program on the machine.
    private static func checkMachine(_ inUse: [Settings], _ console: Console) {
        let isUsed = inUse.contains { settings in
            [Setting.subjectTokenSource, .clientAssertionSource].contains {
                settings.layers.text($0) == SubjectTokenSource.googleMetadata.rawValue
            }
        }
        guard isUsed else { return }
        console.warn(
            "--isolate: the machine's metadata service cannot be hidden from the command, which can get the same identity "
                + "token there and redeem it")
    }

    /// The directory with the sockets of X11 displays.
    private static let displays = "/tmp/.X11-unix"

    /// Returns the sockets of displays that variables name by their paths: libwayland takes any, and libxcb one with or
    /// without the number of a screen.
    private static func displaySockets(_ environment: Variables) -> [String] {
        var paths = [environment["WAYLAND_DISPLAY"]].compactMap { $0 }
        if let display = environment["DISPLAY"] {
            let path = display.hasPrefix("unix:") ? String(display.dropFirst(5)) : display
            paths += [path, path.pieces(between: ".").dropLast().joined(separator: ".")]
        }
        return paths.filter { $0.hasPrefix("/") }
    }

    /// Warns of an X11 display that no directory hides: it may take keys that the command sends to a terminal of the user.
    private static func checkDisplay(_ console: Console) {
        guard let sockets = try? UserFile.read("/proc/net/unix", limit: 16_777_216, named: "unix"),
            let name = String(decoding: sockets.bytes, as: UTF8.self).split(separator: "\n")
                .compactMap({ $0.split(separator: " ").last }).first(where: { $0.hasPrefix("@\(displays)/") })
        else { return }
        console.warn(
            "--isolate: the display at \(DisplayText.clean(String(name), limit: 200)) cannot be hidden from the "
                + "command, which can type into other windows if it is admitted without a cookie")
    }

    /// Refuses a link on the way to a directory that the command could replace with a directory of its own:
    /// it could then read what is stored there later.
    private static func refuseLinks(_ paths: [String]) throws(OIDCError) {
        for path in paths {
            var place = path
            while place != "/", place != "." {
                let parent = FilePath.split(place).directory
                if (try? FilePath.status(place))?.kind == .symbolicLink, FilePath.isWritable(parent) {
                    throw OIDCError(
                        .failed,
                        "--isolate: \(DisplayText.clean(place)) is a link, which the command could replace",
                        hint: "put the directory itself there")
                }
                place = parent
            }
        }
    }

    /// The directories above what is hidden, outermost first. Each is mounted onto itself: a directory that
    /// only contains a mount could be moved away with it, but not one that is a mount.
    private var pinned: [String] {
        var pinned: Set<String> = []
        for path in directories + files + unchanged {
            var parent = FilePath.split(path).directory
            while parent != "/", parent != "." {
                pinned.insert(parent)
                parent = FilePath.split(parent).directory
            }
        }
        return pinned.filter { path in !directories.contains { path == $0 || path.hasPrefix($0 + "/") } }
            .sorted { $0.utf8.count < $1.utf8.count }
    }

    /// Whether a program could type into the terminal that it shares with the shell (CVE-2017-5226), also if its
    /// streams are redirected. Linux 6.2 and later can forbid it.
    private static var isTypingPossible: Bool {
        let streams: [FileDescriptor] = [.standardInput, .standardOutput, .standardError]
        let isOnTerminal = Terminal.isControlling || streams.contains(where: \.isTerminal)
        let setting = try? UserFile.read(
            "/proc/sys/dev/tty/legacy_tiocsti", limit: 16, named: "legacy_tiocsti")
        return isOnTerminal && setting?.bytes.first != 0x30
    }

    /// The arguments of bubblewrap before the command. The command is not the first process of its namespace, so
    /// signals end it as usual; `env` undoes what the shell does in `launchWords`.
    private var arguments: [String] {
        let hidden =
            pinned.flatMap { [Isolation.isRoot ? "--bind" : "--dev-bind", $0, $0] }
            + directories.flatMap { ["--tmpfs", $0] } + files.flatMap { ["--ro-bind", "/dev/null", $0] }
            + unchanged.flatMap { ["--ro-bind", $0, $0] }
        let reset =
            [(SIGINT, "INT"), (SIGQUIT, "QUIT"), (SIGTERM, "TERM"), (SIGHUP, "HUP")]
            .filter { !Interruption.isIgnored($0.0) }.map(\.1) + (Isolation.isTypingPossible ? ["TSTP"] : [])
        let (start, end) =
            Isolation.isRoot
            ? (
                ["--cap-drop", "ALL", "--bind", "/", "/"],
                ["--remount-ro", "/proc", "--dev", "/dev", "--ro-bind-try", "/sys", "/sys"]
            ) : (["--dev-bind", "/", "/"], [])
        // If the command could create a namespace of its own, it could move even the mounts.
        return start + hidden + ["--proc", "/proc"] + end
            + ["--unshare-pid", "--die-with-parent", "--unshare-user", "--disable-userns"]
            + (Isolation.isTypingPossible ? ["--new-session"] : []) + ["--"]
            + (reset.isEmpty ? [] : ["/usr/bin/env", "--default-signal=\(reset.joined(separator: ","))"])
    }

    /// Returns the words before a command that `env` would take for an option or a variable, such as `./date=2026/run`.
    private func wrapper(for name: String) -> [String] {
        guard name.hasPrefix("-") || name.includes("="),
            let path = try? Executable.find(name, in: environment, acceptingRelative: true)
        else { return [] }
        let script = #"file=$1; shift 2; exec "$file" "$@""#
        return [Isolation.shell, "-c", script, "sh", path.hasPrefix("-") ? "./\(path)" : path]
    }

    /// Whether the command would be root's. With root's capabilities, it could mount the hidden directories elsewhere;
    /// without them, devices and the kernel's settings are still files of its own.
    private static let isRoot = FileStatus.currentUser == 0

    /// Returns the words to run before those of a command with this name.
    ///
    /// Signals to the group, as from a terminal or `timeout`, reach bubblewrap too, which would end the command with itself.
    func launchWords(for name: String) -> [RawArgument] {
        let isElsewhere = Isolation.isTypingPossible
        let signals = "INT QUIT TERM HUP" + (isElsewhere ? " TSTP" : "")
        // In a session of its own, the command would read what is typed for the shell, which has the terminal now.
        let isBehind =
            FileDescriptor.standardInput.isTerminal && !Terminal.isForeground(.standardInput) && isElsewhere
        let script = "trap '' \(signals); exec \"$@\"\(isBehind ? " </dev/null" : "")"
        let words = ["sh", "-c", script, "sh", program] + arguments + wrapper(for: name)
        return words.map { RawArgument($0) }
    }

    /// Ignores ^Z if the command is in a session of its own: only this process would stop, and the command would go on and
    /// read what is typed for the shell.
    func ignoreStops() {
        if Isolation.isTypingPossible { Terminal.ignoreStops() }
    }

    /// The program of `launchWords`.
    static let shell = "/bin/sh"

    /// Variables that lead to services which would act for the command outside.
    static let variables = ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "XAUTHORITY", LentSocket.variable]

    private func check() throws(OIDCError) {
        var process = ChildProcess([program] + arguments + ["true"], environment: environment)
        process.errorOutput = .captured
        let outcome: ChildProcess.Outcome
        do { outcome = try process.run() } catch {
            throw error.error(setting: "--isolate", command: [program])
        }
        guard !outcome.status.isSuccess else { return }
        let words = DisplayText.clean(String(decoding: outcome.errorOutput, as: UTF8.self), limit: 300)
        throw OIDCError(
            .failed, "--isolate: bubblewrap cannot hide the sessions on this machine: \(words)",
            hint:
                "install bubblewrap 0.8 or later, and allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
        )
    }
}
