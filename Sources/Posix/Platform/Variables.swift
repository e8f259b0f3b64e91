import OIDCCore

/// Environment variables, as the list that the system passes. A dictionary would take longer to build than
/// all the lookups for a fresh token take.
package struct Variables: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The entries, `NAME=value`. If a name is repeated, the first entry counts, as with `getenv`. An entry
    /// without `=` has no name.
    let entries: [String]

    init(entries: [String]) {
        self.entries = entries
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

    /// Returns the names that start with a prefix, without duplicates.
    package func names(startingWith start: String = "") -> [String] {
        var names: [String] = []
        for entry in entries where entry.hasPrefix(start) {
            guard let name = Variables.name(entry), !names.contains(name) else { continue }
            names.append(name)
        }
        return names
    }

    package func filter(_ isKept: (_ name: String) -> Bool) -> Variables {
        Variables(entries: entries.filter { Variables.name($0).map(isKept) ?? false })
    }

    private static func name(_ entry: String) -> String? {
        entry.utf8.firstIndex(of: .equals).map { String(entry[..<$0]) }
    }

    private static func `is`(_ entry: String, named name: String) -> Bool {
        // Few entries have `=` at this position, so few names are compared.
        entry.utf8.count > name.utf8.count
            && entry.utf8[entry.utf8.index(entry.startIndex, offsetBy: name.utf8.count)] == .equals
            && entry.hasPrefix(name)
    }
}
