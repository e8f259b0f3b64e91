import CurlHTTP
package import DemoProvider
import Foundation
package import OIDCCore

extension Program {
    /// Signs alice in on the provider's pages; `before` may send requests to the listener first.
    @discardableResult
    package func signIn(
        at provider: ProviderServer, _ options: [String] = [], choice: BrowserStandIn.Choice = .approve,
        before: (WebURL) throws -> Void = { _ in }
    ) throws -> Outcome {
        let run = try start(["login", "--flow", "browser", "--no-browser"] + options, input: .none)
        guard let text = run.address, let url = WebURL(text) else { return run.finish() }
        if let redirect = FormEncoding.decode(url.query ?? "")?.first(where: { $0.name == "redirect_uri" }),
            let listener = WebURL(redirect.value)
        {
            try before(listener)
        }
        if let request = provider.redirect(of: url, choice) {
            _ = try? Visit.send(request)
        }
        return run.finish()
    }
}

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
