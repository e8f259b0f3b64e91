import OIDCCore
import OIDCSystem

/// The key of a shared store, and whether tokens are cached.
struct SharedStoreSettings: Sendable {
    let keyFile: SettingFile?
    let keyCommand: [String]
    /// Whether a process keeps a token in memory until it expires.
    let keepsCopies: Bool
    /// The variables that hold a store URL with a password, in effect or not.
    let secretVariables: [String]

    init(_ layers: SettingLayers, home: String?) {
        // If both settings name a key, the one of the stronger layer is used.
        let named = layers.entries.first { $0.setting == .storeKeyFile || $0.setting == .storeKeyCommand }
        let isFile = named?.setting == .storeKeyFile
        keyFile = isFile ? layers.file(.storeKeyFile, home: home) : nil
        keyCommand = isFile ? [] : layers.texts(.storeKeyCommand)
        keepsCopies = layers.flag(.storeCache)
        secretVariables = layers.given.compactMap { entry -> String? in
            guard case .variable(let name) = entry.origin, entry.setting == .store,
                SessionStoreChoice.holdsPassword(entry.value.string ?? "")
            else { return nil }
            return name
        }
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
    /// The variables to withhold from child processes, besides those with fixed names.
    var secretVariables: [String] { subject.variables + sharedStore.secretVariables }
}
