import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// A module of the OpenID Foundation's client conformance suite that is one sign-in, under its own name.
struct Module: CustomTestStringConvertible, Sendable {
    enum Expectation: Sendable {
        case signsIn
        /// The exit code, and what the error names.
        case refuses(Int32, String)
    }

    let name: String
    var faults: Set<Fault> = []
    let expectation: Expectation
    var client = DemoClient.publicDemo
    var options: [String] = []
    var change: @Sendable (inout DemoConfiguration) -> Void = { _ in }

    var testDescription: String { name }

    init(
        _ name: String, _ expectation: Expectation, _ faults: Fault..., client: DemoClient = .publicDemo,
        options: [String] = [], change: @escaping @Sendable (inout DemoConfiguration) -> Void = { _ in }
    ) {
        self.name = name
        self.expectation = expectation
        self.faults = Set(faults)
        self.client = client
        self.options = options
        self.change = change
    }

    static func server(
        _ faults: Set<Fault> = [], _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> ProviderServer {
        var configuration = DemoConfiguration()
        change(&configuration)
        return try ProviderServer(configuration, faults: faults)
    }

    func world() throws -> (ProviderServer, Program) {
        let provider = try Module.server(faults) {
            $0.clients.removeAll { $0.id == client.id }
            $0.clients.append(client)
            change(&$0)
        }
        let secret = client.secret.map { ["OIDC_CLIENT_SECRET": $0.revealed] } ?? [:]
        return (provider, try Program(provider, client: client.id, secret))
    }
}

extension Program.Outcome {
    /// One clean error, an empty stdout, that exit code.
    func expectRefusal(_ code: Int32, _ name: String) {
        #expect(status == code, "\(errorOutput)")
        #expect(error?.contains(name) == true, "\(errorOutput)")
        #expect(output == "")
        let lines = errorOutput.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("error: ") }.count == 1)
        let last = lines.last.map(String.init) ?? ""
        #expect(last.hasPrefix("error: ") || last.hasPrefix("  try: "), "\(errorOutput)")
        #expect(!errorOutput.unicodeScalars.contains { $0.value < 32 && $0 != "\n" || $0.value == 127 })
    }
}
