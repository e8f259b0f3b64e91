import Testing

@testable import OIDCCore

@Suite("Device authorization (RFC 8628)")
struct DeviceTests {
    private func call(
        _ request: DeviceAuthorization.Request = DeviceAuthorization.Request(scope: Scope("openid"))
    ) throws -> EndpointCall<DeviceAuthorization.Answer> {
        try DeviceAuthorization.call(
            request, at: Fixture.url("https://op.example/device"), client: Client(id: "cli"),
            now: Fixture.now, random: Fixture.random())
    }

    private func read(_ response: HTTPResponse) throws -> DeviceAuthorization {
        guard case .issued(let authorization) = try call().read(response) else {
            throw OIDCError(.refused, "a nonce was demanded")
        }
        return authorization
    }

    private func read(_ members: String) throws -> DeviceAuthorization {
        try read(
            Fixture.json(
                #"{"device_code":"dc","user_code":"AB-CD","verification_uri":"https://op.example/d""#
                    + "\(members)}"))
    }

    @Test("the request and the answer")
    func complete() throws {
        var request = DeviceAuthorization.Request(scope: Scope("openid email"))
        request.audience = "api"
        request.resources = ["https://r.example"]
        request.acrValues = "urn:a"
        request.extraParameters = [FormEncoding.Pair("x", "y")]
        let call = try call(request)
        #expect(
            call.request.bodyText
                == "client_id=cli&scope=openid%20email&audience=api&resource=https%3A%2F%2Fr.example"
                + "&acr_values=urn%3Aa&x=y")
        let device = try read(
            #","verification_uri_complete":"https://op.example/d?c=1","expires_in":900,"interval":7"#)
        #expect(device.userCode == "AB-CD")
        #expect(device.deviceCode.revealed == "dc")
        #expect(device.verificationURI.text == "https://op.example/d")
        #expect(device.verificationURIComplete?.text == "https://op.example/d?c=1")
        #expect(device.expiresAt == Fixture.now.adding(900))
        #expect(device.interval == .seconds(7))
        let poll = try TokenEndpoint(
            url: Fixture.url("https://op.example/token"), client: Client(id: "cli")
        ).call(.deviceCode(device), now: Fixture.now, random: Fixture.random())
        #expect(
            poll.request.bodyText
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=dc"
                + "&client_id=cli")
    }

    @Test(
        "interval is five seconds unless the answer has a sensible value",
        arguments: [
            ("", 5), (#","interval":1"#, 1), (#","interval":"9""#, 9), (#","interval":0"#, 5),
            (#","interval":-3"#, 5), (#","interval":1e300"#, 5), (#","interval":[]"#, 5),
            (#","interval":100000"#, 300),
        ] as [(String, Int64)])
    func interval(_ members: String, _ seconds: Int64) throws {
        #expect(try read(members).interval == .seconds(seconds))
    }

    @Test(
        "expires_in is ten minutes unless the answer has a sensible value, and a day at most",
        arguments: [
            ("", 600), (#","expires_in":60"#, 60), (#","expires_in":-1"#, 600), (#","expires_in":0"#, 600),
            (#","expires_in":1e999"#, 600), (#","expires_in":2000000000"#, 86_400),
        ] as [(String, Int64)])
    func lifetime(_ members: String, _ seconds: Int64) throws {
        #expect(try read(members).expiresAt == Fixture.now.adding(seconds))
    }

    @Test(
        "verification_uri is an http(s) URL",
        arguments: [
            "javascript:alert(1)", "op.example/d", "file:///etc/passwd", "https://op.example/\u{1B}[m",
        ])
    func badAddress(_ text: String) throws {
        let answer = JSONValue.object(
            JSONObject([
                ("device_code", "dc"), ("user_code", "AB"), ("verification_uri", .string(text)),
            ]))
        let error = Fixture.error { try call().read(Fixture.json(answer.compact)) }
        #expect(error?.kind == .refused)
        #expect(
            error?.message.hasPrefix("device: verification_uri: expected an http(s) URL, found ") == true)
    }

    @Test("a verification_uri_complete that is not an http(s) URL is left out")
    func badCompleteAddress() throws {
        #expect(
            try read(#","verification_uri_complete":"javascript:alert(1)""#).verificationURIComplete == nil)
    }

    @Test(
        "verification_uri_complete is used only on the origin of verification_uri",
        arguments: [
            ("https://op.example/d?c=1", true), ("https://OP.example/x", true),
            ("https://op.example:444/d", false),
            ("http://op.example/d", false), ("https://evil.test/d", false), ("https://x.op.example/d", false),
        ])
    func completeElsewhere(_ url: String, isUsed: Bool) throws {
        let device = try read(#","verification_uri_complete":"\#(url)""#)
        #expect((device.verificationURIComplete != nil) == isUsed)
    }

    @Test("plain http off loopback is refused, unless it is allowed", arguments: [true, false])
    func plainHTTP(isAllowed: Bool) throws {
        let call = try DeviceAuthorization.call(
            DeviceAuthorization.Request(scope: Scope("openid")), at: Fixture.url("https://op.example/device"),
            client: Client(id: "cli"), allowsInsecureHTTP: isAllowed, now: Fixture.now,
            random: Fixture.random())
        let answer = Fixture.json(
            #"{"device_code":"dc","user_code":"AB-CD","verification_uri":"http://op.example/d"}"#)
        let error = isAllowed ? nil : Fixture.error { try call.read(answer) }
        #expect(
            isAllowed || error?.message.hasPrefix("device: verification_uri: expected an https URL") == true)
        if isAllowed { #expect(throws: Never.self) { try call.read(answer) } }
    }

    @Test(
        "only a provider on this machine or in a private network may send the user to a page there",
        arguments: [
            ("https://op.example", "http://127.0.0.1:1/d", false),
            ("https://op.example", "https://localhost/d", false),
            ("https://op.example", "https://2130706433/d", false),
            ("https://op.example", "https://192.168.1.1/d", false),
            ("https://op.example", "https://other.example/d", true),
            ("https://10.0.0.1", "https://10.0.0.1/d", true),
            ("https://10.0.0.1", "http://[::1]:1/d", false),
            ("http://localhost:2", "http://127.0.0.1:1/d", true),
        ])
    func pageHere(provider: String, page: String, isAllowed: Bool) throws {
        let call = try DeviceAuthorization.call(
            DeviceAuthorization.Request(scope: Scope("openid")), at: Fixture.url("\(provider)/device"),
            client: Client(id: "cli"), now: Fixture.now, random: Fixture.random())
        let answer = Fixture.json(
            #"{"device_code":"dc","user_code":"AB-CD","verification_uri":"\#(page)"}"#)
        let error = Fixture.error { try call.read(answer) }
        #expect((error == nil) == isAllowed)
        #expect(
            isAllowed || error?.kind == .untrusted && error?.member == "verification_uri", "\(error as Any)")
    }

    @Test(
        "a page that is neither on the provider's host nor on a domain above it is elsewhere",
        arguments: [
            ("https://login.op.example", "https://op.example/d", false),
            ("https://op.example", "https://OP.example/d", false),
            ("https://op.example", "https://op.test/d", true),
            ("https://op.example", "https://www.op.example/d", true),
            ("https://op.example", "https://ample/d", true),
            ("https://op.example", "https://example/d", true),
            ("https://xop.example", "https://op.example/d", true),
        ])
    func elsewhere(provider: String, page: String, isElsewhere: Bool) throws {
        let device = try read(
            Fixture.json(
                #"{"device_code":"d","user_code":"u","verification_uri":"\#(page)"}"#))
        let url = try Fixture.url(provider)
        #expect(device.isElsewhere(than: url) == isElsewhere)
    }

    @Test("with openid, invalid_scope names the scope to leave out (Spring Authorization Server 7.1)")
    func openIDRefused() throws {
        let refusal = Fixture.json(
            #"{"error":"invalid_scope","error_description":"OAuth 2.0 Parameter: scope","error_uri":"https://datatracker.ietf.org/doc/html/rfc6749#section-5.2"}"#,
            status: 400)
        #expect(Fixture.error { try call().read(refusal) }?.hint == .advice(.leaveOutOpenIDForDevice))
        let profile = DeviceAuthorization.Request(scope: Scope("profile"))
        #expect(Fixture.error { try call(profile).read(refusal) }?.hint == .advice(.checkScope))
    }

    @Test("verification_url, as drafts of the RFC had it, is understood")
    func oldName() throws {
        let device = try read(
            Fixture.json(#"{"device_code":"d","user_code":"u","verification_url":"https://op.example/d"}"#))
        #expect(device.verificationURI.text == "https://op.example/d")
    }

    @Test("a form-encoded answer is read, as GitHub sends it (2026-11)")
    func formEncoded() throws {
        let body =
            "device_code=d&expires_in=899&interval=5&user_code=A-B&verification_uri=https%3A%2F%2Fop.example%2Fd"
        let device = try read(
            HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/x-www-form-urlencoded")]),
                body: Array(body.utf8)))
        #expect(device.deviceCode.revealed == "d" && device.userCode == "A-B")
        #expect(device.expiresAt == Fixture.now.adding(899))
    }

    @Test(
        "authorization_pending is recognized in the forms that providers use",
        arguments: [
            Fixture.json(#"{"error":"authorization_pending"}"#),
            Fixture.json(#"{"error":"authorization_pending"}"#, status: 428),
            Fixture.json(#"{"status":400,"message":"authorization_pending"}"#, status: 400),
        ])
    func pending(_ response: HTTPResponse) throws {
        let device = try read("")
        let poll = try TokenEndpoint(
            url: Fixture.url("https://op.example/token"), client: Client(id: "cli")
        ).call(.deviceCode(device), now: Fixture.now, random: Fixture.random())
        let error = try #require(Fixture.error { try poll.read(response) })
        var polling = DevicePolling(device)
        guard case .wait(.seconds(5)) = polling.next(after: error, now: Fixture.now) else {
            Issue.record("\(error.message)")
            return
        }
    }

    @Test("a user code is clean before it is shown")
    func userCode() throws {
        let device = try read(
            Fixture.json(
                #"{"device_code":"d","user_code":"A\u001b[2J\u202eB","verification_uri":"https://op.example/"}"#
            ))
        #expect(device.userCode == "A[2JB")
        let error = Fixture.error {
            try call().read(
                Fixture.json(
                    #"{"device_code":"d","user_code":"\u200b\n","verification_uri":"https://op.example/"}"#))
        }
        #expect(error?.message == "device: user_code: expected a code that can be read, found none")
    }

    @Test(
        "a missing member is named",
        arguments: [
            ("{}", "device: device_code is missing from the answer"),
            (#"{"device_code":"d"}"#, "device: user_code is missing from the answer"),
            (
                #"{"device_code":"d","user_code":"u"}"#,
                "device: verification_uri is missing from the answer"
            ),
        ])
    func missing(_ body: String, _ message: String) {
        #expect(throws: OIDCError(.refused, message, stage: .deviceAuthorization)) {
            try call().read(Fixture.json(body))
        }
    }

    @Test("a refused request keeps the provider's code")
    func refused() {
        let error = Fixture.error {
            try call().read(Fixture.json(#"{"error":"unauthorized_client"}"#, status: 400))
        }
        #expect(error?.oauthError == "unauthorized_client")
        #expect(error?.stage == .deviceAuthorization)
    }
}

@Suite("Device polling (RFC 8628 §3.5)")
struct DevicePollingTests {
    private func polling(interval: Int = 5, lifetime: Int = 600) throws -> DevicePolling {
        let call = try DeviceAuthorization.call(
            DeviceAuthorization.Request(scope: Scope("")), at: Fixture.url("https://op.example/d"),
            client: Client(id: "cli"), now: Fixture.now, random: Fixture.random())
        let answer = try call.read(
            Fixture.json(
                #"{"device_code":"d","user_code":"u","verification_uri":"https://op.example/","#
                    + #""interval":\#(interval),"expires_in":\#(lifetime)}"#))
        guard case .issued(let authorization) = answer else { throw OIDCError(.refused, "no code") }
        return DevicePolling(authorization)
    }

    private func error(_ code: String?, kind: OIDCError.Kind = .refused, retryAfter: Int? = nil) -> OIDCError
    {
        OIDCError(kind, "token: x", stage: .token, oauthError: code, retryAfter: retryAfter)
    }

    private func seconds(_ step: DevicePolling.Step) -> Int64? {
        if case .wait(let wait) = step { wait.components.seconds } else { nil }
    }

    private func failure(_ step: DevicePolling.Step) -> OIDCError? {
        if case .failed(let error) = step { error } else { nil }
    }

    @Test("authorization_pending waits the interval; slow_down adds five seconds for good")
    func pending() throws {
        var polling = try polling()
        let codes = ["authorization_pending", "slow_down", "authorization_pending", "slow_down"]
        let waits = codes.map { seconds(polling.next(after: error($0), now: Fixture.now)) }
        #expect(waits == [5, 10, 10, 15])
        #expect(polling.interval == 15)
    }

    @Test("authorization_pending and slow_down count with any status")
    func pendingWithStatus() throws {
        var polling = try polling()
        let slow = error("slow_down", kind: .unreachable, retryAfter: 20)
        #expect(seconds(polling.next(after: slow, now: Fixture.now)) == 20)
        #expect(polling.interval == 10)
    }

    @Test("polling continues after a temporary failure, with longer waits, and then returns to the interval")
    func transient() throws {
        var polling = try polling()
        let failures = (0..<6).map { _ in
            seconds(polling.next(after: error(nil, kind: .unreachable), now: Fixture.now))
        }
        #expect(failures == [10, 20, 40, 60, 60, 60])
        let after = polling.next(after: error("authorization_pending"), now: Fixture.now)
        #expect(seconds(after) == 5)
    }

    @Test("slow_down for ever neither overflows nor sleeps for days")
    func slowDownForEver() throws {
        var polling = try polling(lifetime: 86_400)
        for _ in 0..<10_000 { _ = polling.next(after: error("slow_down"), now: Fixture.now) }
        #expect(polling.interval == 3_600)
    }

    @Test("Retry-After is honored, a minute at most")
    func retryAfter() throws {
        var polling = try polling()
        let later = error(nil, kind: .unreachable, retryAfter: 86_400)
        #expect(seconds(polling.next(after: later, now: Fixture.now)) == 60)
    }

    @Test("polling ends when the code expires")
    func expiry() throws {
        var polling = try polling(lifetime: 8)
        let pending = error("authorization_pending")
        #expect(seconds(polling.next(after: pending, now: Fixture.now.adding(5))) == 3)
        let expired = failure(polling.next(after: pending, now: Fixture.now.adding(8)))
        #expect(expired == DevicePolling.expired)
        #expect(expired?.message == "token: the code expired before the sign-in was finished")
        #expect(expired?.hint == .signIn)
    }

    @Test("the first wait is the interval, or the rest of the code's lifetime", arguments: [(3, 3), (8, 5)])
    func firstWait(lifetime: Int, seconds: Int64) throws {
        #expect(try polling(lifetime: lifetime).firstWait(now: Fixture.now) == .seconds(seconds))
        #expect(try polling(lifetime: lifetime).firstWait(now: Fixture.now.adding(9)) == .zero)
    }

    @Test(
        "expired_token is a time-out, access_denied a refusal, and unknown errors end it",
        arguments: [
            ("expired_token", OIDCError.Kind.refused, OIDCError.Kind.timedOut),
            ("access_denied", .refused, .refused), ("invalid_grant", .refused, .refused),
            ("something_else", .refused, .refused), (nil, .refused, .refused), (nil, .untrusted, .untrusted),
            (nil, .failed, .failed),
        ] as [(String?, OIDCError.Kind, OIDCError.Kind)])
    func ends(_ code: String?, _ kind: OIDCError.Kind, _ expected: OIDCError.Kind) throws {
        var polling = try polling()
        let found = failure(polling.next(after: error(code, kind: kind), now: Fixture.now))
        #expect(found?.kind == expected)
        #expect(found?.oauthError == code)
    }

    @Test(
        "a refusal by the user, by the RFC's name or Entra's, is hinted as one",
        arguments: [("access_denied", true), ("authorization_declined", true), ("invalid_grant", false)])
    func declined(_ code: String, _ isDeclined: Bool) throws {
        var polling = try polling()
        let found = try #require(failure(polling.next(after: error(code), now: Fixture.now)))
        #expect(found.kind == .refused && (found.hint == .advice(.signInAndAllow)) == isDeclined)
        #expect(DevicePolling.isDeclined(found) == isDeclined)
    }
}
