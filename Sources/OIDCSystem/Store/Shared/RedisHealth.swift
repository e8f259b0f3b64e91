package import OIDCCore

extension RedisEngine {
    /// Checks version, clock, persistence and eviction: of each master, in a cluster.
    package func health(now: Instant) throws(OIDCError) -> [SharedEngineRemark] {
        let masters = try masters()
        var found: [(remark: SharedEngineRemark, servers: [String])] = []
        for master in masters.engines {
            for remark in try master.ownHealth(now: now) {
                let server = master.url.hosts.first?.text ?? ""
                if let index = found.firstIndex(where: { $0.remark == remark }) {
                    found[index].servers.append(server)
                } else {
                    found.append((remark, [server]))
                }
            }
        }
        var remarks = found.map { remark, servers in
            servers.count == masters.engines.count
                ? remark
                : SharedEngineRemark(
                    "\(servers.joined(separator: ", ")): \(remark.text)", warning: remark.warning)
        }
        if let slots = masters.slots {
            remarks.append(RedisHealth.cluster(masters: masters.engines.count, slots: slots))
        }
        return remarks + unreachable() + (url.isOpen ? [.unencrypted(secureScheme: "rediss")] : [])
    }

    private func ownHealth(now: Instant) throws(OIDCError) -> [SharedEngineRemark] {
        let info = try info()
        var remarks = [RedisHealth.version(info)]
        if let clock = try? send(RedisCommand("TIME")).array?.first?.text.flatMap({ Int64($0) }) {
            remarks.append(.clock(differingBy: clock - now.secondsSinceEpoch))
        }
        remarks += [RedisHealth.persistence(info), RedisHealth.eviction(info)]
        if info["role"] == "slave" {
            remarks.append(SharedEngineRemark("is a replica", warning: "name the master, or the sentinels"))
        }
        return remarks
    }

    /// Checks that each server of the list can be reached.
    private func unreachable() -> [SharedEngineRemark] {
        guard url.hosts.count > 1 else { return [] }
        return listed.compactMap { server in
            do throws(OIDCError) { try server.connect() } catch { return .unreachable(error) }
            return nil
        }
    }
}

/// The reading of `INFO`
enum RedisHealth {
    static func cluster(masters: Int, slots: Int64) -> SharedEngineRemark {
        let isWhole = slots == RedisCluster.allSlots
        return SharedEngineRemark(
            "a cluster of \(masters) master\(masters == 1 ? "" : "s")"
                + (isWhole ? "" : " with \(slots) of \(RedisCluster.allSlots) slots"),
            warning: isWhole ? nil : "bring its masters back, so every slot is served again")
    }

    static func fields(_ info: String) -> [String: String] {
        var fields: [String: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            guard let (name, value) = line.parts(around: ":") else { continue }
            fields[String(name)] = String(value)
        }
        return fields
    }

    static func version(_ info: [String: String]) -> SharedEngineRemark {
        let valkey = info["valkey_version"].map { "Valkey \($0)" }
        let version = info["redis_version"] ?? ""
        let isOld = (Int(version.prefix { $0 != "." }) ?? 0) < 6
        return SharedEngineRemark(
            DisplayText.clean(valkey ?? "Redis \(version.isEmpty ? "of an unknown version" : version)"),
            warning: isOld ? "use Redis 6 or later" : nil)
    }

    static func persistence(_ info: [String: String]) -> SharedEngineRemark {
        if info["aof_enabled"] == "1" { return SharedEngineRemark("append-only file") }
        let hasSaved = info["rdb_last_save_time"] != nil && info["rdb_saves"] != "0"
        return SharedEngineRemark(
            hasSaved ? "snapshots only" : "keeps nothing on disk",
            warning:
                "set appendonly yes: a restart may lose the newest refresh token, and with it the session")
    }

    static func eviction(_ info: [String: String]) -> SharedEngineRemark {
        let policy = info["maxmemory_policy"] ?? "unknown"
        let warning: String? =
            if policy.hasPrefix("allkeys") {
                "set maxmemory-policy noeviction: this one evicts sessions"
            } else if policy.hasPrefix("volatile"), info["maxmemory"] ?? "0" != "0" {
                "set maxmemory-policy noeviction: this one evicts leases"
            } else {
                nil
            }
        return SharedEngineRemark("maxmemory-policy \(DisplayText.clean(policy))", warning: warning)
    }
}
