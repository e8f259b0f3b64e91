/// Why a cryptographic operation could not be done; a signature that does not hold is not an error.
public enum CryptoError: Error, Equatable, Sendable {
    /// The library of the system is missing or too old; the text says which.
    case unavailable(String)
    /// The library cannot be opened for now, as too many files are open.
    case outOfDescriptors(String)
    case invalidKey(String)
    case passphraseNeeded
    case wrongPassphrase
    case unsupported(String)
    case failed(String)
}
