package import OIDCCore

/// A row of the table of grant types: the function that answers a client that was authenticated.
package struct GrantHandler: Sendable {
    package typealias Answer = @Sendable (inout DemoProvider, TokenCall) throws(Refusal) -> JSONObject

    /// The `grant_type`.
    package let name: String
    let answer: Answer

    package init(_ name: String, _ answer: @escaping Answer) {
        self.name = name
        self.answer = answer
    }

    static let standard = [
        GrantHandler("authorization_code") { demo, call throws(Refusal) in try demo.redeemCode(call) },
        GrantHandler("refresh_token") { demo, call throws(Refusal) in try demo.refresh(call) },
        GrantHandler("client_credentials") { demo, call throws(Refusal) in
            try demo.clientCredentials(call)
        },
        GrantHandler("urn:ietf:params:oauth:grant-type:device_code") { demo, call throws(Refusal) in
            try demo.redeemDeviceCode(call)
        },
        GrantHandler("urn:ietf:params:oauth:grant-type:jwt-bearer") { demo, call throws(Refusal) in
            try demo.redeemAssertion(call)
        },
    ]
}
