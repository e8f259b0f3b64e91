import DemoProvider
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("WSL, with programs in place of those of Windows", .serialized, .waiting)
struct WindowsTests {
    /// The program, as if in WSL, with scripts before the machine's own programs in PATH.
    private func world(_ scripts: [String: String], _ provider: ProviderServer) throws -> Program {
        var program = try Program(provider, ["WSL_DISTRO_NAME": "Debian"])
        let directory = program.home.appendingPathComponent("bin")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        for (name, text) in scripts {
            try ExecutableScript.write("#!/bin/sh\n\(text)\n", to: directory.appendingPathComponent(name))
        }
        program.environment["PATH"] = "\(directory.path):\(program.environment["PATH"] ?? "")"
        return program
    }

    private func provider() throws -> ProviderServer {
        let provider = try ProviderServer()
        provider.with { $0.configuration.user = .approves("alice") }
        return provider
    }

    @Test("the browser of Windows signs in, and no part of a hostile URL is a command for it")
    func signIn() throws {
        let provider = try provider()
        let program = try world(
            [
                "rundll32.exe": #"printf '%s\n' "$@" > "$HOME/words"; curl -sL -o "$HOME/page" "$2""#,
                "wslview": #"touch "$HOME/wslview""#, "cmd.exe": #"touch "$HOME/cmd""#,
                "powershell.exe": #"touch "$HOME/powershell""#,
            ], provider)
        defer { program.remove() }
        let endpoint = "\(provider.origin)/authorize?a=$(calc.exe)&calc.exe&b=%25COMSPEC%25"
        let outcome = try program.run(
            "login", "--flow", "browser", "--set", "authorization_endpoint=\(endpoint)",
            variables: ["BROWSER": "wslview"])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errorOutput.contains("wslview passes its arguments to a shell"), "\(outcome)")
        let words = try String(contentsOf: program.home.appendingPathComponent("words"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
        #expect(words.count == 2 && words[0] == "url.dll,FileProtocolHandler", "\(words)")
        #expect(words.last?.hasPrefix("\(endpoint)&") == true, "\(words)")
        for name in ["wslview", "cmd", "powershell"] {
            #expect(!FileManager.default.fileExists(atPath: program.home.appendingPathComponent(name).path))
        }
    }

    @Test("if Windows' programs cannot be started, the reason is printed, and the URL")
    func withoutInterop() throws {
        let provider = try provider()
        let program = try world(["rundll32.exe": "exit 1"], provider)
        defer { program.remove() }
        let outcome = try program.run("login", "--flow", "browser", "--timeout", "6")
        #expect(
            outcome.status == 6 && outcome.errorOutput.contains(#""rundll32.exe" exited with 1"#),
            "\(outcome)")
        #expect(outcome.errorOutput.contains("Open the URL yourself."), "\(outcome)")
    }

    @Test(
        "doctor says whether a browser of Windows reaches the redirect URL in WSL's networking mode",
        arguments: [
            ("mirrored", "ok", "also to browsers on Windows"),
            ("nat", "ok", "unless .wslconfig says localhostForwarding=false"),
            ("wsl1", "ok", "also to browsers on Windows"), ("bridged", "ok", "may not reach it"),
            ("none", "warning", "browsers on Windows do not reach http://127.0.0.1:"),
        ])
    func doctor(mode: String, result: String, detail: String) throws {
        let provider = try provider()
        let program = try world(
            ["wslinfo": "[ $1 = --networking-mode ] && echo \(mode)", "rundll32.exe": "exit 0"],
            provider)
        defer { program.remove() }
        let outcome = try program.run("doctor", "-o", "json")
        let findings = try JSONValue(parsing: Array(outcome.output.utf8)).array ?? []
        let callback = findings.first { $0["check"]?.string == "callback" }
        #expect(callback?["result"]?.string == result, "\(outcome)")
        #expect(callback?["detail"]?.string?.contains(detail) == true, "\(outcome)")
        let browser = findings.first { $0["check"]?.string == "browser" }
        #expect(browser?["detail"]?.string == "rundll32.exe", "\(outcome)")
    }

    @Test("mirrored networking has no ::1, and a version of WSL without wslinfo forwards as in mode nat")
    func modes() {
        let mirrored = WindowsForwarding(mode: "mirrored")
        #expect(mirrored.finding(of: "http://[::1]:1/", isIPv6Only: true).result == .warning)
        #expect(mirrored.finding(of: "http://127.0.0.1:1/", isIPv6Only: false).result == .ok)
        #expect(WindowsForwarding(environment: ["PATH": "/no/such/directory"]).mode == nil)
        #expect(
            WindowsForwarding(mode: nil).finding(of: "u", isIPv6Only: true).detail
                == WindowsForwarding(mode: "nat").finding(of: "u", isIPv6Only: true).detail)
    }

    @Test(
        "a path of Windows is translated for the hint, if it is a file of this distribution or a drive",
        arguments: [
            (#"\\wsl$\Debian\home\me\c.json"#, "/home/me/c.json"),
            (#"\\wsl.localhost\debian\home\me\c.json"#, "/home/me/c.json"),
            (#"\\WSL.LOCALHOST\Debian/home\c.json"#, "/home/c.json"), (#"\\wsl$\Debian"#, "/"),
            (#"\\wsl.localhost\Ubuntu\home\me\c.json"#, nil), (#"\\server\share\c.json"#, nil),
            (#"\\wsl$"#, nil),
            (#"C:\Users\me\c.json"#, "/mnt/c/Users/me/c.json"), (#"d:\c.json"#, "/mnt/d/c.json"),
        ] as [(String, String?)])
    func paths(text: String, path: String?) throws {
        let found = try #require(WindowsPath(text))
        #expect(found.inLinux(["WSL_DISTRO_NAME": "Debian"], isWSL: true) == path)
        #expect(found.inLinux([:], isWSL: false) == nil)
    }

    @Test(
        "other paths are left as they are",
        arguments: [
            "/home/me/c.json", "~/c.json", "c.json", "C:", "C:c.json", "c/d", #".\\x"#, #"./\\wsl$\x"#, "",
            "é:\\x",
        ])
    func notOfWindows(text: String) {
        #expect(WindowsPath(text) == nil)
    }

    @Test("a configuration file that is named as in Windows is refused with 2, and nothing is written")
    func configuration() throws {
        let provider = try provider()
        let program = try world([:], provider)
        defer { program.remove() }
        let path = #"\\wsl.localhost\Debian\home\me\c.json"#
        let before = try FileManager.default.contentsOfDirectory(atPath: program.home.path)
        for line in [["status"], ["config", "show"], ["config", "set", "port=1"], ["login", "github"]] {
            let variable = try program.start(line, ["OIDC_CONFIG": path]).finish()
            #expect(variable.status == 2, "\(line): \(variable)")
            #expect(variable.error == "OIDC_CONFIG: \(path) is a path of Windows", "\(line): \(variable)")
            #expect(
                variable.errorOutput.contains("try: use /home/me/c.json, which is that file in WSL"),
                "\(line): \(variable)")
            let option = try program.start(line + ["--config", #"C:\c.json"#]).finish()
            #expect(option.error == #"--config: C:\c.json is a path of Windows"#, "\(line): \(option)")
        }
        let elsewhere = try program.run("status", variables: ["OIDC_CONFIG": #"\\wsl$\Ubuntu\c.json"#])
        #expect(elsewhere.errorOutput.contains("try: name a file of this machine"), "\(elsewhere)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: program.home.path).sorted() == before.sorted()
        )
    }
}
