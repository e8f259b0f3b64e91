import Foundation
import OIDCCore
import TestSupport
import Testing

/// The scenarios about the issuer in authorization responses (RFC 9207), by the names that the MCP conformance suite
/// gives them.
@Suite(
    "resource scenarios: the issuer of the response", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct IssuerScenarioTests {
    private func world(
        promised: Bool, error: [String: String]? = nil,
        _ issuer: @escaping @Sendable (String) -> String?
    ) throws -> ResourceWorld {
        try ResourceWorld {
            $0.responseIssuer = issuer
            $0.responseError = error
            if !promised { $0.metadata = ["authorization_response_iss_parameter_supported": .null] }
        }
    }

    /// Expects that the response is refused and nothing redeemed. A response that may be a stranger's is reported, and
    /// the wait for the true one goes on until it is interrupted.
    private func expectRefusal(_ world: ResourceWorld, hides text: String? = nil) throws {
        let run = try world.program.start(["request", "--login", "POST", world.url, "-d", "{}"])
        _ = run.errorOutput { $0.contains("warning: ") ? true : nil }
        if run.isRunning { run.signal(SIGTERM) }
        let outcome = run.finish()
        #expect([4, 7, 143].contains(outcome.status) && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("iss"), "\(outcome.errorOutput)")
        #expect(world.server.authorizations.count == 1 && world.server.tokenRequests.isEmpty)
        if let text { #expect(!outcome.errorOutput.contains(text), "\(outcome.errorOutput)") }
    }

    @Test("iss-supported: the promised issuer is there and right")
    func supported() throws {
        let world = try world(promised: true) { $0 }
        expectSuccess(try world.call())
    }

    @Test("iss-not-advertised: neither promised nor there")
    func notAdvertised() throws {
        let world = try world(promised: false) { _ in nil }
        expectSuccess(try world.call())
    }

    @Test("iss-supported-missing: a missing iss is refused if the metadata promises it")
    func missing() throws {
        try expectRefusal(world(promised: true) { _ in nil })
    }

    @Test("iss-wrong-issuer: another issuer is refused")
    func wrong() throws {
        try expectRefusal(world(promised: true) { _ in "https://evil.example.com" })
    }

    @Test("iss-unexpected: another issuer is refused even if none was promised")
    func unexpected() throws {
        try expectRefusal(world(promised: false) { _ in "https://evil.example.com" })
    }

    @Test("iss-normalized: an issuer that is only equal once normalized is refused")
    func normalized() throws {
        try expectRefusal(world(promised: true) { $0 + "/" })
    }

    @Test(
        "an error whose issuer is wrong, or promised and missing, is neither acted on nor shown",
        arguments: [nil, "https://evil.example.com"])
    func errors(issuer: String?) throws {
        let error = ["error": "access_denied", "error_description": "said-by-a-stranger"]
        try expectRefusal(world(promised: true, error: error) { _ in issuer }, hides: "said-by-a-stranger")
    }
}
