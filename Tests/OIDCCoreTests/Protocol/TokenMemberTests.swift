import Testing

@testable import OIDCCore

/// Members beside those of the RFC.
extension TokenResponseTests {
    @Test("tokens nested in one object of the answer are read (Slack), in two they are not")
    func nested() throws {
        let user =
            #"{"id":"U1","scope":"a,b","access_token":"at","token_type":"Bearer","refresh_token":"rt"}"#
        let tokens = try read(#"{"ok":true,"authed_user":\#(user),"team":{"id":"T1"}}"#)
        #expect(tokens.access.token.revealed == "at" && tokens.refreshToken?.revealed == "rt")
        #expect(tokens.access.scope == Scope("a b"))
        #expect(tokens.extra["team"] == ["id": "T1"])
        let twice = Fixture.error { try read(#"{"one":\#(user),"two":\#(user)}"#) }
        #expect(twice?.message == "token: access_token is missing from the answer")
        let own = try read(
            #"{"access_token":"bot","token_type":"bot","authed_user":\#(user)}"#.replacing(
                #""bot""#, with: #""Bearer""#))
        #expect(own.access.token.revealed == "Bearer")
    }

    @Test("other members are kept, but nothing that could be a secret, and not without end")
    func extra() throws {
        let tokens = try read(
            """
            {"access_token":"at-secret","token_type":"Bearer","expires_in":60,"scope":"a","ok":true,
            "instance_url":"https://na1.example","realmId":"123","refresh_token_expires_in":"15811200",
            "team":{"id":"T1","name":"team"},"list":["x",{"access_token":"in-a-list"}],"nothing":null,
            "authed_user":{"id":"U1","access_token":"nested","token_type":"user","apiKey":"key"},
            "client_secret":"s","Session-Token":"t","copy":"at-secret","jwt_like":"x","opaque":"eyJhbGciOiJub25lIn0.e30.",
            "deep":{"a":{"b":{"c":{"d":1}}}},"user_code":"A-B","country_code":"DE"}
            """)
        let expected: JSONValue = [
            "ok": true, "instance_url": "https://na1.example", "realmId": "123",
            "refresh_token_expires_in": "15811200", "team": ["id": "T1", "name": "team"], "list": ["x"],
            "authed_user": ["id": "U1", "token_type": "user"], "user_code": "A-B", "country_code": "DE",
        ]
        var found = tokens.extra
        found["deep"] = nil
        #expect(JSONValue.object(found).compact == expected.compact)
        let many = (0..<2_000).map { #""member\#($0)":"\#(String(repeating: "x", count: 100))""# }
        let large = try read(#"{"access_token":"at","token_type":"Bearer",\#(many.joined(separator: ","))}"#)
        #expect(JSONValue.object(large.extra).compact.utf8.count <= ExtraMembers.byteLimit + 2)
        let one = String(repeating: "x", count: 20_000)
        let rest = try read(#"{"access_token":"at","token_type":"Bearer","big":"\#(one)","small":1}"#)
        #expect(rest.extra.names == ["small"])
        let merged = ExtraMembers.merged(large.extra, rest.extra)
        #expect(
            merged["small"] == 1 && JSONValue.object(merged).compact.utf8.count <= ExtraMembers.byteLimit + 2)
    }

    @Test(
        "a member with a token inside, or with the look or name of a credential, is dropped",
        arguments: [
            #""note":"rt=the-refresh-token""#, #""hdr":"Bearer the-access-token""#, #""hdr":"Bearer z""#,
            #""url":"https://x/?access_token=the-access-token""#, #""deep":{"a":["b the-access-token"]}"#,
            #""strjson":"{\"access_token\":\"S\"}""#, #""Authorization":"z""#, #""x-api-key":"z""#,
            #""otp":"123456""#, #""userPin":"1234""#, #""pin":1234"#, #""PASSWORD":"z""#,
            #""incoming_webhook":{"url":"https://x/T1"}"#, #""text":"a eyJhbGciOiJub25lIn0.e30.x""#,
            #""sent":"x the-assertion-sent x""#, #""the-access-token":1"#,
        ])
    func secretMembers(_ member: String) throws {
        let tokens = try read(
            Fixture.json(
                #"{"access_token":"the-access-token","token_type":"Bearer","refresh_token":"the-refresh-token","#
                    + #"\#(member)}"#), .jwtBearer(assertion: Redacted("the-assertion-sent")))
        #expect(
            !JSONValue.object(tokens.extra).compact.utf8.contains(0x3A) || tokens.extra["deep"] == ["a": []])
    }

    @Test("what API calls need is kept")
    func neededMembers() throws {
        let members =
            #""instance_url":"https://na1.example","realmId":"123","team":{"id":"T1"},"#
            + #""id":"https://login.example/id/00D/005","workspace_name":"w","bot_id":"b","ext_expires_in":60"#
        let tokens = try read(#"{"access_token":"at","token_type":"Bearer",\#(members)}"#)
        #expect(JSONValue.object(tokens.extra).compact == "{\(members)}")
    }
}
