import OIDCCore
import OIDCSessions
import Posix
import Testing

@testable import oidc

@Suite("what is kept between the two steps of a sign-in")
struct WaitingSignInTests {
    private static let entries: [SettingLayers.Entry] = [
        SettingLayers.Entry(setting: .clientID, value: "cli", origin: .option("--client-id")),
        SettingLayers.Entry(
            setting: .clientSecretFile, value: "keys/secret", origin: .option("--set client_secret_file")),
        SettingLayers.Entry(
            setting: .clientSecret, value: "s3cret", origin: .variable("OIDC_CLIENT_SECRET")),
        SettingLayers.Entry(setting: .issuer, value: "https://login.example.com", origin: .profile("work")),
        SettingLayers.Entry(
            setting: .resource, value: ["https://api.example.com/v1"], origin: .resource("https://a.example")),
    ]

    private static let settings = Settings(
        SettingLayers(
            chosen: entries, profile: "work", isProfileNamed: true, home: "/home/me"))

    @Test("a secret is left out, its name is not; the rest returns with its origin, and absolute paths")
    func recorded() throws {
        let json = RecordedSettings(WaitingSignInTests.settings).json
        #expect(!json.compact.contains("s3cret"))
        let recorded = try #require(RecordedSettings(json))
        #expect(recorded.secrets == ["client_secret"])
        let layers = recorded.settings(with: [], home: "/home/me").layers
        #expect(layers.profile == "work" && layers.isProfileNamed)
        let expected = WaitingSignInTests.entries.filter { $0.setting != .clientSecret }
        #expect(layers.entries.map(\.setting) == expected.map(\.setting))
        #expect(layers.entries.map(\.origin) == expected.map(\.origin))
        #expect(layers.text(.issuer) == "https://login.example.com")
        #expect(layers.text(.clientSecretFile) == UserFile.absolute("keys/secret"))
    }

    @Test("a setting of an unknown name or origin makes the record useless")
    func unreadable() {
        for text in [
            #"{"entries":[{"setting":"nonsense","value":"x","from":"option","name":"--x"}]}"#,
            #"{"entries":[{"setting":"issuer","value":"https://a.example","from":"thin air","name":"x"}]}"#,
            #"{"secrets":[]}"#,
        ] {
            #expect((try? JSONValue(parsing: Array(text.utf8))).flatMap { RecordedSettings($0) } == nil)
        }
    }

    private func waiting(until end: Int64) throws -> WaitingSignIn {
        let key = SessionKey(provider: "https://login.example.com", clientID: "cli")
        var signIn = try WaitingSignIn(
            of: key, askedURL: nil, until: Instant(secondsSinceEpoch: end), plan: ["settings": .null])
        signIn.authorizationURL = WebURL("https://login.example.com/authorize?state=abc")
        signIn.secrets = Array("verifier".utf8)
        return signIn
    }

    @Test("the file returns what was written; after the answer it has neither secrets nor page")
    func stored() throws {
        let signIn = try waiting(until: 1_000)
        let read = try #require(WaitingSignIn(stored: signIn.bytes))
        #expect(read.bytes == signIn.bytes && read.secrets == signIn.secrets && read.phase == .waiting)
        for phase in [WaitingSignIn.Phase.redeeming, .finished, .expired] {
            let left = try #require(WaitingSignIn(stored: signIn.without(secretsIn: phase).bytes))
            #expect(left.phase == phase && left.secrets == nil && left.page == nil)
            #expect((left.plan == .null) == (phase != .redeeming))
            #expect(left.id == signIn.id && left.end == signIn.end)
        }
        #expect(WaitingSignIn(stored: Array("{}".utf8)) == nil)
    }

    @Test(
        "words that give a parameter or a secret are left out of the record",
        arguments: [
            ("--set scope=openid --param a=b --port 1", "--set scope=openid --port 1"),
            ("--set=extra_token_params={} --param=a=b x", "x"), ("--set nonsense=1", ""),
            ("--issuer https://a.example?x=y", "--issuer https://a.example?x=y"),
        ])
    func words(line: String, expected: String) {
        #expect(
            RecordedSettings.words(line.split(separator: " ").map(String.init)).joined(separator: " ")
                == expected)
    }

    @Test("the secrets of two first steps differ in their fingerprints, and two plans in their digests")
    func fingerprints() throws {
        var (one, other) = (try waiting(until: 1_000), try waiting(until: 1_000))
        #expect(one.fingerprint == other.fingerprint && one.planDigest == other.planDigest)
        other.secrets = Array("another".utf8)
        one.plan = ["settings": true]
        #expect(one.fingerprint != other.fingerprint && one.planDigest != other.planDigest)
    }

    @Test("a resource whose key has the same short hash as another one is another sign-in (CWE-328)")
    func ids() throws {
        let keys = ["85505", "175202"].map { name in
            SessionKey(
                provider: "https://login.example.com", clientID: "cli",
                resources: ["https://mcp.example.com/\(name)"])
        }
        let hashes = keys.map { FNV1a.digits($0.text).prefix(8) }
        try #require(hashes == ["7902f4b2", "7902f4b2"])
        let ids = try keys.map { try WaitingSignIn.id(of: $0) }
        #expect(ids[0] != ids[1] && ids.allSatisfy { $0.utf8.count == 32 && WaitingSignIns.isID($0) })
        #expect(try WaitingSignIn.id(of: keys[0]) == ids[0])
    }

    @Test("it has ended at its end, and if the clock was set back by more than a sign-in can wait")
    func ended() throws {
        let signIn = try waiting(until: 10_000)
        #expect(!signIn.hasEnded(at: Instant(secondsSinceEpoch: 9_999)))
        #expect(signIn.hasEnded(at: Instant(secondsSinceEpoch: 10_000)))
        #expect(signIn.hasEnded(at: Instant(secondsSinceEpoch: 8_000)))
    }
}
