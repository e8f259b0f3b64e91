/// Finding programs, and letting one take our place.
public enum Executable {
    private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

    /// The path of a program: a name with a `/` as it stands, another one along `PATH`. Relative entries of
    /// `PATH` count only when asked for, as a program of the working directory is seldom the one meant.
    public static func find(
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

    /// Puts a program in the place of this one, as `env` does; returns only when that failed, with the status
    /// that a shell gives then: 127 for a program that is not there, 126 for one that can't be run.
    public static func replaceThisProcess(
        _ command: [String], environment: [String: String]
    ) -> (reason: Errno, status: Int32) {
        let reason = replacementFailure(command, environment: environment)
        return (reason, reason == .noSuchFile || reason == .notADirectory ? 127 : 126)
    }

    private static func replacementFailure(_ command: [String], environment: [String: String]) -> Errno {
        do throws(Errno) {
            let path = try find(command.first ?? "", in: environment, acceptingRelative: true)
            return Spawn.replace(path, arguments: command, environment: environment)
        } catch {
            return error
        }
    }
}
