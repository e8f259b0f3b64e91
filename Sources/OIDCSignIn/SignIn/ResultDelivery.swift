import LoopbackHTTP
package import OIDCCore
import OIDCCrypto
import Posix

/// The location of the result page, below the path of the callback.
package struct ResultLocation: Hashable, Sendable {
    /// The path of the callback, as it arrives.
    let callback: String
    /// The last segments of the page's path.
    let name: String
    /// The URL reference that the browser is redirected to after the callback.
    let reference: String

    /// Creates the location below a callback on this machine's loopback.
    package init(below callback: String) {
        self.init(callback: callback, name: "done", reference: nil)
    }

    /// Creates the location for a callback that is passed on; `outer` is the path that the browser requested.
    /// The page's name is random, as anyone who can use the same way could request the page.
    ///
    /// The redirect is relative (RFC 9110 §10.2.2) and does not start with a slash: code-server adds its own prefix to
    /// one that does, and other proxies do not (code-server 4.104, 2026-11).
    init(below callback: String, seenAs outer: String) {
        let name = "done-\(Base64URL.encode(Random.bytes(16)))"
        let last = outer.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        self.init(callback: callback, name: name, reference: last.isEmpty ? "./\(name)" : "./\(last)/\(name)")
    }

    init(callback: String, name: String, reference: String?) {
        self.callback = callback
        self.name = name
        self.reference = reference ?? ResultLocation.path(name, below: callback)
    }

    /// The path of the page, as it arrives.
    var path: String { ResultLocation.path(name, below: callback) }

    private static func path(_ name: String, below callback: String) -> String {
        callback.hasSuffix("/") ? "\(callback)\(name)" : "\(callback)/\(name)"
    }
}

/// The page with the result of a sign-in or sign-out. It has a URL of its own, so neither the browser's
/// address bar nor its history keeps the code and the state of the callback, and the page can be reloaded.
extension LoopbackServer {
    /// Answers the held callback of a connection with a redirect to the result page.
    package func sendToResult(_ connection: Int, at location: ResultLocation) {
        answer(connection, ResultPage.redirect(to: location.reference))
    }

    /// Answers a held callback with a redirect to another page, and no longer holds it.
    func redirect(_ connection: Int, to url: WebURL) {
        answer(connection, ResultPage.redirect(to: url.text))
        forget(connection)
    }

    /// Returns how many milliseconds to wait for the request of the result page. A browser behind a tunnel or
    /// on a busy machine takes a while; a program that does not follow redirects never requests the page.
    static func patience(for callbacks: [HTTPServerRequest]) -> Int64 {
        callbacks.contains(where: \.wantsPage) ? 10_000 : 2_000
    }

    /// Shows the result page to each browser that was redirected to it, and finishes. Waits at most
    /// `milliseconds` for these browsers, and no longer once `isOver` returns true.
    package func finish(
        showing page: HTTPResponse, at location: ResultLocation, program: String? = nil,
        milliseconds: Int64? = nil, unless isOver: (() -> Bool)? = nil
    ) {
        _ = show(page, at: location, program: program, milliseconds: milliseconds, unless: isOver)
        finish()
    }

    /// Shows the result page to a browser that requests it at once, and finishes. For one that comes later, a
    /// detached process serves the page, so the caller need not wait.
    func finishLingering(
        showing page: HTTPResponse, at location: ResultLocation, program: String?, files: TLSFiles? = nil,
        handover: PortHandover? = nil
    ) {
        let isShown = show(page, at: location, program: program, milliseconds: 300)
        let late = LateResult(
            page: page, location: location, program: program, host: host, port: port,
            names: names, files: files?.absolute, handover: handover)
        if !isShown, Interruption.pending == nil {
            do throws(Errno) {
                try late.serve(at: listeners)
                return finish(admitting: false)
            } catch {
                return finish(showing: page, at: location, program: program)
            }
        }
        finish()
    }

    /// Shows the result page to each browser that was redirected to it, and returns whether all have it.
    func show(
        _ page: HTTPResponse, at location: ResultLocation, program: String?, milliseconds: Int64?,
        unless isOver: (() -> Bool)? = nil
    ) -> Bool {
        let (callback, path) = (location.callback, location.path)
        let callbacks = heldRequests.map(\.request).filter { $0.path == callback }
        let limit = milliseconds ?? LoopbackServer.patience(for: callbacks)
        let end = MonotonicTime.now().adding(milliseconds: limit)
        func answeredCount(_ path: String) -> Int {
            heldRequests.reduce(0) { $0 + ($1.request.path == path ? $1.answeredCount : 0) }
        }
        repeat {
            let pause = MonotonicTime.now().adding(milliseconds: PortHandover.pause)
            let event = turn(until: isOver == nil ? end : min(end, pause), also: []) { request in
                let isForPage =
                    request.target == path && request.method == .get && !request.peer.isStranger
                    && isOurHost(request)
                if isForPage { return .hold }
                let isOldTab = request.path == callback && request.wantsPage && !request.peer.isStranger
                return isOldTab
                    ? .respond(ResultPage.answered(program: program)) : LoopbackServer.refuse(request)
            }
            if case .held(_, let connection) = event { answer(connection, page) }
        } while answeredCount(path) < max(1, answeredCount(callback)) && MonotonicTime.now() < end
            && Interruption.pending == nil && isOver?() != true
        return answeredCount(path) >= max(1, answeredCount(callback))
    }
}
