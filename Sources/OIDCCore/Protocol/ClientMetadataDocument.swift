/// A document that describes a client, whose ID is the document's URL (OAuth Client ID Metadata Document).
/// The authorization server fetches it; we never do.
package struct ClientMetadataDocument: Sendable {
    /// The document's URL, which is the client ID exactly as spelled.
    package let url: WebURL
    package let registration: Registration

    /// Creates the document of a public client. The authorization server compares redirect URLs with those in
    /// the document, on loopback without their port (RFC 8252 §7.3).
    package init(url: WebURL, registration: Registration) {
        self.url = url
        self.registration = registration
    }

    /// Returns the document to host.
    package func document() throws(OIDCError) -> JSONObject {
        var registration = registration
        registration.tokenEndpointAuthMethod = "none"
        var document = JSONObject()
        document["client_id"] = .string(url.text)
        for member in try registration.document().members where document[member.name] == nil {
            document[member.name] = member.value
        }
        return document
    }

    /// Checks a URL for use as a client ID: https, with a path, and without a fragment or dot segments, which
    /// servers could read in two ways (OAuth Client ID Metadata Document §3).
    package static func checkedURL(_ text: String) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text), url.isSecure, url.fragment == nil, !["", "/"].contains(url.path),
            !url.hasDotSegments
        else {
            throw .usage(
                "client ID metadata document: expected an https URL with a path and without a fragment, found "
                    + DisplayText.address(text))
        }
        return url
    }
}
