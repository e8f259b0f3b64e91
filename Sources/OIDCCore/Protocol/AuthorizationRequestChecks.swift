extension AuthorizationRequest {
    /// Checks the values that come from the configuration. Errors name the setting.
    func check() throws(OIDCError) {
        try client.check()
        try RedirectURI.check(redirectURI)
        try scope.check()
        for resource in resources { try ResourceIndicator.check(resource) }
        if let maxAge, maxAge < .zero {
            throw .usage("max_age: expected seconds, found \(maxAge.components.seconds)")
        }
        if let prompt {
            let values = prompt.split(separator: " ")
            guard !values.contains("none") || values.count == 1 else {
                throw .usage(
                    "prompt: none cannot be combined with other values, found \(DisplayText.clean(prompt))")
            }
        }
        if let authorizationDetails, authorizationDetails.array == nil {
            throw .usage(
                "authorization_details: expected an array, found \(authorizationDetails.typeName)")
        }
    }
}

/// The URI that receives the answer (RFC 6749 §3.1.2, RFC 8252 §7).
package enum RedirectURI {
    /// Checks that a URI is absolute and has no fragment. Plain http is allowed on loopback only, as the URI
    /// carries the code; schemes that browsers run or show themselves, such as `javascript`, are refused.
    package static func check(_ text: String, setting: String = "redirect_uri") throws(OIDCError) {
        let isPlain = text.utf8.allSatisfy { ASCII.isVisible($0) && !"\"<>\\^`{|}".utf8.contains($0) }
        let scheme = text.prefix { $0 != ":" }
        let isScheme =
            scheme.utf8.count < text.utf8.count
            && scheme.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "+-.".utf8.contains($0) }
            && scheme.utf8.first.map { !(0x2B...0x39).contains($0) } == true
        guard isPlain, isScheme, !text.utf8.contains(0x23) else {
            throw .usage(
                "\(setting): expected an absolute URI without a fragment, "
                    + "found \(DisplayText.clean(text))",
                hint: .text("give one such as http://127.0.0.1/callback"))
        }
        switch ASCII.lowercased(scheme) {
        case "https", "http":
            guard let url = WebURL(text) else {
                throw .usage("\(setting): expected a URL with a host, found \(DisplayText.clean(text))")
            }
            guard url.isSecure || url.isLoopback else {
                throw .usage(
                    "\(setting): plain http is for loopback only, found \(DisplayText.clean(text))")
            }
        case "javascript", "data", "vbscript", "blob", "file", "about":
            throw .usage(
                "\(setting): expected http, https or an application's own scheme, found \(DisplayText.clean(scheme))"
            )
        default: break
        }
    }
}

/// The identifier of the resource that a token is for (RFC 8707 §2).
package enum ResourceIndicator {
    /// Returns whether a string is an absolute URI without a fragment.
    package static func accepts(_ text: String) -> Bool {
        let scheme = text.prefix { $0 != ":" }
        return scheme.utf8.count + 1 < text.utf8.count
            && scheme.utf8.first.map { ASCII.isAlphanumeric($0) } == true
            && text.utf8.allSatisfy { ASCII.isVisible($0) && $0 != 0x23 }
    }

    package static func check(_ text: String) throws(OIDCError) {
        guard accepts(text) else {
            throw .usage(
                "resource: expected an absolute URI without a fragment, found \(DisplayText.clean(text))",
                hint: .advice(.giveAudience))
        }
    }
}

extension Scope {
    /// Checks the syntax of RFC 6749 §3.3.
    package func check() throws(OIDCError) {
        guard isWellFormed else {
            throw .usage(
                "scope: expected ASCII words without \" and \\, found \(DisplayText.clean(DisplayText.escaped(text)))"
            )
        }
    }
}
