import OIDCCore
import OIDCSessions
import OIDCSignIn
import Synchronization

/// A document cache that records whether any lookup succeeded. With a console, it logs each lookup.
final class CacheTrace: DocumentCache {
    private let cache: any DocumentCache
    private let console: Console?
    private let hasFound = Mutex(false)

    init(_ cache: any DocumentCache, _ console: Console? = nil) {
        self.cache = cache
        self.console = console
    }

    var isUsed: Bool { hasFound.withLock { $0 } }

    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? {
        let found = cache.lookup(url, at: now)
        console?.trace("cache: \(found == nil ? "no entry for" : "used for") \(url.withoutQuery)")
        if found != nil { hasFound.withLock { $0 = true } }
        return found
    }

    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
        cache.keep(response, from: url, at: now)
    }

    func forget(_ url: WebURL) { cache.forget(url) }
}

/// Logs settings and sign-ins with `--verbose`, without secrets.
extension ProviderContext {
    /// Logs which flow a sign-in uses, and why.
    func traceFlow(_ metadata: ProviderMetadata, opensBrowser: Bool) {
        guard context.console.isVerbose else { return }
        let chosen = settings.signIn.flow
        let device = metadata.deviceAuthorizationEndpoint == nil ? "does not offer" : "offers"
        var reasons = ["the provider \(device) device codes"]
        if chosen == .auto || chosen == .browser {
            switch opensBrowser ? try? browserChoice() : BrowserChoice.none(reason: "--no-browser") {
            case .commands(let commands)?:
                reasons.append("browsers to try: \(commands.compactMap(\.first).joined(separator: ", "))")
            case .none(let reason)?: reasons.append("no browser: \(reason)")
            case nil: break
            }
        }
        let origin = settings.layers.entry(.flow)?.origin.text ?? "the default"
        context.console.trace("flow \(chosen.rawValue) (\(origin)); \(reasons.joined(separator: "; "))")
    }

    /// Logs the checks of an accepted ID token.
    func traceIDToken(_ token: IDToken?, nonce: Bool) {
        guard context.console.isVerbose, let token else { return }
        let now = context.now
        var checks = [
            "iss is \(token.issuer)", "aud contains \(settings.client.id ?? "the client")",
            "sub is \(token.subject)",
            "exp \(token.expiresAt) (\(TimeWords.relative(token.expiresAt, to: now)))",
            "iat \(token.issuedAt) (\(TimeWords.relative(token.issuedAt, to: now)))",
        ]
        if token.claims["azp"] != nil { checks.append("azp is the client") }
        if token.claims["nbf"] != nil { checks.append("nbf has passed") }
        if nonce, token.claims["nonce"] != nil { checks.append("nonce is the one sent") }
        if token.claims["at_hash"] != nil { checks.append("at_hash fits the access token") }
        if let time = token.authenticatedAt, settings.signIn.maxAge != nil {
            checks.append("auth_time \(time) is within max_age")
        }
        if let header = (try? JWS(compact: token.compact))?.header {
            let key = header["kid"]?.string.map { " by key \(DisplayText.clean($0, limit: 80))" } ?? ""
            checks.append("signature \(header["alg"]?.string ?? "") is valid\(key)")
        }
        for check in checks { context.console.trace("ID token: \(DisplayText.clean(check))") }
    }
}

extension SessionAccess {
    /// Logs where the session is stored, and how long its token is valid.
    func traceFreshness(_ session: Session?, _ demand: TokenDemand) {
        guard provider.context.console.isVerbose else { return }
        let console = provider.context.console
        let now = provider.context.now
        guard let session else {
            return console.trace("no session at \(store.location(of: key))")
        }
        console.trace("session: \(store.location(of: key))")
        guard let stored = session.accessToken(from: session.source(for: demand)) else {
            return console.trace(
                session.hasAccessToken
                    ? "token: none is stored for that scope or resource" : "token: revoked")
        }
        let left = stored.expiresAt.map { $0.seconds(since: now) }
        if stored.isFresh(at: now, minimum: demand.minimumValidity) {
            return console.trace(
                left.map { "token: fresh, \($0) s left" } ?? "token: used until it is refused")
        }
        console.trace(
            left.map {
                "token: \($0) s left, at least \(demand.minimumValidity) s or half its lifetime needed"
            }
                ?? "token: another one is needed")
    }
}
