/// The device grant's part of a sign-in (RFC 8628): the user signs in elsewhere, and the tokens are asked for
/// until they are there.
extension Login {
    package func beginOnDevice() throws(OIDCError) -> DeviceAuthorization {
        try tokenEndpoint.check(resources: [])
        let client = tokenEndpoint.client
        let endpoint = try metadata.require(
            .deviceAuthorization, presentingCertificate: client.presentsCertificate)
        var device = DeviceAuthorization.Request(scope: request.scope)
        device.audience = request.audience
        device.resources = request.resources
        device.acrValues = request.acrValues
        device.authorizationDetails = request.authorizationDetails
        device.extraParameters = request.extraParameters
        return try environment.transport.perform(
            try DeviceAuthorization.call(
                device, at: endpoint, client: client, now: environment.now(), random: environment.random))
    }

    /// Asks once; `DevicePolling` says what to make of the answer.
    package func poll(_ authorization: DeviceAuthorization) throws(OIDCError) -> TokenEndpoint.Issued {
        try tokenEndpoint.issue(
            .deviceCode(authorization), over: environment.transport, now: environment.now(),
            random: environment.random)
    }

    /// Checks the tokens. There was no authorization request, so there is no nonce.
    package func outcome(of issued: TokenEndpoint.Issued) throws(OIDCError) -> Outcome {
        try outcome(issued, nonce: nil, maxAge: request.maxAge)
    }
}
