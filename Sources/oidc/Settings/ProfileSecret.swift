import OIDCCore
import Posix

/// The file of a profile's client secret, if this program writes it.
struct ProfileSecret {
    let profile: String
    let file: String

    /// Creates the path of a file beside the configuration. Each profile has its own, even on a file system
    /// that ignores case.
    init(of profile: String, beside path: String) {
        let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let name = profile.utf8.map { byte in
            plain.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        let directory = FilePath.split(UserFile.absolute(path)).directory
        self.profile = profile
        file = FilePath.join(directory, name.joined() + ".secret")
    }

    /// Checks that an existing secret belongs only to the profile that is replaced.
    func check(among profiles: JSONObject, replacing: Bool) throws(OIDCError) {
        let setting = Setting.clientSecretFile
        let isAnothers = profiles.members.contains { other in
            guard other.name != profile, let value = other.value[setting.name] else { return false }
            return setting.kind.resolved(value, in: FilePath.split(file).directory).string == file
        }
        guard isAnothers || !replacing, UserFile.isThere(file) else { return }
        throw OIDCError.usage(
            "a secret already exists at \(DisplayText.clean(file))",
            hint: isAnothers ? "choose another name with -p" : "move it away, or replace it with --force")
    }

    /// Returns whether the file exists and may hold another client's secret: the profile is new, or the one that it
    /// replaces names another provider or client.
    func mayHoldAnother(_ entries: [SettingLayers.Entry], replacing profile: JSONValue?) -> Bool {
        guard UserFile.isThere(file) else { return false }
        let identity: [Setting] = [.issuer, .tokenEndpoint, .clientID]
        return profile == nil
            || identity.contains { setting in
                entries.last { $0.setting == setting }?.value != profile?[setting.name]
            }
    }

    /// Returns the secret of a profile in a file that does not exist yet: another client's secret is not replaced.
    static func unused(of profile: String, beside path: String) -> ProfileSecret {
        var secret = ProfileSecret(of: profile, beside: path)
        var number = 1
        while UserFile.isThere(secret.file) {
            number += 1
            secret = ProfileSecret(of: "\(profile)-\(number)", beside: path)
        }
        return secret
    }

    /// Returns the shell command that writes a secret, which is typed or piped to it, to a file with mode 0600.
    static func writingLine(_ file: String) -> String {
        let directory = FilePath.split(file).directory
        let making = UserFile.isThere(directory) ? "" : "mkdir -p \(ShellWord.quoted(directory)) && "
        return "(umask 077 && \(making)cat > \(ShellWord.quoted(file)))"
    }

    /// Removes the file; a missing one is not an error.
    func remove() { UserFile.remove(file) }

    /// Writes the secret with mode 0600.
    func write(_ secret: Redacted<String>) throws(OIDCError) {
        try UserFile.rewrite(file, followingLinks: false, named: Setting.clientSecretFile.name) {
            Array((secret.revealed + "\n").utf8)
        }
    }
}
