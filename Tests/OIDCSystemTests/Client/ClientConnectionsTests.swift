import Dispatch
import OIDCCore
import OIDCSessions
import OIDCSystem
import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the connections of the library's client")
struct ClientConnectionsTests {
    /// A client whose token is valid for another hour.
    private func client(of server: ScriptedServer) throws -> OIDCClient {
        let store = SessionStore.inMemory()
        var configuration = ClientConfiguration(issuer: server.origin, clientID: "demo")
        configuration.store = store
        let now = Clock.now()
        try store.save(
            Session(
                key: SessionKey(provider: server.origin, clientID: "demo"),
                endpoints: Session.Endpoints(issuer: nil, token: server.url("/token")), createdAt: now,
                requestedScope: nil,
                tokens: TokenSet(
                    access: AccessToken(
                        token: Redacted("token-1"), type: .bearer, obtainedAt: now,
                        expiresAt: now.adding(3_600), scope: nil))), replacingDamaged: false)
        return OIDCClient(configuration)
    }

    @Test("calls share a connection, also those of a copy")
    func kept() async throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let client = try client(of: server)
        let copy = client
        for caller in [client, copy, client] {
            #expect(try await caller.send(HTTPRequest(.get, server.url())).status == 200)
        }
        #expect(server.requests.count == 3)
        // On a busy machine, one may end between two calls, as it is idle for too long.
        #expect(server.connectionCount < 3)
    }

    @Test("what a server sends between two calls is not the answer to the second (RFC 9112 §9.2)")
    func unsolicited() async throws {
        let isAnswered = DispatchSemaphore(value: 0)
        let isSpoiled = Mutex(false)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(answer("200 OK", body: "hello"))
            guard peer.number == 1 else { return }
            isAnswered.wait()
            peer.write(answer("408 Request Timeout"))
            isSpoiled.withLock { $0 = true }
            peer.waitForEnd()
        }
        let client = try client(of: server)
        #expect(try await client.send(HTTPRequest(.get, server.url())).status == 200)
        isAnswered.signal()
        // The bytes have arrived once they are sent, as both ends are on this machine.
        while !isSpoiled.withLock({ $0 }) { await Task.yield() }
        #expect(try await client.send(HTTPRequest(.get, server.url())).status == 200)
        #expect(server.connectionCount == 2)
    }
}
