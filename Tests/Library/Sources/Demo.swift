import Foundation
import OIDCCore

/// The demo provider and its user.
enum Demo {
    /// The provider, which the pages call https://login.example.com.
    static let issuer = ProcessInfo.processInfo.environment["OIDC_DEMO"] ?? ""
    static let client = "demo"
    static let service = "demo-confidential"
    static let secret = "demo-secret"
    static let resource = "\(issuer)/mcp"

    /// Opens a URL as the user does, and returns the first URL that is not the provider's.
    @discardableResult
    static func visit(_ url: WebURL) throws(OIDCError) -> String {
        do {
            let browser = Process()
            let output = Pipe()
            browser.executableURL = URL(fileURLWithPath: CommandLine.arguments[1])
            browser.arguments = ["--redirect", url.text]
            browser.standardOutput = output
            try browser.run()
            let words = output.fileHandleForReading.readDataToEndOfFile()
            browser.waitUntilExit()
            return String(decoding: words, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        } catch {
            throw OIDCError(.failed, "no browser: \(error)")
        }
    }

    /// Returns the query of the redirect at the end of a sign-in.
    static func redirect(of url: WebURL) throws(OIDCError) -> String {
        let end = try visit(url)
        guard let mark = end.firstIndex(of: "?") else { throw OIDCError(.refused, "no redirect: \(end)") }
        return String(end[end.index(after: mark)...])
    }
}

/// A rule that what the pages do must keep.
struct Broken: Error, CustomStringConvertible {
    let description: String
}

func expect(_ isTrue: Bool, _ rule: String) throws {
    guard isTrue else { throw Broken(description: rule) }
}

/// Runs what a page shows, and prints its name.
func page(
    _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch {
        throw Broken(description: "\(name): \(error)")
    }
    print("✔ \(name)")
}
