import CommandLineKit
import Testing

@Suite struct RandomArgumentsTests {
    /// A fixed sequence, so that a failure can be repeated.
    private struct Sequence: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    private static let words = [
        "send", "track", "run", "config", "show", "path", "help", "--help", "-h", "--version", "--", "-", "",
        "-v",
        "-vq", "-p", "-pwork", "--profile", "--profile=", "--=", "-=", "---", "--speed", "fast", "-w", "-w9",
        "-5",
        "--weight=99999999999999999999", "--parcels", "é", "-é", "--é=ü", "\u{301}", "-\u{301}", "--\u{301}=",
        "=", "--profile=\u{301}", "-p\u{301}", "\u{0}", "\u{202E}", "a\nb", "\u{FFFD}", "😀", "-😀",
        "--output=json",
    ]

    @Test("any list of arguments gives a command, help, a version or an error with a hint", arguments: 1...20)
    func random(seed: Int) {
        var random = Sequence(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        for _ in 0..<500 {
            let count = Int.random(in: 0...7, using: &random)
            let arguments = (0..<count).map { _ in
                let word = Self.words.randomElement(using: &random) ?? ""
                return Bool.random(using: &random)
                    ? word : String(word.unicodeScalars.shuffled(using: &random).map(Character.init))
            }
            _ = CommonOptions.lenient(arguments)
            do throws(UsageError) {
                switch try Toy.program.parse(arguments) {
                case .run(_, let path): #expect(!path.isEmpty)
                case .help(let text): #expect(text.hasSuffix("\n"))
                case .version: #expect(arguments.contains { $0.hasPrefix("--") })
                }
            } catch {
                #expect(error.hint?.hasPrefix("toy ") == true)
                #expect(!error.message.isEmpty && !error.message.contains { $0.isNewline || $0 == "\0" })
            }
        }
    }

    @Test("an empty or enormous argument is told in one short line")
    func long() {
        let long = String(repeating: "x", count: 100_000)
        for arguments in [
            [long], ["--\(long)"], ["send", "--\(long)=\(long)"], ["send", "-\(long)"], ["send", "-w", long],
        ] {
            #expect((Toy.fault(arguments)?.message.count ?? .max) < 100)
        }
    }
}
