extension DeviceAuthorization {
    /// The form in which the process that requested the code passes it to another. It contains the device
    /// code, which is a secret.
    package var json: JSONValue {
        var object = JSONObject()
        object["device_code"] = .string(deviceCode.revealed)
        object["user_code"] = .string(userCode)
        object["verification_uri"] = .string(verificationURI.text)
        object["verification_uri_complete"] = verificationURIComplete.map { .string($0.text) }
        object["expires_at"] = JSONValue(expiresAt.secondsSinceEpoch)
        object["interval"] = JSONValue(interval.components.seconds)
        object["scope"] = .string(scope.text)
        return .object(object)
    }

    /// Parses the form that `json` has; nil for any other.
    package init?(json: JSONValue) {
        guard let code = json["device_code"]?.string, let userCode = json["user_code"]?.string,
            let uri = json["verification_uri"]?.string.flatMap({ WebURL($0) }),
            let end = json["expires_at"]?.integer, let interval = json["interval"]?.integer, interval > 0
        else { return nil }
        deviceCode = Redacted(code)
        self.userCode = userCode
        verificationURI = uri
        verificationURIComplete = json["verification_uri_complete"]?.string.flatMap { WebURL($0) }
        expiresAt = Instant(secondsSinceEpoch: end)
        self.interval = .seconds(interval)
        scope = Scope(json["scope"]?.string ?? "")
    }
}
