import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// A newcomer's machine: a home with the program in its `~/.local/bin`, and behind a proxy, under certificates of
/// a private CA, the two hosts that the README speaks of.
private final class Newcomer {
    static let isPossible = Terminator.isAvailable && Installed.programs("bash", "curl", "jq")

    let program: Program
    let proxy: TunnelProxy
    let provider: ProviderServer
    private let terminator: Terminator
    private let job: ContinuousIntegration
    private let actions: BackgroundServer

    init() throws {
        terminator = try Terminator(["login.example.com", "api.example.com"])
        job = try ContinuousIntegration()
        actions = try job.actions()
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        configuration.signingAlgorithms = [.es256]
        configuration.deviceInterval = 1
        configuration.trustedIssuers = [job.trusted]
        configuration.clients = [
            DemoClient(id: "my-cli"), DemoClient(id: "my-job"),
            DemoClient(id: "my-ci", secret: "a secret"),
        ]
        provider = try ProviderServer(configuration, issuer: terminator.origin)
        provider.intercept { request in
            guard request.url.path == "/me" else { return nil }
            let isSent = request.headers["Authorization"].map { $0.hasPrefix("Bearer ") && $0.count > 20 }
            return HTTPResponse(status: isSent == true ? 200 : 401, body: Array("{}".utf8))
        }
        try terminator.start(before: provider.backend)
        proxy = try TunnelProxy(to: terminator.port)
        program = try Program([
            "BROWSER": "curl -sL -o /dev/null %s", "CURL_CA_BUNDLE": terminator.path("server.pem"),
            "SECRET": "a secret",
        ])
        let programs = program.home.appendingPathComponent(".local/bin")
        try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: programs.path + "/oidc", withDestinationPath: Program.path)
        // As `credential docker --setup` says.
        try FileManager.default.createSymbolicLink(
            atPath: programs.path + "/docker-credential-oidc", withDestinationPath: Program.path)
        // curl exits with an error if the request has no token, because the answer is a refusal.
        try Data("fail-with-body\n".utf8).write(to: program.home.appendingPathComponent(".curlrc"))
    }

    deinit {
        proxy.end()
        actions.end()
        program.remove()
    }

    /// The environment variables that every user of that network sets.
    private var network: [String: String] {
        [
            "PATH": program.home.path + "/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "https_proxy": "http://127.0.0.1:\(proxy.port)", "OIDC_CA_FILE": terminator.path("server.pem"),
        ]
    }

    /// Runs a block in its own shell, and pastes the redirected URL if the block prompts for it.
    func run(_ text: String, _ variables: [String: String] = [:]) throws -> Program.Outcome {
        let run = try program.start(
            ["-euo", "pipefail", "-c", text], input: .open, network.merging(variables) { $1 },
            executable: "/usr/bin/bash")
        if text.contains("--flow paste") {
            let url = try #require(run.address.flatMap(WebURL.init))
            run.type(try #require(provider.redirect(of: url)).url.text + "\n")
        }
        run.closeInput()
        return run.finish()
    }

    /// What the section on proxies has a reader set is what the network of this test is.
    func proxied(_ text: String) throws -> Program.Outcome {
        let own = text.replacingOccurrences(
            of: "http://proxy.example.com:3128", with: "http://127.0.0.1:\(proxy.port)"
        ).replacingOccurrences(of: "/etc/ssl/company.pem", with: terminator.path("server.pem"))
        #expect(own != text)
        return try run("unset https_proxy OIDC_CA_FILE\n" + own)
    }

    func job(_ block: ReadmeBlock) throws -> Program.Outcome {
        let isGitLab = block.section == "GitLab CI"
        var (variables, commands) = isGitLab ? block.gitlabJob : block.workflow
        #expect(variables["OIDC_GRANT"] == "token_exchange")
        if isGitLab, let name = variables["OIDC_SUBJECT_TOKEN_ENV"] {
            variables[name] = try job.token("https://login.example.com")
        }
        return try run(commands, variables.merging(ContinuousIntegration.variables(actions)) { $1 })
    }

    /// Every file below the home that is not the test's own.
    var leftovers: [String] {
        let all = FileManager.default.enumerator(atPath: program.home.path)?.allObjects as? [String] ?? []
        return all.filter { path in
            var isDirectory: ObjCBool = false
            let isThere = FileManager.default.fileExists(
                atPath: program.home.path + "/" + path, isDirectory: &isDirectory)
            return !(isThere && isDirectory.boolValue) && path != ".curlrc"
        }
    }
}

@Suite("the README, word by word", .serialized, .waitingLong)
struct ReadmeTests {
    /// What the gate itself runs, in a checkout.
    private static let ofTheGate = [["swift run oidc demo"]]

