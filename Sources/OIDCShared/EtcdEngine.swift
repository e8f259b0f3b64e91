package import CurlHTTP
package import OIDCCore
import Posix
import Synchronization

/// A shared store in etcd 3.4 or later, through its JSON gateway. A write compares the revision of the key; a
/// lease is a key that is attached to a lease of etcd, which removes both when it expires.
package final class EtcdEngine: SharedEngine {
    package let url: SharedStoreURL
    let calls: EtcdCalls
    let transport: any HTTPTransport

    struct Grant {
        var id: String
        var seconds: Int64
    }
    let grants = Mutex<[String: Grant]>([:])
    /// The leases that another owner had when they were last asked for. Until one is free, nothing is granted for it.
    private let held = Mutex<Set<String>>([])

    package convenience init(_ url: SharedStoreURL, _ configuration: CurlConfiguration) {
        var configuration = configuration
        // The time limit is divided, so a server that hangs leaves time for the next one.
        let share = configuration.httpTimeout.milliseconds / Int64(max(1, url.hosts.count))
        configuration.httpTimeout = .milliseconds(max(1_000, share))
        self.init(url, CurlTransport(configuration))
    }

    /// Creates an engine. `election` is the time in milliseconds that the servers may take to elect a leader.
    package init(_ url: SharedStoreURL, _ transport: any HTTPTransport, election: Int64 = 5_000) {
        self.url = url
        self.transport = transport
        calls = EtcdCalls(url, transport, election: election)
    }

    package var description: String { url.server }
    package func withoutSecrets(_ text: String) -> String { calls.withoutSecrets(text) }
    package func withoutPassword(_ text: String) -> String { url.withoutPassword(text) }

    func key(_ name: String) -> JSONValue { EtcdEngine.encoded("\(url.prefix)/\(name)") }
    package func deletion(of name: String) -> [String] { ["etcdctl", "del", "\(url.prefix)/\(name)"] }

    private static func encoded(_ text: String) -> JSONValue { .string(Base64.encode(Array(text.utf8))) }

    package func read(_ name: String) throws(OIDCError) -> SharedValue? {
        try EtcdEngine.value(in: try sendAboutKeys("range", ["key": key(name)]))
    }

    /// Returns the first value of a range answer; nil if there is none.
    private static func value(in answer: JSONValue?) throws(OIDCError) -> SharedValue? {
        guard let answer, let entry = try entries(in: answer).first else { return nil }
        // An empty value is left out of the JSON.
        guard let revision = number(entry["mod_revision"]),
            let bytes = Base64.decode(entry["value"]?.string ?? "")
        else { throw EtcdCalls.nonsense }
        return SharedValue(bytes: bytes, revision: revision)
    }

    /// Returns the values of a range answer. An empty list is left out of the JSON, and so is its count.
    private static func entries(in answer: JSONValue) throws(OIDCError) -> [JSONValue] {
        guard let entries = answer["kvs"] == nil ? [] : answer["kvs"]?.array,
            entries.count <= number(answer["count"]) ?? 0
        else { throw EtcdCalls.nonsense }
        return entries
    }

    /// Sends a call about keys. An answer without the revision of the whole store is not etcd's.
    private func sendAboutKeys(_ path: String, _ body: JSONValue) throws(OIDCError) -> JSONValue {
        let answer = try calls.send("kv/\(path)", body)
        guard EtcdEngine.number(answer["header"]?["revision"]) != nil else { throw EtcdCalls.nonsense }
        return answer
    }

    /// Parses a 64-bit number, which the gateway writes as a string.
    static func number(_ value: JSONValue?) -> Int64? {
        value?.string.flatMap { Int64($0) } ?? value?.integer
    }

    package func write(
        _ name: String, _ bytes: [UInt8], replacing current: SharedValue?, lifetime: Duration?
    ) throws(OIDCError) -> SharedValue? {
        var put: JSONObject = JSONObject()
        put["key"] = key(name)
        put["value"] = .string(Base64.encode(bytes))
        var granted: Grant?
        if let lifetime {
            let grant = try grant(lifetime)
            put["lease"] = .string(grant.id)
            granted = grant
        }
        let comparison: JSONValue =
            current.map { current in
                [
                    "key": key(name), "target": "MOD", "result": "EQUAL",
                    "mod_revision": .string(String(current.revision)),
                ]
            } ?? ["key": key(name), "target": "CREATE", "result": "EQUAL", "create_revision": "0"]
        let answer = try sendAboutKeys(
            "txn",
            [
                "compare": [comparison], "success": [["request_put": .object(put)]],
                "failure": [["request_range": ["key": key(name)]]],
            ])
        if answer["succeeded"]?.bool == true {
            return SharedValue(bytes: bytes, revision: EtcdEngine.number(answer["header"]?["revision"]) ?? 0)
        }
        guard let range = answer["responses"]?.array?.first?["response_range"] else {
            throw EtcdCalls.nonsense
        }
        // The value is stored already if the answer to the same call was lost.
        if let found = try EtcdEngine.value(in: range), found.bytes == bytes { return found }
        if let granted { revoke(granted) }
        return nil
    }

    package func remove(_ name: String) throws(OIDCError) {
        _ = try sendAboutKeys("deleterange", ["key": key(name)])
    }

    package func names(_ prefix: String) throws(OIDCError) -> [String] {
        let wanted = "\(url.prefix)/\(prefix)"
        var end = Array(wanted.utf8)
        end[end.count - 1] += 1
        var listing = SharedListing(server: description)
        var next = Array(wanted.utf8)
        while true {
            try listing.beginPage()
            let answer = try sendAboutKeys(
                "range",
                [
                    "key": .string(Base64.encode(next)), "range_end": .string(Base64.encode(end)),
                    "keys_only": true,
                    "limit": "1000",
                ])
            let start = next
            for entry in try EtcdEngine.entries(in: answer) {
                guard let key = entry["key"]?.string.flatMap({ Base64.decode($0) }) else {
                    throw EtcdCalls.nonsense
                }
                let text = String(decoding: key, as: UTF8.self)
                if text.hasPrefix(wanted) {
                    try listing.add(String(text.dropFirst(url.prefix.utf8.count + 1)))
                }
                next = key + [0]
            }
            guard answer["more"]?.bool == true else { return listing.names }
            // Names are sorted, so each page goes on after the last one.
            guard start.lexicographicallyPrecedes(next) else { throw EtcdCalls.nonsense }
        }
    }
}

