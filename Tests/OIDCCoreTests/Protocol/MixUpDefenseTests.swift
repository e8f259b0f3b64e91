@testable import OIDCCore
import Testing

@Suite("the redirect URL of each issuer")
struct MixUpDefenseTests {
    @Test(
        "an issuer's redirect URL is its own, and lies below no shared one (RFC 9700 §4.1.1, §4.4.2.2)",
        arguments: [
            "http://127.0.0.1/callback", "http://127.0.0.1:8400/callback", "http://[::1]:0/a/b",
            "http://127.0.0.1", "http://localhost/", "http://localhost/callback?a=b/c#d",
            "http://localhost?x=/",
        ])
    func ownRedirect(base: String) throws {
        let (issuer, other) = ("https://op.example", "https://op.example/")
        let own = try MixUpDefense.redirectURI(base, for: issuer)
        #expect(try MixUpDefense.isOwn(own, of: issuer))
        #expect(try !MixUpDefense.isOwn(own, of: other) && !MixUpDefense.isOwn(base, of: issuer))
        let (origin, path) = split(base)
        let (ownOrigin, ownPath) = split(own)
        #expect(ownOrigin == origin && ownPath.hasSuffix(path))
        #expect(["", "/"].contains(path) || !ownPath.hasPrefix(path))
        // A shared one below the segment of another place is not the issuer's.
        let segment = ownPath.dropFirst().prefix { !"/?#".contains($0) }
        #expect(try !MixUpDefense.isOwn("http://127.0.0.1/callback/\(segment)", of: issuer))
        #expect(try !MixUpDefense.isOwn("http://127.0.0.1/callback?/\(segment)", of: issuer))
    }

    private func split(_ uri: String) -> (origin: Substring, path: Substring) {
        let end = uri.dropFirst(7).firstIndex { "/?#".contains($0) } ?? uri.endIndex
        return (uri[..<end], uri[end...].prefix { !"?#".contains($0) })
    }
}
