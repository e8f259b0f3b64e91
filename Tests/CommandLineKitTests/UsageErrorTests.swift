import Testing

@testable import CommandLineKit

@Suite("usage errors")
struct UsageErrorTests {
    private static let send = "toy help send"

    @Test(
        "each mistake has one message and one hint",
        arguments: [
            (["send", "Rome", "--sped", "fast"], "unknown option '--sped', did you mean --speed?", send),
            (["send", "Rome", "--stmap=x"], "unknown option '--stmap', did you mean --stamp?", send),
            (["send", "Rome", "--prof", "x"], "unknown option '--prof', did you mean --profile?", send),
            (["send", "Rome", "--zebra"], "unknown option '--zebra'", send),
            (["send", "Rome", "--secre"], "unknown option '--secre'", send),
            (["send", "Rome", "-x"], "unknown option '-x'", send),
            (["send", "Rome", "-vx"], "unknown option '-x'", send),
            (["send", "Rome", "--stamp"], "--stamp needs a value", send),
            (["send", "Rome", "--speed"], "--speed needs a value: slow, fast or instant", send),
            (["send", "Rome", "--stamp", "--speed"], "--stamp needs a value", send),
            (["send", "Rome", "--stamp", "--"], "--stamp needs a value", send),
            (["send", "Rome", "-s"], "--stamp needs a value", send),
            (["send", "Rome", "--stamp", "--version"], "--stamp needs a value", send),
            (["send", "Rome", "--stamp", "--help"], "--stamp needs a value", send),
            (["send", "Rome", "--stamp", "-h"], "--stamp needs a value", send),
            (["send", "Rome", "--stamp", "-vh"], "--stamp needs a value", send),
            (["send", "Rome", "-s", "-v"], "--stamp needs a value", send),
            (["send", "Rome", "-vs", "-w7"], "--stamp needs a value", send),
            (["-p", "--version", "send", "Rome"], "--profile needs a value", send),
            (["-p", "-v"], "--profile needs a value", "toy --help"),
            (["send", "Rome", "--fragile=yes"], "--fragile takes no value", send),
            (["send", "Rome", "--speed=fast", "--speed", "slow"], "--speed is given twice", send),
            (["-p", "a", "send", "-p", "b", "Rome"], "--profile is given twice", send),
            (["send", "Rome", "--speed", "warp"], "--speed takes slow, fast or instant, not 'warp'", send),
            (
                ["send", "Rome", "--speed", "fas"],
                "--speed takes slow, fast or instant, not 'fas', did you mean fast?", send
            ),
            (
                ["send", "Rome", "-w", "1001"], "--weight takes a whole number from -5 to 1000, not '1001'",
                send
            ),
            (["send", "Rome", "-w", "-6"], "--weight takes a whole number from -5 to 1000, not '-6'", send),
            (["send", "Rome", "-w", ""], "--weight takes a whole number from -5 to 1000, not ''", send),
            (
                ["send", "Rome", "-w", "1e3"], "--weight takes a whole number from -5 to 1000, not '1e3'",
                send
            ),
            (
                ["send", "Rome", "--parcels", "0"], "--parcels takes a whole number from 1 to 9, not '0'",
                send
            ),
            (["track", "x"], "PARCEL takes a whole number, not 'x'", "toy help track"),
            (["send"], "toy send needs PLACE", send),
            (["send", "a", "b", "c"], "unexpected argument 'c'", send),
            (["config", "path", "x"], "unexpected argument 'x'", "toy help config path"),
            (["run", "-v"], "toy run needs PROGRAM", "toy help run"),
            (["run", "--"], "toy run needs PROGRAM", "toy help run"),
            (["send", "-f", "--speed=instant", "Rome"], "--fragile is never --speed instant", send),
            (["-v"], "toy needs a command", "toy --help"),
            (["-v", "config"], "toy config needs show or path", "toy help config"),
            (["config", "-v"], "toy config needs show or path", "toy help config"),
            (["config", "--"], "toy config needs show or path", "toy help config"),
            (["where"], "unknown command 'where'", "toy track"),
            (["where", "x"], "unknown command 'where'", "toy track"),
            (["parcel", "send"], "unknown command 'parcel'", "toy send"),
            (["parcel"], "unknown command 'parcel'", "toy --help"),
            (["help", "where"], "unknown command 'where'", "toy track"),
            (["help", "--bogus"], "unknown option '--bogus'", "toy help help"),
            (["help", "send", "-f"], "unknown option '-f'", "toy help help"),
            (["--bogus", "help"], "unknown option '--bogus' before the command", "toy help help"),
            (["config", "where"], "unknown command 'where'", "toy help config"),
            (["--express"], "unknown option '--express' before the command", "toy send --speed instant"),
            (["send", "Rome", "--express"], "unknown option '--express'", "toy send --speed instant"),
            (["send", "Rome", "--bogus", "--express"], "unknown option '--bogus'", send),
            (["send", "-o", "xml", "Rome"], "--output takes text or json, not 'xml'", send),
            (
                ["send", "-o", "jsno", "Rome"], "--output takes text or json, not 'jsno', did you mean json?",
                send
            ),
            (["snd"], "unknown command 'snd', did you mean toy send?", "toy send"),
            (["sen", "Rome"], "unknown command 'sen', did you mean toy send?", "toy send"),
            (["zebra"], "unknown command 'zebra'", "toy --help"),
            ([""], "unknown command ''", "toy --help"),
            (["config", "sho"], "unknown command 'sho', did you mean toy config show?", "toy config show"),
            (["help", "trakc"], "unknown command 'trakc', did you mean toy track?", "toy help track"),
            (["--speed", "fast", "send"], "unknown option '--speed' before the command", "toy --help"),
            (["-f", "send", "Rome"], "unknown option '-f' before the command", send),
        ])
    func fault(arguments: [String], message: String, hint: String) {
        let fault = Toy.fault(arguments)
        #expect(fault?.message == message && Toy.text(fault?.hint) == hint)
    }

    @Test("the value of an unknown option is not repeated")
    func secretValue() {
        #expect(
            Toy.fault(["send", "--client-secret=hunter2"])?.message == "unknown option '--client-secret'")
        #expect(Toy.fault(["send", "-xhunter2"])?.message == "unknown option '-x'")
    }

    @Test(
        "an error shows an argument without control characters, and leaves a long one out",
        arguments: [
            ("a\u{1B}[31mb", "'a?[31mb'"), ("a\nb", "'a?b'"), ("a\r\nb", "'a??b'"), ("\u{202E}x", "'?x'"),
            ("ä€😀", "'ä€😀'"), (String(repeating: "x", count: 41), "a string of 41 characters"),
        ])
    func quoted(argument: String, shown: String) {
        #expect(UsageError.quoted(argument) == shown)
        #expect(Toy.fault([argument])?.message == "unknown command \(shown)")
    }
}

@Suite("the nearest word")
struct NearestTests {
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
        "the closest word is found if it is close enough",
        arguments: [
            ("tokn", "token"), ("tokne", "token"), ("to", "token"), ("userifno", "userinfo"),
            ("user", "userinfo"),
            ("x", nil), ("", nil), ("zebra", nil), (String(repeating: "t", count: 65), nil),
        ])
    func nearest(word: String, expected: String?) {
        #expect(Nearest.match(word, among: ["token", "userinfo", "exec"]) == expected)
    }
}
