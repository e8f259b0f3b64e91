import OIDCCore

/// The masters of a Redis cluster.
struct RedisCluster: Equatable {
    var masters: [SharedStoreURL.Host]
    /// The number of slots that they serve, of 16,384.
    var slots: Int64

    static let allSlots: Int64 = 16_384

    /// Parses the answer to `CLUSTER SLOTS`; nil for any other answer. Each row has the first slot, the last
    /// slot, the master and its replicas; each server has a host and a port.
    ///
    /// A server that does not know its own name leaves it out; `asked` is used instead.
    init?(slots reply: RedisReply, asked: String) {
        guard let rows = reply.array else { return nil }
        masters = []
        slots = 0
        for row in rows {
            guard let parts = row.array, parts.count >= 3, let first = parts[0].integer,
                let last = parts[1].integer, first >= 0, first <= last, last < RedisCluster.allSlots,
                let server = parts[2].array, server.count >= 2,
                let port = server[1].integer.flatMap({ UInt16(exactly: $0) })
            else { return nil }
            let named = server[0].text ?? ""
            let name = ["", "?"].contains(named) ? asked : named
            guard !name.isEmpty, name.utf8.allSatisfy(SharedStoreURL.Host.allows) else { return nil }
            let host = SharedStoreURL.Host(name: name, port: port)
            if !masters.contains(host) { masters.append(host) }
            slots += last - first + 1
        }
    }
}

/// The meaning of Redis's errors.
enum RedisRefusal {
    static func error(_ text: String, _ url: SharedStoreURL) -> OIDCError {
        let (server, words) = (url.server, url.withoutSecrets(text))
        switch text.prefix(while: { $0 != " " }) {
        case "NOAUTH", "WRONGPASS":
            return .sharedStoreRefusal(server, words, hint: "check user and password in the store's URL")
        case "NOPERM":
            return .sharedStoreRefusal(
                server, words,
                hint: .text(
                    "allow this user GET, SET, DEL, EVAL, SCAN, INFO, TIME and SELECT on the keys oidc:*, and CLUSTER "
                        + "SLOTS in a cluster"))
        case "WRONGTYPE":
            return .damagedRecord("\(DisplayText.clean(server)): a record is not a string")
        case "DENIED":
            return .sharedStoreRefusal(
                server, "refuses connections from other machines", hint: "set a password on it")
        case "ERR" where text.includes("AUTH") || text.includes("invalid password"):
            return .sharedStoreRefusal(server, words, hint: "check user and password in the store's URL")
        case "ERR" where text.includes("DB index") || text.includes("SELECT is not allowed"):
            return .sharedStoreRefusal(
                server, words, hint: "check the number of the database in the store's URL")
        default: return .sharedStore(server, words)
        }
    }
}
