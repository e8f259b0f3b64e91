import OIDCCore
import Testing

@Suite("SessionKey")
struct SessionKeyTests {
    static let key = SessionKey(provider: "https://op.example/", clientID: "cli")

    @Test("the key is one line that names all its parts")
    func text() {
        #expect(
            Self.key.text
                == #"{"provider":"https://op.example/","client_id":"cli","grant":"authorization_code"}"#)
        let full = SessionKey(
            provider: "https://op", clientID: "c", grant: .tokenExchange, audience: "a", account: "b",
            scope: Scope("y x"), resources: ["r2", "r1"], subject: "s")
        #expect(
            full.text == #"{"provider":"https://op","client_id":"c","grant":"token_exchange","audience":"a","#
                + #""account":"b","scope":"x y","resource":["r1","r2"],"subject":"s"}"#)
    }

    @Test("the order of scope tokens and resources does not matter, every other difference does")
    func differences() {
        var keys: Set<String> = [Self.key.text]
        func expectNew(_ change: (inout SessionKey) -> Void) {
            var key = Self.key
            change(&key)
            #expect(keys.insert(key.text).inserted)
        }
        expectNew { $0.provider = "https://op.example" }
        expectNew { $0.clientID = "cli2" }
        expectNew { $0.grant = .clientCredentials }
        expectNew { $0.audience = "a" }
        expectNew { $0.account = "a" }
        expectNew { $0.scope = Scope("a") }
        expectNew { $0.resources = ["a"] }
        expectNew { $0.subject = "a" }
        expectNew { $0.scope = Scope("") }
        let (one, other) = (
            SessionKey(provider: "p", clientID: "c", scope: Scope("a b"), resources: ["x", "y"]),
            SessionKey(provider: "p", clientID: "c", scope: Scope("b a"), resources: ["y", "x"])
        )
        #expect(one.text == other.text)
    }

    @Test("the file's name is readable, short, safe and the same each time")
    func fileStem() {
        #expect(Self.key.fileStem == "op.example-cli-dc92ba8168b769ff")
        #expect(Self.key.fileStem == SessionKey(provider: "https://op.example/", clientID: "cli").fileStem)
        let nasty = SessionKey(
            provider: "../../etc/\0passwd", clientID: "a/b\n\u{202E}é" + .init(repeating: "x", count: 300))
        let stem = nasty.fileStem
        #expect(stem.utf8.count <= 117)
        #expect(stem.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "-._".utf8.contains($0) })
        #expect(stem.hasPrefix("_._.._etc__passwd-a_b_"))
        #expect(SessionKey(provider: "", clientID: "").fileStem.hasPrefix("--"))
    }

    @Test("two keys that read alike have different names")
    func collisions() {
        let stems = ["a/b", "a:b", "a_b", "A_b"].map {
            SessionKey(provider: "https://op", clientID: $0).fileStem
        }
        #expect(Set(stems).count == 4)
    }
}
