@testable import OIDCCore

/// Every reader of bytes from outside, by name; `FUZZ_TARGET` chooses one.
let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "http1": fuzzHTTP1, "form": fuzzForm, "json": fuzzJSON, "jws": fuzzJWS, "jwks": fuzzJWKS,
    "authorization": fuzzAuthorization, "device": fuzzDevice, "metadata": fuzzMetadata, "config": fuzzConfig,
    "session": fuzzSession,
]

private let now = Instant(secondsSinceEpoch: 1_800_000_000)
private let issuer = "https://issuer.example"

private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

/// A sign-in whose `state` is 22 times “A”, at a provider that promises `iss`.
private let pending: PendingAuthorization? = {
    var document = JSONObject()
    document["issuer"] = .string(issuer)
    document["authorization_endpoint"] = .string("\(issuer)/authorize")
    document["authorization_response_iss_parameter_supported"] = true
    let metadata = try? ProviderMetadata(
        document: document, expectedIssuer: issuer, allowsInsecureHTTP: false)
    let request = AuthorizationRequest(
        client: Client(id: "client"), redirectURI: "http://127.0.0.1:1/callback", scope: Scope("openid"))
    return metadata.flatMap { try? request.begin($0, random: zeros) }
}()

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A rule that must hold for every input.
private func require(_ rule: Bool, _ message: @autoclosure () -> String) {
    if !rule { fatalError(message()) }
}

/// The same requests whole, in two pieces and byte by byte.
@Sendable private func fuzzHTTP1(_ bytes: [UInt8]) {
    func read(_ pieces: [[UInt8]]) -> [String] {
        var parser = HTTP1.RequestParser()
        var seen: [String] = []
        for piece in pieces {
            parser.feed(piece)
            while true {
                switch parser.next() {
                case .request(let request):
                    seen.append("\(request.method.name) \(request.target) \(request.body)")
                    continue
                case .rejected(let rejection):
                    seen.append("\(rejection.status)")
                    return seen
                case .needsMore: break
                }
                break
            }
        }
        return seen
    }
    let whole = read([bytes])
    require(whole == read(bytes.map { [$0] }), "pieces are read otherwise than the whole")
}

@Sendable private func fuzzForm(_ bytes: [UInt8]) {
    guard let pairs = FormEncoding.decode(text(bytes)) else { return }
    let again = FormEncoding.decode(FormEncoding.encode(pairs))
    require(again?.map(\.value) == pairs.map(\.value), "encoding is not undone")
}

@Sendable private func fuzzJSON(_ bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes) else { return }
    _ = value.integer
    guard let again = try? JSONValue(parsing: value.bytes) else {
        return require(false, "what was written cannot be read")
    }
    require(again.bytes == value.bytes, "writing is not stable")
}

@Sendable private func fuzzJWS(_ bytes: [UInt8]) {
    let compact = text(bytes)
    _ = try? JWS(compact: compact)
    _ = IDToken.stored(compact)
    let rules = IDTokenRules(issuer: issuer, clientID: "client", nonce: "nonce")
    let token = try? IDToken.validate(compact, rules, keys: FixedKeys(JWKSet(keys: [])), now: now)
    require(token == nil, "a token without any key is believed")
}

@Sendable private func fuzzJWKS(_ bytes: [UInt8]) {
    guard let set = try? JWKSet(parsing: bytes) else { return }
    for key in set.keys { _ = key.json }
}

@Sendable private func fuzzAuthorization(_ bytes: [UInt8]) {
    guard let pending else { fatalError("no sign-in could be begun") }
    if let pairs = FormEncoding.decode(text(bytes)), let code = try? pending.accept(pairs) {
        let state = pairs.filter { $0.name == "state" }.map(\.value)
        require(state == [pending.state.revealed], "a code with another state is accepted")
        require(!code.code.revealed.isEmpty, "an empty code is accepted")
        require(pairs.filter { $0.name == "iss" }.map(\.value) == [issuer], "a code of another issuer")
    }
    _ = try? pending.acceptPasted(text(bytes))
    _ = response(bytes).challenges
}

@Sendable private func fuzzDevice(_ bytes: [UInt8]) {
    guard let url = WebURL("\(issuer)/device") else { return }
    let call = try? DeviceAuthorization.call(
        DeviceAuthorization.Request(scope: Scope("openid")), at: url, client: Client(id: "client"), now: now,
        random: zeros)
    _ = try? call?.read(response(bytes))
}

@Sendable private func fuzzMetadata(_ bytes: [UInt8]) {
    guard let url = WebURL("\(issuer)/.well-known/openid-configuration") else { return }
    if let metadata = try? ProviderMetadata.call(url, expectedIssuer: issuer).read(response(bytes)) {
        require(metadata.issuer == issuer, "metadata of another issuer")
    }
}

@Sendable private func fuzzConfig(_ bytes: [UInt8]) {
    guard let file = try? ConfigurationFile(parsing: bytes, path: "config.json") else { return }
    _ = try? file.profile(named: nil)
}

@Sendable private func fuzzSession(_ bytes: [UInt8]) {
    _ = try? Session(stored: bytes)
}

private func response(_ bytes: [UInt8]) -> HTTPResponse {
    let mark = bytes.first ?? 0
    let types = ["application/json", "application/x-www-form-urlencoded", "text/html"]
    var headers = HTTPHeaders([("Content-Type", types[Int(mark) % 3])])
    headers["WWW-Authenticate"] = text(bytes)
    return HTTPResponse(status: [200, 400, 401, 503][Int(mark) % 4], headers: headers, body: bytes)
}
