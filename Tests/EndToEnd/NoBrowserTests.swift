import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite("login --no-browser, by the built program", .serialized, .waiting)
struct NoBrowserTests {
    private let provider: ProviderServer
    private let program: Program
    /// Exists once a browser was opened.
    private let mark: URL

    init() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        configuration.deviceInterval = 1
        provider = try ProviderServer(configuration)
        var program = try Program(provider)
        mark = program.home.appendingPathComponent("opened")
        program.environment["DISPLAY"] = ":9"
        program.environment["BROWSER"] = "touch \(mark.path) %s"
        self.program = program
    }

    private var isOpened: Bool { FileManager.default.fileExists(atPath: mark.path) }

    @Test("with --flow auto it prints the URL and offers a device code, as without a display")
    func auto() throws {
        defer { program.remove() }
        let outcome = try program.start(["login", "--no-browser", "--flow", "auto"]).finish()
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errorOutput.contains("code_challenge=") && outcome.errorOutput.contains("/device"))
        #expect(!outcome.errorOutput.contains("No browser is opened") && !isOpened)
    }

    @Test("alone it offers the URL only; the browser at the other end of an SSH tunnel reaches the port")
    func tunnel() throws {
        defer { program.remove() }
        provider.with { $0.configuration.user = .atBrowser }
        let port = try LoopbackServer().port
        let run = try program.start(["login", "--no-browser", "--port", "\(port)"])
        let url = try #require(run.address.flatMap(WebURL.init))
        let redirect = try #require(provider.redirect(of: url))
        #expect(redirect.url.text.hasPrefix("http://127.0.0.1:\(port)/callback?"))
        _ = try? Visit.send(redirect)
        let outcome = run.finish()
        #expect(outcome.status == 0 && !isOpened, "\(outcome)")
        #expect(!outcome.errorOutput.contains("/device"))
    }

    @Test("a configured flow stays: device, paste", arguments: ["device", "paste"])
    func configured(flow: String) throws {
        defer { program.remove() }
        let run = try program.start(["login", "--no-browser"], input: .open, ["OIDC_FLOW": flow])
        if flow == "paste" {
            let url = try #require(run.address.flatMap(WebURL.init))
            run.type("\(try #require(provider.redirect(of: url)).url.text)\n")
        }
        let outcome = run.finish()
        #expect(outcome.status == 0 && !isOpened, "\(outcome)")
        #expect(outcome.errorOutput.contains("code_challenge=") == (flow == "paste"))
        #expect(outcome.errorOutput.contains("/device") == (flow == "device"))
    }
}
