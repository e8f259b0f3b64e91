/// The secrets of a request. They are removed from the server's words, whole or in part and in any encoding,
/// before these become part of a message.
package struct WithheldSecrets: Sendable {
    private var secrets: [[UInt8]]
    /// The bytes of a string that are searched and shown; the rest is cut off. Providers choose the length of
    /// texts and secrets, and long ones take time to search.
    private static let shownByteCount = 8_192
    private static let comparedByteCount = 65_536
    /// The shortest secret that is not likely to be a word, in bytes.
    private static let longByteCount = 8
    /// The shortest part of a longer secret that counts as a leak, in bytes.
    private static let pieceByteCount = 16

    package init(_ secrets: [String] = []) {
        self.secrets = secrets.map { PlainText($0, limit: WithheldSecrets.comparedByteCount).bytes }
    }

    /// Returns these secrets and more.
    func adding(_ more: [String]) -> WithheldSecrets {
        var all = self
        all.secrets += WithheldSecrets(more).secrets
        return all
    }

    /// The words in place of a string that contains a short secret.
    package static let leftOut = "text left out: it contains a secret"

    /// Returns the server's words without the secrets. A gap in place of a short secret would show what it is, as
    /// in "the client secret is (secret)", so a string that contains one is left out whole.
    package func removed(from text: String) -> String {
        let plain = PlainText(text, limit: WithheldSecrets.shownByteCount)
        let short = secrets.filter { (1..<WithheldSecrets.longByteCount).contains($0.count) }
        guard !short.contains(where: plain.contains) else { return WithheldSecrets.leftOut }
        return removed(from: plain, wordsBelow: 0)
    }

    /// Returns an error code without the secrets. A code that a specification has says nothing about a secret,
    /// and what follows depends on it.
    func removed(fromCode code: String) -> String {
        guard !OAuthErrorResponse.knownCodes.contains(code) else { return code }
        let plain = PlainText(code, limit: WithheldSecrets.shownByteCount)
        return removed(from: plain, wordsBelow: 2 * WithheldSecrets.longByteCount, minimum: 4)
    }

    /// Returns a message without the secrets that are as long as tokens, and like them have no spaces.
    func tokensRemoved(from message: String) -> String {
        var tokens = self
        tokens.secrets = secrets.filter { $0.count >= 16 && $0.allSatisfy(ASCII.isVisible) }
        guard !tokens.secrets.isEmpty else { return message }
        return tokens.removed(from: PlainText(message, limit: WithheldSecrets.shownByteCount), wordsBelow: 0)
    }

    /// Returns the text without the secrets of at least `minimum` bytes. Those under `wordsBelow` bytes are
    /// removed only as whole words.
    private func removed(from plain: PlainText, wordsBelow: Int, minimum: Int = longByteCount) -> String {
        var isSecret = [Bool](repeating: false, count: plain.bytes.count)
        for secret in secrets where secret.count >= minimum {
            let length = min(secret.count, WithheldSecrets.pieceByteCount)
            guard length <= plain.bytes.count else { continue }
            let pieces = Set((0...(secret.count - length)).map { secret[$0..<($0 + length)] })
            for start in 0...(plain.bytes.count - length) {
                let piece = start..<(start + length)
                guard pieces.contains(plain.bytes[piece]) else { continue }
                guard secret.count >= wordsBelow || plain.isWord(piece) else { continue }
                for index in piece { isSecret[index] = true }
            }
        }
        return plain.text(withoutBytes: isSecret)
    }
}

extension WithheldSecrets {
    /// Returns a message with the secrets removed from each part in quotes.
    fileprivate func removed(fromQuotesIn message: String) -> String {
        let parts = message.pieces(between: "\"")
        // Without a closing quote, the last part is not quoted.
        return parts.enumerated().map { index, part in
            guard index % 2 == 1, index < parts.count - 1 else { return String(part) }
            return removed(from: String(part))
        }.joined(separator: "\"")
    }
}

