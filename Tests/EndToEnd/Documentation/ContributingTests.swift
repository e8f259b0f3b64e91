import Foundation
import Testing

@Suite("CONTRIBUTING, the guides and the code")
struct ContributingTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The words in backticks, outside blocks of code.
    private static func words(of file: String) throws -> [String] {
        let page = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
        let prose = page.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 0 }
        let spans = prose.flatMap { part in
            part.element.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(
                \.element)
        }
        return spans.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
    }

    /// The files of a folder by name.
    private static func sources(_ folder: String = "Sources") throws -> [(name: String, text: String)] {
        let folder = root.appendingPathComponent(folder)
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    private static func declares(_ text: String, _ name: Substring, _ keywords: [String]) -> Bool {
        keywords.contains { keyword in
            [" ", "(", "<", ":", ",", "\n"].contains { strstr(text, "\(keyword) \(name)\($0)") != nil }
        }
    }

    @Test(
        "every function and member that a guide names is in the code",
        arguments: [
            "OIDCCore/Documentation.docc/LoginStepByStep.md", "OIDCCore/Documentation.docc/StepByStep.md",
            "OIDCSystem/Documentation.docc/CallAnAPI.md",
            "OIDCSystem/Documentation.docc/GetAToken.md", "OIDCSessions/Documentation.docc/OwnTheStorage.md",
            "OIDCSystem/Documentation.docc/OwnTheTransport.md", "OIDCSystem/Documentation.docc/SignIn.md",
        ])
    func guides(page: String) throws {
        let sources = try Self.sources().map(\.text)
        let kinds = ["func", "let", "var", "case", "struct", "enum", "class", "protocol"]
        let foreign = ["oidc", "login", "Decodable", "URLSession", "OIDCCore", "OIDCSystem"]
        for word in try Self.words(of: "Sources/\(page)") where !foreign.contains(word) {
            // Names with `_` or `{` are those of the wire.
            guard !word.contains(where: { "_{".contains($0) }) || word.contains("(") else { continue }
            let name = word.prefix { $0 != "(" }.split(separator: ".").last ?? ""
            #expect(sources.contains { Self.declares($0, name, kinds) }, "\(word)")
        }
    }

    @Test("every path, file, type and function that it names is there")
    func names() throws {
        let words = try Self.words(of: ".github/CONTRIBUTING.md")
        let sources = try Self.sources()
        let paths = words.filter { $0.contains("/") }
        #expect(paths.count > 5)
        for path in paths {
            let file = Self.root.appendingPathComponent(path).path
            #expect(FileManager.default.fileExists(atPath: file), "\(path)")
        }
        // Words in capitals stand for something else.
        let types = words.filter {
            $0.first?.isUppercase == true && $0.contains(where: \.isLowercase) && !$0.contains("/")
        }
        #expect(types.count > 15)
        for word in types {
            let target = Self.root.appendingPathComponent("Sources/\(word)").path
            if FileManager.default.fileExists(atPath: target) { continue }
            if word.hasSuffix("Tests") {
                #expect(try Self.sources("Tests").contains { $0.name == "\(word).swift" }, "\(word)")
                continue
            }
            if word.hasSuffix(".swift") {
                #expect(sources.contains { $0.name == word }, "\(word)")
                continue
            }
            let parts = word.split(separator: ".")
            let homes = sources.filter { file in
                file.name == "\(parts[0]).swift"
                    || Self.declares(
                        file.text, parts[0], ["struct", "enum", "class", "protocol", "extension"])
            }
            #expect(!homes.isEmpty, "\(word)")
            guard let member = parts.dropFirst().first else { continue }
            let kinds = ["func", "let", "var", "case", "enum", "struct"]
            #expect(homes.contains { Self.declares($0.text, member, kinds) }, "\(word)")
        }
    }
}
