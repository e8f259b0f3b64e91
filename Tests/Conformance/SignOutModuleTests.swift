import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@Suite("client conformance: sign-out and client certificates", .serialized, .waitingLong)
struct SignOutModuleTests {
    static let returnAddress = "http://127.0.0.1/signed-out"

    private struct World {
        let provider: ProviderServer
        let program: Program
        let addressFile: URL

        /// Plays the browser of a sign-out; returns the run, the provider's response and the URL of its request.
        func signOut(
            _ options: String..., timeout: Int = 20, before: (WebURL) throws -> Void = { _ in }
        ) throws -> (Run, HTTPResponse, WebURL) {
            let run = try program.start(
                ["logout", "--browser", "--timeout", "\(timeout)"] + options,
                ["BROWSER": "\(program.home.path)/browser %s"])
            let end = Date().addingTimeInterval(60)
            while !FileManager.default.fileExists(atPath: addressFile.path), Date() < end { usleep(5_000) }
            let text = try String(contentsOf: addressFile, encoding: .utf8)
            let url = try #require(WebURL(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            try before(url)
            let answer = RawConnection.exchange(
                port: UInt16(url.port ?? 80), "GET \(url.path) HTTP/1.1\r\nHost: \(url.hostAndPort)\r\n\r\n")
            let location = try #require(
                answer.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }?.dropFirst(10),
                "\"\(answer)\"")
            let target = try #require(WebURL(String(location)))
            let response = provider.with { $0.handle(HTTPRequest(.get, target), at: Clock.now()) }
            return (run, response, target)
        }
    }

    private func world(_ faults: Fault..., redirect: Bool = true) throws -> World {
        let provider = try Module.server(Set(faults)) {
            $0.clients = [DemoClient(id: "demo", postLogoutRedirectURIs: [Self.returnAddress])]
        }
        let setting = redirect ? ["OIDC_POST_LOGOUT_REDIRECT_URI": Self.returnAddress] : [:]
        let program = try Program(provider, setting)
        let outcome = try program.signIn(at: provider)
        try #require(outcome.status == 0, "\(outcome.errorOutput)")
        let script = program.home.appendingPathComponent("browser")
        let file = program.home.appendingPathComponent("address")
        try ExecutableScript.write(
            "#!/bin/sh\nprintf '%s' \"$1\" >'\(file.path).new' && mv '\(file.path).new' '\(file.path)'\n",
            to: script)
        return World(provider: provider, program: program, addressFile: file)
    }

    @Test("oidcc-client-test-rp-init-logout", arguments: [true, false])
    func signOut(redirect: Bool) throws {
        let world = try world(redirect: redirect)
        defer { world.program.remove() }
        let (run, response, target) = try world.signOut()
        let pairs = try #require(FormEncoding.decode(target.query ?? ""))
        let names = Set(pairs.map(\.name))
        let expected: Set =
            redirect ? ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"] : []
        #expect(names == (redirect ? expected : ["id_token_hint", "client_id"]))
        if redirect {
            let back = try #require(response.headers["Location"].flatMap(WebURL.init))
            let port = UInt16(back.port ?? 80)
            let request = "GET \(back.path)?\(back.query ?? "") HTTP/1.1\r\nHost: \(back.hostAndPort)\r\n"
            if OtherUser.isAvailable {
                let stranger = try OtherUser.start(port: port, request + "Connection: close\r\n\r\n").text()
                #expect(RawConnection.status(stranger) == 404)
            }
            #expect(RawConnection.status(RawConnection.exchange(port: port, request + "\r\n")) == 200)
        }
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test(
        "oidcc-client-test-rp-init-logout-other-state, -no-state: ends the wait at once, with a warning",
        arguments: [EndSessionFault.stateInvalid, .stateMissing])
    func strangeState(fault: EndSessionFault) throws {
        let world = try world(.endSession(fault))
        defer { world.program.remove() }
        let (run, response, _) = try world.signOut(timeout: 3_600)
        let back = try #require(response.headers["Location"].flatMap(WebURL.init))
        let query = back.query.map { "?\($0)" } ?? ""
        let page = RawConnection.exchange(
            port: UInt16(back.port ?? 80),
            "GET \(back.path)\(query) HTTP/1.1\r\nHost: \(back.hostAndPort)\r\nConnection: close\r\n\r\n")
        #expect(RawConnection.status(page) == 400 && page.contains("Not the answer to this sign-out – oidc"))
        let outcome = run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        let warning = "warning: the browser came back from the sign-out with another state or none: "
        #expect(outcome.errorOutput.contains(warning), "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("registered"))
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test(
        "another local user who reads the browser's arguments gets a 404, and the browser its redirect",
        .enabled(if: OtherUser.isAvailable))
    func otherUser() throws {
        let world = try world(redirect: false)
        defer { world.program.remove() }
        var stolen = ""
        let (run, _, target) = try world.signOut { url in
            let request = "GET \(url.path) HTTP/1.1\r\nHost: \(url.hostAndPort)\r\nConnection: close\r\n\r\n"
            stolen = try OtherUser.start(port: UInt16(url.port ?? 80), request).text()
        }
        #expect(RawConnection.status(stolen) == 404 && !stolen.contains("id_token_hint"))
        #expect(target.query?.contains("id_token_hint=") == true)
        #expect(run.finish().status == 0)
    }

    @Test(
        "a browser that fails is reported with the URL to open, and --timeout bounds the wait",
        arguments: ["false %s", "no-such-browser %s"])
    func failedBrowser(browser: String) throws {
        let world = try world(redirect: false)
        defer { world.program.remove() }
        let run = try world.program.start(
            ["logout", "--browser", "--timeout", "3"], ["BROWSER": browser])
        let outcome = run.finish(within: 60)
        #expect(outcome.status == 6, "\(outcome.errorOutput)")
        #expect(outcome.error == "timed out: no browser opened the URL of the sign-out")
        #expect(outcome.errorOutput.contains("\n  http://127.0.0.1:"))
        #expect(outcome.errorOutput.contains("warning: the browser could not be opened: "))
        #expect(world.program.sessionFiles.isEmpty)
    }

    @Test(
        "without a display the provider's URL is printed, without the ID token and a way back, and nothing is waited for",
        arguments: [false, true])
    func withoutDisplay(redirect: Bool) throws {
        let world = try world(redirect: redirect)
        defer { world.program.remove() }
        let variables = ["BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""]
        let outcome = try world.program.start(["logout", "--browser"], variables).finish(within: 60)
        #expect(outcome.status == 1, "\(outcome.errorOutput)")
        let url = "\(world.provider.origin)/logout?client_id=demo\n"
        #expect(outcome.errorOutput.contains("open in a browser:\n\n  \(url)"), "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("id_token_hint") && world.program.sessionFiles.isEmpty)
    }

    @Test("oidcc-client-test-mtls-endpoint-aliases: used when a client certificate is configured")
    func aliases() throws {
        let first = try Module.server()
        let second = try Module.server()
        second.intercept { request in first.with { $0.handle(request, at: Clock.now()) } }
        first.with { $0.configuration.mutualTLSBase = second.origin }
        let program = try Program(first)
        defer { program.remove() }
        for name in ["client.pem", "client.key"] {
            let label = name.hasSuffix("pem") ? "CERTIFICATE" : "PRIVATE KEY"
            let file = program.home.appendingPathComponent(name)
            try Data("-----BEGIN \(label)-----\nMIIB\n-----END \(label)-----\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
        let seen = RequestLog()
        first.intercept { request in
            seen.note(request)
            return nil
        }
        let outcome = try program.signIn(
            at: first,
            [
                "--set", "tls_client_certificate=\(program.home.path)/client.pem", "--set",
                "tls_client_key=\(program.home.path)/client.key", "--set", "client_auth=none",
            ])
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(first.requestCount(.token) == 1)
        #expect(!seen.paths.contains("/token"))
    }
}
