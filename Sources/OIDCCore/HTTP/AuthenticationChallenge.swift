/// One challenge of `WWW-Authenticate` (RFC 9110 §11.6.1).
package struct AuthenticationChallenge: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The scheme as it was written; compared without regard to case.
    package let scheme: String
    package fileprivate(set) var parameters: [Parameter]

    package init(scheme: String, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.parameters = parameters
    }

    package func isScheme(_ name: String) -> Bool { ASCII.isSameIgnoringCase(scheme, name) }

    /// The value of a parameter; nil if it is missing or repeated. A name must occur only once (RFC 9110
    /// §11.2), and parsers differ in which value they take.
    package subscript(name: String) -> String? {
        let values = parameters.filter { ASCII.isSameIgnoringCase($0.name, name) }
        return values.count == 1 ? values[0].value : nil
    }

    package func isRepeated(_ name: String) -> Bool {
        parameters.count { ASCII.isSameIgnoringCase($0.name, name) } > 1
    }

    /// The error code (RFC 6750 §3, RFC 9449 §7.1).
    package var error: String? { self["error"] }
    package var errorDescription: String? { self["error_description"] }
    package var scope: Scope? { self["scope"].map { Scope($0) } }
    /// The authentication contexts that a new sign-in must request (RFC 9470 §3).
    package var acrValues: String? { self["acr_values"] }
    package var maxAge: Int64? {
        guard let text = self["max_age"], text.utf8.allSatisfy({ ASCII.isDigit($0) }) else {
            return nil
        }
        return Int64(text)
    }
}

extension HTTPResponse {
    /// The challenges of all `WWW-Authenticate` fields; from a malformed field, only those before the error. A field
    /// that is too long, by itself or with those before it, is left out.
    package var challenges: [AuthenticationChallenge] {
        var rest = ChallengeParser.maximumByteCount
        let fields = headers.values("WWW-Authenticate").prefix(ChallengeParser.maximumCount)
            .filter { field in
                guard field.utf8.count <= rest else { return false }
                rest -= field.utf8.count
                return true
            }
        return Array(
            fields.flatMap { ChallengeParser($0).challenges() }.prefix(ChallengeParser.maximumCount))
    }
}

/// A parser for a list of elements separated by commas: `scheme`, `scheme token68`, `scheme name=value`, or
/// another `name=value` for the preceding scheme. Anything else ends the parsing.
struct ChallengeParser {
    static let maximumCount = 32
    /// The greatest number of parameters of a challenge.
    static let maximumParameterCount = 64
    /// The greatest length of all fields together.
    static let maximumByteCount = 16_384
    private let elements: [ArraySlice<UInt8>]

    init(_ value: String) {
        elements = HTTPHeaders.elements(Array(value.utf8))
    }

    func challenges() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        for element in elements {
            var reader = ElementReader(rest: element)
            reader.skipBlanks()
            if reader.rest.isEmpty { continue }
            var parameter = reader.parameter()
            if parameter == nil {
                guard challenges.count < ChallengeParser.maximumCount, let scheme = reader.token(),
                    reader.rest.isEmpty || reader.skipBlanks()
                else { break }
                challenges.append(AuthenticationChallenge(scheme: scheme))
                parameter = reader.parameter()
                guard parameter != nil || reader.isToken68 else { break }
            }
            guard let parameter else { continue }
            guard let last = challenges.indices.last,
                challenges[last].parameters.count < ChallengeParser.maximumParameterCount
            else { break }
            challenges[last].parameters.append(parameter)
        }
        return challenges
    }
}

private struct ElementReader {
    var rest: ArraySlice<UInt8>

    @discardableResult
    mutating func skipBlanks() -> Bool {
        let count = rest.count
        rest = rest.drop { $0 == .space || $0 == .tab }
        return rest.count < count
    }

    /// Reads a token (RFC 9110 §5.6.2).
    mutating func token() -> String? {
        let token = rest.prefix { ASCII.isTokenCharacter($0) }
        guard !token.isEmpty else { return nil }
        rest = rest.dropFirst(token.count)
        return String(decoding: token, as: UTF8.self)
    }

    /// Reads `name=value` up to the end of the element; for anything else, returns nil without reading.
    mutating func parameter() -> AuthenticationChallenge.Parameter? {
        var ahead = self
        guard let name = ahead.token() else { return nil }
        ahead.skipBlanks()
        guard ahead.rest.first == .equals else { return nil }
        ahead.rest = ahead.rest.dropFirst()
        ahead.skipBlanks()
        guard let value = ahead.quotedString() ?? ahead.token() else { return nil }
        ahead.skipBlanks()
        guard ahead.rest.isEmpty else { return nil }
        self = ahead
        return AuthenticationChallenge.Parameter(name: name, value: value)
    }

    /// Whether the rest is a token68 (RFC 9110 §11.2), or empty.
    var isToken68: Bool {
        var text = rest
        while let last = text.last, last == .space || last == .tab || last == .equals { text.removeLast() }
        return text.allSatisfy { ASCII.isAlphanumeric($0) || "-._~+/".utf8.contains($0) }
    }

    /// Reads a quoted string (RFC 9110 §5.6.4).
    private mutating func quotedString() -> String? {
        guard rest.first == .quote else { return nil }
        var text: [UInt8] = []
        var index = rest.startIndex + 1
        while index < rest.endIndex, rest[index] != .quote {
            if rest[index] == .backslash { index += 1 }
            guard index < rest.endIndex else { return nil }
            text.append(rest[index])
            index += 1
        }
        guard index < rest.endIndex else { return nil }
        rest = rest[(index + 1)...]
        return String(decoding: text, as: UTF8.self)
    }
}

/// A resource's demand for a stronger or more recent sign-in (RFC 9470 §3).
package struct StepUp: Hashable, Sendable {
    /// The requested authentication contexts; nil if they contain characters that are unsafe in a command to
    /// paste.
    package let acrValues: String?
    package let maxAge: Int64?

    /// Parses the demand from challenges; returns nil if there is none.
    package init?(_ challenges: [AuthenticationChallenge]) {
        guard let asked = challenges.first(where: { $0.error == "insufficient_user_authentication" }) else {
            return nil
        }
        acrValues = asked.acrValues.flatMap { StepUp.isPlain($0) ? $0 : nil }
        maxAge = asked.maxAge
    }

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 300
            && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || " -._~:/+@".utf8.contains($0) }
    }
}
