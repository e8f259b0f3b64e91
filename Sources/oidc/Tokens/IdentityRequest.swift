import CurlHTTP
import OIDCCore
import Posix

/// A request for the identity token of a CI job or a machine, at a URL from its environment or a fixed one.
/// It is sent for every token, so an identity that is about to expire is never used.
struct IdentityRequest {
    let request: HTTPRequest
    /// The member of the response that contains the token, for messages.
    private let member: String
    private let hint: String
    private let read: @Sendable (HTTPResponse) -> String?

    func token(_ transport: any HTTPTransport) throws(OIDCError) -> Redacted<String> {
        let response = try transport.send(request, stage: .subjectToken)
        guard response.isSuccess, let value = read(response), !value.isEmpty else {
            throw OIDCError(
                response.isTemporaryFailure ? .unreachable : .refused,
                "subject_token: \(member): expected an ID token, found status \(response.status)",
                hint: .text(hint), stage: .subjectToken)
        }
        return Redacted(value)
    }

    private static func member(_ name: String) -> @Sendable (HTTPResponse) -> String? {
        { (try? JSONValue(parsing: $0.body))?[name]?.string }
    }
}

extension IdentityRequest {
    /// Returns the request for the token of a GitHub Actions job, which needs the permission `id-token:
    /// write`.
    static func gitHubActions(
        _ environment: Variables, audience: String?
    ) throws(OIDCError) -> IdentityRequest {
        let hint = "give the job `permissions: id-token: write`"
        let job = JobEnvironment(variables: environment, hint: hint)
        let names = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        var (url, bearer) = try job.urlAndToken(names)
        if let audience { url = url.appendingQuery([FormEncoding.Pair("audience", audience)]) }
        var request = HTTPRequest.json(url)
        request.headers["Authorization"] = "Bearer \(bearer)"
        return IdentityRequest(request: request, member: "value", hint: hint, read: member("value"))
    }

    /// Returns the request for the token of a service connection, or of the job itself (azure-identity 1.17,
    /// read 2026-11).
    static func azurePipelines(_ environment: Variables) throws(OIDCError) -> IdentityRequest {
        let hint = "give the step `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`"
        let job = JobEnvironment(variables: environment, hint: hint)
        let (url, bearer) = try job.urlAndToken(("SYSTEM_OIDCREQUESTURI", "SYSTEM_ACCESSTOKEN"))
        var query = [FormEncoding.Pair("api-version", "7.1")]
        if let connection = job["AZURESUBSCRIPTION_SERVICE_CONNECTION_ID"] {
            query.append(FormEncoding.Pair("serviceConnectionId", connection))
        }
        let base = url.path.hasSuffix("/") ? url.replacingPath(String(url.path.dropLast())) ?? url : url
        let request = HTTPRequest(
            .post, base.appendingQuery(query),
            headers: HTTPHeaders([
                ("Authorization", "Bearer \(bearer)"), ("Content-Type", "application/json"),
                ("Accept", "application/json"),
                // Without this header, a refusal is a redirect to a sign-in page.
                ("X-TFS-FedAuthRedirect", "Suppress"),
            ]))
        return IdentityRequest(
            request: request, member: "oidcToken",
            hint: "check SYSTEM_ACCESSTOKEN and AZURESUBSCRIPTION_SERVICE_CONNECTION_ID",
            read: member("oidcToken"))
    }

    /// Returns the request for the token of a virtual machine's service account, from Google's metadata
    /// server at its fixed IP address (Google, "Verify VM identity", read 2026-11). The address is not taken
    /// from a name or a variable, because the server there determines our identity.
    static func googleMetadata(audience: String?) throws(OIDCError) -> IdentityRequest {
        guard let audience, let server = WebURL(GoogleMetadata.identity) else {
            throw .usage(
                "subject_token_audience is not set, and subject_token_source is google-metadata",
                hint: "set it to the audience that the provider expects")
        }
        let url = server.appendingQuery([
            FormEncoding.Pair("audience", audience), FormEncoding.Pair("format", "full"),
        ])
        let request = HTTPRequest(.get, url, headers: HTTPHeaders([GoogleMetadata.flavor]))
        return IdentityRequest(
            request: request, member: "identity",
            hint: "give the machine a service account; only machines at Google have this server"
        ) { response in
            // Other servers at this IP address do not send this header.
            guard response.headers[GoogleMetadata.flavor.0] == GoogleMetadata.flavor.1 else { return nil }
            return ASCII.trimmed(String(decoding: response.body, as: UTF8.self))
        }
    }
}

/// The variables of a CI job.
private struct JobEnvironment {
    let variables: Variables
    let hint: String

    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the URL to request an identity at, and the token that the request needs.
    func urlAndToken(_ names: (url: String, token: String)) throws(OIDCError) -> (WebURL, String) {
        guard let address = self[names.url], let token = self[names.token] else {
            let missing = [names.url, names.token].filter { self[$0] == nil }
            throw .usage(
                "\(missing.joined(separator: " and ")) \(missing.count == 1 ? "is" : "are") not set",
                hint: .text(hint))
        }
        guard let url = WebURL(address), url.isSecure || url.isLoopback else {
            throw .usage("\(names.url): expected an https URL")
        }
        guard token.utf8.allSatisfy({ ASCII.isVisible($0) }) else {
            throw .usage("\(names.token): expected visible ASCII characters")
        }
        return (url, token)
    }
}
