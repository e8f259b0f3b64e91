import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import Posix
import TestSupport
import Testing

@Suite("signed UserInfo and introspection answers, in the built program", .serialized, .waiting)
struct SignedAnswerCommandTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let introspectionType = "application/token-introspection+jwt"

    private static func signedIn(
        _ variables: [String: String] = [:], _ change: (inout DemoClient) -> Void = { _ in }
    ) throws -> (ProviderServer, Program) {
        var configuration = DemoConfiguration()
        var client = DemoClient(id: "demo-signed", secret: secret)
        change(&client)
        configuration.clients.append(client)
        let provider = try ProviderServer(configuration)
        let program = try Program(
            provider, client: client.id, ["OIDC_CLIENT_SECRET": secret].merging(variables) { $1 })
        let outcome = try program.signIn(at: provider)
        try #require(outcome.status == 0, "\(outcome.errorOutput)")
        return (provider, program)
    }

    private static func write(_ text: String, _ program: Program) throws -> String {
        let file = program.home.appendingPathComponent("key")
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file.path
    }

    @Test("introspect requests a signed answer if the provider offers one, and prints what is in it")
    func offered() throws {
        let (provider, program) = try Self.signedIn()
        defer { program.remove() }
        let outcome = try program.run("introspect")
        #expect(outcome.status == 0, "\(outcome)")
        let claims = try JSONValue(parsing: outcome.output)
        #expect(claims["active"] == true && claims["sub"] == "alice" && claims["token_introspection"] == nil)
        let request = try #require(provider.with { $0.requests(to: .introspection).last })
        #expect(request.headers["Accept"]?.hasPrefix(Self.introspectionType) == true)
        // The provider is free to answer as before; then the setting decides.
        provider.intercept { $0.url.path == "/introspect" ? .json(#"{"active":true}"#) : nil }
        #expect(try program.run("introspect").status == 0)
        let demanded = ["introspect", "--set", "introspection_signed_response_alg=RS256"]
        let plain = try program.start(demanded).finish()
        #expect(plain.status == 7 && plain.output.isEmpty, "\(plain)")
        #expect(plain.error?.contains("Content-Type: expected \(Self.introspectionType)") == true, "\(plain)")
        provider.intercept(nil)
        #expect(try program.start(demanded).finish().status == 0)
        let alone = try #require(provider.with { $0.requests(to: .introspection).last })
        #expect(alone.headers["Accept"] == Self.introspectionType)
        let other = try program.run("introspect", "--set", "introspection_signed_response_alg=ES256")
        #expect(other.status == 7 && other.error?.contains("alg: expected ES256") == true, "\(other)")
    }

    @Test("introspection_signed_response_alg=none requests a plain answer, and a hint names it")
    func declined() throws {
        let (provider, program) = try Self.signedIn()
        defer { program.remove() }
        let declined = try program.run("introspect", "--set", "introspection_signed_response_alg=none")
        #expect(declined.status == 0 && declined.output.contains("\"active\":true"), "\(declined)")
        let request = try #require(provider.with { $0.requests(to: .introspection).last })
        #expect(request.headers["Accept"] == "application/json")
        provider.intercept { request in
            guard request.url.path == "/introspect" else { return nil }
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", Self.introspectionType)]),
                body: Array("e30.e30.AA".utf8))
        }
        let faulty = try program.run("introspect")
        #expect(faulty.status == 7, "\(faulty)")
        #expect(faulty.errorOutput.contains("introspection_signed_response_alg=none"), "\(faulty)")
    }

    @Test("introspect says that no signed answer was requested if the metadata cannot be fetched")
    func undiscovered() throws {
        let (provider, program) = try Self.signedIn()
        defer { program.remove() }
        let note = "no signed answer was requested"
        let other = HTTPResponse.json(#"{"issuer":"https://evil.example"}"#)
        for (answer, code, isSaid) in [
            (HTTPResponse(status: 503), 0, true), (HTTPResponse(status: 404), 0, false), (other, 7, false),
        ] as [(HTTPResponse, Int32, Bool)] {
            try? FileManager.default.removeItem(at: program.home.appendingPathComponent(".cache"))
            provider.intercept { $0.url.path.contains("/.well-known/") ? answer : nil }
            let count = provider.requestCount(.introspection)
            let outcome = try program.run("introspect")
            #expect(outcome.status == code && outcome.errorOutput.contains(note) == isSaid, "\(outcome)")
            let isAsked = code == 0
            #expect(provider.requestCount(.introspection) == count + (isAsked ? 1 : 0), "\(outcome)")
            guard isAsked else { continue }
            let request = try #require(provider.with { $0.requests(to: .introspection).last })
            #expect(request.headers["Accept"] == "application/json")
        }
    }

    @Test("an introspection answer with any fault is 7, and prints nothing")
    func faulty() throws {
        let (provider, program) = try Self.signedIn()
        defer { program.remove() }
        let own = try SampleKeys.key(.rsa2048)
        let stranger = try SampleKeys.otherKey(.rsa2048)
        for (changes, type, key, word) in [
            ([:], "token-introspection+jwt", own, nil),
            (["aud": "other"], "token-introspection+jwt", own, "aud"),
            (["iss": "https://other.example"], "token-introspection+jwt", own, "iss"),
            (["iat": .null], "token-introspection+jwt", own, "iat"), ([:], "JWT", own, "typ"),
            ([:], "token-introspection+jwt", stranger, "no key"),
        ] as [([String: JSONValue], String, PrivateKey, String?)] {
            provider.intercept { [weak provider] request in
                guard request.url.path == "/introspect", let provider else { return nil }
                var answer = provider.with { $0.handle(request, at: Clock.now()) }
                guard let token = try? JWS(compact: String(decoding: answer.body, as: UTF8.self)),
                    var claims = token.claims,
                    let signer = try? JWTSigner(key, algorithm: .rs256, keyID: token.keyID)
                else { return nil }
                for (name, value) in changes { claims[name] = value == .null ? nil : value }
                var header = JSONObject()
                header["typ"] = .string(type)
                answer.body = Array(((try? signer.sign(header: header, claims: claims)) ?? "").utf8)
                return answer
            }
            let outcome = try program.run("introspect")
            guard let word else {
                #expect(outcome.status == 0, "\(outcome)")
                continue
            }
            outcome.expectSingleRefusal(7, word)
        }
    }

    @Test("an encrypted introspection answer is decrypted with the client's own key")
    func encrypted() throws {
        let key = try SampleKeys.key(.p256)
        var json = JSONWebKey(publicKey: key.publicKey).json.object ?? JSONObject()
        json["use"] = "enc"
        let keys = try JWKSet(["keys": [.object(json)]])
        let (provider, program) = try Self.signedIn {
            $0.keys = keys
            $0.introspectionEncryption = TokenEncryption(.ecdhES, .a256GCM)
        }
        defer { program.remove() }
        let refused = try program.run("introspect")
        #expect(refused.status == 7 && refused.errorOutput.contains("decryption_key_file"), "\(refused)")
        let file = try Self.write(String(decoding: key.pem, as: UTF8.self), program)
        let outcome = try program.run("introspect", "--set", "decryption_key_file=\(file)")
        #expect(outcome.status == 0 && outcome.output.contains("\"active\":true"), "\(outcome)")
        #expect(provider.requestCount(.introspection) == 2)
    }

    @Test("UserInfo under HS256 is accepted only if the client is registered for it")
    func userInfo() throws {
        let (provider, program) = try Self.signedIn { $0.userInfoAlgorithm = .hs256 }
        defer { program.remove() }
        let refused = try program.run("userinfo")
        #expect(refused.status == 7 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errorOutput.contains("userinfo_signed_response_alg"), "\(refused)")
        // That ID tokens are signed so says nothing about UserInfo.
        let other = try program.run("userinfo", "--set", "id_token_signed_response_alg=HS256")
        #expect(other.status == 7, "\(other)")
        let registered = ["userinfo", "--set", "userinfo_signed_response_alg=HS256"]
        let outcome = try program.start(registered + ["--claim", "sub"]).finish()
        #expect(outcome.status == 0 && outcome.output == "alice\n", "\(outcome)")
        let wrong = try program.run("userinfo", "--set", "userinfo_signed_response_alg=RS256")
        #expect(wrong.status == 7 && wrong.error?.contains("alg: expected RS256") == true, "\(wrong)")
        provider.intercept { $0.url.path == "/userinfo" ? .json(#"{"sub":"alice"}"#) : nil }
        let plain = try program.start(registered).finish()
        #expect(plain.status == 7 && plain.error?.contains("expected a signed answer") == true, "\(plain)")
        #expect(try program.run("userinfo").status == 0)
    }

    @Test("register registers how answers are signed, wherever that is set, and its profile keeps to it")
    func register() throws {
        let provider = try ProviderServer()
        var program = try Program()
        defer { program.remove() }
        program.environment["OIDC_INTROSPECTION_SIGNED_RESPONSE_ALG"] = "ES256"
        let registered = try program.run(
            "register", "--issuer", provider.origin, "--set", "client_auth=client_secret_basic", "--set",
            "id_token_signed_response_alg=ES256", "--set", "userinfo_signed_response_alg=HS256")
        #expect(registered.status == 0, "\(registered)")
        let algorithms = [
            "id_token_signed_response_alg": "ES256", "userinfo_signed_response_alg": "HS256",
            "introspection_signed_response_alg": "ES256",
        ]
        let sent = try #require(
            provider.with { $0.requests(to: .registration).last.flatMap { try? JSONValue(parsing: $0.body) } }
        )
        program.environment["OIDC_INTROSPECTION_SIGNED_RESPONSE_ALG"] = nil
        let shown = try JSONValue(parsing: program.run("config", "show", "-o", "json").output)
        for (name, algorithm) in algorithms {
            #expect(sent[name]?.string == algorithm, "\(sent)")
            #expect("\(shown)".contains(name), "\(shown)")
        }
        #expect(sent["jwks"] == nil && sent["authorization_signed_response_alg"] == nil)
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
        #expect(try program.run("userinfo", "--claim", "sub").output == "alice\n")
        let introspected = try program.run("introspect")
        #expect(
            introspected.status == 0 && introspected.output.contains("\"active\":true"), "\(introspected)")
    }

    @Test(
        "an algorithm that the provider registers instead is the profile's; HMAC also if none was requested")
    func replaced() throws {
        let provider = try ProviderServer()
        provider.intercept { [weak provider] request in
            guard request.url.path == "/register", let provider else { return nil }
            var answer = provider.with { $0.handle(request, at: Clock.now()) }
            guard var document = (try? JSONValue(parsing: answer.body))?.object else { return nil }
            document["id_token_signed_response_alg"] = "RS256"
            document["introspection_signed_response_alg"] = "RS256"
            document["userinfo_signed_response_alg"] = "HS256"
            answer.body = JSONValue.object(document).bytes
            return answer
        }
        let program = try Program()
        defer { program.remove() }
        let registered = try program.run(
            "register", "--issuer", provider.origin, "--set", "client_auth=client_secret_basic", "--set",
            "id_token_signed_response_alg=ES256")
        #expect(registered.status == 0, "\(registered)")
        #expect(
            registered.errorOutput.contains(
                "id_token_signed_response_alg: ES256 was requested, and the provider registered RS256"),
            "\(registered)")
        let shown = try program.run("config", "show", "-o", "json").output
        let profile = try JSONValue(parsing: shown)
        #expect("\(profile)".contains("userinfo_signed_response_alg"), "\(shown)")
        #expect(!"\(profile)".contains("introspection_signed_response_alg"), "\(shown)")
        #expect(!shown.contains("ES256") && shown.contains("RS256"), "\(shown)")
    }

    @Test("an algorithm that the provider drops, or replaces by none, is not kept")
    func dropped() throws {
        let provider = try ProviderServer()
        provider.intercept { [weak provider] request in
            guard request.url.path == "/register", let provider else { return nil }
            var answer = provider.with { $0.handle(request, at: Clock.now()) }
            guard var document = (try? JSONValue(parsing: answer.body))?.object else { return nil }
            document["userinfo_signed_response_alg"] = "none"
            document["introspection_signed_response_alg"] = nil
            answer.body = JSONValue.object(document).bytes
            return answer
        }
        let program = try Program()
        defer { program.remove() }
        let names = ["id_token", "userinfo", "introspection"].map { "\($0)_signed_response_alg" }
        let registered = try program.start(
            ["register", "--issuer", provider.origin, "--set", "client_auth=client_secret_basic"]
                + names.flatMap { ["--set", "\($0)=ES256"] }
        ).finish()
        #expect(registered.status == 0, "\(registered)")
        let shown = try program.run("config", "show", "-o", "json").output
        for (index, name) in names.enumerated() {
            let warning = "\(name): ES256 was requested, and the provider registered none"
            #expect(registered.errorOutput.contains(warning) == (index > 0), "\(registered)")
            #expect(shown.contains("\"\(name)\"") == (index == 0), "\(shown)")
        }
    }

    @Test("with a security profile, answers are registered with an algorithm that it allows")
    func securityProfile() throws {
        let provider = try ProviderServer(DemoConfiguration(enforcing: .fapi2))
        let program = try Program()
        defer { program.remove() }
        let file = try Self.write(String(decoding: SampleKeys.key(.p256).pem, as: UTF8.self), program)
        let registered = try program.run(
            "register", "--issuer", provider.origin, "--set", "security_profile=fapi2", "--set",
            "private_key_file=\(file)", "--set", "client_auth=private_key_jwt")
        #expect(registered.status == 0, "\(registered)")
        let sent = try #require(
            provider.with { $0.requests(to: .registration).last.flatMap { try? JSONValue(parsing: $0.body) } }
        )
        #expect(sent["id_token_signed_response_alg"] == "PS256", "\(sent)")
        #expect(sent["introspection_signed_response_alg"] == "PS256", "\(sent)")
        #expect(!registered.errorOutput.contains("was requested"), "\(registered)")
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0, "\(outcome)")
        for options in [[], ["--set", "introspection_signed_response_alg=none"]] {
            let introspected = try program.start(["introspect"] + options).finish()
            #expect(
                introspected.status == 0 && introspected.output.contains("\"active\":true"),
                "\(introspected)")
            let request = try #require(provider.with { $0.requests(to: .introspection).last })
            #expect(
                request.headers["Accept"]?.hasPrefix(Self.introspectionType) == options.isEmpty)
        }
        for setting in ["userinfo", "introspection"] {
            let refused = try program.run("login", "--set", "\(setting)_signed_response_alg=RS256")
            #expect(refused.status == 2 && refused.errorOutput.contains("§5.4.1"), "\(refused)")
        }
    }
}

extension Program.Outcome {
    /// Checks that one error names a word, and that nothing is printed.
    fileprivate func expectSingleRefusal(_ code: Int32, _ word: String) {
        #expect(status == code && output.isEmpty, "\(self)")
        #expect(error?.contains(word) == true, "\(self)")
    }
}
