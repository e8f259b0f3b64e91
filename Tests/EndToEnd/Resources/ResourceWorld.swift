import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import Synchronization
import TestSupport
import Testing

/// The built program, a protected resource, its authorization server, and a browser whose user allows everything.
final class ResourceWorld: Sendable {
    let program: Program
    let server: ServerStandIn
    /// The server that the resource may move to.
    let other: ServerStandIn
    let resource: ResourceStandIn
    private let trusted = Trusted()

    /// The servers whose tokens the resource takes.
    private final class Trusted: Sendable { let servers = Mutex<[ServerStandIn]>([]) }

    var url: String { resource.url }

    /// Unless `isOwnResource` is false, the settings name the resource's origin, so no command asks whether the
    /// user's own client may be used for it.
    init(
        _ variables: [String: String] = [:], isOwnResource: Bool = true,
        server serverRules: (inout ServerStandIn.Rules) -> Void = { _ in },
        resource resourceRules: (inout ResourceStandIn.Rules) -> Void = { _ in }
    ) throws {
        let server = try ServerStandIn(serverRules)
        let other = try ServerStandIn { $0.registered = ["client_id": "at-the-other"] }
        self.server = server
        self.other = other
        let trusted = self.trusted
        trusted.servers.withLock { $0 = [server, other] }
        resource = try ResourceStandIn { request, token in
            trusted.servers.withLock { $0 }.contains { $0.accepts(token, in: request) }
        }
        let issuer = server.issuer
        resource.change {
            $0.servers = [issuer]
            resourceRules(&$0)
        }
        var program = try Program(variables)
        let folder = program.home.appendingPathComponent("bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let browser = folder.appendingPathComponent("browser").path
        let script =
            "#!/bin/sh\necho \"$1\" >>'\(program.home.path)/tabs'\nexec curl -sL -m 20 -o /dev/null \"$1\"\n"
        try ExecutableScript.write(script, to: URL(fileURLWithPath: browser))
        program.environment["BROWSER"] = browser
        program.environment["OIDC_TIMEOUT"] = "30"
        if isOwnResource {
            program.environment["OIDC_PROXY_ROUTES"] = #"[{"url":"\#(resource.origin)"}]"#
        }
        // The default ports are too few for all the tests that run at once.
        let free = try (0..<4).map { _ in try LoopbackServer() }
        let ports = free.map { "\($0.port)" }.joined(separator: ",")
        for server in free { server.close() }
        program.environment["OIDC_REDIRECT_PORTS"] = "[\(ports)]"
        self.program = program
    }

    deinit { program.remove() }

    /// Lets the resource take, and name, only the tokens of a server.
    func trust(_ server: ServerStandIn) {
        trusted.servers.withLock { $0 = [server] }
        resource.change { $0.servers = [server.issuer] }
    }

    /// The URLs that were opened in the browser.
    var tabs: [String] {
        let file = program.home.appendingPathComponent("tabs")
        return ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n").map(
            String.init)
    }

    /// Calls the resource, as a client of an MCP server would, and signs in if it asks for that.
    func call(
        _ method: String = "tools/list", path: String = "", options: [String] = ["--login"]
    ) throws -> Program.Outcome {
        let body = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)"}"#
        return try program.start(["request"] + options + ["POST", url + path, "-d", body]).finish()
    }

    func run(_ arguments: [String]) throws -> Program.Outcome { try program.start(arguments).finish() }

    /// The requests of all servers without those of the browser, by method and path.
    var requests: [String] {
        (server.log + other.log + resource.log).filter { $0.url.path != "\(server.rules.prefix)/authorize" }
            .map { "\($0.method) \($0.url.path)" }
    }

    /// The parameters that the server got.
    var sent: String {
        server.log.map { ($0.url.query ?? "") + String(decoding: $0.body, as: UTF8.self) + "\n" }.joined()
    }

    func forget() {
        server.forget()
        other.forget()
        resource.forget()
    }
}

extension ServerStandIn {
    /// Whether a token was issued here and, if it is bound to a key, comes with a proof by it.
    fileprivate func accepts(_ token: String, in request: HTTPRequest) -> Bool {
        guard scope(of: token) != nil else { return false }
        let scheme = request.headers["Authorization"]?.prefix { $0 != " " }
        guard let thumbprint = thumbprint(of: token) else { return scheme == "Bearer" }
        guard scheme == "DPoP",
            case .success(thumbprint) = checkedProof(request, accessToken: token, nonce: nil)
        else { return false }
        return true
    }
}

/// Whether the program ended well, with what it said if not.
func expectSuccess(_ outcome: Program.Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
        outcome.status == 0, "\(outcome.status)\n\(outcome.output)\n\(outcome.errorOutput)",
        sourceLocation: sourceLocation)
}

extension ResourceWorld {
    /// Writes a file that only the user can read, and returns its path.
    func keep(_ name: String, _ text: String) throws -> String {
        let path = program.home.appendingPathComponent(name).path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    func configure(_ text: String) throws {
        let folder = program.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        _ = try keep(".config/oidc/config.json", text)
    }

    /// Everything that the program keeps.
    func storedText() throws -> String {
        let files = FileManager.default.enumerator(atPath: program.home.path + "/.local")?.allObjects ?? []
        return files.compactMap { $0 as? String }.compactMap {
            try? String(contentsOfFile: program.home.path + "/.local/" + $0, encoding: .utf8)
        }.joined()
    }
}
