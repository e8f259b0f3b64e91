import OIDCCore
@testable import OIDCSessions
import Posix
import Testing

@testable import oidc

@Suite("without a state directory")
struct UnavailableStoreTests {
    @Test(
        "an unusable state directory is named as what it is",
        arguments: [
            ([:], "neither HOME nor XDG_STATE_HOME nor OIDC_STATE_DIR is set"),
            (["HOME": ""], "neither HOME nor XDG_STATE_HOME nor OIDC_STATE_DIR is set"),
            (["HOME": "home"], "HOME is not an absolute path"),
            (["HOME": "home", "XDG_STATE_HOME": "x"], "XDG_STATE_HOME and HOME are not absolute paths"),
            (["HOME": "/dev/null"], "a part of /dev/null/.local/state/oidc is not a directory"),
            (
                ["HOME": "/root", "XDG_STATE_HOME": "/dev/null"],
                "a part of /dev/null/oidc is not a directory"
            ),
        ] as [([String: String], String)])
    func unavailable(_ environment: [String: String], _ reason: String) throws {
        let store = SessionStore.unavailable(Variables(environment))
        let key = SessionKey(provider: "https://op.example", clientID: "app")
        let error = #expect(throws: OIDCError.self) { try store.probe(key) }
        #expect(error?.message == "no state directory is available: \(reason)")
    }
}
