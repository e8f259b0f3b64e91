import Testing

@testable import CommandLineKit

@Suite("the layout of help text")
struct TextLayoutTests {
    @Test(
        "lines are filled up to the width, counted in scalars",
        arguments: [
            ("", 5, []), ("a b c", 3, ["a b", "c"]), ("a b c", 5, ["a b c"]),
            ("abcdef g", 3, ["abcdef", "g"]),
            ("ää öö", 5, ["ää öö"]), ("ää öö", 4, ["ää", "öö"]), ("  a \n b ", 9, ["a b"]),
        ])
    func wrap(text: String, width: Int, lines: [String]) {
        #expect(TextLayout.wrap(text, width: width) == lines)
    }

    @Test("an indent is part of the width")
    func indent() {
        #expect(TextLayout.wrap("a b c", width: 5, indent: 2) == ["  a b", "  c"])
    }

    @Test("a term that is too long for its column has its meaning below")
    func entry() {
        #expect(TextLayout.entry("  ab", "c d", column: 6, width: 7) == ["  ab  c", "      d"])
        #expect(TextLayout.entry("  abc", "c d", column: 6, width: 9) == ["  abc", "      c d"])
        #expect(TextLayout.entry("  abc", "", column: 6) == ["  abc"])
    }

    @Test("paragraphs are filled, indented lines are kept")
    func prose() {
        #expect(
            TextLayout.prose("a\nb\n  c\n  d\n\n\n e\n\nf", width: 9) == [
                "a b", "", "  c", "  d", "", " e", "", "f",
            ])
    }

    @Test(
        "words are joined with commas and or",
        arguments: [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b or c")])
    func list(words: [String], text: String) {
        #expect(TextLayout.list(words) == text)
    }
}
