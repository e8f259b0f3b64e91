import OIDCCore
import Testing

@Suite("Searching for a string in a string")
struct TextSearchTests {
    @Test(
        "a string is found at any position, byte for byte",
        arguments: [
            ("needle in hay", "needle", true), ("hay needle", "needle", true), ("nneedle", "needle", true),
            ("needl", "needle", false), ("", "needle", false), ("Needle", "needle", false),
            ("cafe\u{301}", "cafe", true), ("caf\u{E9}", "cafe", false),
        ])
    func included(text: String, part: String, isThere: Bool) {
        #expect(text.includes(part) == isThere)
        #expect(text[...].includes(part) == isThere)
    }

    @Test("the pieces between the occurrences are returned, empty ones too")
    func pieces() {
        #expect("a, b, , c".pieces(between: ", ") == ["a", "b", "", "c"])
        #expect(", a, ".pieces(between: ", ") == ["", "a", ""])
        #expect("alone".pieces(between: ", ") == ["alone"])
        #expect("".pieces(between: ", ") == [""])
    }
}
