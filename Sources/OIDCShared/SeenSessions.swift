package import OIDCCore
import OIDCSessions

/// The sessions in shared stores that this machine has seen or keeps for them, and that were not signed out of here. They are
/// told from its files, so no server is asked.
package enum SeenSessions {
    /// Returns the keys of those on other servers than these, by their descriptions. One server may have several.
    package static func keys(state path: String, besides servers: [String]) -> Set<SessionKey> {
        let known = Set(servers.map { RecordVersions.fileName("", of: $0) })
        let versions = VersionFiles(state: path)
        let pending = PendingSessions(state: path)
        let names = versions.names
        var keys: Set<SessionKey> = []
        for name in names where !known.contains(where: name.hasSuffix) {
            guard let key = versions[name].key.flatMap({ SessionKey(text: $0) }),
                let latest = versions[name].latest,
                !names.contains(where: { isOf(key, $0) && versions[$0].ended.contains(latest) })
            else { continue }
            keys.insert(key)
        }
        for name in pending.names where !known.contains(where: name.hasSuffix) {
            guard let bytes = pending.content(name), let record = try? SealedRecord(stored: bytes),
                let key = SessionKey(text: record.key)
            else { continue }
            keys.insert(key)
        }
        return keys
    }

    /// Returns whether a file is about a key's session, on any server.
    private static func isOf(_ key: SessionKey, _ name: String) -> Bool { name.hasPrefix("\(key.fileStem)-") }
}
