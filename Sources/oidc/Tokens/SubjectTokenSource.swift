import OIDCCore

/// The source of a machine's identity.
enum SubjectTokenSource: String, CaseIterable, Sendable {
    case githubActions = "github-actions"
    case gitlab
    case circleci
    case buildkite
    case bitbucket
    case azurePipelines = "azure-pipelines"
    case terraformCloud = "terraform-cloud"
    case googleMetadata = "google-metadata"
    case kubernetes
    case file
    case env

    static let names = allCases.map(\.rawValue)

    /// The variables that may contain the token, the preferred one first, unless the settings name another.
    var tokenVariables: [String] {
        switch self {
        case .gitlab: ["OIDC_ID_TOKEN"]
        // CircleCI, "OpenID Connect tokens" (read 2026-11): the subject of a V2 token also names the branch.
        case .circleci: ["CIRCLE_OIDC_TOKEN_V2", "CIRCLE_OIDC_TOKEN"]
        case .bitbucket: ["BITBUCKET_STEP_OIDC_TOKEN"]
        // HashiCorp, "Manually generate workload identity tokens" (read 2026-11).
        case .terraformCloud: ["TFC_WORKLOAD_IDENTITY_TOKEN"]
        default: []
        }
    }

    /// The hint if no such variable is set.
    var variableHint: Hint {
        switch self {
        case .gitlab: "add it to the job's id_tokens, or name another with subject_token_env"
        case .circleci: "use a context in the job, or name another variable with subject_token_env"
        case .bitbucket: "give the step `oidc: true`, or name another variable with subject_token_env"
        case .terraformCloud:
            "set TFC_WORKLOAD_IDENTITY_AUDIENCE in the workspace; for a tagged token, set subject_token_env"
        default: "set it, or name another with subject_token_env"
        }
    }

    /// The variables that distinguish a job from others, if its identity is requested each time; nil if the
    /// token itself is available.
    var jobVariables: [String]? {
        switch self {
        case .githubActions: ["GITHUB_REPOSITORY", "GITHUB_REF", "GITHUB_WORKFLOW", "GITHUB_RUN_ID"]
        case .buildkite: ["BUILDKITE_ORGANIZATION_ID", "BUILDKITE_PIPELINE_ID", "BUILDKITE_JOB_ID"]
        // The URL names organization, plan and job.
        case .azurePipelines: ["SYSTEM_OIDCREQUESTURI", "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID"]
        case .googleMetadata: ["HOSTNAME"]
        case .gitlab, .circleci, .bitbucket, .terraformCloud, .kubernetes, .file, .env: nil
        }
    }
}
