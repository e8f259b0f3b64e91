import DemoProvider
import OIDCCore
import OIDCCrypto

/// What can be wrong with an ID token, or unusual but valid (`audienceArray`, `accessTokenHashMissing`).
package enum IDTokenFault: String, Sendable, CaseIterable {
    case missing
    /// Nothing about the user but `sub`.
    case subjectAlone
    case issuerInvalid, issuerMissing
    case subjectInvalid, subjectMissing, subjectEmpty, subjectTooLong, subjectNumber
    case audienceInvalid, audienceMissing, audienceArray
    /// Another audience beside the client, without and with `azp`.
    case audienceSecondary, audienceSecondaryAuthorized
    case authorizedPartyInvalid
    case expired, expiryMissing, expiryText, issuedAtMissing, issuedAtFuture, notYetValid
    case nonceInvalid, nonceMissing, accessTokenHashInvalid, accessTokenHashMissing, codeHashForeign
    case authTimeMissing, authTimeOld
    case keyIDMissing, keyIDUnknown, keyIDHostile
    case unsigned, unsignedMixedCase, hmacWithPublicKey, hmacWithSecret
    /// `alg` names another algorithm than the one that signed.
    case algorithmAlternate
    /// A right signature by an algorithm that the metadata does not list.
    case algorithmUnlisted
    case criticalHeader
    /// Signed by a stranger's key that the header offers itself.
    case embeddedKey, keyAddress, certificateChain, certificateAddress
    case signatureInvalid, signatureEmpty, signatureTruncated, signatureZero, signatureDER
    case encrypted, twoParts, fourParts, padded
    case payloadNoJSON, payloadArray, payloadDuplicates, payloadInvalidUTF8, payloadHuge
}

extension FaultyProvider {
    /// The active faults of the ID token.
    func idTokenFaults(isRefresh: Bool) -> Set<IDTokenFault> {
        var active: Set<IDTokenFault> = []
        for fault in faults {
            switch fault {
            case .idToken(let fault): active.insert(fault)
            case .refreshedIDToken(let fault) where isRefresh: active.insert(fault)
            default: break
            }
        }
        return active
    }

    /// Signs the ID token of a token response again, with the active faults.
    func replaceIDToken(in answer: inout JSONObject, _ call: FaultyCall) {
        let active = idTokenFaults(isRefresh: call.isRefresh)
        // RFC 8693 §2.2.1: an exchange returns any type of token as access_token.
        let isExchanged = answer["issued_token_type"]?.string?.hasSuffix(":id_token") == true
        let name = isExchanged ? "access_token" : "id_token"
        guard !active.isEmpty || has(.keys(.symmetric)), let text = answer[name]?.string else { return }
        if active.contains(.missing) {
            answer[name] = isExchanged ? "" : nil
            return
        }
        guard var token = ForgedToken(text, demo) else { return }
        let now = call.time.adding(configuration.clockOffset)
        do {
            try apply(active, to: &token, at: now)
            answer[name] = .string(damaged(try token.serialized(), active))
        } catch {
            answer[name] = .string("this fault could not be made: \(error)")
        }
    }

    private func apply(
        _ faults: Set<IDTokenFault>, to token: inout ForgedToken, at now: Instant
    ) throws(CryptoError) {
        for fault in IDTokenFault.allCases where faults.contains(fault) {
            applyToClaims(fault, &token.claims, now)
            try applyToHeader(fault, &token)
            applyToPayload(fault, &token)
        }
        if has(.keys(.symmetric)) { token.sign(withSecret: FaultyProvider.publishedSecret) }
    }

    private func applyToClaims(_ fault: IDTokenFault, _ claims: inout JSONObject, _ now: Instant) {
        let client = claims["aud"] ?? .null
        switch fault {
        case .subjectAlone:
            for name in ["name", "given_name", "family_name", "preferred_username", "email"] {
                claims[name] = nil
            }
        case .issuerInvalid: claims["iss"] = .string(foreignOrigin)
        case .issuerMissing: claims["iss"] = nil
        case .subjectInvalid: claims["sub"] = "mallory"
        case .subjectMissing: claims["sub"] = nil
        case .subjectEmpty: claims["sub"] = ""
        case .subjectTooLong: claims["sub"] = .string(String(repeating: "a", count: 256))
        case .subjectNumber: claims["sub"] = 42
        case .audienceInvalid: claims["aud"] = "somebody-else"
        case .audienceMissing: claims["aud"] = nil
        case .audienceArray: claims["aud"] = .array([client])
        case .audienceSecondary: claims["aud"] = .array([client, "somebody-else"])
        case .audienceSecondaryAuthorized:
            claims["aud"] = .array([client, "somebody-else"])
            claims["azp"] = client
        case .authorizedPartyInvalid: claims["azp"] = "somebody-else"
        case .nonceInvalid: claims["nonce"] = "another-nonce"
        case .nonceMissing: claims["nonce"] = nil
        case .accessTokenHashInvalid: claims["at_hash"] = .string(Base64URL.encode(Random.bytes(16)))
        case .accessTokenHashMissing: claims["at_hash"] = nil
        case .codeHashForeign: claims["c_hash"] = .string(Base64URL.encode(Random.bytes(16)))
        default: applyToTimes(fault, &claims, now)
        }
    }

    private func applyToTimes(_ fault: IDTokenFault, _ claims: inout JSONObject, _ now: Instant) {
        func moment(_ seconds: Int64) -> JSONValue { JSONValue(now.adding(seconds).secondsSinceEpoch) }
        switch fault {
        case .expired: claims["exp"] = moment(-3_600)
        case .expiryMissing: claims["exp"] = nil
        case .expiryText: claims["exp"] = .string("\(now.adding(600).secondsSinceEpoch)")
        case .issuedAtMissing: claims["iat"] = nil
        case .issuedAtFuture: claims["iat"] = moment(7_200)
        case .notYetValid: claims["nbf"] = moment(7_200)
        case .authTimeMissing: claims["auth_time"] = nil
        case .authTimeOld: claims["auth_time"] = moment(-86_400)
        default: break
        }
    }

    private func applyToPayload(_ fault: IDTokenFault, _ token: inout ForgedToken) {
        let whole = JSONValue.object(token.claims).bytes
        switch fault {
        case .payloadNoJSON: token.payload = Array("sub=alice".utf8)
        case .payloadArray: token.payload = [0x5B] + whole + [0x5D]
        case .payloadDuplicates: token.payload = whole.dropLast() + Array(",\"sub\":\"mallory\"}".utf8)
        case .payloadInvalidUTF8:
            token.payload = whole.dropLast() + Array(",\"x\":\"".utf8) + [0xC3, 0x22, 0x7D]
        case .payloadHuge:
            let padding = [UInt8](repeating: 0x78, count: 1 << 20)
            token.payload = whole.dropLast() + Array(",\"padding\":\"".utf8) + padding + [0x22, 0x7D]
        default: break
        }
    }
}
