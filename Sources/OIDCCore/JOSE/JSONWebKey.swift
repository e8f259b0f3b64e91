package import OIDCCrypto

/// A JSON Web Key (RFC 7517): its public numbers or its secret, and its permitted use.
package struct JSONWebKey: Hashable, Sendable {
    package enum Material: Hashable, Sendable {
        /// The numbers as they were written. They are checked only when the key is used.
        case asymmetric(PublicKey.Parameters)
        case symmetric(Redacted<[UInt8]>)
    }

    /// The reason why a key was skipped.
    package struct Unusable: Error, Hashable, Sendable {
        package let reason: String
    }

    package let material: Material
    package let keyID: String?
    package let algorithm: String?
    package let use: String?
    package let operations: [String]?
    /// The issuer that the key signs for, if a provider publishes keys of several issuers in one set (Entra
    /// ID).
    package let issuer: String?

    package init(
        publicKey: PublicKey, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil, use: String = "sig"
    ) {
        material = .asymmetric(publicKey.parameters)
        self.keyID = keyID
        self.algorithm = algorithm?.rawValue
        self.use = use
        operations = nil
        issuer = nil
    }

    package init(secret: Redacted<[UInt8]>, keyID: String? = nil) {
        material = .symmetric(secret)
        self.keyID = keyID
        algorithm = nil
        use = nil
        operations = nil
        issuer = nil
    }

    /// Parses one key of a set; private and unknown members and certificates are ignored.
    package init(_ json: JSONValue) throws(Unusable) {
        guard let members = json.object else { throw Unusable(reason: "it is not an object") }
        let reader = JSONReader(key: members)
        keyID = try reader.string("kid")
        algorithm = try reader.string("alg")
        use = try reader.string("use")
        operations = try reader.strings("key_ops")
        issuer = members["issuer"]?.string
        switch try reader.string("kty") {
        case "RSA":
            material = .asymmetric(
                .rsa(modulus: try reader.requiredBytes("n"), exponent: try reader.requiredBytes("e")))
        case "EC":
            let name = try reader.string("crv") ?? ""
            guard let curve = EllipticCurve(rawValue: name) else { throw Unusable.curve(name) }
            material = .asymmetric(
                .elliptic(curve, x: try reader.requiredBytes("x"), y: try reader.requiredBytes("y")))
        case "OKP":
            let name = try reader.string("crv") ?? ""
            guard name == "Ed25519" else { throw Unusable.curve(name) }
            material = .asymmetric(.ed25519(try reader.requiredBytes("x")))
        case "oct":
            material = .symmetric(Redacted(try reader.requiredBytes("k")))
        case let type:
            throw Unusable(reason: "kty \(DisplayText.quoted(type ?? "", limit: 60)) is not supported")
        }
    }

    /// The public members (RFC 7517 §4), without any secret.
    package var json: JSONValue {
        var object = JSONObject()
        for (name, value) in requiredMembers { object[name] = .string(value) }
        object["kid"] = keyID.map { .string($0) }
        object["alg"] = algorithm.map { .string($0) }
        object["use"] = use.map { .string($0) }
        object["key_ops"] = operations.map { .array($0.map { .string($0) }) }
        return .object(object)
    }

    /// The required members, in the order of a thumbprint (RFC 7638 §3.2).
    private var requiredMembers: [(String, String)] {
        switch material {
        case .asymmetric(.rsa(let modulus, let exponent)):
            [("e", Base64URL.encode(exponent)), ("kty", "RSA"), ("n", Base64URL.encode(modulus))]
        case .asymmetric(.elliptic(let curve, let x, let y)):
            [
                ("crv", curve.rawValue), ("kty", "EC"), ("x", Base64URL.encode(x)),
                ("y", Base64URL.encode(y)),
            ]
        case .asymmetric(.ed25519(let point)):
            [("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64URL.encode(point))]
        case .symmetric: [("kty", "oct")]
        }
    }

    /// Returns only the required members, as in a DPoP proof (RFC 9449 §4.2).
    static func bare(_ key: PublicKey) -> JSONValue {
        var object = JSONObject()
        for (name, value) in JSONWebKey(publicKey: key).requiredMembers { object[name] = .string(value) }
        return .object(object)
    }

    /// Returns the SHA-256 hash of the required members (RFC 7638 §3; RFC 8037 §2 for Ed25519).
    package static func thumbprint(of key: PublicKey) throws(OIDCError) -> String {
        Base64URL.encode(try Cryptography.hash(bare(key).bytes, .sha256))
    }
}

extension JSONWebKey.Unusable {
    fileprivate static func curve(_ name: String) -> Self {
        Self(reason: "crv \(DisplayText.quoted(name, limit: 60)) is not supported")
    }
}

extension JSONReader<JSONWebKey.Unusable> {
    fileprivate init(key members: JSONObject) {
        self.init(members) { name, expected, flaw in
            let reason =
                switch flaw {
                case .missing, .empty: "\(name) is missing"
                case .form: "\(name) is not \(expected)"
                case .type(let value) where expected == "a string":
                    "\(name): expected a string, found \(value.typeName)"
                case .type, .element: "\(name): expected \(expected)"
                }
            return JSONWebKey.Unusable(reason: reason)
        }
    }
}
