import OIDCCore
import OIDCSystem

/// The identity of a GitHub Actions job, from the URL in the job's environment.
struct GitHubActionsIdentity {
    let environment: [String: String]
    let audience: String?

    func token(_ transport: any HTTPTransport) throws(OIDCError) -> Redacted<String> {
        guard let address = environment["ACTIONS_ID_TOKEN_REQUEST_URL"], !address.isEmpty,
            let bearer = environment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"], !bearer.isEmpty
        else {
            throw OIDCError.usage(
                "ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN are not set",
                hint: "give the job `permissions: id-token: write`")
        }
        guard var url = WebURL(address), url.isSecure || url.isLoopback else {
            throw OIDCError.usage("ACTIONS_ID_TOKEN_REQUEST_URL: expected an https URL")
        }
        guard bearer.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw OIDCError.usage("ACTIONS_ID_TOKEN_REQUEST_TOKEN: expected visible ASCII characters")
        }
        if let audience { url = url.appendingQuery([FormEncoding.Pair("audience", audience)]) }
        var request = HTTPRequest.json(url)
        request.headers["Authorization"] = "Bearer \(bearer)"
        let response = try transport.send(request, stage: .subjectToken)
        guard response.isSuccess, let value = (try? JSONValue(parsing: response.body))?["value"]?.string,
            !value.isEmpty
        else {
            throw OIDCError(
                response.status >= 500 ? .unreachable : .refused,
                "subject_token: value: expected an ID token of the job, found status \(response.status)",
                hint: "give the job `permissions: id-token: write`", stage: .subjectToken)
        }
        return Redacted(value)
    }
}

/// A CI system that gives its jobs an identity, recognized by its variables.
struct CIIdentity {
    let name: String
    let hint: String

    static func detected(_ environment: [String: String]) -> CIIdentity? {
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
        if has("CIRCLE_OIDC_TOKEN_V2") {
            return CIIdentity(
                name: "CircleCI",
                hint: "--set subject_token_source=env --set subject_token_env=CIRCLE_OIDC_TOKEN_V2")
        }
        if has("BITBUCKET_STEP_OIDC_TOKEN") {
            return CIIdentity(
                name: "Bitbucket Pipelines",
                hint: "--set subject_token_source=env --set subject_token_env=BITBUCKET_STEP_OIDC_TOKEN")
        }
        if has("KUBERNETES_SERVICE_HOST") {
            return CIIdentity(name: "Kubernetes", hint: "--set subject_token_source=kubernetes")
        }
        return nil
    }
}
