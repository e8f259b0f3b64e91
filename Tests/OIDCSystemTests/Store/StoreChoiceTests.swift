import OIDCCore
import Testing

@testable import OIDCSystem

@Suite("the setting store")
struct StoreChoiceTests {
    @Test("file, none and helper:NAME are known")
    func known() throws {
        #expect(try SessionStoreChoice(setting: "file") == .file)
        #expect(try SessionStoreChoice(setting: "none") == .none)
        #expect(try SessionStoreChoice(setting: "helper:pass") == .helper("pass"))
    }

    @Test(
        "anything else is a usage error",
        arguments: ["", "File", "helper:", "helper:../x", "helper:a/b", "helper:-x", "helper:a b", "memory"])
    func unknown(_ setting: String) {
        #expect(
            failure { () throws(OIDCError) in try SessionStoreChoice(setting: setting) }
                == OIDCError(
                    .usage,
                    "store: expected file, none, keychain, helper:NAME or the URL of a shared store, found "
                        + "\"\(setting)\"",
                    hint: "helper:NAME runs docker-credential-NAME, say helper:secretservice or helper:pass"))
    }
}
