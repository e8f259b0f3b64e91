import Foundation
import OIDCCore
import Posix
import Synchronization
import TestSupport
import Testing

@testable import oidc

@Suite("identities of CI jobs and machines")
struct IdentitySourceTests {
    /// Answers every request alike, and keeps it.
    private final class Server: HTTPTransport {
        private let answer: HTTPResponse
        private let received = Mutex<[HTTPRequest]>([])

        init(_ body: String, status: Int = 200, _ headers: [(String, String)] = []) {
            answer = HTTPResponse(status: status, headers: HTTPHeaders(headers), body: Array(body.utf8))
        }

        var requests: [HTTPRequest] { received.withLock { $0 } }

        func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
            received.withLock { $0.append(request) }
            guard stage == .subjectToken else { throw OIDCError(.failed, "another stage") }
            return answer
        }
    }

    private func subject(_ settings: [String], _ environment: [String: String]) throws -> SubjectToken {
        let environment = environment.merging(["HOME": "/nonexistent"]) { first, _ in first }
        let context = CommandContext(
            console: Console(CommonOptions()), environment: Variables(environment), common: CommonOptions())
        let entries = try (["grant=jwt_bearer"] + settings).map { try SettingsLoader.assignment($0) }
        return SubjectToken(ProviderContext(try context.settingsLoader.load(entries), context))
    }

    @Test("status and doctor ask whether the job can have an identity token, and whether a secret is there")
    func origin() throws {
        let source = ["subject_token_source=github-actions", "issuer=https://op.example"]
        let variables = [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "https://ci.example/t", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t",
        ]
        try subject(source, variables).checkOrigin()
        #expect(throws: OIDCError.self) { try subject(source, [:]).checkOrigin() }
        #expect(throws: OIDCError.self) {
            try subject(source + ["client_secret_file=/no/such"], variables).checkOrigin()
        }
        #expect(throws: OIDCError.self) {
            try subject(["grant=client_credentials", "client_secret_file=/no/such"], [:]).checkOrigin()
        }
        let program = try TestSupport.Program(["OIDC_ISSUER": "http://127.0.0.1:9", "OIDC_CLIENT_ID": "x"])
        defer { program.remove() }
        let machine = ["OIDC_GRANT": "client_credentials", "OIDC_CLIENT_SECRET_FILE": "/no/such"]
        let outcome = try program.start(["status"], machine).finish()
        #expect(outcome.status == 2 && outcome.errorOutput.contains("/no/such"), "\(outcome)")
    }

    private func token(
        _ source: String, _ environment: [String: String], _ server: Server = Server(""),
        _ more: [String] = []
    ) throws -> String {
        try subject(["subject_token_source=\(source)", "issuer=https://op.example"] + more, environment)
            .token(server).revealed
    }

    private static let variableTokens: [(String, [String: String], String)] = [
        ("gitlab", ["OIDC_ID_TOKEN": "t"], "t"),
        ("circleci", ["CIRCLE_OIDC_TOKEN": "one", "CIRCLE_OIDC_TOKEN_V2": "two"], "two"),
        ("circleci", ["CIRCLE_OIDC_TOKEN": "one", "CIRCLE_OIDC_TOKEN_V2": ""], "one"),
        ("bitbucket", ["BITBUCKET_STEP_OIDC_TOKEN": "t\n"], "t"),
        ("terraform-cloud", ["TFC_WORKLOAD_IDENTITY_TOKEN": "t"], "t"),
    ]

    @Test(
        "a token in a variable is read under its documented name, or the one that is set",
        arguments: variableTokens)
    func variable(_ source: String, _ environment: [String: String], _ expected: String) throws {
        let server = Server("")
        #expect(try token(source, environment, server) == expected)
        let own = environment.merging(["TFC_WORKLOAD_IDENTITY_TOKEN_PROD": "tagged"]) { $1 }
        let tagged = "subject_token_env=TFC_WORKLOAD_IDENTITY_TOKEN_PROD"
        #expect(try token(source, own, server, [tagged]) == "tagged")
        let missing = #expect(throws: OIDCError.self) { try token(source, [:], server) }
        #expect(
            missing?.kind == .usage
                && missing?.message.contains(" of subject_token_source \(source) is not set") == true)
        #expect(server.requests.isEmpty)
    }

    @Test("an expired token is refused before the provider sees it, wherever it comes from")
    func expired() throws {
        let claims = Base64URL.encode(Array(#"{"iss":"i","sub":"s","exp":1000}"#.utf8))
        let old = "\(Base64URL.encode(Array("{}".utf8))).\(claims).AAAA"
        let environments: [(String, [String: String], Server)] = [
            ("circleci", ["CIRCLE_OIDC_TOKEN_V2": old], Server("")),
            ("azure-pipelines", Self.azure, Server(#"{"oidcToken":"\#(old)"}"#)),
            ("google-metadata", [:], Server(old, [("Metadata-Flavor", "Google")])),
        ]
        for (source, environment, server) in environments {
            let error = #expect(throws: OIDCError.self) { try token(source, environment, server) }
            #expect(
                error?.kind == .refused
                    && error?.message.contains("exp: expected a time in the future") == true)
        }
    }

    @Test("text that is not a token is refused before anybody sees it, wherever it comes from")
    func noToken() throws {
        for text in ["a b", "a\nb", "a\r\nX: y", "a\tb", "<html> </html>", "é", "a\u{7F}"] {
            for (source, environment, server) in [
                ("circleci", ["CIRCLE_OIDC_TOKEN_V2": text], Server("")),
                ("gitlab", ["OIDC_ID_TOKEN": text], Server("")),
                ("google-metadata", [:], Server(text, [("Metadata-Flavor", "Google")])),
            ] {
                let error = #expect(throws: OIDCError.self) { try token(source, environment, server) }
                #expect(error?.kind == .usage && error?.message.contains(text) == false, "\(text)")
            }
        }
    }

    private static let azure = [
        "SYSTEM_OIDCREQUESTURI": "https://dev.azure.com/o/p/_apis/plans/1/jobs/2/oidctoken/",
        "SYSTEM_ACCESSTOKEN": "job-secret",
    ]

    @Test("Azure Pipelines: a POST with the job's token, for the service connection if there is one")
    func azurePipelines() throws {
        let server = Server(#"{"oidcToken":"t"}"#)
        #expect(try token("azure-pipelines", Self.azure, server) == "t")
        let connected = Self.azure.merging(["AZURESUBSCRIPTION_SERVICE_CONNECTION_ID": "c&d"]) { $1 }
        #expect(try token("azure-pipelines", connected, server) == "t")
        let base = "https://dev.azure.com/o/p/_apis/plans/1/jobs/2/oidctoken?api-version=7.1"
        #expect(server.requests.map(\.url.text) == [base, base + "&serviceConnectionId=c%26d"])
        for request in server.requests {
            #expect(request.method == .post && request.body.isEmpty)
            #expect(request.headers["Authorization"] == "Bearer job-secret")
            #expect(request.headers["Content-Type"] == "application/json")
            #expect(request.headers["X-TFS-FedAuthRedirect"] == "Suppress")
        }
    }

    private static let incompleteJobs: [(String, [String: String], String)] = [
        (
            "azure-pipelines", ["SYSTEM_OIDCREQUESTURI": "https://dev.azure.com/x"],
            "SYSTEM_ACCESSTOKEN is not set"
        ),
        ("azure-pipelines", [:], "SYSTEM_OIDCREQUESTURI and SYSTEM_ACCESSTOKEN are not set"),
        (
            "azure-pipelines", azure.merging(["SYSTEM_OIDCREQUESTURI": "http://dev.azure.com/x"]) { $1 },
            "SYSTEM_OIDCREQUESTURI: expected an https URL"
        ),
        (
            "azure-pipelines", azure.merging(["SYSTEM_ACCESSTOKEN": "a\r\nX: y"]) { $1 },
            "SYSTEM_ACCESSTOKEN: expected visible ASCII characters"
        ),
        (
            "github-actions", [:],
            "ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN are not set"
        ),
    ]

    @Test("without a secure URL and a token nothing is requested", arguments: incompleteJobs)
    func incomplete(_ source: String, _ environment: [String: String], _ message: String) throws {
        let server = Server(#"{"oidcToken":"t","value":"t"}"#)
        let error = #expect(throws: OIDCError.self) { try token(source, environment, server) }
        #expect(error?.kind == .usage && error?.message == message && server.requests.isEmpty)
    }

    @Test("Google: the metadata server at its fixed address, whatever the environment says")
    func googleMetadata() throws {
        let server = Server("t\n", [("metadata-flavor", "Google")])
        let environment = ["GCE_METADATA_HOST": "evil.example", "GCE_METADATA_ROOT": "evil.example"]
        #expect(try token("google-metadata", environment, server) == "t")
        #expect(try token("google-metadata", [:], server, ["subject_token_audience=a b"]) == "t")
        let base = "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/identity"
        #expect(
            server.requests.map(\.url.text) == [
                "\(base)?audience=https%3A%2F%2Fop.example&format=full", "\(base)?audience=a%20b&format=full",
            ])
        #expect(server.requests.allSatisfy { $0.headers["Metadata-Flavor"] == "Google" && $0.method == .get })
        let noAudience = #expect(throws: OIDCError.self) {
            try subject(["subject_token_source=google-metadata"], [:]).token(server)
        }
        #expect(noAudience?.kind == .usage)
    }

    @Test("an answer that is not an identity is refused, or unreachable if it is an outage")
    func refused() throws {
        let cases: [(String, [String: String], Server, OIDCError.Kind)] = [
            ("google-metadata", [:], Server("t"), .refused),
            ("google-metadata", [:], Server("t", [("Metadata-Flavor", "Other")]), .refused),
            ("google-metadata", [:], Server("", [("Metadata-Flavor", "Google")]), .refused),
            ("google-metadata", [:], Server("x", status: 404, [("Metadata-Flavor", "Google")]), .refused),
            ("google-metadata", [:], Server("x", status: 503, [("Metadata-Flavor", "Google")]), .unreachable),
            ("azure-pipelines", Self.azure, Server(#"{"oidcToken":""}"#), .refused),
            ("azure-pipelines", Self.azure, Server(#"{"value":"t"}"#), .refused),
            ("azure-pipelines", Self.azure, Server("<html>", status: 203), .refused),
            ("azure-pipelines", Self.azure, Server("{}", status: 401), .refused),
            ("azure-pipelines", Self.azure, Server("{}", status: 429), .unreachable),
        ]
        for (source, environment, server, kind) in cases {
            let error = #expect(throws: OIDCError.self) { try token(source, environment, server) }
            #expect(error?.kind == kind && error?.stage == .subjectToken && error?.hint != nil)
            #expect(error?.description.contains("job-secret") == false)
        }
    }

    @Test("Buildkite: the agent requests the token, with its own credentials and no secret of ours")
    func buildkite() throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        let agent = home.appendingPathComponent("buildkite-agent")
        let script = """
            #!/bin/sh
            [ -z "$OIDC_CLIENT_SECRET" ] || exit 9
            [ "$BUILDKITE_AGENT_ACCESS_TOKEN" = agent-secret ] || exit 8
            [ -z "$SYSTEM_ACCESSTOKEN" ] || exit 7
            echo "$*" | tr ' ' _

            """
        try ExecutableScript.write(script, to: agent)
        var environment = [
            "PATH": "\(home.path):/usr/bin:/bin", "BUILDKITE_AGENT_ACCESS_TOKEN": "agent-secret",
            "SYSTEM_ACCESSTOKEN": "another-secret", "OIDC_CLIENT_SECRET": "hunter2",
        ]
        #expect(try token("buildkite", environment) == "oidc_request-token_--audience_https://op.example")
        let other = try token("buildkite", environment, Server(""), ["subject_token_audience=a b"])
        #expect(other == "oidc_request-token_--audience_a_b")
        environment["BUILDKITE_AGENT_ACCESS_TOKEN"] = nil
        #expect(#expect(throws: OIDCError.self) { try token("buildkite", environment) }?.kind == .failed)
        environment["PATH"] = "/nonexistent"
        #expect(#expect(throws: OIDCError.self) { try token("buildkite", environment) }?.kind == .usage)
    }

    @Test("the session is for one job, and for one subject")
    func identity() throws {
        func identity(_ source: String, _ environment: [String: String]) throws -> String? {
            try subject(["subject_token_source=\(source)"], environment).identity()
        }
        #expect(
            try identity("buildkite", ["BUILDKITE_JOB_ID": "1"])
                != identity("buildkite", ["BUILDKITE_JOB_ID": "2"]))
        #expect(try identity("azure-pipelines", Self.azure) != identity("azure-pipelines", [:]))
        #expect(
            try identity("google-metadata", ["HOSTNAME": "a"])
                != identity("google-metadata", ["HOSTNAME": "b"]))
        #expect(
            try identity("circleci", ["CIRCLE_OIDC_TOKEN": "a"])
                != identity("circleci", ["CIRCLE_OIDC_TOKEN": "b"]))
        #expect(try identity("circleci", ["CIRCLE_OIDC_TOKEN": "a"])?.contains("|a|") == false)
    }

    @Test(
        "a job of a CI system is recognized, and the hint names its source",
        arguments: [
            ("CIRCLE_OIDC_TOKEN_V2", "circleci"), ("CIRCLE_OIDC_TOKEN", "circleci"),
            ("BUILDKITE_JOB_ID", "buildkite"),
            ("BITBUCKET_STEP_OIDC_TOKEN", "bitbucket"), ("SYSTEM_OIDCREQUESTURI", "azure-pipelines"),
            ("TFC_WORKLOAD_IDENTITY_TOKEN", "terraform-cloud"), ("KUBERNETES_SERVICE_HOST", "kubernetes"),
        ])
    func detected(_ variable: String, _ source: String) throws {
        let found = try #require(CIIdentity.detected([variable: "x"]))
        #expect(found.hint.commandLine.hasSuffix("--set subject_token_source=\(source)"))
        #expect(SubjectTokenSource(rawValue: source) != nil)
        #expect(CIIdentity.detected([variable: ""]) == nil)
    }
}
