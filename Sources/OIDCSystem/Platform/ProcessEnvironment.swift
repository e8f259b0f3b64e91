import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What this process was started with: its words, and the environment variables for it and its children.
package enum ProcessEnvironment {
    /// The words of the command line, the name of the program first.
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

    /// Sets a variable for a program that replaces this process. Nothing reads the environment before that.
    static func set(_ name: String, to value: String) {
        _ = setenv(name, value, 1)
    }

    /// Removes SSLKEYLOGFILE, so libcurl does not log the keys of our TLS connections. Children still get it,
    /// from `current`.
    package static func forgetKeyLog() { remove(keyLog) }

    package static let keyLog = "SSLKEYLOGFILE"

    static func remove(_ name: String) {
        _ = unsetenv(name)
    }

    /// The variables that no child gets: the client's secret, and the identity tokens of CI jobs (GitHub
    /// Actions, GitLab, CircleCI, Bitbucket Pipelines, HCP Terraform), with which anyone could act as that job.
    package static let secretVariables = [
        "OIDC_CLIENT_SECRET", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "OIDC_ID_TOKEN", "CI_JOB_JWT",
        "CI_JOB_JWT_V1", "CI_JOB_JWT_V2", "CIRCLE_OIDC_TOKEN", "CIRCLE_OIDC_TOKEN_V2",
        "BITBUCKET_STEP_OIDC_TOKEN", "TFC_WORKLOAD_IDENTITY_TOKEN",
    ]

    /// The start of the names of tagged tokens (HashiCorp, "Manually generate workload identity tokens", read
    /// 2026-11).
    private static let taggedToken = "TFC_WORKLOAD_IDENTITY_TOKEN_"

    /// The job's credentials at its CI system (Azure Pipelines, Buildkite), which can request its identity, and much
    /// else that a job does: only the command of the job itself keeps them.
    package static let jobVariables = ["SYSTEM_ACCESSTOKEN", buildkiteAccess]

    /// What Buildkite's agent needs to request the job's identity.
    package static let buildkiteAccess = "BUILDKITE_AGENT_ACCESS_TOKEN"

    /// Returns the variables that even the command of a job does not get.
    package static func secretVariables(in environment: Variables) -> [String] {
        secretVariables + environment.names(startingWith: taggedToken)
    }

    /// Returns the environment for a program from a setting: without secrets, and without `more`, further
    /// variables with secrets.
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
