package import OIDCCore

/// Clients whose `client_id` is the URL of a document that describes them (Client ID Metadata Documents).
extension DemoClient {
    /// The URL of a document that every demo provider knows.
    package static let documentURL = "https://client.example.com/oidc.json"

    package static let document: JSONValue = [
        "client_id": .string(documentURL), "client_name": "Client with a metadata document",
        "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none", "application_type": "native",
    ]

    /// Creates a public client from a document; nil if the document is for another client, contains a secret
    /// or is not valid otherwise.
    init?(document: JSONValue, at address: String) {
        guard let url = WebURL(address), url.isSecure, url.fragment == nil, url.path != "/",
            document["client_id"]?.string == address, document["client_secret"] == nil,
            document["token_endpoint_auth_method"]?.string ?? "none" == "none",
            let redirects = document["redirect_uris"]?.array?.compactMap(\.string), !redirects.isEmpty
        else { return nil }
        let grants = document["grant_types"]?.array?.compactMap(\.string) ?? ["authorization_code"]
        self.init(
            id: address, authenticationMethods: ["none"], redirectURIs: redirects,
            allowsAnyLoopbackRedirect: false, grantTypes: Set(grants))
    }
}
