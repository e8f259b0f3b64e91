import OIDCCore
import OIDCCrypto
import Posix

/// The identity token that a machine already has: that of a CI job or a pod, or one in a file or a variable.
struct SubjectToken {
    private let provider: ProviderContext

    init(_ provider: ProviderContext) {
        self.provider = provider
    }

    private var settings: SubjectSettings { provider.settings.subject }
    private var context: CommandContext { provider.context }
    private var secrets: SecretReader { provider.secrets }

    /// The directory with the token of a pod.
    static let kubernetesDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"
    private static let kubernetesFile = kubernetesDirectory + "/token"

    private var source: SubjectTokenSource? {
        settings.source ?? (settings.file != nil ? .file : settings.variable != nil ? .env : nil)
    }

    /// Returns a string that identifies the subject, so no subject gets another's token; nil if there is no
    /// subject.
    func identity() throws(OIDCError) -> String? {
        guard provider.settings.token.grant != .clientCredentials else { return nil }
        var parts: [String] = []
        if let source {
            parts.append(source.rawValue)
            if let names = source.jobVariables {
                parts += names.map { context.environment[$0] ?? "" }
                parts.append(settings.audience ?? "")
            } else {
                parts.append(
                    SubjectToken.identity(
                        of: try checked(try local(source, role: Setting.subjectTokenSource.name)).revealed))
            }
        }
        if let actor = try secrets.text(settings.actorFile) {
            parts.append("actor")
            parts.append(SubjectToken.identity(of: actor.revealed))
        }
        parts += [settings.tokenType ?? "", settings.requestedTokenType ?? ""]
        return parts.joined(separator: "|")
    }

    /// Returns issuer and subject of a JWT, or the fingerprint of an opaque token.
    private static func identity(of token: String) -> String {
        if let claims = (try? JWS(compact: token))?.claims, let subject = claims["sub"]?.string {
            return "\(claims["iss"]?.string ?? "") \(subject)"
        }
        return (try? Fingerprint.of(token)) ?? ""
    }

    /// Throws if a secret or the token's source is missing. Fetches nothing.
    func checkOrigin() throws(OIDCError) {
        for file in provider.settings.client.secretFiles { _ = try secrets.text(file) }
        guard provider.settings.token.grant != .clientCredentials else { return }
        switch source {
        case .githubActions:
            _ = try IdentityRequest.gitHubActions(context.environment, audience: settings.audience)
        case .azurePipelines: _ = try IdentityRequest.azurePipelines(context.environment)
        case nil where [.tokenExchange, .jwtBearer].contains(provider.settings.token.grant): throw noSource
        default: _ = try identity()
        }
    }

    private var noSource: OIDCError {
        let names = SubjectTokenSource.names.joined(separator: ", ")
        return .usage(
            "subject_token_source is not set (one of \(names))",
            hint: CIIdentity.detected(context.environment)?.hint ?? .run("config set subject_token_file=FILE")
        )
    }

    /// Returns the token, and fetches it if necessary.
    func token(_ transport: any HTTPTransport) throws(OIDCError) -> Redacted<String> {
        guard let source else { throw noSource }
        try provider.checkIssuer(isNamedFor: Setting.subjectSources)
        return try token(from: source, role: "subject_token_source", transport)
    }

    /// Returns the token of a source that another setting names, such as `client_assertion_source`.
    func token(
        from source: SubjectTokenSource, role: String, _ transport: any HTTPTransport
    ) throws(OIDCError) -> Redacted<String> {
        let audience = settings.audience ?? provider.settings.provider.issuer
        let environment = context.environment
        let token =
            switch source {
            case .githubActions:
                try IdentityRequest.gitHubActions(environment, audience: audience).token(transport)
            case .azurePipelines: try IdentityRequest.azurePipelines(environment).token(transport)
            case .googleMetadata: try IdentityRequest.googleMetadata(audience: audience).token(transport)
            case .buildkite: try buildkite(audience)
            case .gitlab, .circleci, .bitbucket, .terraformCloud, .kubernetes, .file, .env:
                try local(source, role: role)
            }
        return try checked(token)
    }

