package import OIDCCore
import LoopbackHTTP
import Posix

/// The page with the result of a sign-in or sign-out. It has a URL of its own, so neither the browser's
/// address bar nor its history keeps the code and the state of the callback, and the page can be reloaded.
extension LoopbackServer {
    private static func resultPath(below callback: String) -> String {
        callback.hasSuffix("/") ? "\(callback)done" : "\(callback)/done"
    }

    /// Answers the held callback of a connection with a redirect to the result page. `callback` is the path that the
    /// browser knows.
    package func sendToResult(_ connection: Int, below callback: String) {
        answer(connection, ResultPage.redirect(to: LoopbackServer.resultPath(below: callback)))
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
    /// `milliseconds` for these browsers.
    package func finish(
        showing page: HTTPResponse, below callback: String, program: String? = nil,
        milliseconds: Int64? = nil
    ) {
        _ = show(page, below: callback, program: program, milliseconds: milliseconds)
        finish()
    }

    /// Shows the result page to a browser that requests it at once, and finishes. For one that comes later, a
    /// detached process serves the page, so the caller need not wait.
    func finishLingering(
        showing page: HTTPResponse, below callback: String, program: String?, files: TLSFiles? = nil
    ) {
        let isShown = show(page, below: callback, program: program, milliseconds: 300)
        let late = LateResult(
            page: page, callback: callback, program: program, host: host, port: port,
            names: names, files: files?.absolute)
        if !isShown, Interruption.pending == nil {
            do throws(Errno) {
                try late.serve(at: listeners)
                return finish(admitting: false)
            } catch {
                return finish(showing: page, below: callback, program: program)
            }
        }
        finish()
    }

    /// Shows the result page to each browser that was redirected to it, and returns whether all have it.
    func show(
        _ page: HTTPResponse, below callback: String, program: String?, milliseconds: Int64?
    ) -> Bool {
        let path = LoopbackServer.resultPath(below: callback)
        let callbacks = heldRequests.map(\.request).filter { $0.path == callback }
        let limit = milliseconds ?? LoopbackServer.patience(for: callbacks)
        let end = MonotonicTime.now().adding(milliseconds: limit)
        func answeredCount(_ path: String) -> Int {
            heldRequests.reduce(0) { $0 + ($1.request.path == path ? $1.answeredCount : 0) }
        }
        repeat {
            let event = turn(until: end, also: []) { request in
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
            && Interruption.pending == nil
        return answeredCount(path) >= max(1, answeredCount(callback))
    }
}
