import DemoProvider
import OIDCCore
import OIDCSignIn

/// The tour's sign-in to a URL, without any other settings.
extension DemoTour {
    func signInToURL(_ stage: DemoStage, _ environment: OIDCContext) throws(OIDCError) {
        let url = try DemoProvider.resource(at: stage.origin)
        try step(8, "Now with a URL alone: GET \(url.text) answers 401.")
        let search = try ResourceSearch(url, context: environment)
        let found = try search.find(after: try search.probe())
        let server = try search.authorizationServer(of: found.metadata)
        let scope = try ScopeChoice(
            challenge: found.challenge, resource: found.metadata, server: server
        ).scope
        try line("Its metadata name the authorization server: \(found.metadata.serverList).")
        try line("scope", "\(DisplayText.clean(scope.text)): of the answer, and offline_access")
        let engine = engine(
            try register(scope, at: server, environment), at: stage, for: found.metadata.resource)
        let session = try signIn(engine, server, environment, stage, scope: scope).session
        let headers = HTTPHeaders([("Authorization", try session.tokens.access.credentials(.resource))])
        let answer = try environment.transport.send(
            HTTPRequest(.get, url, headers: headers), stage: .resource)
        guard answer.isSuccess else {
            throw OIDCError(.failed, "the demo resource answers \(answer.status) to its own token")
        }
        let body = DisplayText.clean(String(decoding: answer.body, as: UTF8.self))
        try line("GET \(url.path) with the token: \(body)")
    }

    private func register(
        _ scope: Scope, at server: ProviderMetadata, _ environment: OIDCContext
    ) throws(OIDCError) -> String {
        let endpoint = try server.require(.registration)
        let registration = Registration(
            clientName: "oidc", redirectURIs: [RedirectAddress.standard], scope: scope, at: server)
        let client = try environment.transport.perform(try registration.call(at: endpoint))
        try line("client_id", "\(DisplayText.clean(client.clientID)), registered by POST \(endpoint.path)")
        return client.clientID
    }
}

extension DemoProvider {
    /// Returns the URL of the demo provider's protected resource.
    static func resource(at origin: String) throws(OIDCError) -> WebURL {
        guard let url = WebURL(origin + Endpoint.protectedResource.path) else {
            throw OIDCError(.failed, "the demo has no URL")
        }
        return url
    }
}
