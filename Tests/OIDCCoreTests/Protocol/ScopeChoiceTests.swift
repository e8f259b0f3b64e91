import Testing

@testable import OIDCCore

@Suite("The scope to request for a resource")
struct ScopeChoiceTests {
    private func resource(_ scopes: String?) throws -> ProtectedResourceMetadata {
        let member = scopes.map { #","scopes_supported":[\#($0)]"# } ?? ""
        return try ProtectedResourceMetadata(
            document: Fixture.object(#"{"resource":"https://r.example"\#(member)}"#),
            for: Fixture.url("https://r.example/x"))
    }

    private func choice(
        caller: String? = nil, challenge: String? = nil, resource scopes: String? = nil,
        server: JSONValue? = nil
    ) throws -> ScopeChoice {
        try ScopeChoice(
            caller: caller.map { Scope($0) },
            challenge: ResourceChallenge(scope: challenge.map { Scope($0) }),
            resource: resource(scopes), server: Fixture.metadata(["scopes_supported": server]))
    }

    @Test("without a user, offline_access is requested only if the caller does so")
    func withoutUser() throws {
        func choice(_ challenge: String?, _ caller: String? = nil) throws -> ScopeChoice {
            try ScopeChoice(
                caller: caller.map { Scope($0) },
                challenge: ResourceChallenge(scope: challenge.map { Scope($0) }),
                resource: resource(#""r","offline_access""#),
                server: Fixture.metadata(["scopes_supported": ["r", "offline_access"]]), isForUser: false)
        }
        #expect(try choice(nil).scope.text == "r" && choice("c offline_access").scope.text == "c")
        #expect(try !choice("c").addsOfflineAccess && choice("offline_access").scope.isEmpty)
        #expect(try choice("c", "u offline_access").scope.text == "u offline_access")
    }

    @Test("the caller's comes first, then the challenge's, then all that the resource supports, then none")
    func order() throws {
        let all = try choice(caller: "u", challenge: "c d", resource: #""r","s""#)
        #expect(all.scope.text == "u" && all.source == .caller)
        let challenge = try choice(challenge: "c d", resource: #""r","s""#)
        #expect(challenge.scope.text == "c d" && challenge.source == .challenge)
        for empty in [nil, ""] {
            let resource = try choice(caller: empty, challenge: empty, resource: #""r","s""#)
            #expect(resource.scope.text == "r s" && resource.source == .resource)
        }
        for scopes in [nil, "", #""""#] {
            let none = try choice(resource: scopes)
            #expect(none.scope.isEmpty && none.source == .server && !none.addsOfflineAccess)
        }
    }

    @Test(
        "offline_access is added if the authorization server lists it, and never asked of one that does not")
    func offlineAccess() throws {
        let lists: JSONValue = ["a", "offline_access"]
        let challenge = try choice(challenge: "c", server: lists)
        #expect(challenge.scope.text == "c offline_access" && challenge.addsOfflineAccess)
        #expect(try choice(resource: #""r""#, server: lists).scope.text == "r offline_access")
        #expect(try choice(server: lists).scope.text == "offline_access")
        let present = try choice(resource: #""offline_access","r""#, server: lists)
        #expect(present.scope.text == "offline_access r" && !present.addsOfflineAccess)
        #expect(try choice(caller: "u", server: lists).scope.text == "u")
        for silent: JSONValue? in [nil, ["a"], []] {
            #expect(try choice(resource: #""r","offline_access""#, server: silent).scope.text == "r")
            #expect(try choice(resource: #""offline_access""#, server: silent).source == .server)
            #expect(try choice(challenge: "c", server: silent).scope.text == "c")
            // A challenge is authoritative.
            #expect(try choice(challenge: "offline_access", server: silent).scope.text == "offline_access")
        }
    }

    @Test(
        "scopes with control characters, and too long or too many ones, are refused",
        arguments: [
            #""a\u001b[2J""#, #""a\nb""#, #""a\"b""#, #""é""#,
            "\"" + String(repeating: "a", count: 5_000) + "\"",
            (0...256).map { "\"s\($0)\"" }.joined(separator: ","),
        ])
    func malformed(_ scopes: String) throws {
        let error = Fixture.error { try choice(resource: scopes) }
        #expect(error?.kind == .refused && error?.member == "scope")
        #expect(error?.message.unicodeScalars.contains { DisplayText.isInvisible($0) } == false)
        #expect(error?.hint == .advice(.nameScopes))
        // They harm nobody who names the scope.
        #expect(try choice(caller: "u", resource: scopes).scope.text == "u")
    }

    @Test("a step-up asks for what was requested, what was granted and what is missing")
    func stepUp() throws {
        func stepUp(_ requested: String?, _ granted: String?, _ challenge: String?) throws -> String {
            try ScopeChoice.stepUp(
                requested: requested.map { Scope($0) }, granted: granted.map { Scope($0) },
                challenge: ResourceChallenge(scope: challenge.map { Scope($0) })
            ).text
        }
        #expect(try stepUp("a b", "a c", "d a") == "a b c d")
        #expect(try stepUp(nil, nil, "d") == "d")
        #expect(try stepUp("a", nil, nil) == "a")
        #expect(try stepUp(nil, nil, nil).isEmpty)
        #expect(Fixture.error { try stepUp("a", "b\u{1b}", "d") }?.kind == .refused)
        let endless = (0..<2_000).map { "s\($0)" }.joined(separator: " ")
        #expect(Fixture.error { try stepUp(endless, nil, "d") }?.kind == .refused)
    }
}
