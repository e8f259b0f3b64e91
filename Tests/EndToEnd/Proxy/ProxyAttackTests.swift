import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("attacks on the proxy, in the built program", .serialized, .waiting)
struct ProxyAttackTests {
    @Test(
        "no request changes the origin or the path of the route, and none without the secret goes out",
        arguments: ProxyAttack.groups.indices)
    func attacks(index: Int) throws {
        let (group, attacks) = ProxyAttack.groups[index]
        let proxy = try RunningProxy()
        #expect(proxy.exchange(proxy.get(proxy.prefix + "x")).hasSuffix("hello"))
        let token = try proxy.token()
        for attack in attacks {
            let before = proxy.api.requests.count
            let reply = proxy.exchange(attack.text(proxy))
            let requests = Array(proxy.api.requests.dropFirst(before))
            let name = "\(group): \(attack.testDescription): \(reply)"
            #expect(
                !reply.contains(token) && !reply.contains(proxy.secret)
                    && !reply.lowercased().contains("access-control"), "\(name)")
            switch attack.outcome {
            case .refused(let status):
                #expect(RawConnection.status(reply) == status && requests.isEmpty, "\(name)")
                #expect(reply.contains("Content-Type: application/problem+json\r\n"), "\(name)")
            case .forwarded(let path):
                #expect(reply.hasSuffix("hello") && requests.map(\.url.path) == [path], "\(name)")
                let request = try #require(requests.first)
                #expect(request.headers["Host"] == String(proxy.api.origin.dropFirst(7)), "\(name)")
                #expect(request.headers.values("Authorization") == ["Bearer \(token)"], "\(name)")
                let fields = request.headers.fields.map { "\($0.name): \($0.value)" }.joined().lowercased()
                #expect(
                    !fields.contains("evil") && !fields.contains(proxy.secret.lowercased()),
                    "\(name): \(fields)")
            }
        }
        #expect(proxy.exchange(proxy.get(proxy.prefix + "x")).hasSuffix("hello"))
    }

    @Test("there are at least forty named cases")
    func count() {
        #expect(Set(ProxyAttack.groups.flatMap(\.1).map(\.testDescription)).count >= 40)
    }

    @Test(
        "another user of the machine is refused, even with the secret",
        .enabled(if: OtherUser.isAvailable, "becoming another user takes root and setpriv"))
    func otherUser() throws {
        let proxy = try RunningProxy()
        let reply = try OtherUser.start(port: proxy.port, proxy.get(proxy.prefix + "x")).text()
        #expect(reply.hasPrefix("HTTP/1.1 403 ") && proxy.api.requests.isEmpty, "\(reply)")
        // A listener on every address would answer here too.
        #expect(RawConnection(port: proxy.port, address: 0x7F00_0002) == nil)
    }

    @Test("a redirect to another origin is handed back untouched, and the token stays")
    func redirect() throws {
        let other = try ToolWorld().serve { _ in HTTPResponse(status: 200) }
        let target = "\(other.origin)/v1/x"
        let proxy = try RunningProxy { _ in
            HTTPResponse(status: 302, headers: HTTPHeaders([("Location", target)]))
        }
        let reply = proxy.exchange(proxy.get(proxy.prefix + "x"))
        #expect(reply.contains("Location: \(target)\r\n") && other.requests.isEmpty, "\(reply)")
    }

    @Test("the log has every request and no secret")
    func log() throws {
        let world = try ToolWorld()
        let file = world.home + "/proxy.log"
        let proxy = try RunningProxy(["--log", file], world: world)
        _ = proxy.exchange(proxy.get(proxy.prefix + "a/b?code=hidden-code"))
        _ = proxy.exchange(proxy.get("/wrong-secret/x"))
        _ = proxy.exchange(proxy.get("/x", "Authorization: Bearer \(proxy.secret)"))
        proxy.run.signal(SIGTERM)
        #expect(proxy.run.finish().status == 143)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(
            lines.map { Array($0[1...4]) } == [
                ["\(proxy.api.origin)/v1", "GET", "/a/b", "200"], ["-", "GET", "-", "403"],
                ["\(proxy.api.origin)/v1", "GET", "/x", "200"],
            ], "\(text)")
        #expect(lines.first?[5] == "5" && lines.allSatisfy { $0.count == 8 })
        for secret in [try proxy.token(), proxy.secret, "hidden-code", "wrong-secret"] {
            #expect(!text.contains(secret))
        }
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
