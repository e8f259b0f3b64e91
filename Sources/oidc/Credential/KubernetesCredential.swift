import OIDCCore

/// What kubectl and other users of client-go exchange with a credential plugin: `ExecCredential`.
struct KubernetesCredential {
    static let group = "client.authentication.k8s.io"

    /// The version of the request, used for the answer too.
    let apiVersion: String

    /// Reads `KUBERNETES_EXEC_INFO`. Without it, the newest version is used.
    init(executionInfo: String?) throws(OIDCError) {
        guard let executionInfo, !executionInfo.isEmpty else {
            apiVersion = "\(KubernetesCredential.group)/v1"
            return
        }
        guard let info = try? JSONValue(parsing: executionInfo), let version = info["apiVersion"]?.string
        else {
            throw .usage("KUBERNETES_EXEC_INFO: expected an ExecCredential in JSON")
        }
        let versions = ["v1", "v1beta1"].map { "\(KubernetesCredential.group)/\($0)" }
        guard info["kind"]?.string == "ExecCredential", versions.contains(version)
        else {
            throw .usage(
                "KUBERNETES_EXEC_INFO: apiVersion: expected \(KubernetesCredential.group)/v1 or v1beta1, found "
                    + "“\(DisplayText.distinct(version, from: versions, limit: 80))”",
                hint: "set apiVersion of the user's exec to \(KubernetesCredential.group)/v1")
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
