import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// A sign-in that waits at its listener, with the true answer not yet delivered.
struct OpenSignIn {
    let run: Run
    let address: WebURL
    let port: UInt16
    let state: String
    /// The provider's redirect of the browser.
    let callback: HTTPRequest

    init(_ program: Program, at provider: ProviderServer, _ options: [String] = []) throws {
        run = try program.start(["login", "--flow", "browser", "--no-browser"] + options)
        address = try #require(run.address.flatMap(WebURL.init))
        let pairs = try #require(FormEncoding.decode(address.query ?? ""))
        state = try #require(pairs.first { $0.name == "state" }?.value)
        let redirect = try #require(pairs.first { $0.name == "redirect_uri" }.flatMap { WebURL($0.value) })
        port = UInt16(try #require(redirect.port))
        callback = try #require(provider.redirect(of: address))
    }

    var query: String { callback.url.query ?? "" }

    func parameter(_ name: String) -> String {
        FormEncoding.decode(query)?.first { $0.name == name }?.value ?? ""
    }

    /// The true answer as a browser sends it.
    var request: String { self.get("/callback?\(query)") }

    func get(_ target: String, method: String = "GET", version: String = "1.1", host: String? = nil) -> String
    {
        let host = host ?? "127.0.0.1:\(port)"
        return "\(method) \(target) HTTP/\(version)\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
    }

    func post(_ body: String, type: String = "application/x-www-form-urlencoded") -> String {
        "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: \(type)\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }

    func exchange(_ text: String, within seconds: Double = 20) -> String {
        RawConnection.exchange(port: port, text, within: seconds)
    }

    /// Delivers the true answer; returns the browser's page and the program's outcome.
    func complete() -> (page: String, outcome: Program.Outcome) {
        let page = exchange(request, within: 20)
        return (page, run.finish())
    }
}

/// What the tests of trust share.
enum TrustWorld {
    static func server(
        _ faults: Set<Fault> = [], foreign: String? = nil,
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> ProviderServer {
        var configuration = DemoConfiguration()
        change(&configuration)
        let server = try ProviderServer(configuration, faults: faults)
        if let foreign { server.with { $0.foreignOrigin = foreign } }
        return server
    }
}

extension Program.Outcome {
    /// Whether stderr ends with one error and its hint, and has no control characters.
    var isClean: Bool {
        let lines = errorOutput.split(separator: "\n")
        let last = lines.last.map(String.init) ?? ""
        let bidirectional: Set<UInt32> = [
            0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069,
        ]
        return lines.filter { $0.hasPrefix("error: ") }.count == 1
            && (last.hasPrefix("error: ") || last.hasPrefix("  try: "))
            && !errorOutput.unicodeScalars.contains {
                ($0.value < 32 && $0 != "\n") || (0x7F...0x9F).contains($0.value)
                    || bidirectional.contains($0.value)
            } && lines.allSatisfy { $0.utf8.count < 2_000 }
    }
}
