import Foundation
import OIDCCore
import OIDCSessions
import Posix
import Synchronization
import TestSupport
import Testing

@Suite("credential aws", .serialized, .waiting)
struct AWSTests {
    private func world(
        _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws -> (ToolWorld, ToolServer) {
        let world = try ToolWorld()
        let sts = try world.serve(answer)
        try world.configure([
            "issuer": .string(world.issuer), "client_id": "demo",
            "aws_role_arn": "arn:aws:iam::123456789012:role/dev",
            "aws_sts_endpoint": .string("\(sts.origin)/"),
        ])
        return (world, sts)
    }

    static func answer(_ credentials: String) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            body: Array(
                """
                <?xml version="1.0"?>
                <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
                  <AssumeRoleWithWebIdentityResult><Credentials>\(credentials)</Credentials>
                  </AssumeRoleWithWebIdentityResult>
                </AssumeRoleWithWebIdentityResponse>
                """.utf8))
    }

    static let credentials =
        "<SessionToken>tok/en==</SessionToken><SecretAccessKey>se&#43;cret</SecretAccessKey>"
        + "<Expiration>2030-01-01T00:00:00Z</Expiration><AccessKeyId>ASIA1</AccessKeyId>"

    @Test("the role's keys come for the ID token")
    func success() throws {
        let (world, sts) = try world { _ in Self.answer(Self.credentials) }
        let token = try #require(try world.signIn().tokens.idToken?.revealed)
        let result = try world.run(["credential", "aws"])
        #expect(
            result.output == #"{"Version":1,"AccessKeyId":"ASIA1","SecretAccessKey":"se+cret","#
                + #""SessionToken":"tok/en==","Expiration":"2030-01-01T00:00:00Z"}"# + "\n", "\(result)")
        let sent = FormEncoding.decode(String(decoding: sts.requests.first?.body ?? [], as: UTF8.self)) ?? []
        #expect(
            Dictionary(uniqueKeysWithValues: sent.map { ($0.name, $0.value) }) == [
                "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
                "RoleArn": "arn:aws:iam::123456789012:role/dev", "RoleSessionName": "oidc",
                "WebIdentityToken": token,
            ])
    }

    private static func ending(in seconds: Int64, _ key: String = "ASIA1") -> HTTPResponse {
        let end = Clock.now().adding(seconds).description
        return answer(
            credentials.replacing("2030-01-01T00:00:00Z", with: end).replacing("ASIA1", with: key))
    }

    @Test(
        "keys are kept with the session until five minutes before they end, and obtained once for all processes"
    )
    func kept() throws {
        let (world, sts) = try world { _ in Self.ending(in: 3_600) }
        try world.signIn()
        let outputs = Mutex<Set<String>>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            let result = try? world.run(["credential", "aws"])
            outputs.withLock { _ = $0.insert(result?.output ?? "none") }
        }
        #expect(sts.requests.count == 1 && outputs.withLock { $0.count } == 1)
        for assignment in [
            "aws_role_arn=arn:aws:iam::123456789012:role/ops", "aws_role_session_name=me",
            "aws_sts_endpoint=\(sts.origin)/other",
        ] {
            let count = sts.requests.count
            for _ in 0..<2 {
                #expect(try world.run(["credential", "aws", "--set", assignment]).code == 0)
            }
            #expect(sts.requests.count == count + 1, "\(assignment)")
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: world.home)
        let holders = files.filter { file in
            (try? String(contentsOfFile: "\(world.home)/\(file)", encoding: .utf8))?.contains("ASIA1") == true
        }
        #expect(holders.count == 1 && holders[0].hasPrefix(".local/state/oidc/"), "\(holders)")
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(world.home)/\(holders[0])")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try world.run(["logout", "--local"]).code == 0)
        #expect(
            !files.filter { $0 == holders[0] }.allSatisfy {
                FileManager.default.fileExists(atPath: "\(world.home)/\($0)")
            })
    }

    @Test(
        "keys that end within five minutes, or never say when, are obtained each time", arguments: [200, nil])
    func short(seconds: Int64?) throws {
        let (world, sts) = try world { _ in
            seconds.map { Self.ending(in: $0) }
                ?? Self.answer(Self.credentials.replacing("2030-01-01T00:00:00Z", with: "soon"))
        }
        try world.signIn()
        for _ in 0..<2 { #expect(try world.run(["credential", "aws"]).code == 0) }
        #expect(sts.requests.count == 2)
    }

    @Test("keys are gone at a new sign-in and at the end of the session, and stay through a refresh")
    func gone() throws {
        let (world, sts) = try world { _ in Self.ending(in: 3_600) }
        try world.signIn()
        #expect(try world.run(["credential", "aws"]).code == 0)
        #expect(try world.run(["token", "--refresh"]).code == 0)
        #expect(try world.run(["credential", "aws"]).code == 0 && sts.requests.count == 1)
        try world.signIn()
        #expect(try world.run(["credential", "aws"]).code == 0 && sts.requests.count == 2)
        world.provider.intercept {
            $0.url.path == "/token" ? .json(#"{"error":"invalid_grant"}"#, status: 400) : nil
        }
        #expect(try world.run(["token", "--refresh"]).code == 3)
        #expect(try world.store.load(world.key)?.kept.isEmpty != false)
    }

    @Test("an answer that repeats the ID token, in pieces, does not bring it to stderr")
    func echo() throws {
        let (world, _) = try world { request in
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            let token = pairs.first { $0.name == "WebIdentityToken" }?.value ?? ""
            let xml =
                "<ErrorResponse><Error><Code>\(token.suffix(90))</Code><Message>x \(token.prefix(250))</Message>"
                + "</Error></ErrorResponse>"
            return HTTPResponse(status: 400, body: Array(xml.utf8))
        }
        let token = try #require(try world.signIn().tokens.idToken?.revealed)
        let result = try world.run(["credential", "aws"])
        #expect(result.code == 4 && result.errors.contains("sts: (secret) (\"x (secret)\")"), "\(result)")
        #expect(!result.errors.contains(token.suffix(20)) && !result.errors.contains(token.prefix(20)))
    }

    @Test(
        "an answer that is not the expected XML is refused",
        arguments: [
            answer(""), answer(credentials + "<AccessKeyId>x</AccessKeyId>"),
            answer(credentials.replacing("ASIA1", with: "a b")),
            answer(credentials.replacing("ASIA1", with: "")),
            HTTPResponse(status: 200, body: Array("{}".utf8)), HTTPResponse(status: 200),
            HTTPResponse(status: 200, body: Array("<Other/>".utf8)),
            HTTPResponse(status: 302, headers: HTTPHeaders([("Location", "http://127.0.0.1:1/")])),
        ])
    func malformed(response: HTTPResponse) throws {
        let (world, _) = try world { _ in response }
        try world.signIn()
        let result = try world.run(["credential", "aws"])
        #expect(result.code == 4 && result.output == "", "\(result)")
    }

    @Test(
        "an answer that is not XML is a fault of the endpoint, unless it is down",
        arguments: [(404, 4), (503, 5)])
    func page(status: Int, exit: Int32) throws {
        let (world, _) = try world { _ in HTTPResponse(status: status, body: Array("<!-- busy".utf8)) }
        try world.signIn()
        let result = try world.run(["credential", "aws"])
        let hint = exit == 5 ? "try: try again later" : "try: check aws_sts_endpoint"
        #expect(result.code == exit && result.errors.contains(hint), "\(result)")
    }

    @Test(
        "a refusal by STS is reported with its code",
        arguments: [("AccessDenied", 403, 4), ("InternalFailure", 500, 5), ("Throttling", 400, 5)])
    func refusal(code: String, status: Int, exit: Int32) throws {
        let text =
            "<ErrorResponse><Error><Type>S</Type><Code>\(code)</Code><Message>no &lt;way&gt;</Message></Error></ErrorResponse>"
        let (world, _) = try world { _ in HTTPResponse(status: status, body: Array(text.utf8)) }
        try world.signIn()
        let result = try world.run(["credential", "aws"])
        #expect(
            result.code == exit && result.output == "" && result.errors.contains("\(code) (\"no <way>\")"),
            "\(result)")
    }

    @Test(
        "a malformed role is refused before a request is sent",
        arguments: ["aws_role_arn=dev", "aws_role_session_name=a b", "aws_role_session_name=x"])
    func badRole(assignment: String) throws {
        let (world, sts) = try world { _ in Self.answer(Self.credentials) }
        try world.signIn()
        let result = try world.run(["credential", "aws", "--set", assignment])
        #expect(result.code == 2 && sts.requests.isEmpty, "\(result)")
    }
}

