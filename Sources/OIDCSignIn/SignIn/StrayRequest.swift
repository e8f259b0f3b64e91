import LoopbackHTTP
import OIDCCore

/// A request to the listener that was not the answer to the sign-in; the wait continued.
package struct StrayRequest: Hashable, Sendable {
    enum Reason: Hashable, Sendable {
        case otherPath
        /// The answer to this sign-in, passed on with another path.
        case path(expected: String, found: String)
        case anotherUser
        /// The sender is unknown, as the connection was already closed.
        case goneSender
        case method(found: String, expected: String)
        /// `isPassedOn` if something in front of the listener passes requests on.
        case host(expected: String, found: String?, isPassedOn: Bool = false)
        case bodyType(found: String?)
        case mismatch(CallbackMismatch)
        /// The HTTP parser rejected the request for this reason.
        case notServed(reason: String)
    }

    let reason: Reason
    let status: Int
    let method: String
    let path: String?
    /// Whether the path is the redirect URL's, so the request may have been meant to finish the sign-in.
    package let isCallback: Bool
    /// Whether a browser requested a page.
    var wantsPage = false

    /// One line for the log, without query and body, which may contain a code.
    package var logLine: String {
        let target = path.map { DisplayText.clean($0, limit: 80) } ?? "no path"
        let request = method.isEmpty ? target : "\(DisplayText.clean(method, limit: 32)) \(target)"
        return "turned away: \(request): \(summary) (\(status))"
    }

    /// The reason in a few words, the same for all requests of one kind.
    package var summary: String {
        switch reason {
        case .otherPath: "not the callback's path"
        case .path: "wrong path"
        case .anotherUser: "from another user of this machine"
        case .goneSender: "its sender has closed the connection"
        case .method: "wrong method"
        case .host: "wrong Host"
        case .bodyType: "wrong Content-Type"
        case .mismatch(.noState): "no state"
        case .mismatch(.otherState): "wrong state"
        case .mismatch(.repeated(let name)): "more than one \(name)"
        case .mismatch(.otherIssuer): "wrong iss"
        case .mismatch(.unreadable): "not percent-encoded UTF-8"
        case .mismatch(.unsigned): "not a signed answer"
        case .notServed(let reason): reason
        }
    }

    /// The reason, with the expected and the found value. Values from outside are fit for a terminal; nothing
    /// in it is secret.
    package var message: String {
        switch reason {
        case .host(let expected, let found, let isPassedOn):
            "a callback with another Host arrived: expected \(expected), found \(clean(found)); "
                + (isPassedOn
                    ? "whatever passes it on must keep the browser's Host"
                    : "with ssh -L, use the same port at both ends")
        case .mismatch(.otherState):
            "a callback with another state arrived; is an old browser tab open?"
        case .mismatch(.otherIssuer(let expected, let found)):
            "a callback with another iss arrived: expected \(clean(expected)), found \(clean(found))"
        case .method(let found, let expected):
            "a callback with another method arrived: expected \(expected), found \(clean(found))"
        case .bodyType(let found):
            "a callback with another Content-Type arrived: expected application/x-www-form-urlencoded, "
                + "found \(clean(found))"
        case .mismatch(.noState): "a callback without state arrived"
        case .mismatch(.repeated(let name)): "a callback with more than one \(name) arrived"
        case .mismatch(.unreadable): "a callback that is not percent-encoded UTF-8 arrived"
        case .mismatch(.unsigned): "a callback that is not a signed answer arrived"
        case .anotherUser:
            "a callback from another user of this machine arrived; "
                + "open the URL in a browser of the user who runs this command"
        case .goneSender:
            "a callback arrived whose sender closed the connection at once, so its user is unknown; "
                + "open the URL again"
        case .notServed(let reason): "a callback was not read: \(reason)"
        case .otherPath: "a request for another path arrived"
        case .path(let expected, let found):
            "callback_path: the redirect arrived at \(clean(found)), expected \(clean(expected)); "
                + "set it to \(clean(found))"
        }
    }

    private func clean(_ text: String?) -> String {
        let shown = DisplayText.clean(text ?? "", limit: 120)
        return shown.isEmpty ? "none" : shown
    }

    /// Returns the page for the request, without values from it. Only a callback, or a browser that requests
    /// a page, gets an explanation.
    func page(program: String?, _ words: (Hint) -> String) -> HTTPResponse {
        guard isCallback else {
            return wantsPage
                ? ResultPage.otherURL(status: status, program: program)
                : HTTPResponse.stranger(status: status)
        }
        let (message, advice) = explanation
        return ResultPage.stray(status: status, message: message, advice: words(advice), program: program)
    }

    private var explanation: (message: String, advice: Hint) {
        let restart: Hint = "Close this tab, and sign in again from the terminal."
        switch reason {
        case .mismatch(.otherState), .mismatch(.noState):
            return (
                "This answer belongs to another sign-in: its state is missing or not the expected one.",
                .text(
                    "If an old tab is open, close it and finish the sign-in in the newest one. "
                        + "Otherwise open the URL that the terminal shows.")
            )
        case .host(let expected, _, isPassedOn: true):
            return (
                "The request that was passed on names another host or port than \(expected).",
                "Let the proxy in front of this sign-in keep the Host that the browser sends."
            )
        case .host(let expected, _, isPassedOn: false):
            return (
                "The browser asked for another host or port than this sign-in listens at, which is \(expected).",
                "If you forward a port (ssh -L), use the same port number at both ends."
            )
        case .mismatch(.otherIssuer):
            return ("This answer names another provider than the one of this sign-in.", restart)
        case .mismatch(.repeated), .mismatch(.unreadable), .mismatch(.unsigned):
            return ("This answer could not be read: its parameters are repeated or damaged.", restart)
        case .method(_, let expected):
            return (
                "The answer came by another method than \(expected).",
                .advice(.acceptForm)
            )
        case .bodyType: return ("This answer is not a form.", restart)
        case .goneSender: return ("The sender of this answer closed its connection too early.", restart)
        case .anotherUser:
            return (
                "This sign-in was started by another user of this machine.",
                .text(
                    "Open the URL in a browser of the user who started it. If that is you, as on a container's "
                        + "host, paste the URL of this page into the terminal.")
            )
        case .notServed:
            return (
                "This answer could not be read: it is too long, or not valid HTTP.",
                .advice(.pasteOrAcceptForm)
            )
        case .otherPath: return ("This is not the callback's path.", restart)
        case .path(let expected, _):
            return (
                "The redirect was passed on with another path than \(expected).",
                "Stop this sign-in, and start another one with the path that the terminal shows."
            )
        }
    }
}

/// The stray requests of a sign-in. Each is reported, and callbacks are counted by kind.
final class StrayRequestLog {
    private let report: (StrayRequest) -> Void
    private var callbacks = 0
    private var kinds: [(summary: String, count: Int)] = []

    /// The number of kinds that are named; further ones are only counted.
    private static let kindLimit = 8

    init(report: @escaping (StrayRequest) -> Void) {
        self.report = report
    }

    func note(_ request: StrayRequest) {
        if request.isCallback {
            callbacks = min(callbacks + 1, Int(Int32.max))
            if let index = kinds.firstIndex(where: { $0.summary == request.summary }) {
                kinds[index].count += 1
            } else if kinds.count < StrayRequestLog.kindLimit {
                kinds.append((request.summary, 1))
            }
        }
        report(request)
    }

    /// `3 callbacks were turned away: wrong state`; nil if there were none.
    var summary: String? {
        guard callbacks > 0 else { return nil }
        let subject = callbacks == 1 ? "1 callback was" : "\(callbacks) callbacks were"
        let names = kinds.map { kinds.count == 1 ? $0.summary : "\($0.summary) (\($0.count))" }
        return "\(subject) turned away: \(names.joined(separator: ", "))"
    }
}
