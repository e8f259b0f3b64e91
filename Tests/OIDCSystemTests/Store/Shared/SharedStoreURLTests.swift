import OIDCCore
@testable import OIDCShared
import Testing

@Suite("the URL of a shared store")
struct SharedStoreURLTests {
    @Test(
        "every form is read, and shown without its password",
        arguments: [
            ("redis://h", "redis://h:6379/0"), ("redis://h:7000/3", "redis://h:7000/3"),
            ("redis://:p@h/1", "redis://:(secret)@h:6379/1"),
            ("rediss://u:p%40%2F@h1,h2:7/0", "rediss://u:(secret)@h1:6379,h2:7/0"),
            ("redis://h1,h2:26379/0?sentinel=main", "redis://h1:6379,h2:26379/0?sentinel=main"),
            ("redis://[::1]:7", "redis://[::1]:7/0"), ("redis+unix:/run/r.sock", "redis+unix:/run/r.sock"),
            ("redis+unix://:p@/run/r.sock?db=2", "redis+unix://:(secret)@/run/r.sock?db=2"),
            ("etcd://a,b:1/team/ci", "etcd://a:2379,b:1/team/ci"),
            ("etcds://u:p@h", "etcds://u:(secret)@h:2379/oidc"),
        ])
    func forms(_ setting: String, _ shown: String) throws {
        let url = try SharedStoreURL(setting)
        #expect(url.redacted == shown)
        #expect(!url.server.contains("(secret)") && !url.server.contains("@"))
        #expect((url.password != nil) == shown.contains("secret"))
    }

    @Test("127/8, ::1 and localhost are this machine, and no other host")
    func loopback() throws {
        for host in ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"] {
            #expect(try !SharedStoreURL("redis://\(host)").isOpen, "\(host)")
        }
        for host in ["128.0.0.1", "0.0.0.0", "h", "localhost.example", "x127.0.0.1"] {
            #expect(try SharedStoreURL("redis://\(host)").isOpen, "\(host)")
        }
    }

    @Test("a password is removed from names in either case, unless it is short")
    func withoutPassword() throws {
        let url = try SharedStoreURL("redis://:Correct-Horse@h/0")
        #expect(url.withoutPassword("Correct-Horse.invalid") == "(secret).invalid")
        #expect(
            url.withoutPassword("cannot resolve host correct-horse.invalid").hasSuffix("(secret).invalid"))
        #expect(try SharedStoreURL("redis://:Horse@h/0").withoutPassword("Horse") == "Horse")
    }

    @Test("a password is unescaped")
    func password() throws {
        #expect(try SharedStoreURL("redis://u:p%40%2F+@h").password?.revealed == "p@/+")
    }

    @Test(
        "a mistake is a usage error that does not quote the setting",
        arguments: [
            "redis:", "redis://", "redis://127.evil.example:6379", "etcd://127.0.0.1.evil.example",
            "redis://127.0.0.256",
            "redis://hunter2@", "redis://:hunter2@h:x", "redis://h/hunter2",
            "valkey://h",
            "redis://:hunter2@h?x=1", "redis://:hunter2%@h", "redis://:hunter2%0a@h", "etcd://hunter2@h",
            "etcd://h/a b", "etcd://h?x", "redis+unix:hunter2", "redis+unix://u:hunter2@h/x",
            "REDIS://:hunter2@h",
            "redis://h,,h2", "mysql://u:hunter2@h", "redis://u:hunter2/x@h/1", "redis://u:hunter2?x@h",
            "redis://u:hunter2@x@h", "redis://u:hunter2@h:1,u:hunter2@h2:2/0",
        ])
    func mistakes(_ setting: String) {
        let refusal = failure { () throws(OIDCError) in try SharedStoreURL(setting) }
        #expect(refusal?.kind == .usage)
        #expect(refusal?.message.contains("hunter2") == false)
    }
}
