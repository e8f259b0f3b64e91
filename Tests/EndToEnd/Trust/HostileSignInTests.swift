import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a sign-in under hostile conditions, in the built program", .serialized, .waitingLong)
struct HostileSignInTests {
    @Test(
        "an authorization response with each fault ends with the documented exit code",
        arguments: AuthorizationFault.allCases)
    func responses(fault: AuthorizationFault) throws {
        let strangers: Set<AuthorizationFault> = [
            .stateInvalid, .stateMissing, .stateRepeated, .issuerRepeated, .codeRepeated, .inFragment,
        ]
        let untrusted: Set<AuthorizationFault> = [.issuerInvalid, .issuerMissing]
        let provider = try TrustWorld.server([.authorization(fault)])
        let program = try Program(provider)
        defer { program.remove() }
        let isLegal = fault == .modeIgnored
        let outcome = try program.signIn(
            at: provider,
            (isLegal ? ["--set", "response_mode=form_post"] : [])
                + (strangers.contains(fault) ? ["--timeout", "1"] : []))
        let isTemporary = fault == .serverError || fault == .temporarilyUnavailable
        let expected: Int32 =
            isLegal
            ? 0 : strangers.contains(fault) ? 6 : untrusted.contains(fault) ? 7 : isTemporary ? 5 : 4
        #expect(outcome.status == expected, "\(outcome.errorOutput)")
        #expect(program.sessionFiles.isEmpty == !isLegal)
        guard !isLegal else { return }
        #expect(outcome.isClean && outcome.output == "", "\(outcome.errorOutput)")
        #expect(provider.requestCount(.token) == 0 && provider.requestCount(.jwks) == 0)
    }

