import OIDCCore
import Testing

@Suite("The stored session")
struct SessionJSONTests {
    static func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    static func minimal() throws -> Session {
        Session(
            key: SessionKey(provider: "https://op", clientID: "c"),
            endpoints: .init(issuer: nil, token: try url("https://op/token")),
            createdAt: Instant(secondsSinceEpoch: 5), requestedScope: nil,
            tokens: TokenSet(
                access: AccessToken(
                    token: Redacted("at"), type: .bearer, obtainedAt: Instant(secondsSinceEpoch: 5),
                    expiresAt: nil, scope: nil)))
    }

    static func full() throws -> Session {
        let access = AccessToken(
            token: Redacted("at"), type: .dpop, obtainedAt: Instant(secondsSinceEpoch: 5),
            expiresAt: Instant(secondsSinceEpoch: 3_605), scope: Scope("openid email"))
        return Session(
            key: SessionKey(
                provider: "https://op", clientID: "\u{E9}", grant: .tokenExchange, audience: "a",
                account: "b",
                scope: Scope("x y"), resources: ["r1", "r2"], subject: "s"),
            endpoints: .init(
                issuer: "https://op", token: try url("https://op/token"),
                refresh: try url("https://op/refresh"), userInfo: try url("https://op/u"),
                keys: try url("https://op/k"), revocation: try url("https://op/r"),
                introspection: try url("https://op/i"), endSession: try url("https://op/e")),
            clientAuthentication: "none", createdAt: Instant(secondsSinceEpoch: 5),
            requestedScope: Scope("openid"),
            requestedResources: ["r1"], sendsResources: true,
            tokens: TokenSet(
                access: access, refreshToken: Redacted("rt"), idToken: Redacted("idt"),
                issuedTokenType: "urn:x", extra: try #require(JSONValue(parsing: #"{"a":[1]}"#).object)),
            subject: "s", displayName: "n", dpopKey: Redacted("pem\n"),
            derived: [
                .init(requestedScope: Scope("email"), resources: ["r"], access: access),
                .init(requestedScope: nil, resources: [], access: access),
            ])
    }

    @Test("a session can be written and read back, with its key and without it")
    func roundTrip() throws {
        var keeping = try Self.full()
        keeping.keep(
            KeptCredential(name: "n", value: Redacted("v"), usableUntil: Fixture.now), at: Fixture.now)
        for session in [try Self.minimal(), try Self.full(), keeping] {
            #expect(try Session(stored: session.json.bytes, for: session.key) == session)
            #expect(try Session(stored: session.json.bytes) == session)
        }
    }

    @Test("the whole key is in the file, before anything secret")
    func keyFirst() throws {
        let session = try Self.full()
        #expect(session.json.object?.names.prefix(2) == ["version", "key"])
        #expect(session.json["key"]?.string == session.key.text)
    }

    @Test("a file with another key is not used, even if the keys look alike")
    func otherKey() throws {
        let session = try Self.full()
        var other = session.key
        other.clientID = "e\u{301}"
        #expect(other == session.key)
        #expect(try Session(stored: session.json.bytes, for: other) == nil)
        #expect(try Session(stored: session.json.bytes, for: SessionKey(provider: "x", clientID: "c")) == nil)
    }

    static let damages: [(String, JSONValue?, String)] = [
        ("version", nil, "version"), ("version", "1", "version"), ("key", "{}", "key"),
        ("key", #"{"client_id":"c","provider":"https://op","grant":"authorization_code"}"#, "key"),
        ("created_at", nil, "created_at"), ("created_at", "x", "created_at"),
        ("token_endpoint", nil, "token_endpoint"), ("token_endpoint", "ftp://op", "token_endpoint"),
        ("token_endpoint", 1, "token_endpoint"), ("userinfo_endpoint", "x", "userinfo_endpoint"),
        ("issuer", 1, "issuer"), ("access", nil, "access"), ("access", [:], "access"),
        ("access", "at", "access"),
        ("access", ["token": 1, "token_type": "Bearer", "obtained_at": 1], "access"),
        ("access", ["token": "a", "token_type": "Bearer", "obtained_at": "1"], "access"),
        ("access", ["token": "a", "token_type": "Bearer", "obtained_at": 1, "expires_at": "1"], "access"),
        ("access", ["token": "a", "token_type": "Bearer", "obtained_at": 1, "scope": 1], "access"),
        ("refresh_token", 1, "refresh_token"), ("id_token", [:], "id_token"), ("subject", true, "subject"),
        ("requested_scope", [], "requested_scope"), ("requested_resource", [1], "requested_resource"),
        ("requested_resource", "r", "requested_resource"), ("derived", [:], "derived"), ("derived", nil, ""),
        ("derived", [["access": 1]], "derived"),
        (
            "derived",
            [["access": ["token": "a", "token_type": "Bearer", "obtained_at": 1], "resource": [1]]], "derived"
        ),
        (
            "derived",
            [["access": ["token": "a", "token_type": "Bearer", "obtained_at": 1], "requested_scope": 1]],
            "derived"
        ),
        ("dpop_key", 1, "dpop_key"), ("extra", 1, "extra"), ("sends_resource", "x", "sends_resource"),
        ("refresh_endpoint", "x", "refresh_endpoint"), ("display_name", 1, "display_name"),
        ("client_auth", 1, "client_auth"), ("certificate_bound", "x", "certificate_bound"),
        ("sign_in", 1, "sign_in"), ("replaced_token", 1, "replaced_token"),
    ]

    @Test("a damaged member is named", arguments: damages)
    func damage(_ member: String, _ value: JSONValue?, _ named: String) throws {
        var object = try #require(try Self.minimal().json.object)
        object[member] = value
        let bytes = JSONValue.object(object).bytes
        if named.isEmpty {
            #expect(throws: Never.self) { try Session(stored: bytes) }
        } else {
            #expect(throws: Session.Damage.member(named)) { try Session(stored: bytes) }
        }
    }

    @Test(
        "a token that would break a header is damage",
        arguments: [
            ("token", "a\r\nX: y"), ("token", ""), ("token", "\u{1B}[2J"), ("token_type", "Bearer\nX: y"),
        ])
    func headerBreak(_ member: String, _ value: String) throws {
        var object = try #require(try Self.minimal().json.object)
        var access = try #require(object["access"]?.object)
        access[member] = .string(value)
        object["access"] = .object(access)
        #expect(throws: Session.Damage.member("access")) {
            try Session(stored: JSONValue.object(object).bytes)
        }
    }

    @Test("a newer version is not used, and half a file is not a session")
    func unreadable() throws {
        var object = try #require(try Self.minimal().json.object)
        object["version"] = 2
        #expect(throws: Session.Damage.newerVersion(2)) {
            try Session(stored: JSONValue.object(object).bytes)
        }
        let bytes = try Self.full().json.bytes
        for count in [0, 1, bytes.count / 2, bytes.count - 1] {
            #expect(throws: Session.Damage.self) { try Session(stored: Array(bytes.prefix(count))) }
        }
        #expect(throws: Session.Damage.member("version")) { try Session(stored: Array("[]".utf8)) }
    }

