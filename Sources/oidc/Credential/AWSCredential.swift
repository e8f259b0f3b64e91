import OIDCCore

/// AWS keys that the Security Token Service returns for an ID token (`AssumeRoleWithWebIdentity`).
struct AWSCredential {
    let accessKeyID: String
    let secretAccessKey: Redacted<String>
    let sessionToken: Redacted<String>
    /// The expiration as AWS wrote it.
    private let expiration: String

    static let stage = Stage(rawValue: "sts")
    private static let usualEndpoint = "https://sts.amazonaws.com/"

    /// The role in the settings.
    struct Role {
        let arn: String
        let sessionName: String
        let endpoint: WebURL

        init(_ settings: ToolSettings) throws(OIDCError) {
            guard let arn = settings.awsRoleARN else {
                throw Setting.awsRoleARN.missing(option: "--set aws_role_arn=ARN")
            }
            let layers = settings.layers
            self.arn = try layers.checking(.awsRoleARN) { () throws(OIDCError) in
                guard arn.hasPrefix("arn:"), arn.utf8.count <= 2_048,
                    arn.utf8.allSatisfy({ ASCII.isVisible($0) })
                else {
                    throw .usage(
                        "aws_role_arn: expected arn:aws:iam::ACCOUNT:role/NAME, found "
                            + DisplayText.quoted(arn, limit: 100),
                        hint: .run("config set aws_role_arn=arn:aws:iam::123456789012:role/NAME"))
                }
                return arn
            }
            sessionName = try layers.checking(.awsRoleSessionName) { () throws(OIDCError) in
                let name = settings.awsRoleSessionName ?? "oidc"
                guard (2...64).contains(name.utf8.count),
                    name.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "_+=,.@-".utf8.contains($0) })
                else {
                    throw .usage("aws_role_session_name: expected 2 to 64 letters, digits and _+=,.@-")
                }
                return name
            }
            endpoint = try layers.checking(.awsSTSEndpoint) { () throws(OIDCError) in
                guard let url = WebURL(settings.awsSTSEndpoint ?? AWSCredential.usualEndpoint) else {
                    throw .usage("aws_sts_endpoint: expected an https URL")
                }
                return url
            }
        }
    }

    /// The seconds before the end of keys after which they are obtained again.
    private static let margin: Int64 = 300

    /// Returns the name under which the keys of a role are kept with a session.
    static func name(_ role: Role, _ kind: TokenKind) -> String {
        let parts = ["aws", role.arn, role.sessionName, role.endpoint.text, kind.rawValue]
        return JSONValue.array(parts.map { .string($0) }).compact
    }

    /// Returns the credential to keep; nil if its end cannot be read. AWS writes a time in UTC.
    func kept(as name: String) -> KeptCredential? {
        guard let end = Instant(utc: expiration) else { return nil }
        return KeptCredential(
            name: name, value: Redacted(json.compact), usableUntil: end.adding(-AWSCredential.margin))
    }

    static func call(_ role: Role, _ token: Redacted<String>) -> EndpointCall<AWSCredential> {
        var request = HTTPRequest.form(
            role.endpoint,
            [
                ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role.arn),
                ("RoleSessionName", role.sessionName), ("WebIdentityToken", token.revealed),
            ].map { FormEncoding.Pair($0.0, $0.1) })
        request.headers["Accept"] = "text/xml, application/xml"
        let secrets = WithheldSecrets([token.revealed])
        return EndpointCall(request, stage: stage, withholding: { secrets }) { response throws(OIDCError) in
            try AWSCredential(response, secrets)
        }
    }

    private init(_ response: HTTPResponse, _ secrets: WithheldSecrets) throws(OIDCError) {
        let answer: XMLAnswer
        do throws(XMLAnswer.Malformed) { answer = try XMLAnswer(parsing: response.body) } catch {
            throw AWSCredential.unreadable(response, error.reason)
        }
        let credentials = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials"
        guard response.isSuccess, answer[credentials] != nil else {
            throw AWSCredential.refusal(response, answer, secrets)
        }
        func member(_ name: String) throws(OIDCError) -> String {
            guard let text = answer["\(credentials)/\(name)"], !text.isEmpty,
                text.utf8.allSatisfy({ ASCII.isVisible($0) })
            else {
                throw OIDCError(
                    .refused, "sts: \(name): expected visible ASCII characters", stage: stage)
            }
            return text
        }
        let stage = AWSCredential.stage
        accessKeyID = try member("AccessKeyId")
        secretAccessKey = Redacted(try member("SecretAccessKey"))
        sessionToken = Redacted(try member("SessionToken"))
        expiration = try member("Expiration")
    }

    private static func unreadable(_ response: HTTPResponse, _ reason: String) -> OIDCError {
        let isTemporary = response.isTemporaryFailure
        return OIDCError(
            isTemporary ? .unreachable : .refused,
            "sts: expected a response in XML, found status \(response.status) (\(reason))",
            hint: isTemporary ? .tryAgain(seconds: nil) : "check aws_sts_endpoint", stage: stage)
    }

    private static func refusal(
        _ response: HTTPResponse, _ answer: XMLAnswer, _ secrets: WithheldSecrets
    ) -> OIDCError {
        guard let error = ["ErrorResponse/Error", "Error"].first(where: { answer[$0] != nil }),
            let code = answer["\(error)/Code"], !code.isEmpty
        else { return unreadable(response, "neither credentials nor an error") }
        let isTemporary =
            response.isTemporaryFailure || code == "IDPCommunicationError"
            || code.hasPrefix("Throttl")
        let refusal = OAuthErrorResponse(
            code: code, description: answer["\(error)/Message"], withholding: secrets)
        return OIDCError(
            isTemporary ? .unreachable : .refused, "sts: \(refusal.text)", hint: hint(code), stage: stage,
            oauthError: refusal.code)
    }

    private static func hint(_ code: String) -> Hint? {
        switch code {
        case "AccessDenied": "let the role's trust policy allow sts:AssumeRoleWithWebIdentity for this client"
        case "InvalidIdentityToken", "IDPRejectedClaim":
            "register the issuer and the client in IAM as an OpenID Connect provider"
        case "ExpiredTokenException", "ExpiredToken": .run("token --type id --refresh")
        default: nil
        }
    }

    /// The answer in version 1 of the `credential_process` format.
    var json: JSONValue {
        [
            "Version": 1, "AccessKeyId": .string(accessKeyID),
            "SecretAccessKey": .string(secretAccessKey.revealed),
            "SessionToken": .string(sessionToken.revealed), "Expiration": .string(expiration),
        ]
    }
}
