import CPlatform
package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The command-line arguments of this process, and the environment variables for it and its children.
package enum ProcessEnvironment {
    /// The command-line arguments, starting with the name of the program.
    package static var arguments: [String] {
        var count: Int32 = 0
        let words = oidc_arguments(&count)
        return (0..<Int(count)).compactMap { index in words?[index].map { String(cString: $0) } }
    }

    package static var current: Variables {
        var entries: [String] = []
        var next = oidc_environment()
        while let text = next?.pointee {
            entries.append(String(cString: text))
            next = next?.advanced(by: 1)
        }
        return Variables(entries: entries)
    }

    /// Sets a variable for a program that replaces this process. Nothing else reads the environment in
    /// between.
    static func set(_ name: String, to value: String) {
        _ = setenv(name, value, 1)
    }

    /// The variables and the working directory of this process, for a process that acts in its place.
    package static var surroundings: JSONValue {
        [
            "environment": .array(current.entries.map { .string($0) }),
            "directory": .string(UserFile.currentDirectory),
        ]
    }

    /// Takes over the variables and the working directory of another process. Call it before anything has started a
    /// thread.
    package static func adopt(_ surroundings: JSONValue) {
        for entry in surroundings["environment"]?.array ?? [] {
            guard let parts = entry.string?.parts(around: "="), !parts.before.isEmpty else { continue }
            set(String(parts.before), to: String(parts.after))
        }
        // A failure is ignored: if the directory is gone, a relative path in a setting cannot name a file.
        if let directory = surroundings["directory"]?.string { _ = chdir(directory) }
    }

    /// Removes SSLKEYLOGFILE, so libcurl does not log the keys of our TLS connections. Children still get it,
    /// as their environment was read from `current` before.
    package static func forgetKeyLog() { remove(keyLog) }

    package static let keyLog = "SSLKEYLOGFILE"

    static func remove(_ name: String) {
        _ = unsetenv(name)
    }

    /// The variables that no child gets: the client's secret, and the identity tokens of CI jobs (GitHub
    /// Actions, GitLab, CircleCI, Bitbucket Pipelines, HCP Terraform), with which anyone could act as that
    /// job.
    package static let secretVariables = [
        "OIDC_CLIENT_SECRET", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "OIDC_ID_TOKEN", "CI_JOB_JWT",
        "CI_JOB_JWT_V1", "CI_JOB_JWT_V2", "CIRCLE_OIDC_TOKEN", "CIRCLE_OIDC_TOKEN_V2",
        "BITBUCKET_STEP_OIDC_TOKEN", "TFC_WORKLOAD_IDENTITY_TOKEN",
    ]

    /// The prefix of the names of tagged tokens (HashiCorp, "Manually generate workload identity tokens",
    /// read 2026-11).
    private static let taggedToken = "TFC_WORKLOAD_IDENTITY_TOKEN_"

    /// The credentials of a job at its CI system (Azure Pipelines, Buildkite), which can request its identity
    /// token and do whatever else the job may do. Only the job's own command gets them.
    package static let jobVariables = ["SYSTEM_ACCESSTOKEN", buildkiteAccess]

    /// The token with which Buildkite's agent requests the job's identity token.
    package static let buildkiteAccess = "BUILDKITE_AGENT_ACCESS_TOKEN"

    /// Returns the names of the variables that even the command of a job does not get.
    package static func secretVariables(in environment: Variables) -> [String] {
        secretVariables + environment.names(startingWith: taggedToken)
    }

    /// Returns the environment for a program from a setting, without the variables that hold secrets: the
    /// known ones and those in `more`.
    package static func withoutSecrets(
        _ environment: Variables, and more: [String] = []
    ) -> Variables {
        let secrets = secretVariables(in: environment) + jobVariables + more
        return environment.filter { !secrets.contains($0) }
    }

    /// Returns the environment for an unrelated program: without secrets and without any `OIDC_` variable.
    package static func withoutOurs(_ environment: Variables) -> Variables {
        withoutSecrets(environment).filter { !$0.hasPrefix("OIDC_") }
    }
}
