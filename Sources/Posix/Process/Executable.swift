import CPlatform
import OIDCCore

/// Functions that find programs, and replace this process by one.
package enum Executable {
    private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

    /// Finds a program: a name with a `/` is used as it is, others are searched in `PATH`, or, with `ProgramRule.only`, taken
    /// from its list.
    ///
    /// Relative entries of `PATH` count only if `acceptingRelative` is true, as a program in the working
    /// directory is seldom the intended one.
    package static func find(
        _ name: String, in environment: Variables, acceptingRelative: Bool = false
    ) throws(Errno) -> String {
        guard !name.isEmpty else { throw .noSuchFile }
        if name.utf8.contains(.slash) {
            try Spawn.isExecutableFile(name).get()
            return name
        }
        if let programs = ProgramRule.programs {
            guard let program = programs[name] else { throw .noSuchFile }
            return program
        }
        var failure = Errno.noSuchFile
        let path = environment["PATH"] ?? usualPath
        for entry in path.split(separator: ":", omittingEmptySubsequences: false) {
            guard acceptingRelative || entry.hasPrefix("/") else { continue }
            let candidate = entry.isEmpty ? "./\(name)" : "\(entry)/\(name)"
            switch Spawn.isExecutableFile(candidate) {
            case .success: return candidate
            case .failure(.permissionDenied): failure = .permissionDenied
            case .failure: continue
            }
        }
        throw failure
    }

    /// Replaces this process by a program, as `env` does, with variables set and removed. Returns only on
    /// failure, with the exit status of `env`: 127 if the program is not found, 126 if it cannot be run.
    package static func replaceThisProcess(
        _ command: [RawArgument], setting: Variables = [:], removing: [String] = []
    ) -> (reason: Errno, status: Int32) {
        for name in removing { ProcessEnvironment.remove(name) }
        for name in setting.names() { ProcessEnvironment.set(name, to: setting[name] ?? "") }
        oidc_restore_dumps()
        let reason = Spawn.replace(command)
        return (reason, status(reason))
    }

    /// Starts a program with the variables that `replaceThisProcess` would set, as a child. It gets our
    /// signals, or its first grandchild does if `signalingGrandchild` is true. Throws the reason if the
    /// program cannot be run; `status` maps that to an exit status.
    package static func start(
        _ command: [RawArgument], named name: String, in environment: Variables,
        setting: Variables, removing: [String], signalingGrandchild: Bool = false
    ) throws(Errno) -> ForegroundChild {
        let path = try find(name, in: environment, acceptingRelative: true)
        oidc_restore_dumps()
        defer { _ = oidc_forbid_dumps() }
        let child = try ForegroundChild(
            try Spawn.startInPlace(path, command, setting: setting, removing: removing),
            keepsSignals: signalingGrandchild)
        if signalingGrandchild { child.signalGrandchild() }
        return child
    }

    /// Returns the error that `replaceThisProcess` would return; nil if the program is found.
    package static func problem(
        _ program: String, in environment: Variables
    ) -> (reason: Errno, status: Int32)? {
        do throws(Errno) {
            _ = try find(program, in: environment, acceptingRelative: true)
            return nil
        } catch {
            return (error, status(error))
        }
    }

    /// Returns the exit status that `env` has if a program cannot be run; 1 if the machine lacks a resource.
    package static func status(_ reason: Errno) -> Int32 {
        if reason.startHint != nil { return 1 }
        return reason == .noSuchFile ? 127 : 126
    }
}

/// An argument as bytes, as file names need not be UTF-8.
package struct RawArgument: Hashable, Sendable {
    /// The bytes, terminated by zero.
    let bytes: [CChar]

    package init(_ text: String) {
        bytes = Array(text.utf8CString)
    }

    init(_ pointer: UnsafePointer<CChar>) {
        var bytes: [CChar] = []
        var position = pointer
        while position.pointee != 0 {
            bytes.append(position.pointee)
            position += 1
        }
        self.bytes = bytes + [0]
    }

    /// Returns the last arguments of this process.
    package static func last(_ count: Int) -> [RawArgument] {
        var total: Int32 = 0
        let words = oidc_arguments(&total)
        return (max(0, Int(total) - count)..<Int(total)).compactMap { index in
            words?[index].map { RawArgument($0) }
        }
    }
}
