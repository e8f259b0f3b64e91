import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "what is said and kept of a resource", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceUseTests {
    @Test(
        "a resource that has grown: the URL leads to what was just signed in to, and the old session can be ended"
    )
    func grown() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.url]))
        let old = try world.run(["token", world.url]).output
        let (origin, issuer) = (world.resource.origin, world.server.issuer)
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path.hasPrefix("/.well-known/") else { return nil }
                return .value(["resource": .string(origin), "authorization_servers": [.string(issuer)]])
            }
        }
        let refused = try world.run(["token", "--refresh", world.url])
        #expect(refused.status == 3, "\(refused)")
        #expect(
            refused.errorOutput.contains("is now part of the resource \(world.resource.origin)"), "\(refused)"
        )
        expectSuccess(try world.run(["login", world.url]))
        let token = try world.run(["token", world.url]).output
        #expect(token != old && !token.isEmpty)
        #expect(try world.run(["token", world.resource.origin + "/else"]).output == token)
        let status = try world.run(["status", world.url, "-o", "json"]).output
        #expect(try JSONValue(parsing: status)["resource"] == [.string(world.resource.origin)])
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.program.sessionFiles.count == 2)
        expectSuccess(try world.run(["logout", world.url]))
        #expect(world.program.sessionFiles.count == 1)
        #expect(try world.run(["logout", world.url]).status == 2)
        expectSuccess(try world.run(["token", world.url]))
    }

    @Test("status of a URL says what token will do where no user is needed")
    func machineStatus() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"]) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        }
        let rest = #""client_id":"one","grant":"client_credentials""#
        try world.configure("{\(rest)}")
        let unnamed = try world.run(["status", world.url])
        #expect(unnamed.status == 2 && unnamed.errorOutput.contains("issuer is not set"), "\(unnamed)")
        #expect(try world.run(["token", world.url]).status == 2)
        try world.configure(#"{"issuer":"\#(world.server.issuer)",\#(rest)}"#)
        world.forget()
        let status = try world.run(["status", world.url])
        #expect(
            status.status == 0 && status.output.contains("oidc token \(world.url) requests one"), "\(status)")
        let json = try JSONValue(parsing: try world.run(["status", world.url, "-o", "json"]).output)
        #expect(json["resource"] == [.string(world.url)] && json["can_refresh"] == true)
        #expect(json["issuer"]?.string == world.server.issuer)
        #expect(world.requests.isEmpty)
        expectSuccess(try world.run(["token", world.url]))
        expectSuccess(try world.run(["status", world.url]))
        expectSuccess(try world.run(["logout", world.url]))
        #expect(try world.run(["status", world.url, "-o", "json"]).status == 0)
        try world.configure(
            #"{"profiles":{"own":{"issuer":"https://op.example","client_id":"a"},"default":{"grant":"id_jag","user_profile":"own"}}}"#
        )
        let unvouched = try world.run(["status", world.url])
        #expect(unvouched.status == 3 && unvouched.errorOutput.contains("oidc login -p own"), "\(unvouched)")
    }

    @Test("a server that refuses the parameter resource: the hint leaves it out, and helps")
    func refusedParameter() throws {
        let world = try refusingResource("invalid_target", "x")
        let refused = try world.run(["login", world.url])
        let hint = "oidc login \(world.url) --set resource_parameter=off"
        #expect(refused.status == 4 && refused.errorOutput.contains("grants: \(hint)"), "\(refused)")
        #expect(
            refused.errorOutput.contains("only if the resource may have a token that is not limited to it"))
        expectSuccess(try world.run(["login", world.url, "--set", "resource_parameter=off"]))
    }

    /// A world whose token endpoint refuses the parameter.
    private func refusingResource(_ error: String, _ description: String) throws -> ResourceWorld {
        try ResourceWorld {
            $0.token = { request in
                guard request.form["resource"] != nil else { return nil }
                let value: JSONValue = [
                    "error": .string(error), "error_description": .string(description),
                ]
                return HTTPResponse(
                    status: 400, headers: HTTPHeaders([("Content-Type", "application/json")]),
                    body: Array(value.compact.utf8))
            }
        }
    }

    @Test(
        "a sign-in whose resource is refused starts anew without it, with another code, and remembers that",
        arguments: [
            "AADSTS9010010: The resource parameter", "AADSTS901002: The 'resource' request parameter",
        ])
    func withoutParameter(_ description: String) throws {
        let world = try refusingResource("invalid_target", description)
        let login = try world.run(["login", world.url])
        expectSuccess(login)
        #expect(login.errorOutput.contains("; asking again without resource\n"), "\(login)")
        #expect(world.tabs.count == 2)
        let codes = world.server.tokenRequests.compactMap { $0.form["code"] }
        #expect(codes.count == 2 && Set(codes).count == 2)
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.tabs.count == 3, "the next sign-in knows it")
    }

    /// The path and scope of a resource, and the description with which a server refuses it.
    static let repetitions = [
        ("/AADSTS9010010:/mcp", "read", "unknown resource AADSTS9010010:/mcp"),
        ("/mcp", "AADSTS901002:", "AADSTS901002: is not a scope"),
        ("/aadsts/mcp", "read", "AADSTS9010010: The resource parameter"),
    ]

    @Test(
        "a refusal that may repeat the resource's own words is not one of the parameter resource",
        arguments: repetitions, [true, false])
    func ownWords(_ words: (path: String, scope: String, description: String), atPage: Bool) throws {
        let world = try refusingResource("invalid_target", words.description)
        world.resource.change {
            $0.path = words.path
            $0.metadataPath = "/.well-known/oauth-protected-resource\(words.path)"
            $0.metadata = ["scopes_supported": [.string(words.scope)]]
        }
        if atPage {
            world.server.change {
                $0.responseError = ["error": "invalid_target", "error_description": words.description]
            }
        }
        let login = try world.run(["login", world.url])
        #expect(login.status == 4 && login.errorOutput.contains("is not limited to it"), "\(login)")
        #expect(login.errorOutput.contains("--set resource_parameter=off"), "\(login)")
        #expect(world.server.authorizations.map { $0["resource"] } == [world.url])
        #expect(world.server.tokenRequests.allSatisfy { $0.form["resource"] == world.url })
    }

    @Test("who uses URLs only: logout ends the session, doctor finds no problem, status needs no provider")
    func urlsOnly() throws {
        let world = try ResourceWorld()
        try world.configure(#"{"client_metadata_url":"https://client.example/oidc.json"}"#)
        let nobody = try world.run(["status"])
        #expect(nobody.status == 3 && nobody.errorOutput.contains("nobody is signed in"), "\(nobody)")
        func provider() throws -> JSONValue? {
            try JSONValue(parsing: try world.run(["doctor", "-o", "json"]).output).array?.first {
                $0["check"] == "provider"
            }
        }
        #expect(try provider()?["result"] == "ok")
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.config/oidc/config.json")
        #expect(try provider()?["result"] == "problem")
        expectSuccess(try world.run(["login", world.url]))
        #expect(try provider()?["detail"]?.string?.contains(world.url) == true)
        let logout = try world.run(["logout"])
        #expect(logout.status == 0 && logout.errorOutput.contains("Signed out"), "\(logout)")
        let status = try world.run(["status"])
        #expect(
            status.status == 3 && status.errorOutput.hasSuffix("  try: oidc login \(world.url)\n"),
            "\(status)")
        #expect(try world.run(["logout"]).errorOutput.contains("there was no session"))
    }

    @Test("a sign-in whose record cannot be written fails before the browser opens")
    func unwritableRecord() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let tabs = world.tabs.count
        let directory = world.program.home.path + "/.local/state/oidc/resources"
        let file = try #require(
            FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".json") })
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: "\(directory)/\(file)")
        for words in [["login"], ["token", "--login", "--account", "second"]] {
            let refused = try world.run(words + [world.url])
            #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errorOutput.contains(file), "\(refused.errorOutput)")
        }
        #expect(world.tabs.count == tabs)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: "\(directory)/\(file)")
        expectSuccess(try world.run(["login", world.url]))
    }
}
