import OIDCCore
import Posix

/// A CI system that gives its jobs an identity, recognized by its variables.
struct CIIdentity {
    let name: String
    let hint: String

    static func detected(_ environment: Variables) -> CIIdentity? {
        func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        if has("ACTIONS_ID_TOKEN_REQUEST_URL") {
            return CIIdentity(
                name: "GitHub Actions", hint: "--set subject_token_source=github-actions")
        }
        if has("GITHUB_ACTIONS") {
            return CIIdentity(
                name: "GitHub Actions without an identity",
                hint: "give the job `permissions: id-token: write`, "
                    + "then --set subject_token_source=github-actions")
        }
        if has("GITLAB_CI") {
            return CIIdentity(
                name: "GitLab CI",
                hint: "add OIDC_ID_TOKEN to the job's id_tokens, then --set subject_token_source=gitlab")
        }
        if has("CIRCLE_OIDC_TOKEN_V2") || has("CIRCLE_OIDC_TOKEN") {
            return CIIdentity(name: "CircleCI", hint: "--set subject_token_source=circleci")
        }
        if has("BUILDKITE_JOB_ID") {
            return CIIdentity(name: "Buildkite", hint: "--set subject_token_source=buildkite")
        }
        if has("BITBUCKET_STEP_OIDC_TOKEN") {
            return CIIdentity(name: "Bitbucket Pipelines", hint: "--set subject_token_source=bitbucket")
        }
        if has("SYSTEM_OIDCREQUESTURI") {
            let hint = "--set subject_token_source=azure-pipelines"
            return CIIdentity(
                name: "Azure Pipelines",
                hint: has("SYSTEM_ACCESSTOKEN")
                    ? hint : "give the step `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`, then \(hint)")
        }
        if has("TFC_WORKLOAD_IDENTITY_TOKEN") {
            return CIIdentity(name: "HCP Terraform", hint: "--set subject_token_source=terraform-cloud")
        }
        if has("KUBERNETES_SERVICE_HOST") {
            return CIIdentity(name: "Kubernetes", hint: "--set subject_token_source=kubernetes")
        }
        return nil
    }
}
