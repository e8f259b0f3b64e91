import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// A command that sends something secret to one endpoint.
struct EndpointCommand: CustomTestStringConvertible, Sendable {
    let endpoint: Endpoint
    let arguments: [String]
    /// Whether it takes a session.
    var needsSession = true
    /// Whether only the status counts.
    var ignoresBody = false

    var testDescription: String { arguments.joined(separator: " ") }

    static let all = [
        EndpointCommand(endpoint: .device, arguments: ["login", "--flow", "device"], needsSession: false),
        EndpointCommand(
            endpoint: .pushedAuthorization,
            arguments: ["login", "--flow", "browser", "--no-browser", "--set", "par=require"],
            needsSession: false),
        EndpointCommand(endpoint: .registration, arguments: ["register"], needsSession: false),
        EndpointCommand(endpoint: .introspection, arguments: ["introspect"]),
        EndpointCommand(endpoint: .revocation, arguments: ["revoke"], ignoresBody: true),
        EndpointCommand(endpoint: .revocation, arguments: ["logout"], ignoresBody: true),
        EndpointCommand(endpoint: .userinfo, arguments: ["userinfo"]),
    ]

    /// One fault of each exit code, and those that only the transport meets.
    static let faults: [AnswerFault] = [
        .htmlForbidden, .unavailable, .noJSON, .plainTextType, .compressionBomb, .redirectSameOrigin,
    ]

    /// The exit code that an answer of that kind must have.
    func status(_ fault: AnswerFault) -> Int32 {
        switch fault {
        case .unavailable: 5
        case .plainTextType: 0
        case .redirectSameOrigin: endpoint == .userinfo ? 0 : 4
        case .noJSON: ignoresBody ? 0 : 4
        default: 4
        }
    }
}

@Suite("a hostile answer of each endpoint, in the built program", .serialized, .waitingLong)
struct HostileEndpointTests {
    private static let client = DemoClient(id: "planted", secret: "planted-client-secret-8d1f")

    private func world(_ foreign: ProviderServer) throws -> (ProviderServer, Program) {
        let provider = try TrustWorld.server(foreign: foreign.origin) {
            $0.clients = [Self.client]
            $0.deviceInterval = 1
        }
        let secret = try #require(Self.client.secret?.revealed)
        return (provider, try Program(provider, client: Self.client.id, ["OIDC_CLIENT_SECRET": secret]))
    }

    @Test(
        "a broken answer leads to the documented exit code and one clean line, and leaves the session alone",
        arguments: EndpointCommand.all, EndpointCommand.faults)
    func answers(command: EndpointCommand, fault: AnswerFault) throws {
        let foreign = try TrustWorld.server()
        let (provider, program) = try world(foreign)
        defer { program.remove() }
        if command.needsSession {
            try program.storeSession(at: provider, client: Self.client.id, secret: Self.client.secret)
        }
        let before = try program.sessionFiles.map { try Data(contentsOf: $0) }
        provider.with { _ = $0.faults.insert(.answer(command.endpoint, fault)) }
        let expected = command.status(fault)
        let run = try program.start(command.arguments)
        // A sign-in that gets a usable answer waits for the user.
        if expected == 0, !command.needsSession, command.endpoint != .registration {
            #expect(run.errorOutput { $0.contains("http://") ? true : nil } == true)
            run.signal(SIGTERM)
            #expect(run.finish().status == 143)
            return
        }
        let outcome = run.finish()
        #expect(outcome.status == expected, "\(outcome.errorOutput)")
        if expected != 0 { #expect(outcome.isClean && outcome.output == "", "\(outcome.errorOutput)") }
        let after = try program.sessionFiles.map { try Data(contentsOf: $0) }
        // A revoked token is dropped, with any body of the success response (RFC 7009 §2.2).
        let isRevoked = command.endpoint == .revocation && expected == 0
        #expect(isRevoked || after == (command.arguments == ["logout"] ? [] : before))
        for endpoint in Endpoint.allCases { #expect(foreign.requestCount(endpoint) == 0) }
        #expect(provider.requestCount(command.endpoint) <= 4)
    }

    @Test(
        "a token, a code or a secret is never sent to another origin by a redirect",
        arguments: EndpointCommand.all, [302, 308])
    func redirects(command: EndpointCommand, status: Int) throws {
        let foreign = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        let (provider, program) = try world(TrustWorld.server())
        defer { program.remove() }
        if command.needsSession {
            try program.storeSession(at: provider, client: Self.client.id, secret: Self.client.secret)
        }
        provider.intercept { request in
            guard request.url.path == command.endpoint.path else { return nil }
            return HTTPResponse(status: status, headers: HTTPHeaders([("Location", "\(foreign.origin)/x")]))
        }
        let outcome = try program.start(command.arguments).finish()
        #expect(outcome.status == 4 && outcome.isClean && outcome.output == "", "\(outcome.errorOutput)")
        #expect(foreign.requests == [])
    }
}

@Suite("a hostile device authorization, in the built program", .serialized, .waiting)
struct HostileDeviceTests {
    /// The member that the error names; other faults leave something to show.
    private static let refusals: [DeviceFault: String] = [.verificationURIScript: "verification_uri"]

    @Test(
        "a device authorization with a fault is shown clean, or refused",
        arguments: [DeviceFault.userCodeEscapes, .completeURIScript, .verificationURIScript, .intervalHuge])
    func faults(fault: DeviceFault) throws {
        let provider = try TrustWorld.server([.device(fault)])
        let program = try Program(provider)
        defer { program.remove() }
        let run = try program.start(["login", "--flow", "device"])
        if let name = Self.refusals[fault] {
            let outcome = run.finish()
            #expect(outcome.status == 4 && outcome.isClean, "\(outcome.errorOutput)")
            #expect(outcome.error?.contains(name) == true, "\(outcome.errorOutput)")
            #expect(provider.requestCount(.token) == 0)
        } else {
            #expect(run.errorOutput { $0.contains("\(provider.origin)/device") ? true : nil } == true)
            #expect(provider.requestCount(.token) <= 1)
            run.signal(SIGTERM)
            let outcome = run.finish()
            #expect(outcome.status == 143, "\(outcome.errorOutput)")
            #expect(!outcome.errorOutput.contains("javascript:"))
            let isClean = outcome.errorOutput.unicodeScalars.allSatisfy {
                ($0.value >= 32 || $0 == "\n") && $0.value != 127 && $0.value != 0x202E
            }
            #expect(isClean, "\(outcome.errorOutput)")
        }
        #expect(program.sessionFiles.isEmpty)
    }
}
