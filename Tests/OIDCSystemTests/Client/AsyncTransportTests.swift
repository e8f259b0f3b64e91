import DemoProvider
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@testable import OIDCSystem

@Suite("steps over an asynchronous HTTP client")
struct AsyncTransportTests {
    private struct Unrelated: Error {}

    private func request(redeems: Bool = false) throws -> HTTPRequest {
        var request = HTTPRequest.json(try #require(WebURL("https://op.example/token")))
        request.redeemsSingleUseSecret = redeems
        return request
    }

    @Test("the answer of the function is the answer of the request")
    func answers() async throws {
        let context = OIDCContext(
            transport: AsyncTransport { request in
                await Task.yield()
                return HTTPResponse(status: request.url.path == "/token" ? 200 : 404)
            })
        let request = try request()
        let status = try await context.run { context throws(OIDCError) in
            try context.transport.send(request, stage: .token).status
        }
        #expect(status == 200)
    }

    @Test("an error of the function means that the server is unreachable, unless it is one of the library")
    func errors() async throws {
        let request = try request()
        let foreign = AsyncTransport { _ in throw Unrelated() }
        let own = AsyncTransport { _ in throw OIDCError(.untrusted, "certificate", stage: .token) }
        for (transport, kind) in [(foreign, OIDCError.Kind.unreachable), (own, .untrusted)] {
            let error = await #expect(throws: OIDCError.self) {
                try await OIDCContext(transport: transport).run { context throws(OIDCError) in
                    try context.transport.send(request, stage: .token).status
                }
            }
            #expect(error?.kind == kind && error?.stage == .token)
        }
    }

    @Test(
        "a canceled task stops waiting, but not for an answer that may have used up a secret (RFC 6749 §10.4)",
        arguments: [false, true])
    func cancellation(redeems: Bool) async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let (answers, answer) = AsyncStream<Int>.makeStream()
        let context = OIDCContext(
            transport: AsyncTransport { _ in
                start.yield()
                for await status in answers { return HTTPResponse(status: status) }
                throw Unrelated()
            })
        let request = try request(redeems: redeems)
        let task = Task {
            try await context.run { context throws(OIDCError) in
                try context.transport.send(request, stage: .token).status
            }
        }
        for await _ in started { break }
        task.cancel()
        if redeems { answer.yield(200) }
        let outcome = await task.result
        answer.finish()
        if redeems {
            #expect(try outcome.get() == 200)
        } else {
            let error = #expect(throws: OIDCError.self) { try outcome.get() }
            #expect(error?.kind == .interrupted)
        }
    }

    @Test("a client signs in over such a transport, and its token is refreshed")
    func client() async throws {
        let provider = try InMemoryProvider({ $0.user = .approves("alice") }, clock: { Clock.now() })
        var configuration = ClientConfiguration(issuer: InMemoryProvider.issuer, clientID: "demo")
        configuration.store = .inMemory()
        configuration.transport = AsyncTransport { try provider.send($0, stage: .resource) }
        var client = OIDCClient(configuration)
        client.notice = { _ in }
        let session = try await client.signInOnDevice()
        #expect(try await client.accessToken() == session.tokens.access)
        #expect(try await client.userInfo()["sub"]?.string == session.subject)
    }
}

@Suite("claims as types of the program")
struct ClaimsDecoderTests {
    private struct Address: Decodable, Equatable {
        var locality: String
    }

    private struct Claims: Decodable, Equatable {
        var sub: String
        var email_verified: Bool?
        var updated_at: Int64
        var height: Double?
        var groups: [String]?
        var address: Address?
        var ports: [UInt16]?
    }

    private func claims(_ json: String) throws -> JSONObject {
        try #require(JSONValue(parsing: Array(json.utf8)).object)
    }

    @Test("members of every type are decoded; missing ones and null are nil")
    func types() throws {
        let json = #"""
            {"sub":"alice","email_verified":true,"updated_at":1800000000,"height":1.5,"groups":["a","b"],
             "address":{"locality":"Bern"},"ports":null}
            """#
        #expect(
            try claims(json).decoded()
                == Claims(
                    sub: "alice", email_verified: true, updated_at: 1_800_000_000, height: 1.5,
                    groups: ["a", "b"], address: Address(locality: "Bern")))
        let least = try claims(#"{"sub":"a","updated_at":0}"#).decoded(as: Claims.self)
        #expect(least == Claims(sub: "a", updated_at: 0))
    }

    @Test(
        "a wrong type, a number that does not fit and a missing member are errors with a path",
        arguments: [
            (#"{"sub":1,"updated_at":0}"#, ["sub"]), (#"{"sub":"a","updated_at":"0"}"#, ["updated_at"]),
            (#"{"sub":"a","updated_at":1.5}"#, ["updated_at"]),
            (#"{"sub":"a","updated_at":0,"ports":[1,70000]}"#, ["ports", "Index 1"]),
            (#"{"sub":"a","updated_at":0,"address":{}}"#, ["address"]),
            (#"{"sub":"a","updated_at":0,"groups":"a"}"#, ["groups"]), (#"{"updated_at":0}"#, []),
        ])
    func mistakes(_ json: String, _ path: [String]) throws {
        let error = #expect(throws: DecodingError.self) { try claims(json).decoded(as: Claims.self) }
        let context: DecodingError.Context? =
            switch error {
            case .typeMismatch(_, let context), .keyNotFound(_, let context),
                .valueNotFound(_, let context), .dataCorrupted(let context):
                context
            default: nil
            }
        #expect(context?.codingPath.map(\.stringValue) == path)
    }

    @Test(
        "a whole number beyond 64 bits does not crash", arguments: ["1e999", "18446744073709551616", "-1e30"])
    func bigNumbers(_ number: String) throws {
        let claims = try claims("{\"sub\":\"a\",\"updated_at\":\(number)}")
        #expect(throws: DecodingError.self) { try claims.decoded(as: Claims.self) }
    }
}
