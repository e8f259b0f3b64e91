package import OIDCCore
package import Posix

/// The directories of sessions, cache and configuration, from the environment (XDG Base Directory
/// Specification).
///
/// The home directory is not guessed. Relative paths in XDG variables are ignored, as that specification
/// requires; those in our own variables are relative to the working directory.
package struct StateDirectories {
    private let environment: Variables

    /// Creates the directories from the environment. An empty variable counts as unset.
    package init(environment: Variables) {
        self.environment = environment
    }

    /// The directory of sessions: `$OIDC_STATE_DIR`, `$XDG_STATE_HOME/oidc` or `~/.local/state/oidc`.
    package var state: String? {
        own("OIDC_STATE_DIR")
            ?? base("XDG_STATE_HOME", ".local/state").map { StateDirectories.join($0, "oidc") }
    }

    /// The directory of cached metadata and keys: `$OIDC_CACHE_DIR`, `$XDG_CACHE_HOME/oidc` or
    /// `~/.cache/oidc`.
    package var cache: String? {
        own("OIDC_CACHE_DIR")
            ?? base("XDG_CACHE_HOME", ".cache").map { StateDirectories.join($0, "oidc") }
    }

    /// The configuration file: `$OIDC_CONFIG`, `$XDG_CONFIG_HOME/oidc/config.json` or
    /// `~/.config/oidc/config.json`.
    package var configuration: String? {
        expanded("OIDC_CONFIG")
            ?? base("XDG_CONFIG_HOME", ".config").map { StateDirectories.join($0, "oidc/config.json") }
    }

    /// Creates this program's missing directories, if it can. A directory that does not exist cannot be
    /// hidden by a mount, and neither can what is stored there later.
    package func createAll() {
        let own = configuration.flatMap(StateDirectories.ownDirectory(ofConfiguration:))
        for path in [state, cache, own].compactMap({ $0 }) { _ = try? PrivateDirectory.create(path) }
    }

    /// Checks that sessions could be written to their directory. Leaves nothing behind.
    package func checkState() throws(OIDCError) {
        if let state { try PrivateDirectory.checkWritable(state) }
    }

    /// Returns the directory of a configuration file; nil if it is not this program's own, such as the working
    /// directory.
    package static func ownDirectory(ofConfiguration path: String) -> String? {
        let directory = FilePath.split(path).directory
        return FilePath.split(directory).name == "oidc" ? directory : nil
    }

    private func value(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func absolute(_ name: String) -> String? {
        value(name).flatMap { $0.utf8.first == .slash ? $0 : nil }
    }

    private func base(_ name: String, _ inHome: String) -> String? {
        absolute(name) ?? absolute("HOME").map { StateDirectories.join($0, inHome) }
    }

    /// Returns a path with `~/` expanded. A shell does that in an assignment; unit files and job files do not.
    private func expanded(_ name: String) -> String? {
        value(name).map { path in
            guard path.hasPrefix("~/"), let home = absolute("HOME") else { return path }
            return StateDirectories.join(home, String(path.dropFirst(2)))
        }
    }

    private func own(_ name: String) -> String? {
        expanded(name).map { FilePath.trimmed(UserFile.absolute($0)) }
    }

    private static func join(_ directory: String, _ name: String) -> String {
        let directory = FilePath.trimmed(directory)
        return directory == "/" ? "/\(name)" : "\(directory)/\(name)"
    }
}
