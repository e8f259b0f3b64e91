import Foundation
import OIDCCore
import OIDCCrypto
import OIDCSessions
import OIDCSystem
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client that opens no browser of its own: the user visits the URLs of its notices.
func guided(_ client: OIDCClient) -> OIDCClient {
    var client = client
    client.notice = { notice in
        guard let url = notice.urlWithCode else { return }
        Thread.detachNewThread { _ = try? Demo.visit(url) }
    }
    return client
}

struct Claims: Decodable {
    var sub: String
    var name: String?
}

@main
enum Guide {
    static func main() async throws {
        try await page("OIDCSystem: signs in, and greets the user") {
            try expect(try await greeting().hasPrefix("Alice"), "the user is Alice")
        }
        try await page("SignIn: returns the user") {
            try expect(try await signedInUser() != nil, "the session names the user")
        }
        try await page("SignIn: a canceled task ends the wait") {
            var client = OIDCClient(issuer: Demo.issuer, clientID: Demo.client)
            let (events, event) = AsyncStream<Void>.makeStream()
            client.notice = { _ in event.yield() }
            let task = Task { [client] in try await client.signInOnDevice() }
            for await _ in events { break }
            task.cancel()
            guard case .failure(let error) = await task.result else {
                throw Broken(description: "it signed in")
            }
            try expect((error as? OIDCError)?.kind == .interrupted, "the error is an interruption")
        }
        try await page("GetAToken: returns the stored token") {
            try expect(try await authorizationHeader().hasPrefix("Bearer "), "it is a Bearer token")
        }
        try await page("CallAnAPI: the API answers") {
            var configuration = ClientConfiguration(issuer: Demo.issuer, clientID: Demo.client)
            configuration.resources = [Demo.resource]
            try await OIDCClient(configuration).signIn(scope: "openid api:read")
            try expect(try await issues()?["hello"]?.string == "Alice", "it greets Alice")
        }
        try await page("OwnTheTransport: a device code over URLSession, and over answers from memory") {
            let network = URLSession(configuration: .ephemeral, delegate: NoRedirects(), delegateQueue: nil)
            let signingIn = guided(client(over: transport(over: network)))
            let session = try await signingIn.signInOnDevice(scope: "openid profile")
            let claims = try await signingIn.userInfo().decoded(as: Claims.self)
            try expect(
                claims.sub == session.subject && claims.name != nil, "the claims are those of the user")
            try expect(try await signingIn.signOut() == .revoked, "the tokens are revoked")
            let deaf = client(over: CannedTransport(answers: [:]))
            do {
                try await deaf.signInOnDevice()
                throw Broken(description: "it signed in without a provider")
            } catch let error as OIDCError {
                try expect(error.kind == .unreachable, "the provider is unreachable")
            }
        }
        try await page("OwnTheStorage: a session in a dictionary is refreshed there") {
            let rows = RowStore()
            let storing = client(keepingSessionsIn: rows)
            let session = try await storing.signIn(scope: "openid offline_access")
            try expect(try rows.names(.session).count == 1, "the store has one session")
            try expect(
                try await storing.accessToken() == session.tokens.access, "the token is the stored one")
            try await storing.signOut()
            try expect(try rows.names(.session).isEmpty, "the session is removed")
        }

        let context = OIDCContext()
        let session = try await context.run { context throws(OIDCError) in
            try signedIn(context, visit: Demo.redirect)
        }
        try await page("StepByStep: a pushed request, and a token that is bound to a key") {
            try expect(
                session.tokens.access.type == .dpop && session.subject == "alice", "alice has a DPoP token")
        }
        try await page("StepByStep: UserInfo") {
            let found = try await context.run { context throws(OIDCError) in try claims(of: session, context)
            }
            try expect(found["sub"]?.string == session.subject, "the claims are those of the user")
        }
        let saved = Mutex<[Session]>([])
        try await page("StepByStep: a refresh in two steps") {
            let token = try await context.run { context throws(OIDCError) in
                try refreshed(session, context) { next in saved.withLock { $0.append(next) } }
            }
            let saved = saved.withLock { $0 }
            try expect(saved.count == 2, "the session is saved twice")
            try expect(
                saved[0].tokens.refreshToken != session.tokens.refreshToken,
                "first with the next refresh token")
            try expect(saved[0].tokens.access == session.tokens.access, "and with the earlier access token")
            try expect(saved[1].tokens.access == token, "then with the new one")
        }
        let latest = saved.withLock { $0.last ?? session }
        try await page("StepByStep: a request with a proof") {
            guard let url = latest.endpoints.userInfo else { throw Broken(description: "no endpoint") }
            let status = try await context.run { context throws(OIDCError) in
                try answer(of: url, for: latest, context).status
            }
            try expect(status == 200, "the token is accepted")
        }
        try await page("StepByStep: sign-out") {
            let url = try await context.run { context throws(OIDCError) in try signedOut(latest, context) }
            try expect(url?.text.hasPrefix(Demo.issuer) == true, "the provider has a page for it")
            do {
                _ = try await context.run { context throws(OIDCError) in
                    try refreshed(latest, context) { _ in }
                }
                throw Broken(description: "the refresh token is still accepted")
            } catch let error as OIDCError {
                try expect(error.endsSession && error.nextStep != nil, "the session has ended")
            }
        }
        try await page("StepByStep: a device code") {
            let session = try await context.run { context throws(OIDCError) in
                try signedInElsewhere(
                    context, show: { _ = try? Demo.visit($0.verificationURIComplete ?? $0.verificationURI) },
                    pause: { Thread.sleep(forTimeInterval: Double($0.components.seconds)) })
            }
            try expect(session.subject == "alice", "alice has signed in")
        }
        try await page("StepByStep: a service's token and its introspection, and an exchange") {
            let token = try await context.run { context throws(OIDCError) in try serviceToken(context) }
            try expect(token.isActive && token.0.isFresh(at: context.now()), "the token is valid")
            do {
                _ = try await context.run { context throws(OIDCError) in
                    try exchanged(token.0.token, for: "another", context)
                }
                throw Broken(description: "the demo exchanges tokens")
            } catch let error as OIDCError {
                try expect(error.oauthError == "unsupported_grant_type", "the demo exchanges none: \(error)")
            }
        }
        try await page("StepByStep: registration") {
            let client = try await context.run { context throws(OIDCError) in try registered(context) }
            try expect(!client.clientID.isEmpty && client.clientSecret == nil, "the client is public")
        }
        try await page("StepByStep: the server of a resource") {
            guard let url = WebURL(Demo.resource) else { throw Broken(description: "no URL") }
            let found = try await context.run { context throws(OIDCError) in try server(of: url, context) }
            try expect(
                found.resource == Demo.resource && found.server.issuer == Demo.issuer, "it is the demo")
        }
    }
}
