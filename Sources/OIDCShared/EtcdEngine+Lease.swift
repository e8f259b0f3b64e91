package import OIDCCore
import Posix
import Synchronization

/// Leases in etcd.
extension EtcdEngine {
    package func acquire(_ lease: String, owner: String, for duration: Duration) throws(OIDCError) -> Bool {
        let bytes = Array(owner.utf8)
        if let found = try read(lease) { return found.bytes == bytes }
        let grant = try grant(duration)
        let isOurs = try swap(
            ["key": key(lease), "target": "CREATE", "result": "EQUAL", "create_revision": "0"],
            ["key": key(lease), "value": .string(Base64.encode(bytes)), "lease": .string(grant.id)],
            finding: bytes)
        if isOurs { grants.withLock { $0[owner] = grant } } else { revoke(grant) }
        return isOurs
    }

    package func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool {
        let old = grants.withLock { $0[owner] }
        if let old, old.seconds == EtcdEngine.seconds(duration) {
            let answer = try calls.send("lease/keepalive", ["ID": .string(old.id)])
            return (EtcdEngine.number(answer["result"]?["TTL"]) ?? 0) > 0
        }
        let grant = try grant(duration)
        let value = JSONValue.string(Base64.encode(Array(owner.utf8)))
        let answer = try sendAboutKeys(
            "txn",
            [
                "compare": [["key": key(lease), "target": "VALUE", "result": "EQUAL", "value": value]],
                "success": [
                    ["request_put": ["key": key(lease), "value": value, "lease": .string(grant.id)]]
                ],
            ])
        guard answer["succeeded"]?.bool == true else {
            revoke(grant)
            return false
        }
        grants.withLock { $0[owner] = grant }
        if let old { revoke(old) }
        return true
    }

    package func release(_ lease: String, owner: String) throws(OIDCError) {
        guard let grant = grants.withLock({ $0.removeValue(forKey: owner) }) else { return }
        // etcd removes the key with its lease.
        _ = try calls.send("lease/revoke", ["ID": .string(grant.id)])
    }

    func grant(_ duration: Duration) throws(OIDCError) -> Grant {
        let seconds = EtcdEngine.seconds(duration)
        let answer = try calls.send("lease/grant", ["TTL": .string(String(seconds))])
        guard let id = EtcdEngine.number(answer["ID"]) else { throw EtcdCalls.nonsense }
        return Grant(id: String(id), seconds: seconds)
    }

    private func revoke(_ grant: Grant) {
        _ = try? calls.send("lease/revoke", ["ID": .string(grant.id)])
    }

    private static func seconds(_ duration: Duration) -> Int64 {
        max(1, (duration.milliseconds + 999) / 1_000)
    }
}
