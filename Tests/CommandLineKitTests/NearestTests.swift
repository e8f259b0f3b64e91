import Testing

@testable import CommandLineKit

@Suite struct NearestTests {
    @Test(
        "the distance counts insertions, deletions, substitutions and swaps",
        arguments: [
            ("", "", 0), ("a", "", 1), ("", "abc", 3), ("abc", "abc", 0), ("abc", "abd", 1),
            ("abc", "acb", 1),
            ("abc", "ab", 1), ("kitten", "sitting", 3), ("ca", "abc", 3), ("tokne", "token", 1),
            ("ä", "a", 1),
        ])
    func distance(left: String, right: String, distance: Int) {
        #expect(Nearest.editDistance(Array(left.unicodeScalars), Array(right.unicodeScalars)) == distance)
        #expect(Nearest.editDistance(Array(right.unicodeScalars), Array(left.unicodeScalars)) == distance)
    }

    @Test(
        "the nearest word is found when it is near",
        arguments: [
            ("tokn", "token"), ("tokne", "token"), ("to", "token"), ("userifno", "userinfo"),
            ("user", "userinfo"),
            ("x", nil), ("", nil), ("zebra", nil), (String(repeating: "t", count: 65), nil),
        ])
    func nearest(word: String, expected: String?) {
        #expect(Nearest.match(word, among: ["token", "userinfo", "exec"]) == expected)
    }
}
