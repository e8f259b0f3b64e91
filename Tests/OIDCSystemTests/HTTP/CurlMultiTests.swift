import CLibcurl
@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("transfers that share a thread", .waiting)
struct CurlMultiTests {
    /// A client that takes a millisecond for each part of an answer.
    private final class SlowClient: CurlClient {
        let head = ResponseHead()
        var parts = 0
        var pauses = false
        var onPart: () -> Void = {}

        func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }

        func receiveBody(_ bytes: UnsafeRawBufferPointer) -> CurlTransfer.Reception {
            guard !pauses else { return .pause }
            parts += 1
            onPart()
            usleep(1_000)
            return .taken
        }

        func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision { .end }
    }

    /// A client that counts the bytes of an answer.
    private final class CountingClient: CurlClient {
        let head = ResponseHead()
        var bytes = 0

        func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }

        func receiveBody(_ bytes: UnsafeRawBufferPointer) -> CurlTransfer.Reception {
            self.bytes += bytes.count
            return .taken
        }

        func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision { .end }
    }

    /// A client whose answer and body can be paused.
    private final class PausingClient: CurlClient {
        let head = ResponseHead()
        var pauses = true
        /// The number of bytes that the body still has.
        var left = 20_000

        func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }

        func receiveBody(_ bytes: UnsafeRawBufferPointer) -> CurlTransfer.Reception {
            pauses ? .pause : .taken
        }

        func provideBody(_ buffer: UnsafeMutableRawBufferPointer) -> CurlTransfer.Provision {
            guard !pauses else { return .pause }
            guard left > 0 else { return .end }
            let count = min(left, buffer.count)
            buffer[..<count].initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "a"))
            left -= count
            return .bytes(count)
        }
    }

    @Test("a body that is paused is not asked for when the answer goes on, and the transfer ends")
    func pausedBody() throws {
        let server = try ScriptedServer { peer in
            guard peer.readPart() else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nans")
            shutdown(peer.descriptor, Int32(SHUT_WR))
            peer.waitForEnd()
        }
        let (multi, client) = (try CurlMulti(idleConnections: 1), PausingClient())
        let transfer = try transfer(from: server.url(), for: client, body: .provided(length: 20_000))
        #expect(multi.add(transfer))
        while !transfer.isReceivingPaused || !transfer.isSendingPaused { act(multi) }
        client.pauses = false
        // The end of the connection has to be there when the answer goes on.
        usleep(50_000)
        transfer.resume(receiving: true)
        multi.actOnTimer(now: .now())
        let end = MonotonicTime.now().adding(seconds: 1)
        while !transfer.isReadToEnd, MonotonicTime.now() < end { act(multi) }
        #expect(client.left == 20_000 && transfer.isSendingPaused)
        transfer.resume(sending: true)
        while !multi.isEmpty { act(multi) }
        #expect(multi.nextEnded()?.1 == .partialAnswer)
    }

    @Test("an answer in small chunks gives the thread back soon, and is whole in the end")
    func smallChunks() throws {
        let count = 30_000
        let chunks = String(repeating: "1\r\nx\r\n", count: count)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n")
        }
        let client = SlowClient()
        let multi = try CurlMulti(idleConnections: 1)
        #expect(multi.add(try transfer(from: server, for: client)))
        var most = 0
        while !multi.isEmpty {
            let before = client.parts
            act(multi)
            most = max(most, client.parts - before)
        }
        #expect(multi.nextEnded()?.1 == .ok)
        // At most 20 ms for each of the two calls of libcurl, and a part that was under way in each.
        #expect(most <= 42 && client.parts > most, "\(most) of \(client.parts)")
    }

    @Test("of a round, each of many servers that send without end gets its share")
    func shares() throws {
        let (multi, clients, transfers) = try withAnswers(
            count: 10,
            answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1\r\nx\r\n", count: 1_000))
        var interests = multi.interests(now: .now())
        Poll.wait(&interests, until: .now().adding(seconds: 60))
        #expect(interests.allSatisfy { $0.ready.contains(.reading) })
        multi.act(on: interests)
        // A share of 3 ms, and a part that was under way.
        #expect(clients.allSatisfy { $0.parts <= 4 }, "\(clients.map(\.parts))")
        // The first one has had its turn even if there was no time for others.
        #expect(transfers.contains { $0.isGreedy })
    }

    @Test("a new request does not wait for the answers of others")
    func newRequest() throws {
        let chunks = String(repeating: "1\r\nx\r\n", count: 100_000)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
            _ = peer.readRequest()
        }
        let (multi, client) = (try CurlMulti(idleConnections: 1), SlowClient())
        client.pauses = true
        let other = try transfer(from: server, for: client)
        #expect(multi.add(other))
        while !other.isReceivingPaused { act(multi) }
        client.pauses = false
        other.resume(receiving: true)
        let parts = client.parts
        #expect(multi.add(try transfer(from: server, for: SlowClient())))
        #expect(client.parts == parts)
        for _ in 0..<100 where client.parts == parts { act(multi) }
        #expect(client.parts > parts)
    }

    @Test("an answer on a kept connection that is paused at once is not cut when the next request starts")
    func answerAtOnce() throws {
        let body = String(repeating: "x", count: 300_000)
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil { peer.write(answer("200 OK", body: body)) }
        }
        let multi = try CurlMulti(idleConnections: 4)
        func get(_ client: CountingClient) throws -> CurlTransfer {
            let transfer = try transfer(from: server.url(), for: client)
            #expect(multi.add(transfer))
            return transfer
        }
        // Whether the answer has come before libcurl first waits for it is up to the machine.
        for _ in 0..<2_000 {
            let (first, second) = (CountingClient(), CountingClient())
            let isPaused = try get(first).isReceivingPaused
            // Until more than the paused part has arrived.
            if isPaused { usleep(1_000) }
            _ = try get(second)
            while !multi.isEmpty { act(multi) }
            while let ended = multi.nextEnded() { #expect(ended.1 == .ok) }
            #expect(first.bytes == body.utf8.count && second.bytes == body.utf8.count)
            guard !isPaused else { break }
        }
    }

    @Test("an answer ends if it goes on without giving anything: the extension of a chunk (RFC 9112 §7.1.1)")
    func endlessExtension() throws {
        let part = String(repeating: "x", count: 1_000_000)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n5;\(part)")
            for _ in 0..<1_000 {
                guard peer.write(part) else { return }
            }
            peer.write("\r\nhello\r\n0\r\n\r\n")
        }
        let client = SlowClient()
        let multi = try CurlMulti(idleConnections: 1, millisecondsInVain: 5)
        let transfer = try transfer(from: server, for: client)
        #expect(multi.add(transfer))
        while !multi.isEmpty { act(multi) }
        #expect(multi.nextEnded()?.1 == .abortedByCallback)
        let error = transfer.failure(CurlConfiguration()).error
        #expect(error.kind == .refused && error.message.includes("not part of an answer"), "\(error)")
        #expect(client.parts == 1)
    }

    @Test(
        "the extension of a chunk may have 64 KiB, however little time a longer one takes",
        arguments: [(50_000, true), (4_000_000, false)])
    func longExtension(size: Int, isFine: Bool) throws {
        let (part, body) = (String(repeating: "x", count: size), String(repeating: "y", count: 1_000_000))
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
            for _ in 0..<3 { peer.write("f4240;\(part)\r\n\(body)\r\n") }
            peer.write("0\r\n\r\n")
        }
        let client = CountingClient()
        let multi = try CurlMulti(idleConnections: 1, millisecondsInVain: 600_000)
        let transfer = try transfer(from: server, for: client)
        #expect(multi.add(transfer))
        while !multi.isEmpty { act(multi) }
        #expect(multi.nextEnded()?.1 == (isFine ? .ok : .abortedByCallback))
        #expect(client.bytes == (isFine ? 3_000_001 : 1))
    }

    @Test(
        "frames that are not part of an answer give the thread back soon, and end the transfer some rounds later",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"),
        arguments: [(2, [0, 0, 0, 0, 16]), (99, [])] as [(Int, [UInt8])])
    func endlessFrames(type: Int, payload: [UInt8]) throws {
        let server = try HTTP2Server([[.flood(type: type, payload: payload)]])
        let client = SlowClient()
        let multi = try CurlMulti(idleConnections: 1, millisecondsInVain: 400)
        let transfer = try transfer(from: server.url, for: client)
        #expect(multi.add(transfer))
        var most: Int64 = 0
        while !multi.isEmpty {
            let before = oidc_curl_cpu_time()
            act(multi)
            most = max(most, oidc_curl_cpu_time() - before)
        }
        #expect(multi.nextEnded()?.1 == .abortedByCallback)
        let error = transfer.failure(CurlConfiguration()).error
        #expect(error.kind == .refused && error.message.includes("not part of an answer"), "\(error)")
        // A turn is far shorter, but its last part may be expensive. Without turns, it is 250 ms.
        #expect(most < 150_000_000, "\(most) ns")
    }

    @Test("a small answer comes before the parts of those that used up their last turn")
    func smallAnswer() throws {
        let (multi, clients, transfers) = try withAnswers(count: 11, answer: answer("200 OK", body: "x"))
        var order: [Int] = []
        for (number, client) in clients.enumerated() { client.onPart = { order.append(number) } }
        for transfer in transfers.dropLast() { transfer.isGreedy = true }
        var interests = multi.interests(now: .now())
        Poll.wait(&interests, until: .now().adding(seconds: 60))
        #expect(interests.allSatisfy { $0.ready.contains(.reading) })
        multi.act(on: interests)
        #expect(order.first == 10 && order.count > 1, "\(order)")
    }

    @Test("no group of transfers has a second turn before each has had one")
    func groups() throws {
        let groups = Array(repeating: 1, count: 10) + [2, 3]
        let (multi, clients, _) = try withAnswers(
            count: 12, answer: answer("200 OK", body: "x"), groups: groups)
        var order: [Int] = []
        for (client, group) in zip(clients, groups) {
            client.onPart = {
                order.append(group)
                // No round has time for a second turn.
                usleep(15_000)
            }
        }
        for _ in 0..<5 {
            var interests = multi.interests(now: .now())
            Poll.wait(&interests, until: .now().adding(seconds: 60))
            multi.act(on: interests)
        }
        #expect(Set(order.prefix(3)) == [1, 2, 3] && order.dropFirst(3).allSatisfy { $0 == 1 }, "\(order)")
    }

    @Test("answers that wait for the next round go on in turns, some of them in a later one")
    func waiting() throws {
        let groups = Array(repeating: 1, count: 20) + [2]
        let (multi, clients, transfers) = try withAnswers(
            count: 21,
            answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1\r\nx\r\n", count: 1_000),
            groups: groups)
        for transfer in transfers { multi.look(at: transfer) }
        while multi.lookAtAnswers() {}
        // Their clients do not make them go on before.
        for transfer in transfers { transfer.resume(receiving: true) }
        #expect(transfers.allSatisfy { $0.isReceivingPaused })
        let parts = clients.map(\.parts)
        func goneOn() -> [Int] { parts.indices.filter { clients[$0].parts > parts[$0] } }
        for _ in 0..<1_000 where goneOn().count < 2 { multi.act(on: []) }
        #expect(goneOn().contains(20) && goneOn().count < 21, "\(goneOn())")
    }

    @Test("looks at the answers of one group do not wait for those of another")
    func looksOfGroups() throws {
        let groups = Array(repeating: 1, count: 10) + [2]
        let (multi, clients, transfers) = try withAnswers(
            count: 11,
            answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1\r\nx\r\n", count: 1_000),
            groups: groups)
        for transfer in transfers { multi.look(at: transfer) }
        while clients.count(where: { $0.parts > 0 }) < 2 { #expect(multi.lookAtAnswers()) }
        #expect(clients[10].parts > 0)
    }

    @Test("a new request does not wait for the TLS handshakes of others")
    func handshakes() throws {
        let (arrived, go, sent) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let server = try ScriptedServer { peer in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            guard recv(peer.descriptor, &buffer, buffer.count, 0) > 0 else { return }
            arrived.signal()
            go.wait()
            // An alert: handshake_failure.
            peer.write([21, 3, 3, 0, 2, 2, 40])
            sent.signal()
            peer.waitForEnd()
        }
        let (multi, client) = (try CurlMulti(idleConnections: 1), SlowClient())
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/"))
        let other = try transfer(from: url, for: client)
        guard oidc_curl_can_limit_reads(other.easy) != 0 else { return }
        #expect(multi.add(other))
        while arrived.wait(timeout: .now()) == .timedOut { act(multi) }
        go.signal()
        sent.wait()
        // libcurl goes on with what was paused in its next call.
        let library = try CurlLibrary.load()
        for pauses in [Int32(OIDC_CURL_PAUSE_SEND), 0] {
            #expect(library.pointee.easy_pause(other.easy, pauses) == 0)
        }
        let plain = try ScriptedServer.answering(answer("200 OK", body: "x"))
        let new = try transfer(from: plain, for: client)
        #expect(multi.add(new))
        #expect(multi.nextEnded() == nil)
        for _ in 0..<1_000 where !multi.isEmpty { act(multi) }
        #expect(multi.isEmpty)
        var codes: Set<CurlCode> = []
        while let (_, code) = multi.nextEnded() { codes.insert(code) }
        #expect(codes == [.ok, .handshakeFailed])
    }

    @Test("looks at answers that go on have a time for all of them, and take turns")
    func looks() throws {
        let (multi, clients, transfers) = try withAnswers(
            count: 20,
            answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1\r\nx\r\n", count: 1_000))
        for transfer in transfers { multi.look(at: transfer) }
        #expect(multi.nextMoment.map { $0 <= .now() } ?? false)
        #expect(multi.lookAtAnswers())
        // A look takes a millisecond at least, and ends in the middle of the answer.
        let first = transfers.count { $0.isReceivingPaused }
        #expect(transfers[0].isReceivingPaused && first < 12, "\(first)")
        while multi.lookAtAnswers() {}
        #expect(transfers.allSatisfy { $0.isReceivingPaused })
        #expect(clients.allSatisfy { $0.parts < 500 }, "\(clients.map(\.parts))")
    }

    /// Returns transfers from servers that have sent the answer, of which nothing was read yet.
    private func withAnswers(count: Int, answer: String, groups: [Int] = []) throws
        -> (CurlMulti, [SlowClient], [CurlTransfer])
    {
        let (arrived, go, sent) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let servers = try (0..<count).map { _ in
            try ScriptedServer { peer in
                guard peer.readRequest() != nil else { return }
                arrived.signal()
                go.wait()
                peer.write(answer)
                sent.signal()
                _ = peer.readRequest()
            }
        }
        let multi = try CurlMulti(idleConnections: 1)
        let clients = servers.map { _ in SlowClient() }
        let transfers = try (0..<count).map {
            try transfer(from: servers[$0].url(), for: clients[$0], group: groups.isEmpty ? 0 : groups[$0])
        }
        #expect(transfers.allSatisfy(multi.add))
        for _ in servers { while arrived.wait(timeout: .now()) == .timedOut { act(multi) } }
        for _ in servers { go.signal() }
        for _ in servers { sent.wait() }
        return (multi, clients, transfers)
    }

    private func transfer(from server: ScriptedServer, for client: any CurlClient) throws -> CurlTransfer {
        try transfer(from: server.url(), for: client)
    }

    private func transfer(
        from url: WebURL, for client: any CurlClient, group: Int = 0, body: CurlTransfer.Body = .bytes([])
    ) throws -> CurlTransfer {
        let order = CurlTransfer.Order(
            method: body.length == 0 ? .get : .put, url: url, fields: [], body: body,
            usesClientCertificate: false,
            purpose: .forwarding, stage: .resource, group: group)
        var configuration = CurlConfiguration()
        if url.isSecure, let servers = TLSServers.shared {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(path: servers.path("ca.pem"))
        }
        return try CurlTransfer(order, configuration, client: client)
    }

    private func act(_ multi: CurlMulti) {
        let now = MonotonicTime.now()
        var interests = multi.interests(now: now)
        Poll.wait(&interests, until: min(multi.nextMoment ?? now, now).adding(milliseconds: 100))
        multi.act(on: interests)
        multi.actOnTimer(now: .now())
    }
}