    @Test("if any byte is changed, reading returns a session, nil or an error")
    func fuzz() throws {
        let session = try Self.full()
        let bytes = session.json.bytes
        for index in bytes.indices {
            // The lowest bit makes another character, the highest one that is not ASCII.
            var changed = bytes
            changed[index] ^= index % 2 == 0 ? 0x01 : 0x80
            _ = try? Session(stored: changed)
            _ = try? Session(stored: changed, for: session.key)
        }
    }

    @Test("neither description nor dump of a session shows a secret")
    func redacted() throws {
        var text = "\(try Self.full())"
        dump(try Self.full(), to: &text)
        for secret in ["\"at\"", "\"rt\"", "\"idt\"", "pem\n"] { #expect(!text.contains(secret)) }
    }
}

@Suite("members of a session file that this version does not know")
struct UnknownMemberTests {
    @Test("unknown members are written again unchanged, after the known ones")
    func kept() throws {
        let text = #"""
            {"version":1,"key":"{}","created_at":1,"token_endpoint":"https://op.example/token",
            "access":{"token":"a","token_type":"Bearer","obtained_at":1},"later":{"a":[1,null]},"other":"x"}
            """#
        let key = SessionKey(provider: "https://op.example", clientID: "app")
        let stored = text.replacing(#""{}""#, with: JSONValue.string(key.text).compact)
        var session = try #require(try Session(stored: Array(stored.utf8), for: key))
        session.displayName = "alice"
        let again = try #require(try Session(stored: session.json.bytes, for: key))
        #expect(again == session)
        #expect(again.json["later"] == ["a": [1, .null]] && again.json["other"] == "x")
    }

    @Test("unknown members of a token, derived ones included, stay as long as the token")
    func token() throws {
        var session = try SessionJSONTests.full()
        let text = session.json.compact.replacing(
            #""token":"at""#, with: #""token":"at","later":{"a":1}"#
        ).replacing(#"{"requested_scope":"email""#, with: #"{"more":1,"requested_scope":"email""#)
        session = try Session(stored: Array(text.utf8))
        session.tokens.refreshToken = nil
        session.expire(Redacted("unknown"))
        session.displayName = "bob"
        let again = try Session(stored: session.json.bytes).json
        #expect(again["access"]?["later"] == ["a": 1])
        #expect(again["derived"]?.array?.map { $0["access"]?["later"] } == [["a": 1], ["a": 1]])
        #expect(again["derived"]?.array?.map { $0["more"] } == [1, nil])
        session.tokens.access = try SessionJSONTests.minimal().tokens.access
        #expect(session.json["access"]?["later"] == nil)
    }
}

@Suite("a session that version 0.1.0 stored")
struct EarlierSessionTests {
    private func session(_ access: String, refreshToken: String? = nil) throws -> Session {
        let key = SessionKey(provider: "https://op.example", clientID: "app")
        let refresh = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
        let text = #"""
            {"version":1,"key":\#(JSONValue.string(key.text).compact),"created_at":1,
            "token_endpoint":"https://op.example/token","requested_scope":"repo gist","requested_resource":["urn:r"],
            "access":{"token":"a","token_type":"Bearer","obtained_at":1,\#(access)}\#(refresh)}
            """#
        return try #require(try Session(stored: Array(text.utf8), for: key))
    }

    @Test("a scope separated by commas can be narrowed")
    func commas() throws {
        let session = try session(#""scope":"gist,repo,user""#, refreshToken: "rt")
        #expect(session.grantedScope == Scope("gist repo user"))
        let demand = TokenDemand(scope: Scope("repo"))
        #expect(session.source(for: demand) == .derived(scope: Scope("repo"), resources: []))
        let both = TokenDemand(scope: Scope("gist,repo"))
        #expect(session.source(for: both) == .derived(scope: Scope("gist,repo"), resources: []))
        #expect(session.source(for: TokenDemand(scope: Scope("admin"))) == .wider(Scope("admin")))
    }

    @Test("without a refresh token, the session's token is used instead of a narrower one, with a warning")
    func withoutRefreshToken() throws {
        let session = try session(#""scope":"gist,repo""#)
        let demand = TokenDemand(scope: Scope("repo"))
        #expect(session.source(for: demand) == .own)
        #expect(session.warning(for: demand)?.message.contains("\"gist repo\"") == true)
        #expect(session.warning(for: TokenDemand(scope: Scope("repo gist"))) == nil)
        #expect(session.warning(for: TokenDemand()) == nil)
        let other = TokenDemand(scope: Scope("repo"), resources: ["https://other.example"])
        #expect(
            session.source(for: other) == .derived(scope: Scope("repo"), resources: ["https://other.example"])
        )
    }
}
