import OIDCCore

/// The profiles of a configuration file; a flat object is one profile named `default`.
struct ConfigurationFile: Sendable {
    let path: String
    let defaultProfile: String?
    let profiles: [(name: String, values: JSONObject)]

    init(parsing bytes: [UInt8], path: String) throws(OIDCError) {
        self.path = path
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {

            throw ConfigurationFile.error(
                path, "is not valid JSON: \(error)", hint: "fix it, then: oidc config check")

        }
        guard let object = json.object else { throw ConfigurationFile.error(path, "must hold a JSON object") }
        guard let listed = object["profiles"] else {
            defaultProfile = nil
            profiles = object.isEmpty ? [] : [("default", object)]
            return
        }
        if let stray = object.names.first(where: { $0 != "profiles" && $0 != "default_profile" }) {
            throw ConfigurationFile.error(
                path,
                "has an unknown member “"
                    + DisplayText.distinct(stray, from: ["profiles", "default_profile"])
                    + "” beside “profiles”",
                hint: "move it into a profile")
        }
        guard let members = listed.object?.members else {
            throw ConfigurationFile.error(path, "profiles: expected an object, found \(listed.typeName)")
        }
        var profiles: [(String, JSONObject)] = []
        for member in members {
            guard let values = member.value.object else {
                throw ConfigurationFile.error(
                    path,
                    "profile \(DisplayText.quoted(member.name)): expected an object, found "
                        + member.value.typeName)
            }
            profiles.append((member.name, values))
        }
        self.profiles = profiles
        switch object["default_profile"] {
        case nil: defaultProfile = nil
        case .string(let name)? where profiles.contains { $0.0 == name }: defaultProfile = name
        default:
            throw ConfigurationFile.error(
                path, "default_profile: expected the name of a profile in the file",
                hint: "profiles: \(DisplayText.clean(profiles.map(\.0).joined(separator: ", ")))")
        }
    }

    /// Returns the named profile, else the default, else the only one.
    func profile(named name: String?) throws(OIDCError) -> (name: String, values: JSONObject)? {
        if let name {
            if let found = profiles.first(where: { $0.name == name }) { return found }
            throw OIDCError.usage(
                "there is no profile “\(DisplayText.distinct(name, from: profiles.map(\.name)))” in "
                    + DisplayText.clean(path),
                hint: profiles.isEmpty
                    ? "write one with: oidc config init"
                    : "profiles: "
                        + profiles.map { DisplayText.distinct($0.name, from: [name]) }.joined(separator: ", ")
            )
        }
        if let name = defaultProfile ?? (profiles.count == 1 ? profiles[0].name : nil) {
            return profiles.first { $0.name == name }
        }
        return profiles.first { $0.name == "default" }
    }

    static func error(_ path: String, _ problem: String, hint: String? = nil) -> OIDCError {
        OIDCError(.usage, "configuration \(DisplayText.clean(path)) \(problem)", hint: hint, stage: .settings)
    }
}
