package import OIDCCore
package import OIDCSessions

extension RedisEngine {
    /// Checks the version, clock, persistence and eviction policy of each master, and that every server in
    /// the URL can be reached.
    package func health(now: Instant) throws(OIDCError) -> [HealthReport] {
        let masters = try masters()
        var found: [(report: HealthReport, servers: [String])] = []
        for master in masters.engines {
            for report in try master.ownHealth(now: now) {
                let server = url.withoutPassword(master.url.hosts.first?.text ?? "")
                if let index = found.firstIndex(where: { $0.report == report }) {
                    found[index].servers.append(server)
                } else {
                    found.append((report, [server]))
                }
            }
        }
        var reports = found.map { report, servers in
            servers.count == masters.engines.count
                ? report
                : HealthReport(
                    "\(servers.joined(separator: ", ")): \(report.text)", warning: report.warning)
        }
        if let slots = masters.slots {
            reports.append(RedisHealth.cluster(masters: masters.engines.count, slots: slots))
        }
        return reports + unreachable() + (url.isOpen ? [.unencrypted(secureScheme: "rediss")] : [])
    }

    private func ownHealth(now: Instant) throws(OIDCError) -> [HealthReport] {
        let info = try info()
        var reports = [RedisHealth.version(info)]
        if let clock = try? send(RedisCommand("TIME")).array?.first?.text.flatMap({ Int64($0) }) {
            reports.append(.clock(differingBy: Instant(secondsSinceEpoch: clock).seconds(since: now)))
        }
        reports += [RedisHealth.persistence(info), RedisHealth.eviction(info)]
        if info["role"] == "slave" {
            reports.append(HealthReport("is a replica", warning: "name the master, or the sentinels"))
        }
        return reports
    }

    /// Returns a report about each server in the URL that cannot be reached.
    private func unreachable() -> [HealthReport] {
        guard url.hosts.count > 1 else { return [] }
        return listed.compactMap { server in
            do throws(OIDCError) { try server.connect() } catch { return .unreachable(error) }
            return nil
        }
    }
}

/// Reports about the fields of `INFO`.
enum RedisHealth {
    static func cluster(masters: Int, slots: Int64) -> HealthReport {
        let isWhole = slots == RedisCluster.allSlots
        return HealthReport(
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

    static func version(_ info: [String: String]) -> HealthReport {
        let valkey = info["valkey_version"].map { "Valkey \($0)" }
        let version = info["redis_version"] ?? ""
        let isOld = (Int(version.prefix { $0 != "." }) ?? 0) < 6
        return HealthReport(
            DisplayText.clean(valkey ?? "Redis \(version.isEmpty ? "of an unknown version" : version)"),
            warning: isOld ? "use Redis 6 or later" : nil)
    }

    static func persistence(_ info: [String: String]) -> HealthReport {
        if info["aof_enabled"] == "1" { return HealthReport("append-only file") }
        let hasSaved = info["rdb_last_save_time"] != nil && info["rdb_saves"] != "0"
        return HealthReport(
            hasSaved ? "snapshots only" : "keeps nothing on disk",
            warning:
                "set appendonly yes: a restart may lose the newest refresh token, and with it the session")
    }

    static func eviction(_ info: [String: String]) -> HealthReport {
        let policy = info["maxmemory_policy"] ?? "unknown"
        let warning: String? =
            if policy.hasPrefix("allkeys") {
                "set maxmemory-policy noeviction: this one evicts sessions"
            } else if policy.hasPrefix("volatile"), info["maxmemory"] ?? "0" != "0" {
                "set maxmemory-policy noeviction: this one evicts leases"
            } else {
                nil
            }
        return HealthReport("maxmemory-policy \(DisplayText.clean(policy))", warning: warning)
    }
}
