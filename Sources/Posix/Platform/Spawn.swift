import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The way a program ended.
package enum ExitStatus: Hashable, Sendable {
    case exited(Int32)
    case signaled(Int32)

    package var isSuccess: Bool { self == .exited(0) }
}

extension ExitStatus: CustomStringConvertible {
    /// The end of a sentence about a program: "exited with 1", "was ended by SIGKILL".
    package var description: String {
        switch self {
        case .exited(let status): "exited with \(status)"
        case .signaled(let number): "was ended by \(Interruption.name(ofSignal: number))"
        }
    }
}

/// A started program, which has to be reaped.
package struct Child: Hashable, Sendable {
    let processID: Int32

    /// Returns the status of the program; nil while it runs. If other code has reaped it, it counts as
    /// successful.
    func reap() -> ExitStatus? { status(by: oidc_reap) }

    /// Waits for the end of the program and returns its status.
    package func awaitEnd() -> ExitStatus { status(by: oidc_await_end) ?? .exited(0) }

    private func status(
        by wait: (pid_t, UnsafeMutablePointer<Int32>?, UnsafeMutablePointer<Int32>?) -> Int32
    ) -> ExitStatus? {
        var status: Int32 = -1
        var signal: Int32 = -1
        switch wait(processID, &status, &signal) {
        case 0: return nil
        case 1: return signal >= 0 ? .signaled(signal) : .exited(status)
        default: return .exited(0)
        }
    }

    func terminate() { Child.signal(processID, SIGTERM) }
    func kill() { Child.signal(processID, SIGKILL) }

    static func signal(_ processID: Int32, _ number: Int32) {
        #if canImport(Darwin)
            _ = Darwin.kill(processID, number)
        #else
            _ = Glibc.kill(processID, number)
        #endif
    }
}

/// The standard descriptors of a child; nil means `/dev/null`.
package struct StandardStreams {
    var input: FileDescriptor?
    var output: FileDescriptor?
    var errors: FileDescriptor?

    package init(input: FileDescriptor? = nil, output: FileDescriptor? = nil, errors: FileDescriptor? = nil) {
        self.input = input
        self.output = output
        self.errors = errors
    }

    static let inherited = StandardStreams(
        input: .standardInput, output: .standardOutput, errors: .standardError)
}

/// Functions that start programs without a shell.
package enum Spawn {
    package struct Options: OptionSet {
        package let rawValue: Int32

        package init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// A new session, without our terminal and its signals.
        package static let newSession = Options(rawValue: Int32(OIDC_SPAWN_NEW_SESSION))
        package static let closeOthers = Options(rawValue: Int32(OIDC_SPAWN_CLOSE_OTHERS))
    }

    package static func start(
        _ path: String, arguments: [String], environment: Variables, streams: StandardStreams,
        options: Options = []
    ) throws(Errno) -> Child {
        let variables = environment.entries
        // A RawArgument would end at the zero.
        guard (arguments + variables).allSatisfy({ !$0.utf8.contains(0) }) else { throw Errno(EINVAL) }
        return try start(
            path, arguments.map { RawArgument($0) }, variables.map { RawArgument($0) }, streams, options)
    }

    /// Starts a program with our standard descriptors, and this process's environment with changes. A script
    /// without an interpreter line is run by the shell, as with `execvp`.
    static func startInPlace(
        _ path: String, _ command: [RawArgument], setting: Variables, removing: [String]
    ) throws(Errno) -> Child {
        let environment = rawEnvironment(setting: setting, removing: removing)
        do throws(Errno) {
            return try start(path, command, environment, .inherited)
        } catch {
            guard error == .notExecutable else { throw error }
            let shell = [RawArgument("sh"), RawArgument(path)] + command.dropFirst()
            return try start("/bin/sh", shell, environment, .inherited)
        }
    }

    private static func start(
        _ path: String, _ command: [RawArgument], _ environment: [RawArgument], _ streams: StandardStreams,
        _ options: Options = []
    ) throws(Errno) -> Child {
        let (argv, envp) = (makeVector(command), makeVector(environment))
        defer {
            release(argv, count: command.count)
            release(envp, count: environment.count)
        }
        var processID: pid_t = -1
        let code = oidc_spawn(
            &processID, path, argv, envp, streams.input?.rawValue ?? -1, streams.output?.rawValue ?? -1,
            streams.errors?.rawValue ?? -1, options.rawValue)
        guard code == 0 else { throw Errno(code) }
        return Child(processID: processID)
    }

    private static func rawEnvironment(setting: Variables, removing: [String]) -> [RawArgument] {
        let replaced = Set(setting.names()).union(removing)
        var variables: [RawArgument] = []
        if let entries = oidc_environment() {
            var index = 0
            while let text = entries[index] {
                index += 1
                let name = String(cString: text).prefix { $0 != "=" }
                if !replaced.contains(String(name)) { variables.append(RawArgument(text)) }
            }
        }
        return variables + setting.entries.sorted().map { RawArgument($0) }
    }

    private static func makeVector(_ words: [RawArgument]) -> Vector {
        let vector = Vector.allocate(capacity: words.count + 1)
        for (index, word) in words.enumerated() { vector[index] = strdup(word.bytes) }
        vector[words.count] = nil
        return vector
    }

    /// Replaces this process by a program; returns only if that failed.
    static func replace(_ command: [RawArgument]) -> Errno {
        guard let program = command.first else { return .noSuchFile }
        let argv = makeVector(command)
        defer { release(argv, count: command.count) }
        oidc_restore_broken_pipes()
        _ = execvp(program.bytes, argv)
        let reason = Errno.last
        oidc_ignore_broken_pipes()
        return reason
    }

    package static func isExecutableFile(_ path: String) -> Result<Void, Errno> {
        var information = stat()
        guard stat(path, &information) == 0 else { return .failure(.last) }
        guard FileStatus(information).kind == .regular else { return .failure(.permissionDenied) }
        return access(path, X_OK) == 0 ? .success(()) : .failure(.last)
    }

    private typealias Vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    private static func release(_ vector: Vector, count: Int) {
        for index in 0..<count { free(vector[index]) }
        vector.deallocate()
    }
}
