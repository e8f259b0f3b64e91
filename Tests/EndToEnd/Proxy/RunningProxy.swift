import CurlHTTP
import Foundation
import OIDCCore
import TestSupport
import Testing

/// The built program as a proxy in front of an API on loopback, with a machine's token.
final class RunningProxy: Sendable {
    let world: ToolWorld
    let api: ToolServer
    let run: Run
    /// The URL of the first route.
    let url: WebURL
    let port: UInt16
    /// The first route's path, with the secret.
    let prefix: String

    init(
        _ options: [String] = [], path: String = "/v1", world: ToolWorld? = nil,
        variables: [String: String]? = nil,
        _ handle: @escaping @Sendable (HTTPRequest) -> HTTPResponse = { _ in
            HTTPResponse(status: 200, body: Array("hello".utf8))
        }
    ) throws {
        let world = try world ?? ToolWorld()
        let api = try world.serve(handle)
        run = try Program(at: world).start(
            ["proxy", api.origin + path] + options, variables ?? world.machine)
        let line = run.output { text in text.contains("\n") ? text : nil } ?? ""
        url = try #require(WebURL(String(line.prefix { $0 != " " })), "\(line)\(run.errorOutput)")
        port = UInt16(clamping: url.effectivePort)
        prefix = url.path
        (self.world, self.api) = (world, api)
    }

    deinit {
        run.signal(SIGTERM)
        _ = run.finish(within: 20)
    }

    var secret: String { String(prefix.dropFirst().dropLast()) }

    /// The token that the session has now.
    func token() throws -> String {
        try world.run(["token"], world.machine).output.trimmingCharacters(in: .newlines)
    }

    func get(_ target: String, _ fields: String...) -> String {
        (["GET \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + fields)
            .joined(separator: "\r\n") + "\r\n\r\n"
    }

    func exchange(_ text: String) -> String { RawConnection.exchange(port: port, text, within: 60) }
}

extension Program {
    /// In the home of a world.
    init(at world: ToolWorld) throws {
        try self.init(["HOME": world.home])
    }
}

/// A request from a server of a test.
enum CurlTransportForTests {
    static func send(_ request: HTTPRequest) throws -> HTTPResponse {
        try CurlTransport().send(request, stage: .introspection)
    }
}
