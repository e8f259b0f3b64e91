import Foundation
import OIDCCore
@testable import Posix
import Testing

/// A new directory of its own, removed with the value.
final class ScratchDirectory {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.path + "/oidc-store-\(UUID().uuidString)"
        mkdir(path, 0o700)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    subscript(_ name: String) -> String { "\(path)/\(name)" }

    func put(_ text: String, _ name: String, mode: mode_t = 0o600) {
        _ = FileManager.default.createFile(atPath: self[name], contents: Data(text.utf8))
        chmod(self[name], mode)
    }

    func text(_ name: String) -> String? {
        FileManager.default.contents(atPath: self[name]).map { String(decoding: $0, as: UTF8.self) }
    }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? [] }
}

func mode(_ path: String) -> UInt32? { try? FilePath.status(path).permissions }

extension SessionKey {
    static let example = SessionKey(provider: "https://op.example", clientID: "app")
    static let machine = SessionKey(
        provider: "https://op.example", clientID: "app", grant: .clientCredentials)
    static let other = SessionKey(provider: "https://op.example", clientID: "other")
}

extension Session {
    static func example(_ token: String = "at-1", key: SessionKey = .example) -> Session {
        let now = Instant(secondsSinceEpoch: 1_700_000_000)
        return Session(
            key: key,
            endpoints: Endpoints(
                issuer: "https://op.example", token: WebURL("https://op.example/token")!),
            createdAt: now, requestedScope: Scope("openid"),
            tokens: TokenSet(
                access: AccessToken(
                    token: Redacted(token), type: .bearer, obtainedAt: now, expiresAt: now.adding(3_600),
                    scope: nil),
                refreshToken: Redacted("rt-1")))
    }
}

/// The error that `body` throws, whole.
func failure<Value>(_ body: () throws(OIDCError) -> Value) -> OIDCError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
