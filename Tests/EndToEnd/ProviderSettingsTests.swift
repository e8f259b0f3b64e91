import CommandLineKit
import OIDCCore
import Posix
import Testing

@testable import oidc

@Suite("settings of the provider")
struct ProviderSettingsTests {
    @Test(
        "metadata_url needs an issuer to compare, and is https or on loopback",
        arguments: [
            (["OIDC_METADATA_URL": "https://op.example/m"], "metadata_url is set, and issuer is not"),
            (
                ["OIDC_METADATA_URL": "http://op.example/m", "OIDC_ISSUER": "https://op.example"],
                "metadata URL: plain http is for loopback only, found http://op.example/m"
            ),
            (["OIDC_METADATA_URL": "https://op.example/m", "OIDC_ISSUER": "https://op.example"], nil),
            (
                ["OIDC_ISSUER": "https://op.example/{tenantid}/v2.0"],
                "issuer: https://op.example/{tenantid}/v2.0 is a template, which has no well-known URL"
            ),
            (
                [
                    "OIDC_ISSUER": "https://op.example/{tenantid}/v2.0",
                    "OIDC_METADATA_URL": "https://op.example/m",
                ], nil
            ), (["OIDC_ISSUER": "https://op.example/common/v2.0"], nil),
        ])
    func checked(_ variables: [String: String], _ message: String?) throws {
        let loader = SettingsLoader(environment: Variables(variables), common: CommonOptions())
        let settings = try loader.load([], from: nil, in: "")
        var found: OIDCError?
        do throws(OIDCError) { try settings.check() } catch { found = error }
        // The message ends with the variable that the value is from.
        let isExpected = message.map { found?.message.hasPrefix($0) == true } ?? (found == nil)
        #expect(isExpected && found?.kind == message.map { _ in .usage }, "\(String(describing: found))")
    }

    @Test("the command to sign in repeats what options say of the provider")
    func loginLine() throws {
        let given = ["issuer=https://op.example", "metadata_url=https://op.example/m?p=x", "nonce=off"]
        let entries = try given.map { try SettingsLoader.assignment($0) }
        let settings = try SettingsLoader(environment: [:], common: CommonOptions()).load(
            entries, from: nil, in: "")
        #expect(
            settings.loginLine.commandLine
                == "oidc login --issuer https://op.example --set 'metadata_url=https://op.example/m?p=x' --set nonce=off"
        )
        #expect(!settings.signIn.sendsNonce)
    }
}
