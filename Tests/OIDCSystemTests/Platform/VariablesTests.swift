@testable import Posix
import Testing

@Suite("environment variables")
struct VariablesTests {
    private let variables = Variables(entries: [
        "HOME=/root", "HOME_2=x", "EMPTY=", "URL=https://a.example/?b=c", "NONSENSE", "HOME=/second",
    ])

    @Test(
        "a variable is found by its whole name; of two the first counts",
        arguments: [
            ("HOME", "/root"), ("HOME_2", "x"), ("EMPTY", ""), ("URL", "https://a.example/?b=c"),
            ("NONSENSE", nil), ("HOM", nil), ("HOME=", nil), ("", nil),
        ] as [(String, String?)])
    func value(name: String, value: String?) {
        #expect(variables[name] == value)
    }

    @Test("each name is listed once, and only those with the start that is asked for")
    func names() {
        #expect(variables.names() == ["HOME", "HOME_2", "EMPTY", "URL"])
        #expect(variables.names(startingWith: "HOME") == ["HOME", "HOME_2"])
        #expect(variables.names(startingWith: "X").isEmpty)
    }

    @Test("setting or removing a variable concerns all that have its name, and no other")
    func change() {
        var changed = variables
        changed["HOME"] = nil
        #expect(changed["HOME"] == nil)
        changed["EMPTY"] = "no"
        #expect(changed.names() == ["HOME_2", "URL", "EMPTY"])
        #expect(changed["EMPTY"] == "no")
        #expect(variables.filter { $0 != "HOME" }["HOME"] == nil)
    }
}
