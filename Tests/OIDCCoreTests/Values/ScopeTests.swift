import OIDCCore
import Testing

@Suite("Scope")
struct ScopeTests {
    @Test("tokens stand between spaces, once each, in their order")
    func reading() {
        #expect(Scope("  openid email  openid profile ").tokens == ["openid", "email", "profile"])
        #expect(Scope("  openid email  openid ").text == "openid email")
        #expect(Scope("").isEmpty)
        #expect(Scope("").text == "")
    }

    @Test("the order does not matter, the case does")
    func comparing() {
        #expect(Scope("a b") == Scope("b a"))
        #expect(Scope("a b").hashValue == Scope("b a").hashValue)
        #expect(Scope("a") != Scope("A"))
        #expect(Scope("a").isSubset(of: Scope("b a")))
        #expect(!Scope("a c").isSubset(of: Scope("b a")))
        #expect(Scope("").isSubset(of: Scope("a")))
        #expect(Scope("a b").union(Scope("c a")).text == "a b c")
        #expect(Scope("openid").contains("openid"))
        #expect(!Scope("openid2").contains("openid"))
    }

    @Test("printable ASCII without quote and backslash is well formed (RFC 6749 §3.3)")
    func wellFormed() {
        #expect(Scope("openid https://api.example/read! ~").isWellFormed)
        for text in ["a\"b", "a\\b", "a\tb", "é", "a\u{7F}", "a\nb"] { #expect(!Scope(text).isWellFormed) }
    }
}

@Suite("Redacted")
struct RedactedTests {
    struct Holder {
        let secret = Redacted("hunter2")
    }

    @Test("a secret shows in no description, dump or mirror")
    func hidden() {
        var dumped = ""
        dump(Holder(), to: &dumped)
        let shown = [
            "\(Redacted("hunter2"))", String(reflecting: Redacted("hunter2")), "\(Holder())",
            String(describing: Redacted("hunter2") as Redacted<String>?), dumped,
        ]
        for text in shown { #expect(!text.contains("hunter2") && text.contains("(secret)")) }
        #expect(Redacted("hunter2").revealed == "hunter2")
        #expect(Redacted("a") == Redacted("a"))
        #expect(Redacted("a") != Redacted("b"))
    }

    @Test(
        "words are split at commas or plus signs only if more of what was requested is found then",
        arguments: [
            ("gist,repo", "repo gist", "gist repo"), ("repo, user", "user repo", "repo user"),
            ("read,write", "read", "read write"), ("a+b+c", "a c", "a b c"),
            ("identify,chat:write", "chat:write", "identify chat:write"),
            ("read,write", "read,write", "read,write"), ("a,b", "c", "a,b"), ("a,b", "", "a,b"),
            ("a b", "a b", "a b"), ("a,b c+d", "c+d a", "a b c+d"), ("a,b", "b,a", "a,b"), (",", "a", ","),
            ("openid https://www.googleapis.com/auth/userinfo.email", "openid email", "openid email"),
            (
                "https://www.googleapis.com/auth/userinfo.email", "openid",
                "https://www.googleapis.com/auth/userinfo.email"
            ),
        ])
    func separated(answer: String, wanted: String, expected: String) {
        #expect(Scope(answer).separated(as: Scope(wanted)).text == expected)
    }

    @Test(
        "scopes that were not granted are named, with any separator",
        arguments: [
            ("gist,repo", "repo gist", []), ("read write", "read,write", []), ("repo", "repo gist", ["gist"]),
            ("gist,repo", "repo user", ["user"]), ("a,b", "c", ["c"]), ("read", "read,write", ["write"]),
        ] as [(String, String, [String])])
    func missing(granted: String, wanted: String, expected: [String]) {
        #expect(Scope(granted).missing(from: Scope(wanted)) == expected)
    }
}