/// A text with escapes such as `%2F`, `+`, `\/` and `\u002f` decoded, even if nested, and without invisible
/// characters.
private struct PlainText {
    private let source: [UInt8]
    private(set) var bytes: [UInt8] = []
    /// The range in the source that each byte comes from.
    private var ranges: [Range<Int>] = []

    init(_ text: String, limit: Int) {
        source = Array(text.utf8.prefix(limit))
        // Most texts and tokens have nothing to decode.
        guard source.contains(where: PlainText.mayBeEncoded) else {
            bytes = source
            ranges = source.indices.map { $0..<($0 + 1) }
            return
        }
        var start = 0
        for scalar in String(decoding: source, as: UTF8.self).unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            let range = min(start, source.count)..<min(start + encoded.count, source.count)
            start += encoded.count
            guard !DisplayText.isInvisible(scalar) else { continue }
            append(encoded, at: range)
        }
        // Nested escapes: the text may have been escaped several times.
        for _ in 0..<4 where !unescape() { break }
    }

    /// Returns whether a byte may start an escape, or belong to an invisible character.
    private static func mayBeEncoded(_ byte: UInt8) -> Bool {
        switch byte {
        case .plus, .percent, .backslash: true
        default: byte < .space || byte > UInt8(ascii: "~")
        }
    }

    private mutating func append(_ more: [UInt8], at range: Range<Int>) {
        bytes += more
        ranges += Array(repeating: range, count: more.count)
    }

    /// Removes one layer of escaping; returns false if there was none.
    private mutating func unescape() -> Bool {
        let old = self
        (bytes, ranges) = ([], [])
        var index = 0
        while index < old.bytes.count {
            let (found, count) = old.escape(at: index)
            let range = old.ranges[index].lowerBound..<old.ranges[index + count - 1].upperBound
            append(found.filter { !ASCII.isControl($0) }, at: range)
            index += count
        }
        return bytes != old.bytes
    }

    /// Returns the next bytes with one layer of escaping removed, and the number of bytes that they replace.
    private func escape(at index: Int) -> ([UInt8], Int) {
        switch bytes[index] {
        case .plus: return ([.space], 1)
        case .percent: return hexadecimal(2, after: index).map { ([UInt8($0)], 3) } ?? ([.percent], 1)
        case .backslash:
            guard index + 1 < bytes.count else { return ([.backslash], 1) }
            switch bytes[index + 1] {
            case .quote, .slash, .backslash: return ([bytes[index + 1]], 2)
            case _ where "bfnrt".utf8.contains(bytes[index + 1]): return ([], 2)
            case UInt8(ascii: "u"):
                guard let scalar = hexadecimal(4, after: index + 1).flatMap(Unicode.Scalar.init) else {
                    return ([.backslash], 1)
                }
                return (DisplayText.isInvisible(scalar) ? [] : Array(String(scalar).utf8), 6)
            default: return ([.backslash], 1)
            }
        case let byte: return ([byte], 1)
        }
    }

    private func hexadecimal(_ count: Int, after index: Int) -> UInt32? {
        let digits = bytes[(index + 1)...].prefix(count)
        guard digits.count == count, digits.allSatisfy(ASCII.isHexDigit) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    /// Returns whether the text contains the bytes; less than four of them only as a whole word.
    func contains(_ part: [UInt8]) -> Bool {
        guard part.count <= bytes.count else { return false }
        return (0...(bytes.count - part.count)).contains { start in
            let range = start..<(start + part.count)
            return bytes[range].elementsEqual(part) && (part.count >= 4 || isWord(range))
        }
    }

    /// Returns whether the range is a whole word: no letter, digit or `_` precedes or follows it.
    func isWord(_ range: Range<Int>) -> Bool {
        func goesOn(_ byte: UInt8) -> Bool { ASCII.isAlphanumeric(byte) || byte == .underscore }
        return !(range.lowerBound > 0 && goesOn(bytes[range.lowerBound - 1]))
            && !(range.upperBound < bytes.count && goesOn(bytes[range.upperBound]))
    }

    /// Returns the source with a placeholder for each run of bytes to leave out.
    func text(withoutBytes isLeftOut: [Bool]) -> String {
        var result: [UInt8] = []
        var written = 0
        var index = 0
        while index < isLeftOut.count {
            guard isLeftOut[index] else {
                index += 1
                continue
            }
            result += source[written..<max(written, ranges[index].lowerBound)]
            while index + 1 < isLeftOut.count, isLeftOut[index + 1] { index += 1 }
            result += Array("(secret)".utf8)
            written = ranges[index].upperBound
            index += 1
        }
        return String(decoding: result + source[written...], as: UTF8.self)
    }
}

