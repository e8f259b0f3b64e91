import OIDCCore

/// The removal of expired and excess state.
extension State {
    mutating func register(_ client: DemoClient) {
        clients[client.id] = client
        registrations.append(client.id)
        guard registrations.count > State.limits.others else { return }
        clients[registrations.removeFirst()] = nil
    }

    mutating func consent(_ key: String, to scope: Scope) {
        if consents.updateValue(scope, forKey: key) == nil { consentOrder.append(key) }
        guard consentOrder.count > State.limits.others else { return }
        consents[consentOrder.removeFirst()] = nil
    }

    /// Removes expired entries, then the oldest ones beyond the limits. A grant is kept as long as one of its
    /// tokens.
    mutating func sweep(at now: Instant) {
        let limits = State.limits
        browsers = newest(
            browsers.filter { now.seconds(since: $0.value.lastSeen) < 86_400 }, limits.others, by: \.lastSeen)
        interactions = newest(
            interactions.filter { $0.value.expiresAt > now }, limits.others, by: \.expiresAt)
        codes = newest(
            codes.filter { now.seconds(since: $0.value.expiresAt) < 3_600 }, limits.others, by: \.expiresAt)
        access = newest(
            access.filter { now.seconds(since: $0.value.expiresAt) < 3_600 }, limits.tokens, by: \.expiresAt)
        refresh = newest(refresh.filter { $0.value.expiresAt > now }, limits.tokens, by: \.expiresAt)
        pushed = newest(pushed.filter { $0.value.expiresAt > now }, limits.others, by: \.expiresAt)
        devices = newest(
            devices.filter { now.seconds(since: $0.value.expiresAt) < 3_600 }, limits.others, by: \.expiresAt)
        usedIdentifiers = newest(
            usedIdentifiers.filter { $0.value > now }, limits.tokens, by: \.self)
        nonces = newest(nonces.filter { now.seconds(since: $0.value) < 600 }, limits.tokens, by: \.self)
        var used = Set(access.values.map(\.grant))
        used.formUnion(refresh.values.map(\.grant))
        used.formUnion(codes.values.map(\.grant))
        grants = grants.filter { used.contains($0.key) }
    }

    private func newest<Record>(
        _ records: [String: Record], _ limit: Int, by date: (Record) -> Instant
    ) -> [String: Record] {
        guard records.count > limit else { return records }
        let kept = records.sorted { date($0.value) > date($1.value) }.prefix(limit)
        return Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
    }
}
