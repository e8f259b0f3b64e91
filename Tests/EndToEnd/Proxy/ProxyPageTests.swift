import Foundation
import OIDCCore
import TestSupport
import Testing

/// What the page about the proxy talks to: an API, indexes of packages, a repository and an MCP server, all
/// behind the token.
private final class Services {
    let world: ToolWorld
    let server: ToolServer
    let folder: String

    init() throws {
        world = try ToolWorld()
        let folder = world.home + "/served"
        self.folder = folder
        server = try world.serve { request in
            guard request.headers["Authorization"]?.hasPrefix("Bearer ") == true else {
                return HTTPResponse(status: 401)
            }
            return Services.answer(request, folder)
        }
        try FileManager.default.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/bin/oidc", withDestinationPath: ToolWorld.program)
        let script = """
            import os, subprocess, sys, zipfile
            folder = sys.argv[1]
            os.makedirs(folder + "/pypi/simple/demo-package")
            info = "demo_package-1.0.dist-info/"
            with zipfile.ZipFile(folder + "/pypi/simple/demo-package/demo_package-1.0-py3-none-any.whl", "w") as wheel:
                wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: demo-package\\nVersion: 1.0\\n")
                wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
                wheel.writestr(info + "RECORD", "")
            git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
            work, bare = folder + "/work", folder + "/git/team/project.git"
            subprocess.run([*git, "init", "-q", work], check=True)
            subprocess.run([*git, "-C", work, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
            subprocess.run([*git, "clone", "-q", "--bare", work, bare], check=True)
            subprocess.run([*git, "-C", bare, "update-server-info"], check=True)
            """
        let made = try world.run(["python3", "-c", script, folder], as: "/usr/bin/env")
        try #require(made.code == 0, "\(made)")
    }

    private static func answer(_ request: HTTPRequest, _ folder: String) -> HTTPResponse {
        func reply(_ text: String, _ type: String = "application/json") -> HTTPResponse {
            HTTPResponse(status: 200, headers: HTTPHeaders([("Content-Type", type)]), body: Array(text.utf8))
        }
        switch request.url.path {
        case "/api/v1/me": return reply("{\"name\":\"alice\"}")
        case "/pypi/simple/demo-package/":
            let file = "demo_package-1.0-py3-none-any.whl"
            return reply(
                "<!DOCTYPE html><html><body><a href=\"\(file)\">\(file)</a></body></html>", "text/html")
        case "/npm/demo-package":
            return reply(
                "{\"name\":\"demo-package\",\"dist-tags\":{\"latest\":\"1.0.0\"},\"versions\":{\"1.0.0\":"
                    + "{\"name\":\"demo-package\",\"version\":\"1.0.0\",\"dist\":{\"tarball\":\"http://x/y.tgz\"}}}}"
            )
        case "/mcp/mcp":
            return reply(
                "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "text/event-stream")
        case let path:
            guard let data = FileManager.default.contents(atPath: folder + path) else {
                return HTTPResponse(status: 404)
            }
            return HTTPResponse(status: 200, body: Array(data))
        }
    }

    func run(_ block: ReadmeBlock) throws -> ToolResult {
        var text = block.text
        for name in ["api", "pypi", "npm", "git", "mcp"] {
            text = text.replacingOccurrences(
                of: "https://\(name).example.com", with: "\(server.origin)/\(name)")
        }
        let path = "\(folder)/bin:\(world.environment["PATH"] ?? "")"
        return try world.run(
            ["bash", "-euo", "pipefail", "-c", "cd \"$HOME\"\n" + text],
            world.machine.merging([
                "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_UPDATE_NOTIFIER": "1",
            ]) { $1 },
            as: "/usr/bin/env")
    }
}

@Suite("the page about the proxy", .serialized, .waiting)
struct ProxyPageTests {
    @Test(
        "its commands work",
        .enabled(
            if: Installed.programs("python3", "git", "curl", "bash"), "python3, git, curl or bash is missing")
    )
    func commands() throws {
        let services = try Services()
        var sections: Set<String> = []
        for block in ReadmeBlock.blocks(of: try ReadmeBlock.page("Proxy")) {
            let program = block.text.contains("pip ") ? "pip" : block.text.contains("npm ") ? "npm" : "sh"
            guard Installed.programs(program) else { continue }
            guard !block.text.contains("--isolate") || Isolation.isPossible else { continue }
            sections.insert(block.section)
            let result = try services.run(block)
            #expect(result.code == 0, "\(block.text)\n\(result)")
            switch (block.section, program) {
            case _ where block.text.contains("--isolate"):
                #expect(result.output == "{\"name\":\"alice\"}no token here\n")
            case ("curl", _): #expect(result.output == "{\"name\":\"alice\"}")
            case ("A client that was generated from OpenAPI", _): #expect(result.output == "alice\n")
            case (_, "pip"):
                let file = services.world.home + "/demo_package-1.0-py3-none-any.whl"
                #expect(FileManager.default.fileExists(atPath: file))
            case (_, "npm"): #expect(result.output == "1.0.0\n")
            case ("git", _):
                #expect(FileManager.default.fileExists(atPath: services.world.home + "/project/.git"))
            default: #expect(result.output.contains("\"result\":{}"))
            }
        }
        #expect(sections.count >= 4)
    }
}

enum Isolation {
    /// Whether bubblewrap is installed here and may make namespaces.
    static let isPossible: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/bwrap")
        process.arguments = ["--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--", "true"]
        process.standardError = nil
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
