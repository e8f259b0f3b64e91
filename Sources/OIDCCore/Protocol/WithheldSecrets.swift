/// What a request held in confidence: an error text that repeats a token or a secret must not carry it to a
/// terminal or a log.
struct WithheldSecrets {
    let secrets: [String]
    /// Beyond this nothing of a text is shown: long texts and long secrets, both a provider's, cost time.
    private static let shownByteCount = 8_192

    init(_ secrets: [String] = []) {
        self.secrets = secrets
    }

    /// Without the secrets of at least so many bytes: shorter ones are none, and would garble the text.
    func removed(from text: String, minimum: Int = 6) -> String {
        var bytes = Array(text.utf8.prefix(WithheldSecrets.shownByteCount))
        for secret in secrets where secret.utf8.count >= minimum {
            bytes = WithheldSecrets.replacing(Array(secret.utf8), in: bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func replacing(_ secret: [UInt8], in text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == secret[0], secret.count <= text.count - index,
                text[index...].starts(with: secret)
            {
                result += Array("(secret)".utf8)
                index += secret.count
            } else {
                result.append(text[index])
                index += 1
            }
        }
        return result
    }
}

extension OIDCError {
    /// Without the secrets of the request, which the answer that is quoted may repeat.
    func withholding(_ secrets: WithheldSecrets) -> OIDCError {
        var error = self
        error.message = secrets.removed(from: message)
        error.hint = hint.map { secrets.removed(from: $0) }
        return error
    }
}

extension EndpointCall {
    /// A call whose errors carry none of the request's secrets.
    init(
        _ request: HTTPRequest, stage: Stage, withholding secrets: @escaping () -> WithheldSecrets,
        reading read: @escaping (HTTPResponse) throws(OIDCError) -> Value
    ) {
        self.init(request, stage: stage) { response throws(OIDCError) in
            do throws(OIDCError) {
                return try read(response)
            } catch {
                throw error.withholding(secrets())
            }
        }
    }
}

extension Client {
    private static let confidential: Set<String> = [
        "code", "code_verifier", "refresh_token", "device_code", "subject_token", "actor_token", "assertion",
        "token", "client_secret", "client_assertion",
    ]

    /// The error that an answer to a request of this client amounts to.
    func failure(
        _ response: HTTPResponse, to request: HTTPRequest, stage: Stage,
        hint: (String?) -> String? = OAuthErrorResponse.hint
    ) -> OIDCError {
        OAuthErrorResponse.failure(
            response, stage: stage, withholding: secrets(in: request), hint: hint)
    }

    /// What a request of this client holds in confidence.
    func secrets(in request: HTTPRequest) -> WithheldSecrets {
        var secrets: [String] = []
        if request.headers["Content-Type"] == "application/json" {
            let members = (try? JSONValue(parsing: request.body))?.object?.members ?? []
            secrets = members.filter { Client.confidential.contains($0.name) }.compactMap(\.value.string)
        } else {
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            secrets = pairs.filter { Client.confidential.contains($0.name) }.map(\.value)
        }
        if case .clientSecretBasic(let secret) = authentication { secrets.append(secret.revealed) }
        if case .clientSecretJWT(let secret, _) = authentication { secrets.append(secret.revealed) }
        return WithheldSecrets(secrets)
    }
}
