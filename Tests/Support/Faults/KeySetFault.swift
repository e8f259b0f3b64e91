import DemoProvider
import OIDCCore
import OIDCCrypto

/// What can be wrong with a key set, or unusual and right (`single`, `unknownKinds`, `withoutKeyIDs`).
package enum KeySetFault: String, Sendable, CaseIterable {
    /// New keys right before each ID token is signed.
    case rotationBeforeSigning
    case single, withoutKeyIDs, unknownKinds
    case empty, withoutKeys
    /// None of them the one that signs.
    case onlyForeign
    /// Another key first, under the same name.
    case duplicateKeyIDs
    case encryptionUse, wrongAlgorithm, weakRSA
    /// The one key is a secret, and ID tokens are signed with it.
    case symmetric
    case twoThousand, tenThousand
}

extension FaultyProvider {
    func changedKeySet(_ response: HTTPResponse) -> HTTPResponse {
        guard var set = response.successObject, let listed = set["keys"]?.array else { return response }
        var keys = listed.compactMap(\.object)
        for case .keys(let fault) in faults { apply(fault, to: &keys) }
        set["keys"] = .array(keys.map { .object($0) })
        if has(.keys(.withoutKeys)) { set = (["key": []] as JSONValue).object ?? set }
        return withStrangers(response.with(set))
    }

    private func apply(_ fault: KeySetFault, to keys: inout [JSONObject]) {
        switch fault {
        case .single: keys = Array(keys.prefix(1))
        case .empty: keys = []
        case .withoutKeyIDs: change(&keys) { $0["kid"] = nil }
        case .encryptionUse: change(&keys) { $0["use"] = "enc" }
        case .wrongAlgorithm: change(&keys) { $0["alg"] = "RSA-OAEP" }
        case .weakRSA:
            let modulus = [UInt8(0x80)] + Random.bytes(126) + [1]
            change(&keys) { if $0["kty"] == "RSA" { $0["n"] = .string(Base64URL.encode(modulus)) } }
        case .symmetric: keys = [FaultyProvider.symmetricKey]
        case .unknownKinds: keys = FaultyProvider.oddKeys + keys
        case .onlyForeign: keys = keys.compactMap { foreign(like: $0) }
        case .duplicateKeyIDs: keys = keys.compactMap { foreign(like: $0) } + keys
        case .rotationBeforeSigning, .withoutKeys, .twoThousand, .tenThousand: break
        }
    }

    private func change(_ keys: inout [JSONObject], _ change: (inout JSONObject) -> Void) {
        for index in keys.indices { change(&keys[index]) }
    }

    /// Another key with the same key ID.
    private func foreign(like key: JSONObject) -> JSONObject? {
        if key["kty"] == "RSA" {
            var members = key
            members["n"] = .string(Base64URL.encode([0xC0] + Random.bytes(254) + [1]))
            return members
        }
        guard key["crv"] == "P-256", let other = try? PrivateKey.generate(.p256) else { return nil }
        var members = JSONWebKey(publicKey: other.publicKey).json.object ?? JSONObject()
        for name in ["kid", "alg", "use"] { members[name] = key[name] }
        return members
    }

    /// Puts thousands of keys before those of the set.
    private func withStrangers(_ response: HTTPResponse) -> HTTPResponse {
        let isLarge = has(.keys(.twoThousand)) || has(.keys(.tenThousand))
        guard isLarge, let start = response.body.firstIndex(of: 0x5B) else { return response }
        let strangers = has(.keys(.tenThousand)) ? Self.tenThousandStrangers : Self.twoThousandStrangers
        var response = response
        response.body = response.body[...start] + strangers + response.body[(start + 1)...]
        return response
    }

    private static let twoThousandStrangers = strangers(2_000)
    private static let tenThousandStrangers = strangers(10_000)

    /// One key many times, each with a key ID of its own, as text: writing that much JSON takes a second.
    private static func strangers(_ count: Int) -> [UInt8] {
        guard let key = try? SampleKeys.otherKey(.p256) else { return [] }
        let members = JSONWebKey(publicKey: key.publicKey).json.compact.dropLast()
        let keys = (0..<count).map { "\(members),\"kid\":\"stranger-\($0)\"}," }
        return Array(keys.joined().utf8)
    }

    private static var symmetricKey: JSONObject {
        var members = JSONObject()
        members["kty"] = "oct"
        members["k"] = .string(Base64URL.encode(publishedSecret))
        members["alg"] = "HS256"
        return members
    }

    private static var oddKeys: [JSONObject] {
        let keys: [JSONValue] = [
            ["kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA"],
            ["kty": "EC", "crv": "P-999", "x": "A", "y": "A"],
            ["kty": "RSA", "n": "!", "e": "AQAB"], ["kid": "nothing else"], ["kty": "OKP", "crv": "X448"],
        ]
        return keys.compactMap(\.object)
    }
}
