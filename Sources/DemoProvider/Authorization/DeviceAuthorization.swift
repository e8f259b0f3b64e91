import OIDCCore

/// A device authorization that waits for a user (RFC 8628).
struct DeviceRecord: Sendable {
    enum Decision: Sendable {
        case pending
        /// Approved, with the number of the grant.
        case approved(Int)
        case denied
    }

    let client: String
    let scope: Scope
    let audience: [String]
    let userCode: String
    let expiresAt: Instant
    var interval: Int64
    var lastPoll: Instant?
    var polls = 0
    var decision = Decision.pending
    /// The browser that shows the consent form, and the form's token.
    var question: (browser: String, ticket: String)?
}

extension DemoProvider {
    /// Handles a device authorization request (RFC 8628 §3.1, §3.2).
    mutating func authorizeDevice(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try call.body()
        let client = try authenticatedClient(parameters, call)
        guard client.allows(grant: "urn:ietf:params:oauth:grant-type:device_code") else {
            throw .unauthorizedClient("this client may not use the device flow")
        }
        let code = secret()
        let record = DeviceRecord(
            client: client.id, scope: try allowedScope(parameters["scope"]),
            audience: try audience(parameters), userCode: userCode(),
            expiresAt: call.now.adding(configuration.deviceLifetime),
            interval: configuration.deviceInterval)
        state.devices[code] = record
        let page = address(.devicePage)
        let complete = FormEncoding.encode([FormEncoding.Pair("user_code", record.userCode)])
        var answer = JSONObject()
        answer["device_code"] = .string(code)
        answer["user_code"] = .string(record.userCode)
        answer["verification_uri"] = .string(page)
        answer["verification_uri_complete"] = .string("\(page)?\(complete)")
        answer["expires_in"] = JSONValue(configuration.deviceLifetime)
        answer["interval"] = JSONValue(configuration.deviceInterval)
        return .json(.object(answer))
    }

    /// Returns a user code of eight consonants that are easy to distinguish (RFC 8628 §6.1).
    private func userCode() -> String {
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        let code = random(8).map { letters[Int($0) % letters.count] }
        return "\(String(code.prefix(4)))-\(String(code.suffix(4)))"
    }

    /// Redeems a device code (RFC 8628 §3.4, §3.5).
    mutating func redeemDeviceCode(_ request: TokenCall) throws(Refusal) -> JSONObject {
        let code = try request.parameters.required("device_code")
        guard var record = state.devices[code], record.client == request.client.id else {
            throw .invalidGrant("the device code is unknown")
        }
        guard record.expiresAt > request.now else {
            throw Refusal("expired_token", "the device code has expired")
        }
        let isTooSoon = record.lastPoll.map { request.now.seconds(since: $0) < record.interval } ?? false
        record.lastPoll = request.now
        if isTooSoon {
            record.interval += 5
            state.devices[code] = record
            throw Refusal("slow_down", "polled too soon")
        }
        record.polls += 1
        decide(&record, request.now)
        state.devices[code] = record
        switch record.decision {
        case .pending: throw Refusal("authorization_pending", "nobody has decided yet")
        case .denied: throw Refusal("access_denied", "the user said no")
        case .approved(let grant):
            state.devices[code] = nil
            return try issue(
                Issue(
                    grant: grant, scope: record.scope, audience: record.audience, binding: request.binding,
                    withIDToken: record.scope.contains("openid")), request)
        }
    }

    /// Decides instead of a user, if the configuration says so.
    private mutating func decide(_ record: inout DeviceRecord, _ now: Instant) {
        guard case .pending = record.decision, record.polls > configuration.devicePollsBeforeDecision else {
            return
        }
        switch configuration.user {
        case .atBrowser: break
        case .denies: record.decision = .denied
        case .approves(let name):
            let session = BrowserSession(
                id: "", account: Account(name), authenticatedAt: now, acr: DemoProvider.basicACR,
                lastSeen: now)
            record.decision = .approved(grantDevice(record, session))
        }
    }

    mutating func grantDevice(_ record: DeviceRecord, _ browser: BrowserSession) -> Int {
        state.add(
            Grant(
                client: record.client, subject: browser.account?.subject ?? "", account: browser.account,
                scope: record.scope, audience: record.audience, authenticatedAt: browser.authenticatedAt,
                acr: browser.acr, session: browser.id))
    }
}