    private func local(_ source: SubjectTokenSource, role: String) throws(OIDCError) -> Redacted<String> {
        switch source {
        case .file:
            if let token = try secrets.text(settings.file) { return token }
            throw OIDCError.usage(
                "subject_token_file is not set, and \(role) is file", hint: "set it to the token's file")
        case .kubernetes:
            let path = settings.file?.path ?? SubjectToken.kubernetesFile
            let bytes = try UserFile.require(path, limit: 1 << 20, named: "\(role) kubernetes").bytes
            return Redacted(ASCII.trimmed(String(decoding: bytes, as: UTF8.self)))
        default: return try variable(source, role: role)
        }
    }

    /// Returns the token from the variable of the setting, or else from the first of the source's variables
    /// that is set.
    private func variable(_ source: SubjectTokenSource, role: String) throws(OIDCError) -> Redacted<String> {
        let names = settings.variable.map { [$0] } ?? source.tokenVariables
        guard !names.isEmpty else {
            throw OIDCError.usage(
                "subject_token_env is not set, and \(role) is \(source.rawValue)",
                hint: "set it to the variable's name")
        }
        guard let token = names.lazy.compactMap({ context.environment[$0] }).first(where: { !$0.isEmpty })
        else {
            throw OIDCError.usage(
                "the variable \(DisplayText.clean(names[0])) of \(role) \(source.rawValue) is not set",
                hint: source.variableHint)
        }
        return Redacted(ASCII.trimmed(token))
    }

    /// Runs Buildkite's agent, the only program that can request the job's token (Buildkite, `buildkite-agent
    /// oidc`, read 2026-11).
    private func buildkite(_ audience: String?) throws(OIDCError) -> Redacted<String> {
        let access = ProcessEnvironment.buildkiteAccess
        let environment = { @Sendable [provider, context] in
            var variables = provider.childEnvironment
            variables[access] = context.environment[access]
            return variables
        }
        let command =
            ["buildkite-agent", "oidc", "request-token"] + (audience.map { ["--audience", $0] } ?? [])
        return try SecretReader(environment: environment, deadline: provider.deadline, warn: { _ in })
            .output(of: command, named: Setting.subjectTokenSource.name, fresh: true)
    }

    /// Refuses an empty or expired token, and text that is not a token, such as a page or two tokens, because
    /// the errors of providers are less clear.
    private func checked(_ token: Redacted<String>) throws(OIDCError) -> Redacted<String> {
        guard !token.revealed.isEmpty else {
            throw OIDCError.usage("the subject token is empty", hint: "check subject_token_source")
        }
        guard token.revealed.utf8.allSatisfy({ ASCII.isVisible($0) }) else {
            throw OIDCError.usage(
                "the subject token contains spaces, line breaks or non-ASCII characters",
                hint: "check subject_token_source")
        }
        guard let claims = (try? JWS(compact: token.revealed))?.claims,
            let expiry = claims["exp"]?.number?.wholePart
        else { return token }
        let instant = Instant(secondsSinceEpoch: expiry)
        guard instant.adding(provider.settings.network.leeway) > context.now else {
            throw OIDCError(
                .refused, "subject_token: exp: expected a time in the future, found \(instant)",
                hint: "get a new one from its source", stage: .subjectToken)
        }
        return token
    }
}

/// A short name for a secret that does not reveal it: the first 48 bits of its SHA-256.
enum Fingerprint {
    static func of(_ secret: String) throws(OIDCError) -> String {
        do {
            return Base64URL.encode(Array(try Digest.hash(Array(secret.utf8), .sha256).prefix(6)))
        } catch {
            throw OIDCError(error)
        }
    }
}
