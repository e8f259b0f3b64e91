package import OIDCCore

extension EtcdEngine {
    /// Checks version, leader, alarms and clock, and that every endpoint answers.
    package func health(now: Instant) throws(OIDCError) -> [SharedEngineRemark] {
        var remarks = try ownHealth(now: now)
        for host in url.hosts where url.hosts.count > 1 {
            var own = url
            own.hosts = [host]
            do throws(OIDCError) {
                for remark in try EtcdEngine(own, transport).ownHealth(now: now)
                where remark.warning != nil && !remarks.contains(remark) {
                    remarks.append(
                        SharedEngineRemark("\(host.text): \(remark.text)", warning: remark.warning))
                }
            } catch {
                remarks.append(.unreachable(error))
            }
        }
        return remarks + (url.isOpen ? [.unencrypted(secureScheme: "etcds")] : [])
    }

    private func ownHealth(now: Instant) throws(OIDCError) -> [SharedEngineRemark] {
        let (status, date) = try calls.sendForDate("maintenance/status", [:])
        let version = status["version"]?.string ?? ""
        let numbers = version.split(separator: ".").compactMap { Int($0) }
        let isOld = numbers.count < 2 || (numbers[0], numbers[1]) < (3, 4)
        var remarks = [
            SharedEngineRemark(
                "etcd \(DisplayText.clean(version.isEmpty ? "of an unknown version" : version))",
                warning: isOld ? "use etcd 3.4 or later" : nil)
        ]
        // The leader's identifier may not fit a signed number.
        if ["0", ""].contains(status["leader"]?.string ?? "") {
            remarks.append(
                SharedEngineRemark("has no leader", warning: "check the cluster: etcdctl endpoint status"))
        }
        for problem in status["errors"]?.array ?? [] {
            remarks.append(
                SharedEngineRemark(
                    DisplayText.clean(problem.string ?? ""), warning: "check the cluster: etcdctl alarm list")
            )
        }
        if let date { remarks.append(.clock(differingBy: date.seconds(since: now))) }
        return remarks
    }
}
