import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("proxies that the environment names", .serialized, .waiting)
struct ProxyVariablesTests {
    @Test(
        "requests to the listener, which carry its secret, are excepted from every proxy",
        arguments: [
            ([:], [:]), (["http_proxy": ""], [:]), (["no_proxy": "a"], [:]),
            (["http_proxy": "http://p:1"], ["no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"]),
            (
                ["Http_Proxy": "http://p:1", "No_Proxy": "a"],
                ["no_proxy": "a,127.0.0.1", "NO_PROXY": "a,127.0.0.1"]
            ),
            (
                ["ALL_PROXY": "http://p:1", "no_proxy": "a, b"],
                ["no_proxy": "a, b,127.0.0.1", "NO_PROXY": "a, b,127.0.0.1"]
            ),
            (
                ["HTTP_PROXY": "http://p:1", "NO_PROXY": "a", "no_proxy": ""],
                ["no_proxy": "a,127.0.0.1", "NO_PROXY": "a,127.0.0.1"]
            ),
            (["all_proxy": "http://p:1", "NO_PROXY": "*"], ["no_proxy": "*"]),
            (["https_proxy": "http://p:1", "no_proxy": "a, 127.0.0.1", "NO_PROXY": "127.0.0.1"], [:]),
            (
                ["http_proxy": "http://p:1", "no_proxy": "10.127.0.0.1.example", "NO_PROXY": "b"],
                ["no_proxy": "10.127.0.0.1.example,127.0.0.1", "NO_PROXY": "b,127.0.0.1"]
            ),
        ] as [(Variables, Variables)])
    func exceptions(environment: Variables, expected: Variables) {
        let found = ProxyVariables.exceptions(in: environment)
        #expect(Set(found.names()) == Set(expected.names()))
        for name in expected.names() { #expect(found[name] == expected[name]) }
    }

    @Test("the command of exec --proxy reaches the listener although the environment names a proxy")
    func command() throws {
        let world = try ToolWorld()
        let api = try world.serve { _ in .init(status: 200, body: Array("hello".utf8)) }
        let closed = "http://127.0.0.1:\(try closedPort())"
        var variables = world.machine
        for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] { variables[name] = closed }
        variables["no_proxy"] = "corp.example"
        let script =
            "import os, urllib.request; print(urllib.request.urlopen(os.environ['OIDC_PROXY_URL']).read())"
        let result = try world.run(
            ["exec", "--proxy", api.origin, "--", "python3", "-c", script], variables)
        #expect(result.code == 0 && result.output == "b'hello'\n", "\(result)")
    }

    @Test("oidc proxy warns that its callers need an exception, and only then")
    func warning() throws {
        let world = try ToolWorld()
        func errors(_ variables: [String: String]) throws -> String {
            let run = try Program(at: world).start(
                ["proxy", "http://127.0.0.1:9"], world.machine.merging(variables) { $1 })
            _ = run.output { $0.hasSuffix("\n") ? true : nil }
            run.signal(SIGINT)
            let outcome = run.finish()
            #expect(outcome.status == 130, "\(outcome)")
            return outcome.errorOutput
        }
        let proxy = ["http_proxy": "http://proxy.example:1"]
        #expect(
            try errors(proxy)
                == "warning: http_proxy is set: a caller that uses it sends these URLs there, with their secret, "
                + "unless no_proxy has 127.0.0.1\n")
        #expect(try errors(proxy.merging(["no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"]) { $1 }) == "")
        #expect(try errors([:]) == "")
    }
}
