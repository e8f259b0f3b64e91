import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// A command that sends something secret to one endpoint.
struct EndpointCommand: CustomTestStringConvertible, Sendable {
    let endpoint: Endpoint
    let arguments: [String]
    /// Of a session that was made before.
    var needsSession = true
    /// Whether the status alone counts.
    var ignoresBody = false

    var testDescription: String { arguments.joined(separator: " ") }

    static let all = [
        EndpointCommand(endpoint: .device, arguments: ["login", "--flow", "device"], needsSession: false),
        EndpointCommand(
            endpoint: .pushedAuthorization, arguments: ["login", "--no-browser", "--set", "par=require"],
            needsSession: false),
        EndpointCommand(endpoint: .registration, arguments: ["register"], needsSession: false),
        EndpointCommand(endpoint: .introspection, arguments: ["introspect"]),
        EndpointCommand(endpoint: .revocation, arguments: ["revoke"], ignoresBody: true),
        EndpointCommand(endpoint: .revocation, arguments: ["logout"], ignoresBody: true),
        EndpointCommand(endpoint: .userinfo, arguments: ["userinfo"]),
    ]

    /// The faults to try: all of them, unless a test in memory tries those of the protocol.
    var faults: [AnswerFault] {
        let isInMemory = endpoint == .device || endpoint == .pushedAuthorization
        guard isInMemory || arguments == ["logout"] else { return AnswerFault.allCases }
        return AnswerFault.ofTransport + [.htmlForbidden, .unavailable, .plainTextType]
    }

    /// The exit code that an answer of that kind must have.
    func status(_ fault: AnswerFault) -> Int32 {
        switch fault {
        case .htmlServerError, .serverError, .badGateway, .unavailable, .tooManyRequests: 5
        case .plainTextType, .byteOrderMark: 0
        case .redirectSameOrigin, .redirectSameOriginKeepingMethod: endpoint == .userinfo ? 0 : 4
        // An object without `sub` is about nobody.
        case .errorWithSuccess where endpoint == .userinfo, .hugeNumbers where endpoint == .userinfo: 7
        case .emptySuccess, .htmlSuccess, .errorWithSuccess, .noJSON, .jsonArray, .jsonNull, .deepJSON,
            .hugeNumbers, .loneSurrogate, .nullBytes, .duplicateMembers, .invalidUTF8, .truncated:
            ignoresBody ? 0 : 4
        default: 4
        }
    }
}

@Suite("hostile answers at the other endpoints, and the built program", .serialized, .waitingLong)
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
        "a broken answer of each kind: the documented exit code, one clean line, and the session as it was",
        arguments: EndpointCommand.all.flatMap { command in command.faults.map { (command, $0) } })
    func answers(command: EndpointCommand, fault: AnswerFault) throws {
        let foreign = try TrustWorld.server()
        let (provider, program) = try world(foreign)
        defer { program.remove() }
        if command.needsSession { try #require(try program.signIn(at: provider).status == 0) }
        let before = try program.sessionFiles.map { try Data(contentsOf: $0) }
        provider.with { _ = $0.faults.insert(.answer(command.endpoint, fault)) }
        let expected = command.status(fault)
        let run = try program.start(command.arguments)
        // A sign-in that gets a usable answer waits for a person.
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
        let isRenewed = command.endpoint == .userinfo && fault == .unauthorized
        // What a revocation ended is dropped, whatever the body of its success says (RFC 7009 §2.2).
        let isRevoked = command.endpoint == .revocation && expected == 0
        #expect(isRenewed || isRevoked || after == (command.arguments == ["logout"] ? [] : before))
        for endpoint in Endpoint.allCases { #expect(foreign.requestCount(endpoint) == 0) }
        #expect(provider.requestCount(command.endpoint) <= 4)
    }

    @Test(
        "a token, a code and a secret never follow a redirect to another origin",
        arguments: EndpointCommand.all, [301, 302, 303, 307, 308])
    func redirects(command: EndpointCommand, status: Int) throws {
        let foreign = try RawServer { _, write in _ = write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        }
        let (provider, program) = try world(TrustWorld.server())
        defer { program.remove() }
        if command.needsSession { try #require(try program.signIn(at: provider).status == 0) }
        provider.intercept { request in
            guard request.url.path == command.endpoint.path else { return nil }
            return HTTPResponse(status: status, headers: HTTPHeaders([("Location", "\(foreign.origin)/x")]))
        }
        let outcome = try program.start(command.arguments).finish()
        #expect(outcome.status == 4 && outcome.isClean && outcome.output == "", "\(outcome.errorOutput)")
        #expect(foreign.requests == [])
    }
}

@Suite("hostile device authorizations, and the built program", .serialized, .waiting)
struct HostileDeviceTests {
    /// What the error names; other faults leave something to show.
    private static let refusals: [DeviceFault: String] = [
        .deviceCodeMissing: "device_code", .userCodeMissing: "user_code",
        .verificationURIMissing: "verification_uri", .verificationURIScript: "verification_uri",
        .verificationURIEscapes: "verification_uri",
    ]

    @Test("a device authorization of each kind is shown clean, or refused", arguments: DeviceFault.allCases)
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