/// Leases in etcd.
extension EtcdEngine {
    package func acquire(
        _ lease: String, owner: String, for duration: Duration, reading names: [String], checksWrites: Bool
    ) throws(OIDCError) -> LeaseAnswer {
        let ranges = ([lease] + names).map { name -> JSONValue in ["request_range": ["key": key(name)]] }
        if held.withLock({ $0.contains(lease) }) {
            let answer = try leaseAnswer(
                try sendAboutKeys("txn", ["success": .array(ranges)]), owner, reading: names)
            if answer.isTaken { return answer.found }
        }
        let grant = try grant(duration)
        var success: [JSONValue] = [
            [
                "request_put": [
                    "key": key(lease), "value": .string(Base64.encode(Array(owner.utf8))),
                    "lease": .string(grant.id),
                ]
            ]
        ]
        if checksWrites, let first = names.first { success.append(rewriting(first)) }
        let reply: JSONValue
        do throws(OIDCError) {
            reply = try sendAboutKeys(
                "txn",
                [
                    "compare": [
                        ["key": key(lease), "target": "CREATE", "result": "EQUAL", "create_revision": "0"]
                    ],
                    "success": .array(success + ranges), "failure": .array(ranges),
                ])
        } catch {
            // The server may have given the lease, which the caller then releases.
            if error.mayHaveBeenCarriedOut {
                grants.withLock { $0[owner] = grant }
            } else {
                revoke(grant)
            }
            throw error
        }
        let answer = try leaseAnswer(reply, owner, reading: names)
        held.withLock { held in
            if answer.found.isOurs { held.remove(lease) } else { held.insert(lease) }
        }
        if reply["succeeded"]?.bool == true {
            grants.withLock { $0[owner] = grant }
        } else if !answer.found.isOurs || grants.withLock({ $0[owner] != nil }) {
            revoke(grant)
        } else {
            // The answer to the same call was lost.
            grants.withLock { $0[owner] = grant }
        }
        return answer.found
    }

    /// Returns the operation that writes a value unchanged, if there is one.
    private func rewriting(_ name: String) -> JSONValue {
        [
            "request_txn": [
                "compare": [
                    ["key": key(name), "target": "CREATE", "result": "GREATER", "create_revision": "0"]
                ],
                "success": [
                    ["request_put": ["key": key(name), "ignore_value": true, "ignore_lease": true]]
                ],
            ]
        ]
    }

    /// Reads the ranges at the end of an answer: that of the lease, and those of the values.
    private func leaseAnswer(
        _ reply: JSONValue, _ owner: String, reading names: [String]
    ) throws(OIDCError) -> (found: LeaseAnswer, isTaken: Bool) {
        guard let responses = reply["responses"]?.array, responses.count > names.count else {
            throw EtcdCalls.nonsense
        }
        let ranges = responses.suffix(names.count + 1).map { $0["response_range"] }
        let holder = try EtcdEngine.value(in: ranges.first ?? nil)
        var answer = LeaseAnswer(isOurs: holder?.bytes == Array(owner.utf8))
        for (name, range) in zip(names, ranges.dropFirst()) {
            answer.values[name] = .some(try EtcdEngine.value(in: range))
        }
        return (answer, holder != nil)
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

    package func release(_ lease: String, owner: String, within limit: Duration) throws(OIDCError) {
        guard let grant = grants.withLock({ $0.removeValue(forKey: owner) }) else { return }
        // etcd removes the key with its lease.
        _ = try calls.send("lease/revoke", ["ID": .string(grant.id)], within: limit)
    }

    func grant(_ duration: Duration) throws(OIDCError) -> Grant {
        let seconds = EtcdEngine.seconds(duration)
        let answer: JSONValue
        do throws(OIDCError) {
            answer = try calls.send("lease/grant", ["TTL": .string(String(seconds))])
        } catch {
            // Nothing uses the grant yet.
            throw error.unanswered(false)
        }
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
