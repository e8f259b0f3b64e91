import DemoProvider
import OIDCCore

/// A whole answer that is broken, or unusual but valid; possible at every endpoint.
package enum AnswerFault: String, Sendable, CaseIterable {
    case emptySuccess, emptyBadRequest, htmlSuccess, htmlForbidden, htmlServerError
    case unauthorized, notFound, serverError, badGateway, unavailable, tooManyRequests
    case errorWithSuccess, errorWithEscapes, errorHuge
    case noJSON, jsonArray, jsonNull, deepJSON, hugeNumbers, loneSurrogate, nullBytes
    case hugeBody, compressionBomb
    case redirectSameOrigin, redirectSameOriginKeepingMethod, redirectLoop
    case redirectForeign, redirectForeignKeepingMethod, redirectScript
    /// The real answer, changed.
    case duplicateMembers, invalidUTF8, truncated, plainTextType, byteOrderMark

    /// The faults that concern the HTTP transport: sizes, compression and redirects.
    package static let ofTransport: [AnswerFault] = [
        .hugeBody, .compressionBomb, .redirectSameOrigin, .redirectSameOriginKeepingMethod, .redirectLoop,
        .redirectForeign, .redirectForeignKeepingMethod, .redirectScript,
    ]

    /// The faults that concern the protocol, with any transport.
    package static let ofProtocol = allCases.filter { !ofTransport.contains($0) }
}

extension FaultyProvider {
    /// Returns the answer that a fault of the whole answer gives; nil for other faults.
    mutating func brokenAnswer(_ fault: Fault, _ call: FaultyCall) -> HTTPResponse? {
        switch fault {
        case .refuses(_, let code):
            .refusal(code, "refused on purpose", status: code == "invalid_client" ? 401 : 400)
        case .answer(_, let fault):
            refusal(fault) ?? oddBody(fault) ?? redirect(fault, call) ?? changed(fault, answer(call))
        default: nil
        }
    }

    private func refusal(_ fault: AnswerFault) -> HTTPResponse? {
        let html = "<!doctype html><title>Error</title><h1>\u{1B}[31mGateway error</h1>"
        switch fault {
        case .emptySuccess: return HTTPResponse(status: 200)
        case .emptyBadRequest: return HTTPResponse(status: 400)
        case .htmlSuccess: return .faulty(200, html, "text/html")
        case .htmlForbidden: return .faulty(403, html, "text/html")
        case .htmlServerError: return .faulty(500, html, "text/html")
        case .unauthorized: return .refusal("invalid_token", "not now", status: 401)
        case .notFound: return .faulty(404, "404 not found\n", "text/plain")
        case .serverError: return .refusal("server_error", "something broke", status: 500)
        case .badGateway: return .faulty(502, "502 bad gateway\n", "text/plain")
        case .unavailable: return .faulty(503, "503 unavailable\n", "text/plain")
        case .tooManyRequests:
            let wait = [("Retry-After", "7")]
            return .refusal("temporarily_unavailable", "slow down", status: 429, headers: wait)
        case .errorWithSuccess: return .refusal("invalid_request", "with status 200", status: 200)
        case .errorWithEscapes:
            return .refusal("bad\u{1B}[2Jcode", FaultyProvider.hostileText)
        case .errorHuge:
            return .refusal("invalid_request", String(repeating: "x", count: 100_000))
        default: return nil
        }
    }

    private func oddBody(_ fault: AnswerFault) -> HTTPResponse? {
        switch fault {
        case .noJSON: return .faulty(200, "access_token: none of this is JSON {", "application/json")
        case .jsonArray: return .faulty(200, "[1,2,3]", "application/json")
        case .jsonNull: return .faulty(200, "null", "application/json")
        case .deepJSON: return .faulty(200, String(repeating: "[", count: 100_000), "application/json")
        case .hugeNumbers:
            return .faulty(200, "{\"expires_in\":1e999,\"iat\":9223372036854775808}", "application/json")
        case .loneSurrogate: return .faulty(200, "{\"issuer\":\"\\ud800\"}", "application/json")
        case .nullBytes: return .faulty(200, "{\"issuer\":\"\u{0}\"}\u{0}", "application/json")
        case .hugeBody: return .faulty(200, FaultyProvider.hugeText, "application/json")
        case .compressionBomb:
            var response = HTTPResponse.faulty(200, "", "application/json")
            response.headers["Content-Encoding"] = "gzip"
            response.body = CompressionBomb.bytes
            return response
        default: return nil
        }
    }

    private static let hugeText = "{\"padding\":\"\(String(repeating: "x", count: 2 << 20))\"}"

    private func redirect(_ fault: AnswerFault, _ call: FaultyCall) -> HTTPResponse? {
        let query = call.request.url.query.map { "?\($0)" } ?? ""
        let moved = "\(demo.address("/moved\(call.path)"))\(query)"
        let foreign = "\(foreignOrigin)\(call.path)\(query)"
        switch fault {
        case .redirectSameOrigin: return .faultyRedirect(302, moved)
        case .redirectSameOriginKeepingMethod: return .faultyRedirect(307, moved)
        case .redirectLoop: return .faultyRedirect(302, "\(demo.address(call.path))\(query)")
        case .redirectForeign: return .faultyRedirect(302, foreign)
        case .redirectForeignKeepingMethod: return .faultyRedirect(307, foreign)
        case .redirectScript: return .faultyRedirect(302, "javascript:alert(1)")
        default: return nil
        }
    }

    private func changed(_ fault: AnswerFault, _ response: HTTPResponse) -> HTTPResponse {
        var response = response
        switch fault {
        case .duplicateMembers:
            guard let first = (try? JSONValue(parsing: response.body))?.object?.members.first else { break }
            var again = JSONObject()
            again[first.name] = "another"
            let member = JSONValue.object(again).bytes.dropFirst()
            response.body = response.body.dropLast() + [0x2C] + member
        case .invalidUTF8:
            response.body = response.body.dropLast() + Array(",\"x\":\"".utf8) + [0xFF, 0x22, 0x7D]
        case .truncated: response.body = Array(response.body.prefix(response.body.count / 2))
        case .plainTextType: response.headers["Content-Type"] = "text/plain"
        case .byteOrderMark: response.body = [0xEF, 0xBB, 0xBF] + response.body
        default: break
        }
        return response
    }
}

extension HTTPResponse {
    fileprivate static func faulty(_ status: Int, _ text: String, _ type: String) -> HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders([("Content-Type", type)]), body: Array(text.utf8))
    }

    fileprivate static func faultyRedirect(_ status: Int, _ location: String) -> HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders([("Location", location)]))
    }
}
