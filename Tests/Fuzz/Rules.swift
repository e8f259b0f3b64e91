@testable import OIDCCore
@testable import CurlHTTP

let now = Instant(secondsSinceEpoch: 1_800_000_000)
let issuer = "https://issuer.example"
/// What requests carry and no message may repeat.
let secret = "0123456789abcdefghijklmnopqrstuvwxyz"

@Sendable func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A rule that must hold for every input.
func require(_ rule: Bool, _ message: @autoclosure () -> String) {
    if !rule { fatalError(message()) }
}

/// An error is fit for a terminal, of bounded length, and says nothing of the secret that was sent.
func requireFit(_ error: OIDCError, hiding secret: String? = nil) {
    for text in [error.message, error.hint?.description ?? "", error.oauthError ?? ""] {
        require(!text.unicodeScalars.contains(where: DisplayText.isInvisible), "an unfit message: \(text)")
        require(text.utf8.count < 4_096, "an endless message: \(text)")
        if let secret { require(!text.contains(secret), "a secret in a message: \(text)") }
    }
}

/// Returns the value, or nil after checking that the error is fit to be shown.
func outcome<Value>(hiding secret: String? = nil, _ body: () throws(OIDCError) -> Value) -> Value? {
    do {
        return try body()
    } catch {
        requireFit(error, hiding: secret)
        return nil
    }
}

func isVisibleASCII(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
}

/// An answer as it arrives; without a status line, only a JSON body.
func response(_ bytes: [UInt8]) -> HTTPResponse {
    guard bytes.starts(with: "HTTP/".utf8) else {
        return HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]), body: bytes)
    }
    var head = ResponseHead()
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 0x0A) {
        let line = Array(rest[...end])
        rest = rest[(end + 1)...]
        if case .complete = line.withUnsafeBytes({ head.take($0) }) { break }
    }
    return HTTPResponse(status: head.status, headers: head.headers, body: Array(rest))
}

/// The first line, and what follows it.
func firstLine(_ bytes: [UInt8]) -> (line: [UInt8], rest: [UInt8]) {
    let line = bytes.prefix { $0 != 0x0A }
    return (Array(line), Array(bytes.dropFirst(line.count + 1)))
}
