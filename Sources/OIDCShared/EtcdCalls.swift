import CurlHTTP
import OIDCCore
import Posix
import Synchronization

/// Calls to etcd's JSON gateway. The endpoints are tried in turn, and the URL's user is signed in when
/// necessary.
final class EtcdCalls: Sendable {
    private let url: SharedStoreURL
    private let transport: any HTTPTransport
    private struct State {
        /// The index of the endpoint to call; a failure moves on to the next one.
        var index = 0
        var token: Redacted<String>?
    }
    private let state = Mutex(State())
    /// The longest time to wait for the election of a leader, in milliseconds.
    private let election: Int64

    init(_ url: SharedStoreURL, _ transport: any HTTPTransport, election: Int64) {
        self.url = url
        self.transport = transport
        self.election = election
    }

    static var nonsense: OIDCError {
        OIDCError(
            .unreachable, "store: the answer is not one of etcd's JSON gateway",
            hint: .tryAgain(seconds: nil),
            stage: .store, code: .noStoreAnswer)
    }

    /// Sends a call and returns the answer, within the time limit of a request for each endpoint, or `limit` for all.
    func send(
        _ path: String, _ body: JSONValue, within limit: Duration? = nil
    ) throws(OIDCError) -> JSONValue {
        try sendForDate(path, body, until: limit.map { .now().adding(milliseconds: $0.milliseconds) }).answer
    }

    /// Sends a call and returns the answer with the server's time.
    func sendForDate(
        _ path: String, _ body: JSONValue, until end: MonotonicTime? = nil
    ) throws(OIDCError) -> (answer: JSONValue, date: Instant?) {
        var isUnanswered = false
        do throws(OIDCError) { return try attempt(path, body, until: end, &isUnanswered) } catch {
            // Another endpoint may have had the call before, or none, as the sign-in failed.
            var error = error
            if isUnanswered { error.code = nil }
            throw error.unanswered(isUnanswered)
        }
    }

    /// Sends a call to the endpoints in turn. `isUnanswered` is set if one of them may have carried it out.
    private func attempt(
        _ path: String, _ body: JSONValue, until end: MonotonicTime?, _ isUnanswered: inout Bool
    ) throws(OIDCError) -> (answer: JSONValue, date: Instant?) {
        var hasSignedIn = false
        if url.user != nil, state.withLock({ $0.token == nil }) {
            try signIn(until: end)
            hasSignedIn = true
        }
        var last: OIDCError?
        var attempts = 0
        let election = MonotonicTime.now().adding(milliseconds: election)
        let patience = end.map { min($0, election) } ?? election
        var isElecting = false
        while true {
            if attempts == max(1, url.hosts.count) {
                // Without a leader, no server answers until a new one is elected.
                guard isElecting, MonotonicTime.now() < patience else { break }
                Poll.sleep(until: .now().adding(milliseconds: 200))
                try Interruption.throwIfPending()
                (attempts, isElecting) = (0, false)
            }
            let index = state.withLock { $0.index }
            do throws(OIDCError) {
                let response = try post(path, body, to: index, until: end)
                let answer = try read(response)
                return (answer, HTTPDate.instant(response.headers["Date"] ?? ""))
            } catch {
                isUnanswered = isUnanswered || [.noStoreAnswer, .etcdLeaderLost].contains(error.code)
                // A token of etcd expires after five minutes, when a server restarts, or when users change.
                if error.code == .etcdToken, url.user != nil, !hasSignedIn {
                    hasSignedIn = true
                    try signIn(until: end)
                    continue
                }
                guard error.kind == .unreachable else { throw error }
                last = error
                isElecting = isElecting || [.etcdElection, .etcdLeaderLost].contains(error.code)
                attempts += 1
                state.withLock { $0.index = index + 1 }
            }
        }
        var error = last ?? EtcdCalls.nonsense
        if url.hosts.count > 1 {
            error.message = "store: none of \(url.server) answers; the last one: \(error.message)"
        }
        throw error
    }

    private func signIn(until end: MonotonicTime?) throws(OIDCError) {
        let credentials: JSONValue = [
            "name": .string(url.user ?? ""), "password": .string(url.password?.revealed ?? ""),
        ]
        var last: OIDCError?
        for _ in url.hosts {
            let index = state.withLock { $0.index }
            do throws(OIDCError) {
                let answer = try read(try post(EtcdCalls.authentication, credentials, to: index, until: end))
                guard let token = answer["token"]?.string, token.utf8.allSatisfy(ASCII.isVisible) else {
                    throw EtcdCalls.nonsense
                }
                return state.withLock { $0.token = Redacted(token) }
            } catch {
                guard error.kind == .unreachable else { throw error }
                last = error
                state.withLock { $0.index = index + 1 }
            }
        }
        throw last ?? EtcdCalls.nonsense
    }

