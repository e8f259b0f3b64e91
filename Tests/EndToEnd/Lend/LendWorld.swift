import DemoProvider
import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

/// A lender with the profiles `work` and `machine`, and a far side that has nothing but the socket.
final class LendWorld {
    let world: ToolWorld
    let lender: Run
    let socket: String
    private let far: Program

    init(
        _ options: [String] = ["-p", "work"], variables: [String: String] = [:],
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws {
        world = try ToolWorld(change)
        let api: JSONValue = ["title": "API", "url": .string("\(world.issuer)/api")]
        try world.configure([
            "default_profile": "work",
            "profiles": [
                "work": [
                    "issuer": .string(world.issuer), "client_id": "demo", "resources": [api],
                    "git_hosts": [["host": "git.example.com"]],
                ],
                "machine": [
                    "issuer": .string(world.issuer), "client_id": "demo-confidential",
                    "client_secret": "demo-secret", "grant": "client_credentials", "dpop": true,
                    "resources": [api],
                ],
                "private": ["issuer": .string(world.issuer), "client_id": "demo", "account": "private"],
            ],
        ])
        try world.signIn()
        lender = try Program(at: world).start(
            ["lend"] + options, ["USER": "alice"].merging(variables) { $1 })
        socket =
            lender.output { text in
                text.contains("\n") ? String(text.prefix { $0 != "\n" }) : nil
            } ?? ""
        // A provider on loopback counts only if this side names it.
        far = try Program(["OIDC_LENT": socket, "USER": "bob", "OIDC_ISSUER": world.issuer])
        try #require(!socket.isEmpty, "\(lender.errorOutput)")
    }

    deinit {
        if lender.isRunning { lender.signal(SIGTERM) }
        _ = lender.finish()
        far.remove()
    }

    func start(_ arguments: [String], input: String? = nil, _ variables: [String: String] = [:]) throws -> Run
    {
        try far.start(arguments, input: input.map { .text($0) } ?? .none, variables)
    }

    /// Runs the program on the far side.
    func run(
        _ arguments: String..., input: String? = nil, variables: [String: String] = [:]
    ) throws -> Program.Outcome {
        try start(arguments, input: input, variables).finish()
    }

    /// Writes the configuration of the far side.
    func configure(_ profiles: JSONValue) throws {
        let directory = far.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appendingPathComponent("config.json")
        try Data(profiles.compact.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// The body of a request, with more members.
    static func body(_ ask: String, _ more: String = "", user: String = "x") -> String {
        #"{"version":1,"ask":"\#(ask)","user":"\#(user)","host":"y","command":"z"\#(more.isEmpty ? "" : ",")\#(more)}"#
    }

    /// The members of an answer.
    static func members(_ answer: String) -> JSONValue {
        let body = answer.components(separatedBy: "\r\n\r\n").dropFirst().joined()
        return (try? JSONValue(parsing: body)) ?? .null
    }

    /// Posts a request as a program of another version, or an enemy, would.
    func post(_ body: String) -> String { connection(body)?.received(within: 30) ?? "" }

    /// Posts a request, and leaves the answer to be read.
    func connection(_ body: String) -> RawConnection? { LendWorld.connection(socket, body) }

    static func connection(_ socket: String, _ body: String) -> RawConnection? {
        guard let connection = RawConnection(socket: socket) else { return nil }
        connection.send(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
        return connection
    }

    /// The log, once it has a line with these words.
    func log(_ words: String) -> String? {
        lender.errorOutput(within: 30) { text in
            text.split(separator: "\n").last { $0.contains(words) }.map(String.init)
        }
    }
}

/// The number of requests that an interceptor saw.
final class RequestCounter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
