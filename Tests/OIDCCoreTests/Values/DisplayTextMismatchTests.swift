import Testing

@testable import OIDCCore

@Suite("what was expected and what was found, side by side")
struct DisplayTextMismatchTests {
    static let alike: [(String, String, String, String)] = [
        ("Bearer", "Bearer\0", "Bearer", #"Bearer\u{0}"#),
        ("Bearer", "Bearer ", "Bearer", #"Bearer\u{20}"#),
        ("Bearer", " Bearer", "Bearer", #"\u{20}Bearer"#),
        ("a b", "a  b", "a b", #"a \u{20}b"#),
        ("a b", "a\u{A0}b", "a b", #"a\u{A0}b"#),
        ("caf\u{E9}", "cafe\u{301}", #"caf\u{E9}"#, #"cafe\u{301}"#),
        ("client", "cli\u{200B}ent", "client", #"cli\u{200B}ent"#),
        ("client", "cli\u{E0100}ent", "client", #"cli\u{E0100}ent"#),
        ("client", "client\u{202E}", "client", #"client\u{202E}"#),
        // Cyrillic.
        (
            "https://op.example", "https://op.ex\u{430}mple", "https://op.example",
            #"https://op.ex\u{430}mple"#
        ),
        ("a\n", "a\r\n", #"a\u{A}"#, #"a\u{D}\u{A}"#),
    ]

    @Test("values that look alike are written with a visible difference", arguments: alike)
    func escaped(_ expected: String, _ found: String, _ left: String, _ right: String) {
        let sides = DisplayText.sides(expected: expected, found: found)
        #expect(sides.expected == left && sides.found == right)
        #expect(DisplayText.distinct(found, from: ["other", expected]) == right)
    }

    @Test(
        "values that look different stay as they are",
        arguments: [
            ("Bearer", "mac"), ("日本", "中国"), ("caf\u{E9}", "tea"), ("a", ""), ("Alice", "alice"), ("a", "a"),
        ])
    func plain(_ expected: String, _ found: String) {
        let sides = DisplayText.sides(expected: expected, found: found)
        #expect(sides.expected == expected && sides.found == found)
        #expect(DisplayText.distinct(found, from: [expected]) == found)
    }

    @Test("a difference beyond the limit is shown")
    func longSides() {
        let shared = String(repeating: "x", count: 500)
        let sides = DisplayText.sides(expected: shared + "1", found: shared + "2", limit: 100)
        #expect(sides.expected == "…" + String(repeating: "x", count: 20) + "1")
        #expect(sides.found == "…" + String(repeating: "x", count: 20) + "2")
        let hidden = DisplayText.sides(expected: shared, found: shared + "\u{200B}", limit: 100)
        #expect(hidden.expected != hidden.found)
    }

    @Test("an error names the difference")
    func violation() {
        let error = OIDCError.protocolViolation(
            .token, "token_type", expected: "Bearer", found: "Bearer\u{0}")
        #expect(error.message == #"token: token_type: expected Bearer, found Bearer\u{0}"#)
        var claims = JSONObject()
        claims["iss"] = "https://op.example\u{200B}"
        claims["aud"] = ["other", "cafe\u{301}"]
        let token = TokenClaims(members: claims, stage: .idToken)
        #expect(
            Fixture.error { try token.checkIssuer("https://op.example") }?.message
                == #"id_token: iss: expected "https://op.example", found "https://op.example\u{200B}""#)
        #expect(
            Fixture.error { _ = try token.checkAudience("caf\u{E9}") }?.message
                == #"id_token: aud: expected "caf\u{E9}", found [other, cafe\u{301}]"#)
    }
}
