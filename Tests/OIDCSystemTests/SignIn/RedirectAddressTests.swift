@testable import LoopbackHTTP
import OIDCCore
@testable import OIDCSignIn
import Testing

@Suite("the redirect URI and its port")
struct RedirectAddressTests {
    @Test("a port in the URI is used, and needs no other")
    func written() throws {
        let text = "http://127.0.0.1:8484/callback"
        let address = try RedirectAddress(text)
        #expect(address.loopback?.ports == .fixed(8484))
        #expect(address.text(port: 8484) == text)
        #expect(try RedirectAddress(text, port: 8484, ports: [8484, 8485]) == address)
    }

    @Test("a port beside another one in the URI is refused")
    func conflict() {
        let text = "http://127.0.0.1:8484/callback"
        #expect(throws: OIDCError.self) { try RedirectAddress(text, port: 8485) }
    }
}
