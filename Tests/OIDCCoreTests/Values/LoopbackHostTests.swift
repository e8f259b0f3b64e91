import OIDCCore
import Testing

@Suite("Hosts that are this machine")
struct LoopbackHostTests {
    @Test(
        "every spelling of this machine is recognized",
        arguments: [
            "localhost", "LOCALHOST", "localhost.", "app.localhost", "a.b.localhost.", "127.0.0.1", "127.1",
            "127.255.255.254", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
            "017700000001", "00000000000000000177.0.0.1", "0x00000000000000000000007f.0.0.1",
            "0", "0.0.0.0", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]",
            "[::FFFF:7f00:1]", "[0:0:0:0:0:ffff:7f00:2]", "[64:ff9b::7f00:1]", "[::ffff:0:0]",
            "[::ffff:0:127.0.0.1]", "[2002:7f00:1::]", "[2002:7f00:1:1::2]", "[2001:0:1:2::80ff:fffe]",
            "ip6-localhost", "ip6-loopback.", "localhost.localdomain", "localhost6",
        ])
    func here(_ host: String) throws {
        #expect(try Fixture.url("https://\(host)/x").leadsToThisMachine)
    }

    @Test(
        "similar names and addresses are not loopback",
        arguments: [
            "localhost.example.com", "notlocalhost", "localhost-a.example", "127.0.0.1.example.com",
            "128.0.0.1",
            "126.255.255.255", "1.127.0.0", "2130706432.example", "4294967296", "0x", "127.0.0.256",
            "127.0.0.0.1",
            "127..1", "0178.0.0.1", "[::2]", "[1::1]", "[2002:808:808::]", "[2001:1::80ff:fffe]",
            "ip6-localhost.example",
            "[fe80::1]", "[::ffff:8.8.8.8]", "[2001:db8::7f00:1]",
            "[1:2:3:4:5:6:7:8:9]", "[1::2::3]", "[12345::1]", "[:1]", "example.com", "10.0.0.1",
            "99999999999999999999",
        ])
    func elsewhere(_ host: String) throws {
        let here = try Fixture.url("https://\(host)/x").leadsToThisMachine
        // "0x" is read as 0 by some resolvers.
        #expect(here == (host == "0x"))
    }
}