    @Test("state, nonce, challenge and verifier are long, and different in every sign-in")
    func fresh() throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        var values: [String] = []
        for _ in 0..<3 {
            let signIn = try OpenSignIn(program, at: provider)
            let pairs = try #require(FormEncoding.decode(signIn.address.query ?? ""))
            for name in ["state", "nonce", "code_challenge"] {
                let value = try #require(pairs.first { $0.name == name }?.value)
                #expect(value.utf8.count >= (name == "code_challenge" ? 43 : 22))
                values.append(value)
            }
            #expect(pairs.first { $0.name == "code_challenge_method" }?.value == "S256")
            #expect(pairs.first { $0.name == "response_type" }?.value == "code")
            #expect(signIn.complete().outcome.status == 0)
        }
        values += provider.with { $0.requests(to: .token) }.compactMap { request in
            FormEncoding.decode(String(decoding: request.body, as: UTF8.self))?
                .first { $0.name == "code_verifier" }?.value
        }
        #expect(Set(values).count == 12)
    }

    @Test("the listener is ready before the browser opens")
    func order() throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let script = program.home.appendingPathComponent("browser")
        let text = """
            #!/bin/bash
            port=$(printf %s "$1" | sed 's/.*redirect_uri=http%3A%2F%2F127.0.0.1%3A\\([0-9]*\\).*/\\1/')
            if exec 3<>"/dev/tcp/127.0.0.1/$port"; then echo there > "$HOME/new"; else echo none > "$HOME/new"; fi
            mv "$HOME/new" "$HOME/found"
            """
        try ExecutableScript.write(text, to: script)
        let run = try program.start(["login"], ["BROWSER": "\(script.path) %s"])
        let found = program.home.appendingPathComponent("found")
        let end = Date().addingTimeInterval(60)
        while !FileManager.default.fileExists(atPath: found.path), Date() < end { usleep(5_000) }
        #expect(try String(contentsOf: found, encoding: .utf8) == "there\n")
        run.signal(SIGINT)
        #expect(run.finish().status == 130)
    }

    @Test(
        "headers that browsers add are neither required nor checked",
        arguments: [
            "Origin: null", "Origin: https://evil.example", "Referer: https://evil.example/x?code=y",
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document",
            "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image",
            "Cookie: \(String(repeating: "other=port; ", count: 600))", "Upgrade-Insecure-Requests: 1",
        ])
    func headers(field: String) throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let request = signIn.request.replacingOccurrences(
            of: "Connection: close\r\n", with: "Connection: close\r\n\(field)\r\n")
        #expect(signIn.exchange(request, within: 20).contains("Signed in"))
        #expect(signIn.run.finish().status == 0)
    }

    /// Signals that a token request has arrived.
    private func tokenRequest(at provider: ProviderServer) -> DispatchSemaphore {
        let arrived = DispatchSemaphore(value: 0)
        provider.intercept { request in
            if request.url.path == "/token" { arrived.signal() }
            return nil
        }
        return arrived
    }

    @Test("a browser that disconnects before the page is sent does not harm the sign-in")
    func goneBrowser() throws {
        let provider = try TrustWorld.server()
        provider.delayTokens(milliseconds: 300)
        let arrived = tokenRequest(at: provider)
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        var browsers = (0..<3).compactMap { _ in RawConnection(port: signIn.port) }
        for browser in browsers { browser.send(signIn.request) }
        try #require(arrived.wait(timeout: .now() + 60) == .success)
        browsers.removeAll()
        let outcome = signIn.run.finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(program.sessionFiles.count == 1 && provider.requestCount(.token) == 1)
    }

    @Test(
        "a signal while the code is redeemed: the session is stored, then the right exit code and no listener",
        arguments: [(SIGHUP, 129), (SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func signals(number: Int32, status: Int32) throws {
        let provider = try TrustWorld.server()
        provider.delayTokens(milliseconds: 60_000)
        let arrived = tokenRequest(at: provider)
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let browser = try #require(RawConnection(port: signIn.port))
        browser.send(signIn.request)
        try #require(arrived.wait(timeout: .now() + 60) == .success)
        let path = try #require(RawConnection.redirect(of: browser.received()))
        let tab = try #require(RawConnection(port: signIn.port))
        tab.send(signIn.get(path))
        signIn.run.signal(number)
        provider.delayTokens(milliseconds: 0)
        let outcome = signIn.run.finish()
        #expect(outcome.status == status && outcome.output == "", "\(outcome)")
        #expect(!outcome.errorOutput.contains("Signed in"), "\(outcome)")
        #expect(
            outcome.error?.firstMatch(of: /^interrupted by SIG[A-Z]+, after the session was stored$/) != nil,
            "\(outcome)")
        #expect(RawConnection(port: signIn.port) == nil)
        #expect(tab.received().contains("Signed in"))
        #expect(try program.run("token", "--refresh").status == 0)
    }

    @Test(
        "an encrypted ID token or UserInfo answer without a key for it is refused, and the error names the setting",
        arguments: [true, false])
    func encrypted(isIDToken: Bool) throws {
        let provider = try TrustWorld.server(isIDToken ? [.idToken(.encrypted)] : [])
        let program = try Program(provider)
        defer { program.remove() }
        var outcome = try program.signIn(at: provider)
        if !isIDToken {
            #expect(outcome.status == 0)
            provider.intercept { request in
                guard request.url.path == Endpoint.userinfo.path else { return nil }
                var answer = HTTPResponse(
                    status: 200, headers: HTTPHeaders([("Content-Type", "application/jwt")]))
                answer.body = Array("e30.a.b.c.d".utf8)
                return answer
            }
            outcome = try program.run("userinfo")
        }
        #expect(outcome.status == 7 && outcome.isClean && outcome.output == "", "\(outcome.errorOutput)")
        #expect(outcome.error?.contains("the token is encrypted") == true, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("set decryption_key_file"), "\(outcome.errorOutput)")
    }

    @Test("a full or closed stdout is an error, reported on stderr", arguments: [">/dev/full", ">&-"])
    func output(redirection: String) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        for arguments in [
            ["token"], ["userinfo"], ["status"], ["inspect"], ["discover"], ["pkce"], ["config", "show"],
            ["authorize-url"], ["credential", "kubectl"], ["credential", "gcp"], ["help"],
        ] {
            let outcome = try world.runBelowShell("exec \(redirection)", arguments)
            #expect(
                outcome.status == 1 && outcome.errorOutput.contains("error: "), "\(arguments): \(outcome)")
        }
    }
}
