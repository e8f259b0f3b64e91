/// A credential of another service that was issued for a session's token, and is kept with the session.
package struct KeptCredential: Hashable, Sendable {
    /// The service that it is for, and everything that it depends on.
    package let name: String
    package let value: Redacted<String>
    /// The time until which it is used.
    package let usableUntil: Instant

    package init(name: String, value: Redacted<String>, usableUntil: Instant) {
        self.name = name
        self.value = value
        self.usableUntil = usableUntil
    }

    init?(_ json: JSONValue) {
        guard let name = json["name"]?.string, let value = json["value"]?.string,
            let end = json["usable_until"]?.integer
        else { return nil }
        self.init(
            name: name, value: Redacted(value), usableUntil: Instant(secondsSinceEpoch: end))
    }

    var json: JSONValue {
        [
            "name": .string(name), "value": .string(value.revealed),
            "usable_until": JSONValue(usableUntil.secondsSinceEpoch),
        ]
    }
}

extension Session {
    /// The number of kept credentials, which bounds the size of the stored session.
    private static let keptLimit = 8

    /// Returns the kept credential of a name; nil if there is none that is still used.
    package func kept(_ name: String, at now: Instant) -> KeptCredential? {
        kept.first { ExactText.isSame($0.name, name) && $0.usableUntil > now }
    }

    /// Keeps a credential, in place of an earlier one of its name and of those that are no longer used.
    package mutating func keep(_ credential: KeptCredential, at now: Instant) {
        let others = kept.filter { !ExactText.isSame($0.name, credential.name) && $0.usableUntil > now }
        kept = [credential] + others.prefix(Session.keptLimit - 1)
    }
}
