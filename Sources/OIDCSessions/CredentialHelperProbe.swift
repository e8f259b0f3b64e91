import OIDCCore
import OIDCCrypto
import Posix

extension CredentialHelper {
    private static let probeLock = "probe.lock"

    /// Checks that the helper stores a secret, returns it and erases it.
    ///
    /// The entry always has the same name, so a killed process leaves at most one entry, which the next probe
    /// erases. Probes take turns, so none erases the entry of another.
    func probe(_ serverURL: String, username: String, in path: String) throws(OIDCError) {
        let directory = try PrivateDirectory.create(path)
        let left = deadline?.milliseconds(from: .now()) ?? .max
        let wait = LockWait(
            limit: .milliseconds(min(min(milliseconds, .max / 3) * 3, left)), noticeAfter: .seconds(3),
            onWaiting: { onWaiting("waiting for another process that uses \(program)") })
        let lock = try FileLock.acquire(CredentialHelper.probeLock, in: directory, wait)
        defer {
            withExtendedLifetime(lock) { try? directory.file.remove(CredentialHelper.probeLock) }
        }
        try probe(
            Entry(serverURL: serverURL, username: username, secret: Base64URL.encode(Random.bytes(32))))
    }

    private func probe(_ entry: Entry) throws(OIDCError) {
        try store(entry)
        let found: Entry?
        do {
            found = try get(entry.serverURL)
        } catch {
            try? erase(entry.serverURL)
            throw error
        }
        try erase(entry.serverURL)
        guard found == entry else {
            throw .store(
                "\(program) does not return what it stored", hint: .set(.store, to: "file"))
        }
    }
}
