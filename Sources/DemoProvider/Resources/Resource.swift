import OIDCCore

extension DemoProvider {
    /// Handles requests to a sample API below `/api`. Access depends on the scope, and for `/api/admin` on
    /// how and when the user signed in.
    mutating func resource(_ call: Call) throws(Refusal) -> HTTPResponse {
        let (record, grant) = try presented(call)
        guard record.audience.contains(where: { address(call.path).hasPrefix($0) }) else {
            throw challenge(call, "invalid_token", "the token is meant for another resource")
        }
        switch (call.request.method, call.path) {
        case (_, "/api/hello"):
            return .json(["hello": .string(grant.account?.givenName ?? grant.subject)])
        case (.get, "/api/items"):
            try demand("api:read", record, call)
            return .json(["items": ["tea", "biscuits"]])
        case (.post, "/api/items"):
            try demand("api:write", record, call)
            return .json(["received": JSONValue(Int64(call.request.body.count))], status: 201)
        case (_, "/api/admin"):
            try demand("api:admin", record, call)
            try demandStepUp(grant, call)
            return .json(["admin": true])
        case (_, "/api/echo"):
            return HTTPResponse(
                status: 200,
                headers: HTTPHeaders([
                    ("Content-Type", call.request.headers["Content-Type"] ?? "application/octet-stream"),
                    ("X-Method", call.request.method.name),
                ]), body: call.request.body)
        default:
            return .text("404 not found", status: 404)
        }
    }

    func demand(_ scope: String, _ record: AccessRecord, _ call: Call) throws(Refusal) {
        guard record.scope.contains(scope) else { throw insufficientScope(scope, call) }
    }

    /// Requires a recent and stronger sign-in (RFC 9470 §3).
    func demandStepUp(_ grant: Grant, _ call: Call) throws(Refusal) {
        let longest: Int64 = 300
        let isRecent = grant.authenticatedAt.map { call.now.seconds(since: $0) <= longest }
        guard grant.acr == DemoProvider.strongACR, isRecent == true else {
            throw challenge(
                call, "insufficient_user_authentication", "a fresh and stronger sign-in is needed",
                [("acr_values", DemoProvider.strongACR), ("max_age", "\(longest)")])
        }
    }
}
