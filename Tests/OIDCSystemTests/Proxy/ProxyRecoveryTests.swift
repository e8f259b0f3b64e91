import Foundation
import OIDCCore
import OIDCCrypto
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("how the proxy recovers from what a server refuses or sends unasked", .serialized, .waiting)
struct ProxyRecoveryTests {
    /// A server with paths that accept no token, and others that accept one.
    private final class Guarded: Sendable {
        let accepted = Mutex("token-1")

        func server() throws -> ScriptedServer {
            try ScriptedServer { [self] peer in
                while let request = peer.readRequest() {
                    let isAccepted =
                        request.contains("Authorization: Bearer \(accepted.withLock { $0 })\r\n")
                        && !request.contains("/admin")
                    peer.write(
                        isAccepted
                            ? answer("200 OK", body: "hello")
                            : answer("401 Unauthorized", "WWW-Authenticate: Bearer", body: "no"))
                }
            }
        }
    }

    @Test("a path that accepts no token does not keep the others from getting a new one")
    func onePath() throws {
        let guarded = Guarded()
        let server = try guarded.server()
        let world = try ProxyWorld(server)
        func status(_ path: String) throws -> Int? { RawConnection.status(try world.exchange("GET", path)) }
        #expect(try status("x") == 200)
        guarded.accepted.withLock { $0 = "token-2" }
        #expect(try status("admin") == 401)
        #expect(try status("x") == 200)
        #expect(world.tokens.requests == 2)
        // Each is refused once and accepted once, and none leads to another refresh.
        for _ in 0..<3 {
            #expect(try status("admin") == 401)
            #expect(try status("x") == 200)
        }
        #expect(world.tokens.requests == 2)
        guarded.accepted.withLock { $0 = "token-3" }
        #expect(try status("x") == 200)
        #expect(world.tokens.requests == 3)
    }

    @Test(
        "thirty paths that accept no token cause one refresh, whatever other paths accept",
        arguments: [1, 65_537])
    func manyPaths(size: Int) throws {
        let guarded = Guarded()
        let server = try guarded.server()
        let world = try ProxyWorld(server)
        func status(_ path: String) throws -> Int? {
            RawConnection.status(
                try world.exchange(
                    "PUT", path, ["Content-Length: \(size)"], body: String(repeating: "a", count: size)))
        }
        #expect(try status("x") == 200)
        for number in 0..<30 {
            #expect(try status("admin/\(number)") == 401)
            guarded.accepted.withLock { $0 = "token-2" }
            #expect(try status("x") == 200)
        }
        #expect(world.tokens.requests == 2)
        // The new token ends: a path that accepted it gets another one, which serves all.
        guarded.accepted.withLock { $0 = "token-3" }
        #expect(RawConnection.status(try world.exchange("GET", "x")) == 200)
        #expect(try status("y") == 200)
        #expect(world.tokens.requests == 3)
    }

