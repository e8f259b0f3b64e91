import OIDCCore

/// Environment variables. They are a list, as the system has them: a process has few and asks for few, and setting up a
/// dictionary takes longer than all that a fresh token looks for.
package struct Variables: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// `NAME=value`, as the system passes them on. Of several with the same name the first counts, as for `getenv`.
    let entries: [String]

    init(entries: [String]) {
        self.entries = entries.filter { $0.utf8.contains(.equals) }
    }

    package init(dictionaryLiteral variables: (String, String)...) {
        entries = variables.map { "\($0)=\($1)" }
    }

    package init(_ variables: [String: String]) {
        entries = variables.map { "\($0)=\($1)" }.sorted()
    }

    package subscript(name: String) -> String? {
        get {
            guard let entry = entries.first(where: { Variables.is($0, named: name) }) else { return nil }
            return String(entry[entry.utf8.index(entry.startIndex, offsetBy: name.utf8.count + 1)...])
        }
        set {
            let others = entries.filter { !Variables.is($0, named: name) }
            self = Variables(entries: others + (newValue.map { ["\(name)=\($0)"] } ?? []))
        }
    }

    package subscript(name: String, default value: String) -> String { self[name] ?? value }

    /// The names, or those that start with some text.
    package func names(startingWith start: String = "") -> [String] {
        var names: [String] = []
        for entry in entries where entry.hasPrefix(start) {
            let name = Variables.name(entry)
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    package func filter(_ isKept: (_ name: String) -> Bool) -> Variables {
        Variables(entries: entries.filter { isKept(Variables.name($0)) })
    }

    private static func name(_ entry: String) -> String {
        String(entry[..<(entry.utf8.firstIndex(of: .equals) ?? entry.endIndex)])
    }

    private static func `is`(_ entry: String, named name: String) -> Bool {
        entry.utf8.count > name.utf8.count && entry.hasPrefix(name)
            && entry.utf8[entry.utf8.index(entry.startIndex, offsetBy: name.utf8.count)] == .equals
    }
}
