import OIDCCore
import OIDCShared
import Posix

/// The key of a shared store, and whether tokens are cached.
struct SharedStoreSettings: Sendable {
    let layers: SettingLayers

    /// Whether a process keeps a token in memory until it expires.
    var keepsCopies: Bool { layers.flag(.storeCache) }
    var keyFile: SettingFile? { isKeyInFile ? layers.file(.storeKeyFile) : nil }
    var keyCommand: [String] { isKeyInFile ? [] : layers.texts(.storeKeyCommand) }

    /// Whether the key is in a file. If both settings name a key, the one of the stronger layer is used.
    private var isKeyInFile: Bool {
        let keys: [Setting] = [.storeKeyFile, .storeKeyCommand]
        return layers.entries.first { keys.contains($0.setting) }?.setting == .storeKeyFile
    }

    /// Checks that a key is set for a shared store, without reading it.
    func check(_ choice: SessionStoreChoice) throws(OIDCError) {
        guard case .shared = choice, keyFile == nil, keyCommand.isEmpty else { return }
        throw OIDCError(
            .usage, "store: a shared store needs store_key_file or store_key_command",
            hint: .advice(.makeStoreKey), stage: .store)
    }
}

extension SecretReader {
    /// Reads the key of a shared store.
    func storeKeys(_ settings: SharedStoreSettings) throws(OIDCError) -> SealingKeys {
        if let file = settings.keyFile {
            let contents = try UserFile.require(file.path, limit: 4_096, named: file.name)
            try check(contents, file)
            return try SealingKeys(contents.bytes, source: "\(file.name): \(DisplayText.clean(file.path))")
        }
        let name = Setting.storeKeyCommand.name
        return try SealingKeys(try bytes(of: settings.keyCommand, named: name).revealed, source: name)
    }
}

extension Settings {
    /// The variables to withhold from child processes, besides those with fixed names: those that
    /// `subject_token_env` names in any layer, and those with the URL of a store that holds a password, in
    /// effect or not.
    var secretVariables: [String] {
        layers.given.compactMap { entry in
            switch (entry.setting, entry.origin) {
            case (.subjectTokenEnv, _): entry.value.string
            case (.store, .variable(let name)):
                SessionStoreChoice.holdsPassword(entry.value.string ?? "") ? name : nil
            default: nil
            }
        }
    }
}
