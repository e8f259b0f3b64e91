@testable import DemoProvider
import OIDCCrypto
@testable import OIDCCore
@testable import LoopbackHTTP

/// A sign-in whose `state` is 22 times “A”, at a provider that promises `iss`.
let pending: PendingAuthorization? = {
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

@Sendable func fuzzAuthorization(_ bytes: [UInt8]) {
    guard let pending else { return }
    let answer = outcome { () throws(OIDCError) in try pending.accept(form: text(bytes)) }
    guard case .some(.some(let code)) = answer else { return }
    guard let pairs = FormEncoding.decode(text(bytes)) else { return require(false, "a code out of nothing") }
    requireOurs(code, pairs)
}

private func requireOurs(_ code: AuthorizationCode, _ pairs: [FormEncoding.Pair]) {
    let values = { (name: String) in pairs.filter { $0.name == name }.map(\.value) }
    require(values("state") == [pending?.state.revealed], "a code with another state is accepted")
    require(values("iss") == [issuer], "a code of another issuer")
    require(values("error").isEmpty, "a code beside an error")
    require(values("code") == [code.code.revealed] && !code.code.revealed.isEmpty, "another code")
}

/// What a user pastes, and what `authorize-url` printed for `exchange`.
@Sendable func fuzzPasted(_ bytes: [UInt8]) {
    guard let pending else { return }
    let pasted = text(bytes)
    let code = outcome { () throws(OIDCError) in try pending.acceptPasted(pasted) }
    let address = outcome { () throws(OIDCError) in try PastedURL(pasted) }
    if let code {
        guard let address else { return require(false, "a code out of nothing") }
        requireOurs(code, address.pairs)
        require(address.leads(to: pending.redirectURI), "a code from another address")
    } else if let address, address.leads(to: pending.redirectURI),
        case .some(.some) = outcome({ () throws(OIDCError) in try pending.accept(address.pairs) })
    {
        require(false, "what the listener takes is refused when it is pasted")
    }
    guard let json = try? JSONValue(parsing: bytes),
        let begun = outcome({ () throws(OIDCError) in try PendingAuthorization(json: json) })
    else { return }
    require(begun.state.revealed.utf8.count >= 22, "a state that can be guessed")
    let again = outcome { () throws(OIDCError) in try PendingAuthorization(json: begun.json) }
    require(again?.json == begun.json, "writing is not stable")
}

private let provider: DemoProvider? = {
    var configuration = DemoConfiguration()
    configuration.user = .approves("alice")
    configuration.signingAlgorithms = [.es256]
    return WebURL("http://127.0.0.1:9480").flatMap {
        try? DemoProvider(issuer: $0, configuration: configuration, random: zeros)
    }
}()

/// Requests to the provider that comes with the program, as they arrive on its socket.
@Sendable func fuzzDemo(_ bytes: [UInt8]) {
    guard var provider else { fatalError("there is no provider") }
    var parser = HTTP1.RequestParser()
    parser.feed(bytes)
    while case .request(let received) = parser.next() {
        guard let request = received.request(to: "http://127.0.0.1:9480") else { continue }
        let answer = provider.handle(request, at: now)
        require((200..<500).contains(answer.status), "status \(answer.status)")
        let written = outcome { () throws(OIDCError) in try HTTP1.serialize(answer, closes: true) }
        require(written != nil, "an answer that cannot be sent")
    }
}
