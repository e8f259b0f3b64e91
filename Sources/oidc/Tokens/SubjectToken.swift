import OIDCCore
import OIDCCrypto
import OIDCSystem

/// The identity that a machine already has: of a CI job, a pod, a file or a variable.
struct SubjectToken {
    private let provider: ProviderContext

    init(_ provider: ProviderContext) {
        self.provider = provider
    }

    private var settings: SubjectSettings { provider.settings.subject }
    private var context: CommandContext { provider.context }
    private var secrets: SecretReader { provider.secrets }

    /// The path of a pod's service account token.
    static let kubernetesFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"

    private var source: SubjectTokenSource? {
        settings.source ?? (settings.file != nil ? .file : settings.variable != nil ? .env : nil)
    }

    /// Returns what identifies the subject, so nobody gets a token obtained for someone else; nil if there is no
    /// subject.
    func identity() throws(OIDCError) -> String? {
        guard provider.settings.token.grant != .clientCredentials else { return nil }
        var parts: [String] = []
        if let source {
            parts.append(source.rawValue)
            if source == .githubActions {
                for name in ["GITHUB_REPOSITORY", "GITHUB_REF", "GITHUB_WORKFLOW", "GITHUB_RUN_ID"] {
                    parts.append(context.environment[name] ?? "")
                }
                parts.append(settings.audience ?? "")
            } else {
                parts.append(
                    SubjectToken.identity(of: try local(source, role: "subject_token_source").revealed))
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

    /// Returns the token, and fetches it if necessary.
    func token(_ transport: any HTTPTransport) throws(OIDCError) -> Redacted<String> {
        guard let source else {
            throw OIDCError.usage(
                "subject_token_source is not set",
                hint: CIIdentity.detected(context.environment)?.hint
                    ?? "set it to one of \(SubjectTokenSource.names.joined(separator: ", "))")
        }
        return try token(from: source, role: "subject_token_source", transport)
    }

    /// Returns the token of a source that another setting names, such as `client_assertion_source`.
    func token(
        from source: SubjectTokenSource, role: String, _ transport: any HTTPTransport
    ) throws(OIDCError) -> Redacted<String> {
        guard source == .githubActions else { return try local(source, role: role) }
        return try GitHubActionsIdentity(
            environment: context.environment,
            audience: settings.audience ?? provider.settings.provider.issuer
        ).token(transport)
    }

    private func local(_ source: SubjectTokenSource, role: String) throws(OIDCError) -> Redacted<String> {
        switch source {
        case .githubActions:
            throw OIDCError.usage("\(role): github-actions has no local token")
        case .file:
            if let token = try secrets.text(settings.file) { return try checked(token) }
            throw OIDCError.usage(
                "subject_token_file is not set, and \(role) is file", hint: "set it to the token's file")
        case .kubernetes:
            let path = settings.file?.path ?? SubjectToken.kubernetesFile
            let bytes = try UserFile.require(path, limit: 1 << 20, named: "\(role) kubernetes").bytes
            return try checked(Redacted(ASCII.trimmed(String(decoding: bytes, as: UTF8.self))))
        case .env, .gitlab:
            let name = settings.variable ?? (source == .gitlab ? "OIDC_ID_TOKEN" : nil)
            guard let name else {
                throw OIDCError.usage(
                    "subject_token_env is not set, and \(role) is env", hint: "set it to the variable's name")
            }
            guard let token = context.environment[name], !token.isEmpty else {
                throw OIDCError.usage(
                    "the variable \(DisplayText.clean(name)) of \(role) \(source.rawValue) is not set",
                    hint: source == .gitlab
                        ? "add it to the job's id_tokens, or name another with subject_token_env"
                        : "set it, or name another with subject_token_env")
            }
            return try checked(Redacted(ASCII.trimmed(token)))
        }
    }

    /// Refuses an empty or expired token here: providers answer with a less clear error.
    private func checked(_ token: Redacted<String>) throws(OIDCError) -> Redacted<String> {
        guard !token.revealed.isEmpty else {
            throw OIDCError.usage("the subject token is empty", hint: "check subject_token_source")
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

/// A short name for a secret that reveals nothing about it: the first 48 bits of its SHA-256.
enum Fingerprint {
    static func of(_ secret: String) throws(OIDCError) -> String {
        do {
            return Base64URL.encode(Array(try Digest.hash(Array(secret.utf8), .sha256).prefix(6)))
        } catch {
            throw OIDCError(error)
        }
    }
}
