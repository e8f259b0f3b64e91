import OIDCCore
import Posix

/// A CI system that gives its jobs an identity, recognized by its variables.
struct CIIdentity {
    let name: String
    let hint: Hint

    static func detected(_ environment: Variables) -> CIIdentity? {
        func source(_ name: String) -> Hint { .options(["--set", "subject_token_source=\(name)"]) }
        func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        if has("ACTIONS_ID_TOKEN_REQUEST_URL") {
            return CIIdentity(
                name: "GitHub Actions", hint: source("github-actions"))
        }
        if has("GITHUB_ACTIONS") {
            return CIIdentity(
                name: "GitHub Actions without an identity",
                hint: .words("give the job `permissions: id-token: write`, then ", source("github-actions")))
        }
        if has("GITLAB_CI") {
            return CIIdentity(
                name: "GitLab CI",
                hint: .words("add OIDC_ID_TOKEN to the job's id_tokens, then ", source("gitlab")))
        }
        if has("CIRCLE_OIDC_TOKEN_V2") || has("CIRCLE_OIDC_TOKEN") {
            return CIIdentity(name: "CircleCI", hint: source("circleci"))
        }
        if has("BUILDKITE_JOB_ID") {
            return CIIdentity(name: "Buildkite", hint: source("buildkite"))
        }
        if has("BITBUCKET_STEP_OIDC_TOKEN") {
            return CIIdentity(name: "Bitbucket Pipelines", hint: source("bitbucket"))
        }
        if has("SYSTEM_OIDCREQUESTURI") {
            let hint = source("azure-pipelines")
            return CIIdentity(
                name: "Azure Pipelines",
                hint: has("SYSTEM_ACCESSTOKEN")
                    ? hint
                    : .words("give the step `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`, then ", hint))
        }
        if has("TFC_WORKLOAD_IDENTITY_TOKEN") {
            return CIIdentity(name: "HCP Terraform", hint: source("terraform-cloud"))
        }
        if has("KUBERNETES_SERVICE_HOST") {
            return CIIdentity(name: "Kubernetes", hint: source("kubernetes"))
        }
        return nil
    }
}
