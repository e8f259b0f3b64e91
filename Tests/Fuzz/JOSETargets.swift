@testable import OIDCCore
@testable import OIDCCrypto
@testable import oidc

@Sendable func fuzzJWS(_ bytes: [UInt8]) {
    let compact = text(bytes)
    _ = try? JWS(compact: compact)
    _ = IDToken.stored(compact)
    let rules = IDTokenRules(issuer: issuer, clientID: "client", nonce: "nonce")
    let token = outcome { () throws(OIDCError) in
        try IDToken.validate(compact, rules, keys: FixedKeys(JWKSet(keys: [])), now: now)
    }
    require(token == nil, "a token without any key is believed")
}

@Sendable func fuzzJWKS(_ bytes: [UInt8]) {
    guard let set = try? JWKSet(parsing: bytes) else { return }
    for key in set.keys { _ = key.json }
}

/// A token's header in the first line, its claims after it; the signature is good.
@Sendable func fuzzIDToken(_ bytes: [UInt8]) {
    let (header, payload) = firstLine(bytes)
    let input = "\(Base64URL.encode(header)).\(Base64URL.encode(payload))"
    guard let code = try? Digest.authenticationCode(Array(input.utf8), key: Array(secret.utf8), .sha256)
    else { return }
    let compact = "\(input).\(Base64URL.encode(code))"
    let rules = IDTokenRules(
        issuer: issuer, clientID: "client", nonce: "nonce", accessToken: "access", maxAge: .seconds(300),
        allowedAlgorithms: ["HS256"], clientSecret: Redacted(secret))
    let keys = FixedKeys(JWKSet(keys: []))
    let token = outcome { () throws(OIDCError) in
        try IDToken.validate(compact, rules, keys: keys, now: now)
    }
    if let token { requireSound(token, Array(header)) }
    var unsigned = rules
    unsigned.clientSecret = nil
    unsigned.allowedAlgorithms = nil
    let believed = outcome { () throws(OIDCError) in
        try IDToken.validate(compact, unsigned, keys: keys, now: now)
    }
    require(believed == nil, "a token without any key is believed")
    guard let parsed = try? JWS(compact: compact) else { return }
    let inspection = TokenInspection(
        token: parsed, verdict: .unchecked(""), clientID: "client", now: now, leeway: 60)
    let lines = inspection.text(TextStyle(isOn: false)).split(separator: "\n").map(String.init)
    for line in inspection.warnings + lines + [inspection.json.compact] {
        require(
            !line.unicodeScalars.contains(where: DisplayText.isInvisible), "unfit for a terminal: \(line)")
    }
}

/// OpenID Connect Core §3.1.3.7, once more and by other means.
private func requireSound(_ token: IDToken, _ header: [UInt8]) {
    let header = (try? JSONValue(parsing: header))?.object
    require(header?["alg"]?.string == "HS256", "another algorithm than the allowed one")
    require(header?["crit"] == nil, "an extension that is not understood")
    let claims = token.claims
    require(claims["iss"]?.string == issuer && token.issuer == issuer, "another issuer")
    let audience = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.strings ?? []
    require(audience.contains("client"), "another audience")
    require(Set(audience) == ["client"] || claims["azp"]?.string == "client", "another authorized party")
    require(claims["azp"].map { $0.string == "client" } ?? true, "another authorized party")
    require(claims["nonce"]?.string == "nonce", "another nonce")
    let seconds = { (name: String) in claims[name]?.number?.wholePart }
    require((seconds("exp") ?? 0) + 60 > now.secondsSinceEpoch, "an expired token")
    require((seconds("iat") ?? .max) <= now.secondsSinceEpoch + 60, "a token from the future")
    require((seconds("nbf") ?? 0) <= now.secondsSinceEpoch + 60, "a token for later")
    require((seconds("auth_time") ?? 0) + 360 >= now.secondsSinceEpoch, "an old sign-in")
    require(claims["sub"]?.string?.isEmpty == false, "nobody's token")
}

/// A private key in PEM, or a public one as RFC 7517 writes it.
@Sendable func fuzzKey(_ bytes: [UInt8]) {
    if let json = try? JSONValue(parsing: bytes), let jwk = try? JSONWebKey(json) {
        let again = try? JSONWebKey(jwk.json)
        switch jwk.material {
        case .symmetric: require(again == nil, "a secret is published")
        case .asymmetric(let parameters):
            require(again == jwk, "writing a key is not undone")
            guard let key = try? PublicKey(parameters) else { return }
            let bare = (try? JSONWebKey(JSONWebKey.bare(key)))?.material
            require(bare == .asymmetric(key.parameters), "the bare key is another")
            for algorithm in key.supportedAlgorithms {
                let isValid = (try? key.isValidSignature(zeros(64), for: bytes, algorithm)) ?? false
                require(!isValid, "a signature of zeros is believed")
            }
        }
    }
    for passphrase in [nil, "secret"] {
        guard let key = try? PrivateKey(pem: bytes, passphrase: passphrase.map { Array($0.utf8) }) else {
            continue
        }
        let again = try? PrivateKey(pem: key.pem, passphrase: nil)
        require(again?.publicKey == key.publicKey, "writing a key is not undone")
        if case .rsa = key.publicKey.parameters { require(key.publicKey.bitCount >= 2_048, "a weak key") }
    }
}