@Suite("credential gcp", .serialized, .waiting)
struct GoogleTests {
    @Test("success has the token, its type and its expiry", arguments: ["id_token", "jwt", nil])
    func success(type: String?) throws {
        let world = try ToolWorld()
        let token = try #require(try world.signIn().tokens.idToken?.revealed)
        let expiry = try #require(IDToken.stored(token)).expiresAt.secondsSinceEpoch
        var variables = world.person
        if let type {
            variables["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"] = "urn:ietf:params:oauth:token-type:\(type)"
        }
        let result = try world.run(["credential", "gcp"], variables)
        #expect(
            result.output == #"{"version":1,"success":true,"#
                + #""token_type":"urn:ietf:params:oauth:token-type:\#(type ?? "id_token")","#
                + #""id_token":"\#(token)","expiration_time":\#(expiry)}"# + "\n", "\(result)")
        #expect(result.code == 0)
    }

    @Test("a failure is JSON on stdout, with exit 0")
    func failure() throws {
        let world = try ToolWorld()
        func fails(_ arguments: [String], _ more: [String: String], _ code: String) throws {
            let result = try world.run(
                ["credential", "gcp"] + arguments, world.person.merging(more) { $1 })
            let json = try result.json()
            #expect(result.code == 0 && json["version"]?.integer == 1 && json["success"]?.bool == false)
            #expect(json["code"]?.string == code && json["message"]?.string?.isEmpty == false, "\(result)")
        }
        try fails([], [:], "login_required")
        try fails([], ["OIDC_CONFIG": "/no/such/file"], "usage")
        try fails([], ["OIDC_STORE": "none"], "login_required")
        try world.signIn()
        let type = "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"
        try fails([], [type: "urn:ietf:params:oauth:token-type:saml2"], "usage")
        try fails(
            ["--set", "gcp_token_type=\("urn:ietf:params:oauth:token-type:jwt")"],
            [type: "urn:ietf:params:oauth:token-type:id_token"], "usage")
    }
}
