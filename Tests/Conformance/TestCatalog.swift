import Foundation

/// The tests of the package, as their sources declare them.
struct TestCatalog {
    static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    /// The catalog of this package, read once.
    static let all = Result { try TestCatalog(below: tests) }

    /// The display name of a test function, or its name; two functions of one name have both.
    private var titles: [String: [String]] = [:]
    /// The file of a test function, from the directory that was read.
    private var files: [String: String] = [:]
    /// The file that is being read.
    private var file = ""
    /// All the text of the sources, for the names of cases.
    private var text = ""

    /// Reads every Swift file below a directory.
    init(below directory: URL) throws {
        let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            self.file = String(file.path.dropFirst(directory.path.count + 1))
            read(source)
            text += source
        }
    }

    init(source: String, file: String = "") {
        self.file = file
        read(source)
        text = source
    }

    /// Returns the file of `Suite/function` or of its case.
    func file(of reference: String) -> String? {
        files[String(reference.prefix { $0 != ":" })]
    }

    /// Returns the display name of `Suite/function`, or of its case in `Suite/function: case`; nil for none, or several.
    func title(of reference: String) -> String? {
        let parts = reference.split(separator: ":", maxSplits: 1).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard let found = titles[parts[0]], found.count == 1 else { return nil }
        guard parts.count == 2 else { return found[0] }
        return names("\"\(parts[1])\"") ? parts[1] : nil
    }

    /// Returns whether a word stands in the sources. Swift's own search takes a second for all that are asked for.
    private func names(_ word: String) -> Bool { strstr(text, word) != nil }

    private mutating func read(_ source: String) {
        var types: [Int: String] = [:]
        var attribute: String?
        for line in source.split(separator: "\n") {
            guard attribute != nil || TestCatalog.mayDeclare(line) else { continue }
            let words = line.split { " (:<".contains($0) }.map(String.init)
            let indentation = line.prefix { $0 == " " }.count
            if attribute == nil,
                let type = TestCatalog.name(after: ["struct", "class", "extension"], in: words)
            {
                types[indentation] = type
            }
            if words.first?.hasPrefix("@Test") == true { attribute = "" }
            guard attribute != nil else { continue }
            attribute? += line
            guard let function = TestCatalog.name(after: ["func"], in: words) else { continue }
            let title = TestCatalog.firstArgument(attribute ?? "") ?? function
            let name = "\(types[indentation - 4] ?? "")/\(function)"
            titles[name, default: []].append(title)
            files[name] = file
            attribute = nil
        }
    }

    /// Returns whether a line starts like a declaration; most do not, and splitting them into words is slow.
    private static func mayDeclare(_ line: Substring) -> Bool {
        guard let first = line.utf8.first(where: { $0 != UInt8(ascii: " ") }) else { return false }
        return "@cefmps".utf8.contains(first)
    }

    private static func name(after keywords: Set<String>, in words: [String]) -> String? {
        guard let index = words.firstIndex(where: keywords.contains), index + 1 < words.count else {
            return nil
        }
        let modifiers: Set = ["public", "private", "fileprivate", "final", "static", "mutating"]
        let isDeclaration = words[..<index].allSatisfy { modifiers.contains($0) || $0.hasPrefix("@") }
        return isDeclaration || keywords == ["func"] ? words[index + 1] : nil
    }

    /// Returns the string that comes first in the parentheses of an attribute.
    private static func firstArgument(_ attribute: String) -> String? {
        let rest = attribute.drop { $0 != "(" }.dropFirst().drop { $0 == " " }
        guard rest.first == "\"" else { return nil }
        var title = ""
        var isEscaped = false
        for character in rest.dropFirst() {
            if !isEscaped, character == "\"" { return title }
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { title.append(character) }
        }
        return nil
    }
}
