import CPlatform

/// Finding programs, and letting one take our place.
package enum Executable {
    private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

    /// The path of a program: a name with a `/` as it stands, another one along `PATH`. Relative entries of
    /// `PATH` count only when asked for, as a program of the working directory is seldom the one meant.
    package static func find(
        _ name: String, in environment: [String: String], acceptingRelative: Bool = false
    ) throws(Errno) -> String {
        guard !name.isEmpty else { throw .noSuchFile }
        if name.utf8.contains(0x2F) {
            try Spawn.isExecutableFile(name).get()
            return name
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

    /// Puts a program in the place of this one, as `env` does: along `PATH`, with this process's environment
    /// but for what is set and removed. Returns only when that failed, with the status that `env` gives then:
    /// 127 for a program that is not there, 126 for one that can't be run.
    package static func replaceThisProcess(
        _ command: [RawArgument], setting: [String: String] = [:], removing: [String] = []
    ) -> (reason: Errno, status: Int32) {
        for name in removing { ProcessEnvironment.remove(name) }
        for (name, value) in setting { ProcessEnvironment.set(name, to: value) }
        oidc_restore_dumps()
        let reason = Spawn.replace(command)
        return (reason, status(reason))
    }

    /// What `replaceThisProcess` would fail with, before it is tried; nil where the program is found.
    package static func problem(
        _ program: String, in environment: [String: String]
    ) -> (reason: Errno, status: Int32)? {
        do throws(Errno) {
            _ = try find(program, in: environment, acceptingRelative: true)
            return nil
        } catch {
            return (error, status(error))
        }
    }

    private static func status(_ reason: Errno) -> Int32 {
        reason == .noSuchFile ? 127 : 126
    }
}

/// An argument byte for byte: the names of files need not be UTF-8.
package struct RawArgument: Hashable, Sendable {
    /// Ended by a zero.
    let bytes: [CChar]

    package init(_ text: String) {
        bytes = Array(text.utf8CString)
    }

    private init(_ pointer: UnsafePointer<CChar>) {
        var bytes: [CChar] = []
        var position = pointer
        while position.pointee != 0 {
            bytes.append(position.pointee)
            position += 1
        }
        self.bytes = bytes + [0]
    }

    /// The last arguments that this process was started with.
    package static func last(_ count: Int) -> [RawArgument] {
        let total = Int(CommandLine.argc)
        return (max(0, total - count)..<total).compactMap { index in
            CommandLine.unsafeArgv[index].map { RawArgument($0) }
        }
    }
}
