import CommandLineKit
import Synchronization
import Testing

@Suite struct LazinessTests {
    /// Which tables were built, in order.
    private static let built = Mutex<[String]>([])

    private struct First: Command {
        static let name = "first"
        static let summary = "Is asked for"
        static var declaration: Declaration<First> {
            built.withLock { $0.append("first") }
            return Declaration(options: options())
        }

        static func options() -> [Option<First>] {
            built.withLock { $0.append("first's options") }
            return [.flag(\.flag, "--flag", "a flag")]
        }

        var flag = false
    }

    private struct Second: Command {
        static let name = "second"
        static let summary = "Is not asked for"
        static var declaration: Declaration<Second> {
            built.withLock { $0.append("second") }
            return Declaration()
        }
    }

    private struct NoOptions: OptionGroup {
        static let title = "None"
        static var options: [Option<NoOptions>] {
            built.withLock { $0.append("common") }
            return []
        }
    }

    @Test("a command alone builds no table, an argument only its own, and the options only when one is given")
    func lazy() throws {
        let program = Program(
            name: "toy", summary: "carry", common: NoOptions.self,
            sections: [CommandSection("X", [Second.self, First.self])])
        _ = try program.parse(["first"])
        #expect(Self.built.withLock { $0 } == [])
        _ = try? program.parse(["first", "word"])
        #expect(Self.built.withLock { $0 } == ["first"])
        _ = try program.parse(["first", "--flag"])
        #expect(Self.built.withLock { $0 } == ["first", "first", "first's options"])
    }
}