extension OIDCError {
    /// Returns the error without the request's secrets, which an answer may repeat. Only the server's words are
    /// searched: the value that was found, what stands in quotes, and the issuer in a hint. Tokens, which no
    /// sentence contains, are removed everywhere, as a URL in a message may repeat one.
    package func withholding(_ secrets: WithheldSecrets) -> OIDCError {
        var error = self
        if case .mismatch(let member, let expected, let found) = cause {
            var shown = secrets.removed(from: found)
            if shown == WithheldSecrets.leftOut { shown = "(\(shown))" }
            error.cause = .mismatch(
                member: secrets.tokensRemoved(from: member), expected: secrets.tokensRemoved(from: expected),
                found: shown)
            if shown != found {
                error.message = message.pieces(between: "found \(found)").joined(separator: "found \(shown)")
            }
        }
        error.message = secrets.tokensRemoved(from: secrets.removed(fromQuotesIn: error.message))
        error.hint = hint?.replacingIssuer { secrets.removed(from: $0) }
            .replacingText { secrets.tokensRemoved(from: $0) }
        error.oauthDescription = oauthDescription.map { secrets.removed(from: $0) }
        error.oauthError = oauthError.map { secrets.removed(fromCode: $0) }
        return error
    }
}

extension EndpointCall {
    /// Creates a call whose errors contain none of the request's secrets.
    package init(
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
    private static let confidential = ["code", "code_verifier", "device_code", "state", "nonce"]
    private static let confidentialParts = [
        "token", "secret", "assertion", "password", "passphrase", "credential", "api_key", "apikey",
    ]

    /// Returns whether a parameter, including one that the user added, holds a secret such as a token. A
    /// token's type is not a secret.
    private static func isConfidential(_ name: String) -> Bool {
        guard !confidential.contains(name) else { return true }
        let words = ASCII.lowercased(name)
        return !words.hasSuffix("_type") && !words.hasSuffix("_hint")
            && confidentialParts.contains { words.includes($0) }
    }

    /// Returns the error for a failed request of this client.
    func failure(
        _ response: HTTPResponse, to request: HTTPRequest, stage: Stage,
        hint: (String?) -> Hint? = OAuthErrorResponse.hint
    ) -> OIDCError {
        OAuthErrorResponse.failure(
            response, stage: stage, withholding: secrets(in: request), hint: hint)
    }

    /// Returns the secrets in a request of this client.
    func secrets(in request: HTTPRequest) -> WithheldSecrets {
        var secrets: [String] = []
        if request.headers["Content-Type"] == "application/json" {
            let members = (try? JSONValue(parsing: request.body))?.object?.members ?? []
            secrets = members.filter { Client.isConfidential($0.name) }.compactMap(\.value.string)
        } else {
            let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            secrets = pairs.filter { Client.isConfidential($0.name) }.map(\.value)
        }
        if let secret = authentication.secret?.revealed {
            secrets += [secret, Base64.encode(Array("\(id):\(secret)".utf8))]
        }
        if let credentials = request.headers["Authorization"]?.split(separator: " ").last {
            secrets.append(String(credentials))
        }
        return WithheldSecrets(secrets)
    }
}
