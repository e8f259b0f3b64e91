import CommandLineKit
import Testing

@Suite("random arguments")
struct RandomArgumentsTests {
    private static let words = [
        "send", "track", "run", "config", "show", "path", "help", "--help", "-h", "--version", "--", "-", "",
        "-v",
        "-vq", "-p", "-pwork", "--profile", "--profile=", "--=", "-=", "---", "--speed", "fast", "-w", "-w9",
        "-5",
        "--weight=99999999999999999999", "--parcels", "é", "-é", "--é=ü", "\u{301}", "-\u{301}", "--\u{301}=",
        "=", "--profile=\u{301}", "-p\u{301}", "\u{0}", "\u{202E}", "a\nb", "\u{FFFD}", "😀", "-😀",
        "--output=json",
    ]

    static func arguments(_ random: inout SeededRandom) -> [String] {
        (0..<Int.random(in: 0...7, using: &random)).map { _ in
            let word = words.randomElement(using: &random) ?? ""
            return Bool.random(using: &random)
                ? word : String(word.unicodeScalars.shuffled(using: &random).map(Character.init))
        }
    }

    @Test("any list of arguments gives a command, help, a version or an error with a hint", arguments: 1...8)
    func random(seed: Int) {
        var random = SeededRandom(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        for _ in 0..<500 {
            let arguments = Self.arguments(&random)
            _ = CommonOptions.lenient(arguments)
            do throws(UsageError) {
                switch try Toy.program.parse(arguments) {
                case .run(_, let path): #expect(!path.isEmpty)
                case .help(let text, _): #expect(text.hasSuffix("\n"))
                case .version: #expect(arguments.contains { $0.hasPrefix("--") })
                }
            } catch {
                #expect(Toy.text(error.hint)?.hasPrefix("toy ") == true)
                #expect(!error.message.isEmpty && !error.message.contains { $0.isNewline || $0 == "\0" })
            }
        }
    }

    @Test("an empty or very long argument is reported in one short line")
    func long() {
        let long = String(repeating: "x", count: 100_000)
        for arguments in [
            [long], ["--\(long)"], ["send", "--\(long)=\(long)"], ["send", "-\(long)"], ["send", "-w", long],
        ] {
            #expect((Toy.fault(arguments)?.message.count ?? .max) < 100)
        }
    }
}

/// A repeatable sequence of random numbers (xorshift).
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
