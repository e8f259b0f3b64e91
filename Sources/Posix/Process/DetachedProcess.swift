import CPlatform
import OIDCCore

/// A process of this program that outlives the command which starts it, for a short task.
///
/// The program is executed again, so the process has nothing of the command's memory, variables, locks or
/// threads: a fork without `exec` would keep every token in memory and may not run Swift code if there were
/// threads. It has a session of its own, the root directory, no parent that would have to reap it, and no
/// descriptors except those it is given, so `$(…)` and pipes end with the command. Its arguments contain only the
/// name of the task; `input` reaches it through a pipe.
package struct DetachedProcess {
    /// The only argument, before the name of the task. It is not part of the command line's grammar.
    private static let option = "--detached="

    private static let inputLimit = 1 << 20

    /// The name of the task.
    let task: String
    /// The standard input of the task, at most `inputLimit` bytes.
    let input: [UInt8]
    /// Descriptors that the task gets as standard output and standard error; `/dev/null` if nil.
    var output: FileDescriptor?
    var errors: FileDescriptor?

    package init(task: String, input: [UInt8], output: FileDescriptor? = nil, errors: FileDescriptor? = nil) {
        self.task = task
        self.input = input
        self.output = output
        self.errors = errors
    }

    /// Returns the name of the task if a process was started for one.
    package static func task(in arguments: [String]) -> String? {
        guard arguments.count == 1, let word = arguments.first, word.hasPrefix(option) else { return nil }
        return String(word.dropFirst(option.count))
    }

    /// Starts the process, and returns when it has left this process's children.
    package func start() throws(Errno) {
        guard input.count <= DetachedProcess.inputLimit else { throw .noBuffers }
        guard let path = oidc_executable_path() else { throw .noSuchFile }
        let pipe = try FileDescriptor.pipe()
        defer { pipe.reading.close() }
        let child: Child
        do throws(Errno) {
            // They name the directory of the Swift runtime, if it is not linked statically.
            let names = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"]
            let current = ProcessEnvironment.current
            let variables = names.compactMap { name in current[name].map { (name, $0) } }
            child = try Spawn.start(
                String(cString: path), arguments: ["oidc", DetachedProcess.option + task],
                environment: Variables(Dictionary(uniqueKeysWithValues: variables)),
                streams: StandardStreams(input: pipe.reading, output: output, errors: errors),
                options: [.newSession, .closeOthers])
        } catch {
            pipe.writing.close()
            throw error
        }
        let written = Result { () throws(Errno) in try pipe.writing.writeAll(input) }
        pipe.writing.close()
        let status = child.awaitEnd()
        try written.get()
        guard status.isSuccess else { throw .noSuchFile }
    }

    /// Leaves the process that started this one: what follows runs in a child of its own, and the parent ends
    /// with 0. Call it before anything has started a thread. Returns the standard input to its end; nil if
    /// the process was not started by `start`.
    package static func begin() -> [UInt8]? {
        guard oidc_detach() == 0 else { return nil }
        return try? FileDescriptor.standardInput.readAll(expected: 0, limit: inputLimit)
    }

    /// Returns the listening sockets that the process got as standard output and standard error, which `/dev/null`
    /// replaces.
    package static func takeListeners() -> [FileDescriptor] {
        [FileDescriptor.standardOutput, .standardError].compactMap { descriptor in
            guard oidc_is_listener(descriptor.rawValue) != 0 else { return nil }
            let moved = oidc_move_descriptor(descriptor.rawValue)
            return moved < 0 ? nil : FileDescriptor(rawValue: moved)
        }
    }
}
