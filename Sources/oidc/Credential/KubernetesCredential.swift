import OIDCCore

/// The `ExecCredential` that a credential plugin returns to kubectl and other users of client-go.
struct KubernetesCredential {
    static let group = "client.authentication.k8s.io"

    /// The version of the request, used for the answer too.
    let apiVersion: String

    /// Parses `KUBERNETES_EXEC_INFO`. If it is not set, the newest version is used.
    init(executionInfo: String?) throws(OIDCError) {
        guard let executionInfo, !executionInfo.isEmpty else {
            apiVersion = "\(KubernetesCredential.group)/v1"
            return
        }
        let info: JSONValue
        do { info = try JSONValue(parsing: executionInfo) } catch {
            throw .usage("KUBERNETES_EXEC_INFO is not valid JSON (\(error.inFile))")
        }
        func mismatch(_ member: String, _ expected: String, _ known: [String], hint: Hint? = nil) -> OIDCError
        {
            let value = info[member]
            let found = value?.string.map { "\"\(DisplayText.distinct($0, from: known, limit: 80))\"" }
            return .usage(
                "KUBERNETES_EXEC_INFO: \(member): expected \(expected), found \(found ?? value?.typeName ?? "none")",
                hint: hint)
        }
        guard info["kind"]?.string == "ExecCredential" else {
            throw mismatch("kind", "ExecCredential", ["ExecCredential"])
        }
        let versions = ["v1", "v1beta1"].map { "\(KubernetesCredential.group)/\($0)" }
        guard let version = info["apiVersion"]?.string, versions.contains(version) else {
            throw mismatch(
                "apiVersion", "\(versions[0]) or v1beta1", versions,
                hint: .text("set apiVersion of the user's exec to \(versions[0])"))
        }
        apiVersion = version
    }

    func answer(_ token: CredentialToken) -> JSONValue {
        var status = JSONObject()
        status["token"] = .string(token.text.revealed)
        status["expirationTimestamp"] = token.expiresAt.map { .string($0.description) }
        return [
            "apiVersion": .string(apiVersion), "kind": "ExecCredential", "status": .object(status),
        ]
    }
}
