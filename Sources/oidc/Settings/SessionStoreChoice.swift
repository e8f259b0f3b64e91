import OIDCCore
import OIDCShared

/// The setting `store`.
enum SessionStoreChoice: Hashable, Sendable {
    case file
    case none
    /// The system's keychain.
    case keychain
    /// The credential helper `docker-credential-NAME`.
    case helper(String)
    /// A server that several machines share.
    case shared(SharedStoreURL)
    /// A socket on which `oidc lend` serves.
    case lent(path: String)

    init(setting: String) throws(OIDCError) {
        if setting == "file" {
            self = .file
        } else if setting == "none" {
            self = .none
        } else if setting == "keychain" {
            self = .keychain
        } else if setting.hasPrefix("helper:"), SessionStoreChoice.isHelperName(setting.dropFirst(7)) {
            self = .helper(String(setting.dropFirst(7)))
        } else if let path = LentSocket.path(inSetting: setting) {
            self = .lent(path: path)
        } else if SharedStoreURL.isSharedStore(setting) {
            self = .shared(try SharedStoreURL(setting))
        } else {
            throw .usage(
                "store: expected file, none, keychain, helper:NAME, lent:PATH or the URL of a shared store, found "
                    + "\"\(DisplayText.distinct(setting, from: ["file", "none", "keychain"]))\"",
                hint: "helper:NAME runs docker-credential-NAME, say helper:secretservice or helper:pass")
        }
    }

    /// Whether sessions are encrypted files with their keys in a keychain.
    var seals: Bool {
        switch self {
        case .keychain, .helper: true
        case .file, .none, .shared, .lent: false
        }
    }

    /// The setting, without a password.
    var setting: String {
        switch self {
        case .file: "file"
        case .none: "none"
        case .keychain: "keychain"
        case .helper(let name): "helper:\(name)"
        case .shared(let url): url.redacted
        case .lent(let path): LentSocket.setting(path)
        }
    }

    /// Returns the setting without its password, to show it; nil for a URL that cannot be parsed.
    static func redacted(_ setting: String) -> String? {
        guard SharedStoreURL.isSharedStore(setting) else { return setting }
        return (try? SharedStoreURL(setting))?.redacted
    }

    /// Returns whether the setting contains a password. A URL that cannot be parsed does if it contains an
    /// `@`.
    static func holdsPassword(_ setting: String) -> Bool {
        guard SharedStoreURL.isSharedStore(setting) else { return false }
        return (try? SharedStoreURL(setting)).map { $0.password != nil } ?? setting.contains("@")
    }

    /// Returns whether a name is valid: letters, digits, `-`, `_` and `.`, so it cannot be a path.
    /// `docker-credential-oidc` is this program itself, which stores nothing for others.
    private static func isHelperName(_ name: Substring) -> Bool {
        !name.isEmpty && name != "oidc" && name.first != "." && name.first != "-"
            && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "-_.".utf8.contains($0) }
    }
}