    @Test("a path that accepts and refuses each token in turn causes five refreshes, not one a request")
    func everyOther() throws {
        let count = Mutex(0)
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                let isAccepted = count.withLock { count in
                    count += 1
                    return count % 2 == 1
                }
                peer.write(
                    isAccepted
                        ? answer("200 OK", body: "hello")
                        : answer("401 Unauthorized", "WWW-Authenticate: Bearer", body: "no"))
            }
        }
        let world = try ProxyWorld(server)
        for _ in 0..<100 { _ = try world.exchange("GET", "x") }
        #expect(world.tokens.requests == 6)
    }

    @Test("a path that refuses one query, whatever the token, causes five refreshes at most")
    func oneQuery() throws {
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                peer.write(
                    request.contains("?no")
                        ? answer("401 Unauthorized", "WWW-Authenticate: Bearer", body: "no")
                        : answer("200 OK", body: "hello"))
            }
        }
        let world = try ProxyWorld(server)
        for _ in 0..<50 {
            #expect(RawConnection.status(try world.exchange("GET", "x")) == 200)
            #expect(RawConnection.status(try world.exchange("GET", "x?no")) == 401)
        }
        #expect(world.tokens.requests == 6)
    }

    @Test("a token that was replaced while its request ran does not count as a new one that is refused")
    func lateRefusal() throws {
        let isSent = DispatchSemaphore(value: 0)
        let mayAnswer = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                if request.contains("/late "), request.contains("token-1") {
                    isSent.signal()
                    mayAnswer.wait()
                }
                let isAccepted = request.contains("token-2") && !request.contains("/admin ")
                peer.write(
                    isAccepted
                        ? answer("200 OK", body: "hello")
                        : answer("401 Unauthorized", "WWW-Authenticate: Bearer", body: "no"))
            }
        }
        let world = try ProxyWorld(server)
        let late = try world.connect()
        late.send(world.head("GET", "late"))
        isSent.wait()
        #expect(RawConnection.status(try world.exchange("GET", "admin")) == 401)
        mayAnswer.signal()
        #expect(late.received(until: "hello").contains("200 OK"))
        #expect(world.tokens.requests == 2)
    }

    @Test(
        "a refusal whose body does not end counts by its header, and its connection is closed",
        arguments: [65_536, 1, 0])
    func endlessRefusal(bytesAtOnce: Int) throws {
        let isClosed = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                guard request.contains("token-1") else {
                    peer.write(answer("200 OK", body: "hello"))
                    continue
                }
                let fields = "WWW-Authenticate: Bearer\r\nContent-Length: 9999999"
                peer.write("HTTP/1.1 401 Unauthorized\r\n\(fields)\r\n\r\n")
                if bytesAtOnce == 0 { peer.waitForEnd() }
                while bytesAtOnce > 0, peer.write(String(repeating: "a", count: bytesAtOnce)) {
                    Poll.sleep(until: .now().adding(milliseconds: 50))
                }
                isClosed.signal()
                return
            }
        }
        let world = try ProxyWorld(server)
        let reply = try world.exchange("GET", "x", within: 30)
        #expect(reply.hasPrefix("HTTP/1.1 200 OK"), "\(reply)")
        #expect(isClosed.wait(timeout: .now() + 30) == .success)
        #expect(world.tokens.requests == 2 && server.requests.count == 2)
    }

    @Test("a refused token that another process obtained is refreshed for the same request")
    func adopted() throws {
        let guarded = Guarded()
        let server = try guarded.server()
        guarded.accepted.withLock { $0 = "token-3" }
        let world = try ProxyWorld(server, tokens: ProxyWorld.Tokens(adopted: 2))
        let reply = try world.exchange("POST", "x", ["Content-Length: 1"], body: "a")
        #expect(reply.hasPrefix("HTTP/1.1 200 OK"), "\(reply)")
        #expect(world.tokens.requests == 3 && server.requests.count == 3)
    }

    @Test("a proof is repeated once more if another request got a newer nonce meanwhile (RFC 9449 §8)")
    func overtakenNonce() throws {
        let (isOut, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let count = Mutex(0)
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                guard request.contains(" /own ") else {
                    peer.write(answer("200 OK", "DPoP-Nonce: other"))
                    continue
                }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 2 {
                    isOut.signal()
                    mayGoOn.wait()
                }
                peer.write(
                    number == 3
                        ? answer("200 OK", body: "hello")
                        : answer(
                            "401 Unauthorized", "DPoP-Nonce: own-\(number)",
                            "WWW-Authenticate: DPoP error=\"use_dpop_nonce\""))
            }
        }
        let world = try ProxyWorld(server, tokens: ProxyWorld.Tokens(key: try DPoPKey.generate().pem))
        let own = try world.connect()
        own.send(world.head("GET", "own", "Connection: close"))
        isOut.wait()
        #expect(try world.exchange("GET", "other").hasPrefix("HTTP/1.1 200 OK"))
        mayGoOn.signal()
        #expect(RawConnection.status(own.received(within: 60)) == 200)
        #expect(world.tokens.requests == 1)
    }

    @Test("a request is repeated with the nonce of its own answer, not of another's (RFC 9449 §8, §9)")
    func ownNonce() throws {
        let isOtherAnswered = DispatchSemaphore(value: 0)
        let isOwnHalfway = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                let path = request.contains(" /own ") ? "own" : "other"
                let proof = request.components(separatedBy: "\r\n").first { $0.hasPrefix("DPoP: ") } ?? ""
                let claims = proof.split(separator: ".").dropFirst().first.flatMap {
                    Base64URL.decode(String($0))
                }
                if String(decoding: claims ?? [], as: UTF8.self).contains("\"nonce\":\"\(path)\"") {
                    peer.write(answer("200 OK", body: "hello"))
                    continue
                }
                let refusal = answer(
                    "401 Unauthorized", "DPoP-Nonce: \(path)",
                    "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"", body: "no")
                // The other request is refused between the two halves of this answer.
                peer.write(String(refusal.dropLast()))
                if path == "own" {
                    isOwnHalfway.signal()
                    isOtherAnswered.wait()
                }
                peer.write("o")
                if path == "other" { isOtherAnswered.signal() }
            }
        }
        let world = try ProxyWorld(server, tokens: ProxyWorld.Tokens(key: try DPoPKey.generate().pem))
        let own = try world.connect()
        own.send(world.head("GET", "own"))
        isOwnHalfway.wait()
        #expect(try world.exchange("GET", "other").hasPrefix("HTTP/1.1 200 OK"))
        #expect(own.received(until: "hello").contains("200 OK"))
    }

    @Test("what a server sends on an idle connection is not the answer to the next request (RFC 9112 §9.2)")
    func unasked() throws {
        let mayGoOn = DispatchSemaphore(value: 0)
        let hasGoneOn = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                let isFirst = request.contains(" /first ")
                peer.write(answer("200 OK", body: isFirst ? "first" : "hello"))
                guard isFirst else { continue }
                mayGoOn.wait()
                peer.write(answer("200 OK", body: "late"))
                peer.waitUntilReceived()
                hasGoneOn.signal()
            }
        }
        let world = try ProxyWorld(server)
        for _ in 0..<3 {
            #expect(try world.exchange("GET", "first").hasSuffix("first"))
            mayGoOn.signal()
            hasGoneOn.wait()
            for method in ["GET", "POST"] {
                let reply = try world.exchange(method, "x", ["Content-Length: 0"])
                #expect(reply.hasSuffix("hello"), "\(reply)")
            }
        }
    }
}

extension Peer {
    /// Waits until the system at the other end has all that was sent.
    fileprivate func waitUntilReceived() {
        var unsent: Int32 = 1
        while ioctl(descriptor, UInt(TIOCOUTQ), &unsent) == 0, unsent > 0 { usleep(500) }
    }
}
