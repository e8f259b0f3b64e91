import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@Suite("providers that differ, by the built program", .serialized, .waiting)
struct ProviderVarietyTests {
    private static let tenant = "11111111-2222-3333-4444-555555555555"

    /// A program whose provider has many tenants, and an issuer for all of them.
    private func tenancy() throws -> (ProviderServer, Program) {
        let provider = try ProviderServer()
        provider.play(Tenancy())
        return (provider, try Program(provider, ["OIDC_ISSUER": "\(provider.origin)/common/v2.0"]))
    }

    @Test("a session at a provider with many tenants is of one: status, inspect and doctor say which")
    func tenants() throws {
        let (provider, program) = try tenancy()
        defer { program.remove() }
        let own = "\(provider.origin)/\(Self.tenant)/v2.0"
        let signedIn = try program.signIn(at: provider)
        #expect(signedIn.status == 0 && signedIn.errorOutput.contains(own), "\(signedIn.errorOutput)")
        let status = try program.run("status", "-o", "json")
        #expect(try JSONValue(parsing: status.output)["issuer"]?.string == own)
        let inspected = try program.run("inspect", "-o", "json")
        #expect(inspected.status == 0, "\(inspected.errorOutput)")
        #expect(try JSONValue(parsing: inspected.output)["signature"] == "valid")
        let doctor = try program.run("doctor")
        #expect(doctor.output.contains("{tenantid}/v2.0; a session is of the tenant that signed in first"))
        #expect(try program.run("token", "--refresh").status == 0)
        #expect(try program.run("userinfo").status == 0)
    }

    @Test("another tenant is refused in the same session, with what to do; after a local log-out it signs in")
    func pinned() throws {
        let (provider, program) = try tenancy()
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        let file = try #require(program.sessionFiles.first)
        let before = try Data(contentsOf: file)
        provider.play(Tenancy(tenant: "another"))
        let refused = try program.signIn(at: provider)
        #expect(refused.status == 7 && refused.errorOutput.contains("oidc logout --local"))
        #expect(try Data(contentsOf: file) == before)
        #expect(try program.signIn(at: provider, ["--set", "account=other"]).status == 0)
        #expect(try program.run("logout", "--local").status == 0)
        #expect(try program.signIn(at: provider).status == 0)
    }

    @Test("a token of a tenant is valid, one of another provider or with another tid is not")
    func inspected() throws {
        let (provider, program) = try tenancy()
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        let token = try program.run("token", "--type", "id").output
        #expect(try program.run("inspect", "-", input: token).status == 0)
        let template = ["OIDC_ISSUER": "\(provider.origin)/{tenantid}/v2.0"]
        let metadata = "metadata_url=\(provider.origin)/common/v2.0/.well-known/openid-configuration"
        #expect(
            try program.run("inspect", "-", "--set", metadata, input: token, variables: template).status == 0)
        for issuer in ["https://op.example", "\(provider.origin)/a/v1.0"] {
            let other = try program.run("inspect", "-", input: token, variables: ["OIDC_ISSUER": issuer])
            #expect(other.status == 7 && other.error?.contains("iss: expected") == true, "\(other)")
        }
        provider.play(Tenancy(tenant: "another"))
        #expect(try program.run("inspect", "-", input: token).status == 0)
    }

    @Test("a sign-in by hand works at a template too, and only with the settings that it was started with")
    func byHand() throws {
        let (provider, program) = try tenancy()
        defer { program.remove() }
        let begun = try program.run("authorize-url", "--set", "port=8484")
        let file = program.home.appendingPathComponent("pending.json")
        try Data(begun.output.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let url = try #require(JSONValue(parsing: begun.output)["url"]?.string.flatMap(WebURL.init))
        let address = try #require(provider.redirect(of: url)).url.text
        let other = try program.run(
            "exchange", "--pending", file.path, input: address,
            variables: ["OIDC_ISSUER": "https://op.example"])
        #expect(other.status == 2, "\(other.errorOutput)")
        let outcome = try program.run("exchange", "--pending", file.path, input: address)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }

    @Test(
        "only metadata_url is fetched, and the issuer in it is still compared"
    )
    func metadataURL() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        provider.intercept { [weak provider] request in
            guard let provider, request.url.path.hasSuffix("/.well-known/openid-configuration") else {
                return request.url.path.contains(".well-known") ? HTTPResponse(status: 404) : nil
            }
            guard request.url.path.hasPrefix("/policy"),
                let url = request.url.replacingPath("/.well-known/openid-configuration")
            else { return HTTPResponse(status: 404) }
            return provider.with { $0.handle(HTTPRequest(.get, url), at: Clock.now()) }
        }
        #expect(try program.run("discover").status == 4)
        let setting = "metadata_url=\(provider.origin)/policy/.well-known/openid-configuration"
        #expect(try program.run("discover", "--set", setting).status == 0)
        let signedIn = try program.signIn(at: provider, ["--set", setting])
        #expect(signedIn.status == 0, "\(signedIn.errorOutput)")
        #expect(try program.run("token", "--refresh").status == 0)
        let doctor = try program.run("doctor", "--set", setting)
        #expect(doctor.output.contains("from \(provider.origin)/policy/"), "\(doctor.output)")
        let other = try program.run("discover", "--set", setting, "--issuer", "\(provider.origin)/")
        #expect(other.status == 7, "\(other.errorOutput)")
    }

    @Test("without a nonce in the ID token, the error names the setting, and with it the sign-in warns")
    func nonce() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        provider.with { $0.faults = [.idToken(.nonceMissing)] }
        let refused = try program.signIn(at: provider)
        #expect(refused.status == 7 && refused.errorOutput.contains("set nonce to off"))
        let signedIn = try program.signIn(at: provider, ["--set", "nonce=off"])
        #expect(signedIn.status == 0, "\(signedIn.errorOutput)")
        #expect(signedIn.errorOutput.contains("warning: no nonce was sent"))
        #expect(!signedIn.errorOutput.contains("nonce="))
    }

    @Test("a provider whose well-known URL answers with its app's page is found at the other one")
    func singlePageApp() throws {
        let provider = try ProviderServer()
        let program = try Program(provider)
        defer { program.remove() }
        provider.intercept { request in
            guard request.url.path == "/.well-known/openid-configuration" else { return nil }
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "text/html")]),
                body: Array("<!doctype html><title>App</title>".utf8))
        }
        #expect(try program.signIn(at: provider).status == 0)
        #expect(provider.requestCount(.discovery) == 1)
        #expect(try program.signIn(at: provider).status == 0)
        #expect(provider.requestCount(.discovery) == 1)
    }
}
