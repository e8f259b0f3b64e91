import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("inspect fails closed", .serialized, .waiting)
struct InspectTests {
    private static let key = Result { try PrivateKey.generate(.p256) }
    private static let closed = "http://127.0.0.1:9"

    private func token(_ claims: [String: JSONValue]) throws -> String {
        try JWTSigner(Self.key.get()).sign(
            claims: claims.sorted { $0.key < $1.key }.reduce(into: JSONObject()) { $0[$1.key] = $1.value })
    }

    /// A file with the public key of these tokens.
    private func keys(in world: ToolWorld) throws -> String {
        let set = JWKSet(keys: [JSONWebKey(publicKey: try Self.key.get().publicKey)])
        let path = world.home + "/keys.json"
        try Data(set.json.compact.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func verdict(
        _ claims: [String: JSONValue], _ variables: [String: String], jwks: String? = nil
    ) throws -> SignatureVerdict {
        try verdict(of: token(claims), variables, jwks: jwks)
    }

    private func verdict(
        of compact: String, _ variables: [String: String], jwks: String?
    ) throws -> SignatureVerdict {
        let environment = variables.merging(["HOME": "/nonexistent"]) { first, _ in first }
        let context = CommandContext(
            console: Console(CommonOptions()), environment: Variables(environment), common: CommonOptions())
        return try TokenVerification(provider: context.provider(ProviderOptions()), jwks: jwks)
            .verdict(JWS(compact: compact))
    }

    @Test("a token of another issuer is invalid before any key is fetched, also with keys of one's own")
    func anotherIssuer() throws {
        let world = try ToolWorld()
        let keys = try keys(in: world)
        let configured = ["OIDC_ISSUER": "https://op.example"]
        let reason = "iss: expected \"https://op.example\", found \"https://evil.example\""
        for jwks in [nil, keys] {
            #expect(try verdict(["iss": "https://evil.example"], configured, jwks: jwks) == .invalid(reason))
            #expect(
                try verdict(["iss": 7], configured, jwks: jwks)
                    == .invalid("iss: expected a string, found a number"))
            let hidden = #"iss: expected "https://op.example", found "https://op.example\u{200B}""#
            #expect(
                try verdict(["iss": "https://op.example\u{200B}"], configured, jwks: jwks)
                    == .invalid(hidden))
        }
        // RFC 8725 §3.1 wants a claim that is checked to be the one that is used: of two, or of none that can be read,
        // nobody knows.
        let evil = #""iss":"https://evil.example""#
        for payload in ["{\(evil),\(evil)}", "{\(evil),\"x\":\"\u{FFFD}\"", "[\(evil.count)]", "text"] {
            let compact = try JWTSigner(Self.key.get()).sign(payload: Array(payload.utf8))
            let found = try verdict(of: compact, configured, jwks: nil)
            #expect(found == .invalid("payload: expected a JSON object, found something else"), "\(payload)")
            #expect((try verdict(of: compact, configured, jwks: keys) == .valid) == (payload.first != "{"))
        }
        #expect(try verdict(["iss": "https://op.example"], configured, jwks: keys) == .valid)
        #expect(try verdict(["sub": "a"], configured, jwks: keys) == .valid)
    }

    @Test(
        "a file that is not a key set is refused, with line and column if it is not JSON",
        arguments: [
            ("{\n \"keys\": [],\n}\n", "is not valid JSON (line 2, column 12: trailing comma)"),
            ("", "is not valid JSON (it is empty)"),
            ("{}", "is not a key set or a key: keys: expected an array, found none"),
        ])
    func keyFile(text: String, problem: String) throws {
        let world = try ToolWorld()
        try Data(text.utf8).write(to: URL(fileURLWithPath: world.home + "/keys.json"))
        let error = #expect(throws: OIDCError.self) {
            try self.verdict(["sub": "a"], ["HOME": world.home], jwks: "~/keys.json")
        }
        #expect(error?.kind == .usage && error?.message == "--jwks ~/keys.json \(problem)", "\(error as Any)")
    }

    @Test("a signature is unchecked only if neither a provider nor keys are named")
    func unchecked() throws {
        let verdict = try verdict(["iss": "https://evil.example"], [:])
        #expect(
            verdict == .unchecked("neither keys nor a provider is named: give --jwks, --issuer or -p"))
        for variables in [
            ["OIDC_TOKEN_ENDPOINT": "https://op.example/token"], ["OIDC_ISSUER": Self.closed],
            ["OIDC_JWKS_URI": Self.closed + "/keys"],
        ] {
            #expect(throws: OIDCError.self) { try self.verdict(["sub": "a"], variables) }
        }
    }

    @Test("keys that cannot be fetched are 4 or 5, as the failure is; the claims are shown, unchecked")
    func unfetched() throws {
        let world = try ToolWorld()
        let cases: [([String: String], Int32)] = [
            (["OIDC_ISSUER": Self.closed], 5), (["OIDC_JWKS_URI": Self.closed + "/keys"], 5),
            (["OIDC_JWKS_URI": world.issuer + "/nowhere"], 4),
            (["OIDC_TOKEN_ENDPOINT": world.issuer + "/token"], 4),
        ]
        for (variables, code) in cases {
            let result = try world.run(
                ["inspect", "-", "-o", "json"], variables, input: try token(["sub": "a"]))
            #expect(result.code == code, "\(variables): \(result)")
            #expect(try result.json()["signature"] == "unchecked")
            #expect(try result.json()["claims"]?["sub"] == "a")
            #expect(result.errors.contains("\"exit\":\(code)"), "\(result)")
        }
    }

    @Test("another issuer is 7; with no issuer named it is 0 with a warning")
    func exits() throws {
        let world = try ToolWorld()
        let foreign = try token(["iss": "https://evil.example"])
        let refused = try world.run(["inspect", "-"], world.person, input: foreign)
        #expect(refused.code == 7 && refused.errors.contains("error: the token is invalid: iss: expected"))
        let unchecked = try world.run(["inspect", "-"], input: foreign)
        #expect(unchecked.code == 0, "\(unchecked)")
        #expect(unchecked.errors.hasPrefix("warning: the signature was not checked: neither keys nor"))
    }

    @Test("an ID token under HMAC is verified with the client's secret, if it is set for the client")
    func sharedSecret() throws {
        let secret = "0123456789abcdef0123456789abcdef"
        let world = try ToolWorld()
        let token = try JWTSigner(secret: Redacted(secret)).sign(claims: JSONObject())
        var variables = ["OIDC_ISSUER": world.issuer, "OIDC_CLIENT_ID": "c", "OIDC_CLIENT_SECRET": secret]
        #expect(try world.run(["inspect", "-"], variables, input: token).code == 7)
        variables["OIDC_ID_TOKEN_SIGNED_RESPONSE_ALG"] = "HS256"
        #expect(try world.run(["inspect", "-"], variables, input: token).code == 0)
        variables["OIDC_CLIENT_SECRET"] = String(secret.reversed())
        #expect(try world.run(["inspect", "-"], variables, input: token).code == 7)
    }
}
