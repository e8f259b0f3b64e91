package import OIDCCore
package import OIDCSessions

extension EtcdEngine {
    /// Checks the version, leader, alarms and clock, and that every endpoint answers.
    package func health(now: Instant) throws(OIDCError) -> [HealthReport] {
        var reports = try ownHealth(now: now)
        for host in url.hosts where url.hosts.count > 1 {
            var own = url
            own.hosts = [host]
            do throws(OIDCError) {
                for report in try EtcdEngine(own, transport).ownHealth(now: now)
                where report.warning != nil && !reports.contains(report) {
                    reports.append(
                        HealthReport("\(host.text): \(report.text)", warning: report.warning))
                }
            } catch {
                reports.append(.unreachable(error))
            }
        }
        return reports + (url.isOpen ? [.unencrypted(secureScheme: "etcds")] : [])
    }

    private func ownHealth(now: Instant) throws(OIDCError) -> [HealthReport] {
        let (status, date) = try calls.sendForDate("maintenance/status", [:])
        let version = status["version"]?.string ?? ""
        let numbers = version.split(separator: ".").compactMap { Int($0) }
        let isOld = numbers.count < 2 || (numbers[0], numbers[1]) < (3, 4)
        var reports = [
            HealthReport(
                "etcd \(version.isEmpty ? "of an unknown version" : calls.withoutSecrets(version))",
                warning: isOld ? "use etcd 3.4 or later" : nil)
        ]
        // Compared as a string, as the leader's ID may not fit a signed number.
        if ["0", ""].contains(status["leader"]?.string ?? "") {
            reports.append(
                HealthReport("has no leader", warning: "check the cluster: etcdctl endpoint status"))
        }
        for problem in status["errors"]?.array ?? [] {
            reports.append(
                HealthReport(
                    calls.withoutSecrets(problem.string ?? ""),
                    warning: "check the cluster: etcdctl alarm list")
            )
        }
        if let date { reports.append(.clock(differingBy: date.seconds(since: now))) }
        return reports
    }
}
