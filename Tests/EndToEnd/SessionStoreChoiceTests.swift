import OIDCCore
import OIDCShared
import Testing

@testable import oidc

@Suite("the setting store")
struct SessionStoreChoiceTests {
    @Test("file, none, helper:NAME and the URL of a shared store are known")
    func known() throws {
        #expect(try SessionStoreChoice(setting: "file") == .file)
        #expect(try SessionStoreChoice(setting: "none") == .none)
        #expect(try SessionStoreChoice(setting: "helper:pass") == .helper("pass"))
        #expect(try SessionStoreChoice(setting: "redis://h") == .shared(SharedStoreURL("redis://h")))
    }

    @Test(
        "anything else is a usage error",
        arguments: ["", "File", "helper:", "helper:../x", "helper:a/b", "helper:-x", "helper:a b", "memory"])
    func unknown(_ setting: String) {
        let expected = OIDCError(
            .usage,
            "store: expected file, none, keychain, helper:NAME, lent:PATH or the URL of a shared store, found "
                + "\"\(setting)\"",
            hint: "helper:NAME runs docker-credential-NAME, say helper:secretservice or helper:pass")
        #expect(throws: expected) { try SessionStoreChoice(setting: setting) }
    }

    @Test(
        "a URL is shown without its password, or not at all if it cannot be parsed",
        arguments: [
            ("file", "file"), ("redis://:p@h/1", "redis://:(secret)@h:6379/1"),
            ("etcds://u:p@h", "etcds://u:(secret)@h:2379/oidc"), ("redis://:hunter2@h?x=1", nil),
            ("redis://h/hunter2", nil), ("mysql://u:hunter2@h", nil), ("REDIS://:hunter2@h", nil),
        ])
    func shown(_ setting: String, _ shown: String?) {
        #expect(SessionStoreChoice.redacted(setting) == shown)
        #expect(SessionStoreChoice.holdsPassword(setting) == setting.contains("@"))
        guard shown == nil else { return }
        let refusal = #expect(throws: OIDCError.self) { try SessionStoreChoice(setting: setting) }
        #expect(refusal?.kind == .usage && refusal?.message.contains("hunter2") == false)
    }
}
