package import OIDCCore
import OIDCSystem

/// A browser that is sent to the listener.
package enum Visit {
    /// Sends a request, and follows a redirect within its origin, as to the page at the end of a sign-in.
    @discardableResult
    package static func send(_ request: HTTPRequest) throws(OIDCError) -> HTTPResponse {
        let answer = try CurlTransport().send(request, stage: .authorization)
        guard answer.status == 303, let path = answer.headers["Location"], path.hasPrefix("/"),
            let url = WebURL(request.url.origin + path)
        else { return answer }
        return try CurlTransport().send(HTTPRequest(.get, url), stage: .authorization)
    }
}
