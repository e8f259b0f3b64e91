import TestSupport
import DemoProvider
import Foundation
import OIDCCore
import Testing

@testable import oidc

@Suite("credential kubectl", .serialized, .waiting)
struct KubectlTests {
    private static func info(_ version: String) -> String {
        #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/\#(version)","#
            + #""spec":{"interactive":false,"cluster":{"server":"https://stranger.example"}}}"#
    }

    @Test(
        "the answer is in the version of the question, with the ID token and its expiry",
        arguments: ["v1", "v1beta1"])
    func answer(version: String) throws {
        let world = try ToolWorld()
        let session = try world.signIn()
        let token = try #require(session.tokens.idToken?.revealed)
        let expiry = try #require(IDToken.stored(token)).expiresAt
        var variables = world.person
        variables["KUBERNETES_EXEC_INFO"] = Self.info(version)
        let result = try world.run(["credential", "kubectl"], variables)
        #expect(
            result.output == #"{"apiVersion":"client.authentication.k8s.io/\#(version)","#
                + #""kind":"ExecCredential","status":{"token":"\#(token)","#
                + #""expirationTimestamp":"\#(expiry)"}}"# + "\n", "\(result)")
        let access = try world.run(["credential", "kubectl", "--type", "access"], variables).json()
        #expect(access["status"]?["token"]?.string == session.tokens.access.token.revealed)
    }

    @Test(
        "a question that is not understood is refused",
        arguments: [
            info("v1alpha1"), info("v2"), "{", "[]", #"{"apiVersion":1}"#,
            #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"Pod"}"#,
        ])
    func badQuestion(info: String) throws {
        let world = try ToolWorld()
        try world.signIn()
        var variables = world.person
        variables["KUBERNETES_EXEC_INFO"] = info
        let result = try world.run(["credential", "kubectl"], variables)
        #expect(result.code == 2 && result.output == "", "\(result)")
    }

    @Test(
        "the error names the member that is wrong",
        arguments: [
            (#"{"kind":"Other","apiVersion":"v2"}"#, "kind: expected ExecCredential, found \"Other\""),
            (#"{"apiVersion":"v2"}"#, "kind: expected ExecCredential, found none"),
            (
                #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v2"}"#,
                "apiVersion: expected client.authentication.k8s.io/v1 or v1beta1, "
                    + "found \"client.authentication.k8s.io/v2\""
            ),
            (
                #"{"kind":"ExecCredential","apiVersion":1}"#,
                "apiVersion: expected client.authentication.k8s.io/v1 or v1beta1, found a number"
            ),
        ])
    func mismatch(info: String, problem: String) {
        let error = #expect(throws: OIDCError.self) { try KubernetesCredential(executionInfo: info) }
        #expect(error?.message == "KUBERNETES_EXEC_INFO: \(problem)")
    }

    @Test("without a stored session it fails, and does not prompt")
    func signedOut() throws {
        let world = try ToolWorld()
        for (store, hint) in [("file", "oidc login"), ("none", "oidc credential kubectl --set store=file")] {
            var variables = world.person
            variables["OIDC_STORE"] = store
            let result = try world.run(["credential", "kubectl"], variables)
            #expect(
                result.code == 3 && result.output == "" && result.errors.contains(hint), "\(result)")
        }
    }

    @Test("a stale ID token is refreshed first")
    func stale() throws {
        let world = try ToolWorld { $0.idTokenLifetime = 0 }
        let before = try world.signIn()
        world.provider.with { $0.configuration.idTokenLifetime = 600 }
        let result = try world.run(["credential", "kubectl"], world.person).json()
        let token = try #require(result["status"]?["token"]?.string)
        #expect(
            token != before.tokens.idToken?.revealed
                && world.provider.with { $0.requestCount(grant: "refresh_token") } == 1)
    }
}
