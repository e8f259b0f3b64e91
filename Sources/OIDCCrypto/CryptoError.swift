/// The reason why a cryptographic operation failed; an invalid signature is not an error.
public enum CryptoError: Error, Equatable, Sendable {
    /// The system's library is missing or too old; the string names it.
    case unavailable(String)
    /// The library cannot be opened now, as too many files are open.
    case outOfDescriptors(String)
    case invalidKey(String)
    case passphraseNeeded
    case wrongPassphrase
    case unsupported(String)
    case failed(String)
}
