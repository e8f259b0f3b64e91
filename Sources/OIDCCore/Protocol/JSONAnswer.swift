/// The members of an endpoint's answer. One that is null counts as absent, as several providers send null for a
/// missing value.
typealias JSONAnswer = JSONReader<OIDCError>

extension JSONAnswer {
    init(_ members: JSONObject, stage: Stage) {
        self.init(members, readsNullAsAbsent: true) { name, expected, flaw in
            if case .missing = flaw {
                return OIDCError(.refused, "\(stage.title): \(name) is missing from the answer", stage: stage)
            }
            return .protocolViolation(stage, name, expected: expected, found: flaw.found)
        }
    }

    /// Parses JSON of any content type, as some providers send it as text.
    init(_ response: HTTPResponse, stage: Stage) throws(OIDCError) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: response.body)
        } catch {
            throw OIDCError(
                .refused,
                "\(stage.title): expected a JSON object, found \(response.summary(error.description))",
                hint: stage == .discovery ? .advice(.checkIssuerMetadata) : nil, stage: stage)
        }
        guard let members = value.object else {
            throw OIDCError(
                .refused, "\(stage.title): expected a JSON object, found \(value.typeName)",
                hint: stage == .discovery ? .advice(.checkIssuerMetadata) : nil, stage: stage)
        }
        self.init(members, stage: stage)
    }

    /// Parses JSON or a form; GitHub answers with a form unless JSON is requested (2026-11). A form counts
    /// only if it has the member `name`, and is refused if it repeats a member.
    init(formOrJSON response: HTTPResponse, having name: String, stage: Stage) throws(OIDCError) {
        let isForm = response.looksFormEncoded && (try? JSONValue(parsing: response.body)) == nil
        guard isForm, let pairs = FormEncoding.decode(response.text),
            pairs.contains(where: { $0.name == name })
        else {
            try self.init(response, stage: stage)
            return
        }
        var names: Set<String> = []
        for pair in pairs where !names.insert(pair.name).inserted {
            // Any other name was chosen by the server, and could be a secret.
            let name = ExtraMembers.ofTokenAnswer.contains(pair.name) ? pair.name : "a member of the form"
            throw .protocolViolation(stage, name, expected: "at most one", found: "several")
        }
        let members = pairs.map { JSONObject.Member(name: $0.name, value: .string($0.value)) }
        self.init(JSONObject(unique: members), stage: stage)
    }

    /// Returns seconds from a number, or from a string with one. Anything else (negative, beyond 68 years,
    /// another type) is nil, which means an unknown time, never an unlimited one.
    func seconds(_ name: String) -> Int64? {
        let seconds: Int64? =
            switch self[name] {
            case .number(let number): number.wholePart
            case .string(let text) where text.utf8.first.map(ASCII.isDigit) == true:
                Int64(text) ?? (try? JSONValue(parsing: Array(text.utf8)))?.number?.wholePart
            default: nil
            }
        guard let seconds, (0...Int64(Int32.max)).contains(seconds) else { return nil }
        return seconds
    }
}

extension HTTPResponse {
    /// Returns a short description of the answer without its text; `reason` is why it is not JSON. Some
    /// providers refuse with an empty body, or with an HTML page.
    func summary(_ reason: String? = nil) -> String {
        let what: String
        if body.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }) {
            what = "an empty body"
        } else if mediaType == "text/html" || mediaType == "application/xhtml+xml" {
            what = "an HTML page"
        } else if let reason {
            what = "text that is not JSON (\(reason))"
        } else {
            what = mediaType.map { DisplayText.clean($0, limit: 60) } ?? "a body without a content type"
        }
        return "\(what) with status \(status)"
    }
}
