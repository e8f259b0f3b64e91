import Testing

@testable import OIDCCore

@Suite("Client ID Metadata Documents")
struct ClientMetadataDocumentTests {
    @Test("the document names its own URL and describes a public native client")
    func document() throws {
        let url = try ClientMetadataDocument.checkedURL("https://app.example/oidc.json")
        var registration = Registration(clientName: "oidc", redirectURIs: ["http://127.0.0.1/callback"])
        registration.tokenEndpointAuthMethod = "client_secret_basic"
        registration.extra["client_id"] = "other"
        let document = JSONValue.object(
            try ClientMetadataDocument(url: url, registration: registration).document())
        #expect(document["client_id"] == "https://app.example/oidc.json")
        #expect(document["client_name"] == "oidc")
        #expect(document["redirect_uris"] == ["http://127.0.0.1/callback"])
        #expect(document["grant_types"] == ["authorization_code", "refresh_token"])
        #expect(document["response_types"] == ["code"])
        #expect(document["token_endpoint_auth_method"] == "none")
        #expect(document["application_type"] == "native")
        #expect(document["client_secret"] == nil)
    }

    @Test(
        "the document's URL is https with a path, without user, fragment or dot segments",
        arguments: [
            "http://app.example/c.json", "https://app.example", "https://app.example/",
            "https://app.example/c#f",
            "https://u:secret@app.example/c", "https://app.example/a/../c", "https://app.example/./c",
            "https://app.example/%2e%2e/c", "http://127.0.0.1/c", "app.example/c", "javascript:alert(1)", "",
        ])
    func badURL(_ text: String) throws {
        let error = Fixture.error { try ClientMetadataDocument.checkedURL(text) }
        #expect(error?.kind == .usage && error?.message.contains("secret") == false)
    }

    @Test("the document is used only if the metadata says that the server supports it")
    func support() throws {
        #expect(
            try Fixture.metadata(["client_id_metadata_document_supported": true])
                .supportsClientMetadataDocuments)
        for value: JSONValue? in [nil, false] {
            #expect(
                try !Fixture.metadata(["client_id_metadata_document_supported": value])
                    .supportsClientMetadataDocuments)
        }
        for value: JSONValue in ["true", 1] {
            let error = Fixture.error {
                try Fixture.metadata(["client_id_metadata_document_supported": value])
            }
            #expect(error?.member == "client_id_metadata_document_supported")
        }
    }
}