    @Test(
        "the README's commands work, from top to bottom on one machine behind a proxy",
        .enabled(if: Newcomer.isPossible, "nginx, openssl, bash, curl or jq is not installed"))
    func commands() throws {
        let newcomer = try Newcomer()
        var isProxied = false
        for block in try ReadmeBlock.all() where !block.isExample && !block.isOfProvider {
            let outcome: Program.Outcome
            switch block.language {
            case "sh" where Self.ofTheGate.contains(block.lines): continue
            case "sh" where block.text.contains("https_proxy"):
                outcome = try newcomer.proxied(block.text)
                isProxied = true
            case "sh": outcome = try newcomer.run(block.text)
            case "yaml": outcome = try newcomer.job(block)
            default: continue
            }
            #expect(outcome.status == 0, "\(block.section): \(block.text)\n\(outcome.errorOutput)")
            check(block, outcome)
        }
        #expect(isProxied)
        #expect(newcomer.proxy.hosts == ["login.example.com:443", "api.example.com:443"])
        #expect(newcomer.leftovers == [])
    }

    /// What each section promises to print.
    private func check(_ block: ReadmeBlock, _ outcome: Program.Outcome) {
        switch block.section {
        case "oidc": #expect(outcome.output == "{}")
        case "Userinfo and expiry in scripts":
            #expect(outcome.output.hasPrefix("alice@example.com\nalice@example.com\n"))
        case "In scripts":
            #expect(outcome.output.hasPrefix("{}{}{}") && outcome.output.hasSuffix("alice@example.com\n"))
        case "In CI": #expect(outcome.output == "{}")
        case "GitHub Actions", "GitLab CI": #expect(outcome.output.hasSuffix("{}"))
        case "Several providers or accounts": #expect(outcome.output.contains("account"))
        default: break
        }
    }

    @Test(
        "every block is run, here or by Tests/Providers, is Swift that is compiled elsewhere, or is marked as an example"
    )
    func blocks() throws {
        let blocks = try ReadmeBlock.all()
        for block in blocks where !block.isExample {
            #expect(["sh", "yaml", "swift", "mermaid", "console"].contains(block.language), "\(block.text)")
        }
        for own in Self.ofTheGate {
            #expect(blocks.contains { $0.lines == own && !$0.isExample }, "\(own)")
        }
        #expect(blocks.filter { $0.isExample && $0.language == "sh" }.count <= 8)
    }

    @Test("the page Install builds with the README's command, which CI runs too")
    func installation() throws {
        let blocks = try [ReadmeBlock.readme(), ReadmeBlock.page("Install")].map { text in
            try #require(ReadmeBlock.blocks(of: text).first { $0.text.hasPrefix("swift build -c release ") })
        }
        #expect(blocks[0].lines == blocks[1].lines)
        #expect(blocks[0].lines.count == 3, "two short lines, and where to put the binary")
    }

    @Test("the page Documentation lists every page")
    func index() throws {
        let index = try ReadmeBlock.page("Documentation")
        let folder = ReadmeBlock.root.appendingPathComponent("Sources/OIDCCore/Documentation.docc")
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for page in pages where page.hasSuffix(".md") && page != "Documentation.md" {
            #expect(index.contains("](\(page))"), "\(page)")
        }
    }

    @Test("every link leads to a heading of the README or to a file of the repository")
    func links() throws {
        let text = try ReadmeBlock.readme()
        let links = text.components(separatedBy: "](").dropFirst().map { String($0.prefix { $0 != ")" }) }
        let pictures = ["src=\"", "srcset=\""].flatMap { attribute in
            text.components(separatedBy: attribute).dropFirst().map { String($0.prefix { $0 != "\"" }) }
        }
        #expect(links.count > 15 && pictures.count == 2)
        let comparison = try ReadmeBlock.page("Comparison").components(separatedBy: "](../../../").dropFirst()
            .map { String($0.prefix { $0 != ")" }) }
        #expect(comparison.count > 10)
        for target in links + pictures + comparison where !target.hasPrefix("https://") {
            let parts = target.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
            let file = ReadmeBlock.root.appendingPathComponent(parts[0].isEmpty ? "README.md" : parts[0])
            #expect(FileManager.default.fileExists(atPath: file.path), "\(target)")
            guard parts.count == 2 else { continue }
            #expect(
                try headings(of: String(contentsOf: file, encoding: .utf8)).contains(parts[1]), "\(target)")
        }
    }

    /// The names that links use for the headings of a page.
    private func headings(of text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
            line.drop { $0 == "#" }.dropFirst().lowercased().filter {
                $0.isLetter || $0.isNumber || " -".contains($0)
            }
            .replacingOccurrences(of: " ", with: "-")
        }
    }

    @Test("README.md has at most 150 lines")
    func length() throws {
        #expect(
            try ReadmeBlock.readme().split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
    }

    @Test("the README's exit codes are those of the manual")
    func exitCodes() throws {
        let program = try Program()
        defer { program.remove() }
        let manual = try program.run("man").output
        let rows = try ReadmeBlock.readme().components(separatedBy: "## Exit codes")[1]
            .components(separatedBy: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("| ") }
            .dropFirst(2)
        #expect(rows.count == 9)
        for row in rows {
            let code = row.split(separator: "|")[0].trimmingCharacters(in: .whitespaces)
            #expect(manual.contains("\n\\fB\(code)\\fR\n"), "\(code)")
        }
    }
}