    private func post(
        _ path: String, _ body: JSONValue, to index: Int, until end: MonotonicTime?
    ) throws(OIDCError) -> HTTPResponse {
        let curl = transport as? CurlTransport
        let transport: any HTTPTransport = end.flatMap { curl?.bounded(by: $0) } ?? transport
        let host = url.hosts[index % max(1, url.hosts.count)]
        guard let target = WebURL("\(url.isSecure ? "https" : "http")://\(host.text)/v3/\(path)") else {
            throw EtcdCalls.nonsense
        }
        var headers = HTTPHeaders([("Content-Type", "application/json"), ("Accept", "application/json")])
        if path != EtcdCalls.authentication, let token = state.withLock({ $0.token }) {
            headers["Authorization"] = token.revealed
        }
        do throws(OIDCError) {
            return try transport.send(
                HTTPRequest(
                    .post, target, headers: headers, body: body.bytes, usesClientCertificate: url.isSecure),
                stage: .store)
        } catch {
            // An answer that is too large, or a redirect, is not etcd's. Another server may answer.
            guard error.kind == .refused else { throw error }
            var error = error
            error.kind = .unreachable
            error.code = .noStoreAnswer
            error.message = url.withoutPassword(error.message)
            error.hint = .tryAgain(seconds: nil)
            throw error
        }
    }

    /// The path of the call that signs in. It is sent without the token, which may have expired.
    private static let authentication = "auth/authenticate"

    private func read(_ response: HTTPResponse) throws(OIDCError) -> JSONValue {
        guard let json = try? JSONValue(parsing: response.body), json.object != nil else {
            throw refusal(response)
        }
        let text = json["error"]?.string ?? json["error"]?["message"]?.string ?? json["message"]?.string
        guard let text else {
            guard response.isSuccess else { throw EtcdCalls.nonsense }
            return json
        }
        let words = withoutSecrets(text)
        // With signed tokens, any change of users or roles ends them.
        if ["invalid auth token", "revision of auth store is old"].contains(where: text.includes) {
            throw OIDCError(
                .unreachable, "store: \(url.server): \(words)", hint: .tryAgain(seconds: nil), stage: .store,
                code: .etcdToken)
        }
        let isLost = ["leader changed", "request timed out"].contains(where: text.includes)
        if isLost || text.includes("no leader") {
            throw OIDCError(
                .unreachable, "store: \(url.server): \(words)", hint: .tryAgain(seconds: nil), stage: .store,
                code: isLost ? .etcdLeaderLost : .etcdElection)
        }
        if text.includes("permission denied") {
            throw .sharedStoreRefusal(
                url.server, words,
                hint: "let this user read and write the keys that start with \(url.prefix)/")
        }
        if text.includes("authentication failed") || text.includes("user name is empty")
            || text.includes("authentication is not enabled")
        {
            throw .sharedStoreRefusal(url.server, words, hint: "check user and password in the store's URL")
        }
        throw .sharedStore(url.server, words)
    }

    /// Returns a message of the server without the store's secrets, its own token included.
    func withoutSecrets(_ text: String) -> String {
        let token = state.withLock { $0.token }
        return url.withoutSecrets(WithheldSecrets([token?.revealed].compactMap { $0 }).removed(from: text))
    }

    /// Returns the error for an answer that is not JSON.
    private func refusal(_ response: HTTPResponse) -> OIDCError {
        guard response.mediaType == "text/plain", response.body.count < 1_000 else {
            return EtcdCalls.nonsense
        }
        let words = withoutSecrets(String(decoding: response.body, as: UTF8.self))
        // etcd reads the CommonName as a user name, which its JSON gateway does not support.
        guard words.includes("CommonName") else {
            // A proxy answers 502 or 504 if it got no answer.
            return .sharedStore(url.server, words).unanswered(response.status >= 500)
        }
        return .sharedStoreRefusal(
            url.server, words, hint: "use a client certificate without CommonName, and a user and a password")
    }
}

extension OIDCError.Code {
    /// The token of etcd's user has expired.
    fileprivate static let etcdToken = OIDCError.Code(rawValue: "etcd_token")
    /// etcd has no leader, and is electing one.
    fileprivate static let etcdElection = OIDCError.Code(rawValue: "etcd_election")
    /// etcd lost its leader during a call, which it may have carried out.
    fileprivate static let etcdLeaderLost = OIDCError.Code(rawValue: "etcd_leader_lost")
}
