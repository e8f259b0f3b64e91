package import OIDCCore
import Posix

/// The use of a client at a server. It is recorded unless the settings or a link show it already.
package struct ClientUse: StoredRecord {
    /// The issuer; nil for plain OAuth 2.0.
    package var issuer: String?
    package var tokenEndpoint: String
    /// The origin of the resource that the sign-in was for; nil if it was not for a resource.
    package var origin: String?
    /// Whether the client is registered for this server, with a redirect URL of its own there.
    package var isRegistered = false
    /// Whether only a URL led to the server, and the user has never named it.
    package var isFound = false
    /// Whether an option named the client for the server's URL, so the client's secret may be sent there.
    package var isChosen = false
    /// Whether the resource only named the server, and no sign-in there has started.
    package var isOnlyNamed = false
    /// The servers whose codes were at stake when the user named this one, to which only a URL had led; nil if the user has
    /// not named it, or no URL led to it. The user's word covers these, and none that became known later.
    package var namedBeside: [String]?

    /// Creates a use. Long names of servers are cut, as they would only fill the file.
    package init(
        issuer: String?, tokenEndpoint: String, origin: String?, isRegistered: Bool = false,
        isFound: Bool = false, isChosen: Bool = false, isOnlyNamed: Bool = false
    ) {
        self.isOnlyNamed = isOnlyNamed
        self.isRegistered = isRegistered
        self.isFound = isFound
        self.isChosen = isChosen
        self.issuer = issuer.map(ClientUse.name)
        self.tokenEndpoint = ClientUse.name(tokenEndpoint)
        self.origin = origin.map(ClientUse.name)
    }

    /// Returns the name of a server as a use has it.
    package static func name(_ text: String) -> String {
        String(decoding: text.utf8.prefix(1_000), as: UTF8.self)
    }

    package init?(_ json: JSONValue) {
        guard let tokenEndpoint = json["token_endpoint"]?.string else { return nil }
        self.init(
            issuer: json["issuer"]?.string, tokenEndpoint: tokenEndpoint, origin: json["origin"]?.string,
            isRegistered: json["registered"]?.bool ?? false, isFound: json["found"]?.bool ?? false,
            isChosen: json["chosen"]?.bool ?? false, isOnlyNamed: json["unused"]?.bool ?? false)
        namedBeside = json["named_beside"]?.strings
    }

    package var json: JSONValue {
        var object = JSONObject()
        object["issuer"] = issuer.map { .string($0) }
        object["token_endpoint"] = .string(tokenEndpoint)
        object["origin"] = origin.map { .string($0) }
        if isRegistered { object["registered"] = true }
        if isFound { object["found"] = true }
        if isChosen { object["chosen"] = true }
        if isOnlyNamed { object["unused"] = true }
        object["named_beside"] = namedBeside.map { .array($0.map { .string($0) }) }
        return .object(object)
    }
}

/// The servers where each client was used, in one file per client. The files outlast sessions, links and
/// profiles, as a server that knows the user and the client may issue tokens without showing a page.
package struct ClientUses: Sendable {
    private let list: RecordList<ClientUse>

    /// Creates access to the files in `clients` below a state directory.
    package init(state path: String) {
        list = RecordList(
            directory: SessionDirectory(
                path: "\(FilePath.trimmed(path))/clients", ending: ".json", noun: "file of a client's uses"),
            ownerMember: "client_id", recordsMember: "uses", limit: 1_024)
    }

    /// Records a use. If there are too many, those for resources are dropped first.
    package func note(_ use: ClientUse, of clientID: String) throws(OIDCError) {
        try list.change(ClientUses.file(of: clientID), of: clientID) { uses in
            let isKnown = uses.contains { known in
                var known = known
                known.namedBeside = nil
                return known == use
            }
            guard !isKnown else { return false }
            let start = use.origin == nil ? 0 : uses.firstIndex { $0.origin != nil } ?? uses.endIndex
            uses.insert(use, at: start)
            return true
        }
    }

    /// Records that the user has named a server. `others` are those whose codes were at stake then.
    package func noteNamed(issuer: String, beside others: () -> [String]) throws(OIDCError) {
        let name = ClientUse.name(issuer)
        func isLedTo(_ use: ClientUse, _ owner: String) -> Bool {
            use.issuer == name && (use.namedBeside != nil || ClientUses.isFound(use, of: owner))
        }
        let all = try list.all().filter { owner, uses in uses.contains { isLedTo($0, owner) } }
        guard !all.isEmpty else { return }
        let others = others()
        for (owner, _) in all {
            try list.change(ClientUses.file(of: owner), of: owner) { uses in
                for index in uses.indices where isLedTo(uses[index], owner) {
                    uses[index].isFound = false
                    uses[index].namedBeside = others
                }
                return true
            }
        }
    }

    /// Returns whether only a URL led to the server of a use. A server that was only named led the user there if no client
    /// was known for it: they were told to register one.
    private static func isFound(_ use: ClientUse, of owner: String) -> Bool {
        use.isFound || use.isOnlyNamed && owner.isEmpty && use.namedBeside == nil
    }

    /// Returns the servers whose codes were at stake when the user named a server to which a URL had led; nil if none had.
    package func namedBeside(issuer: String) -> [String]? {
        let name = ClientUse.name(issuer)
        let lists = ((try? list.all()) ?? []).flatMap(\.1).filter { $0.issuer == name }.compactMap(
            \.namedBeside)
        return lists.isEmpty ? nil : lists.flatMap { $0 }
    }

    private static func file(of clientID: String) -> String { FileName.of("client", hashing: clientID) }

    /// Returns all uses. Throws if a file cannot be read, as it may contain any of them.
    package func all() throws(OIDCError) -> [(clientID: String, use: ClientUse)] {
        let (names, files) = (try list.directory.names(), try list.all())
        guard files.count == names.count else {
            throw OIDCError(
                .failed, "a file in \(DisplayText.clean(list.directory.path)) cannot be read", stage: .store)
        }
        return files.flatMap { clientID, uses in uses.map { (clientID, $0) } }
    }

    /// Returns whether only a URL led to a server: the user has named it neither without a resource, nor for one with this
    /// client. False if no use of the server can be read.
    package func isFound(issuer: String, clientID: String) -> Bool {
        let name = ClientUse.name(issuer)
        let marks = ((try? list.all()) ?? []).flatMap { owner, uses in
            uses.filter { use in
                use.issuer == name
                    && (ClientUses.isFound(use, of: owner)
                        || !use.isOnlyNamed && (use.origin == nil || owner == clientID))
            }.map { ClientUses.isFound($0, of: owner) }
        }
        return !marks.isEmpty && !marks.contains(false)
    }

    /// Returns whether the user chose a client for a server, to which a URL led.
    package func isChosen(issuer: String, clientID: String) -> Bool {
        let uses = (try? list.records(ClientUses.file(of: clientID), of: clientID)) ?? []
        return uses.contains { $0.isChosen && $0.issuer == ClientUse.name(issuer) }
    }
}
