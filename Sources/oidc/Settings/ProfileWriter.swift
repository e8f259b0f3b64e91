import OIDCCore
import OIDCSystem

/// Adds a profile to the configuration file and leaves the rest of it alone.
struct ProfileWriter {
    let path: String

    /// `entries` gives them, with the profiles that are there, while no other process writes; its files are
    /// named as seen from here, and written so that they are found from the file.
    func write(
        as name: String, replacing: Bool, _ entries: (JSONObject) throws(OIDCError) -> [SettingLayers.Entry]
    ) throws(OIDCError) {
        try UserFile.rewrite(path, named: "configuration") { () throws(OIDCError) in
            try checkName(name, replacing: replacing)
            var (document, profiles) = try existing()
            var profile = JSONObject()
            for entry in try entries(profiles) {
                profile[entry.setting.name] = entry.setting.kind.resolved(
                    entry.value, in: UserFile.currentDirectory)
            }
            profiles[name] = .object(profile)
            document["profiles"] = .object(profiles)
            if document["default_profile"] == nil { document["default_profile"] = .string(name) }
            return Array((JSONValue.object(document).indented + "\n").utf8)
        }
    }

    /// Asked for before anything is registered or checked.
    func checkName(_ name: String, replacing: Bool) throws(OIDCError) {
        guard !name.isEmpty else { throw OIDCError.usage("a profile needs a name", hint: "-p NAME") }
        guard DisplayText.clean(name).utf8.elementsEqual(name.utf8) else {
            throw OIDCError.usage(
                "a profile's name has no control or invisible characters, and 300 at most", hint: "-p NAME")
        }
        guard !replacing, try existing().profiles[name] != nil else { return }
        throw OIDCError.usage(
            "there is a profile \(DisplayText.quoted(name)) in \(path) already",
            hint: "choose another name with -p, or replace it with --force")
    }

    /// A flat file becomes the profile `default` of one with profiles.
    func existing() throws(OIDCError) -> (document: JSONObject, profiles: JSONObject) {
        guard let file = try UserFile.read(path, limit: 4 << 20, named: "configuration") else {
            return (JSONObject(), JSONObject())
        }
        _ = try ConfigurationFile(parsing: file.bytes, path: path)
        guard let object = (try? JSONValue(parsing: file.bytes))?.object else {
            return (JSONObject(), JSONObject())
        }
        if let profiles = object["profiles"]?.object { return (object, profiles) }
        guard !object.isEmpty else { return (JSONObject(), JSONObject()) }
        var profiles = JSONObject()
        profiles["default"] = .object(object)
        return (JSONObject(), profiles)
    }
}
