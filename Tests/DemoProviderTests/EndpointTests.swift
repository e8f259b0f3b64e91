import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: metadata, keys, errors and its clock")
struct EndpointTests {
    @Test(
        "metadata is served at both well-known paths, with and without a path in the issuer",
        arguments: ["http://127.0.0.1:9480", "http://127.0.0.1:9480/", "http://127.0.0.1:9480/tenant"])
    func metadataPlaces(issuer: String) throws {
        var world = try DemoWorld(issuer: issuer)
        let origin = try #require(WebURL(issuer)).origin
        let path = issuer.hasSuffix("tenant") ? "/tenant" : ""
        for place in [
            "\(path)/.well-known/openid-configuration", "/.well-known/oauth-authorization-server\(path)",
        ] {
            let response = world.send(HTTPRequest(.get, try #require(WebURL("\(origin)\(place)"))))
            let metadata = try response.json()
            #expect(metadata["issuer"] == .string(issuer))
            #expect(metadata["token_endpoint"] == .string("\(origin)\(path)/token"))
        }
    }

    @Test("every endpoint that the metadata names exists")
    func endpointsExist() throws {
        var world = try DemoWorld { $0.mutualTLSBase = "https://mtls.example" }
        let metadata = try #require(try world.get("/.well-known/openid-configuration").json().object)
        let endpoints = metadata.members.filter { $0.name.hasSuffix("_endpoint") || $0.name == "jwks_uri" }
        #expect(endpoints.count == 10)
        for member in endpoints {
            let url = try #require(member.value.string.flatMap(WebURL.init))
            #expect(world.send(HTTPRequest(.get, url)).status != 404, "\(member.name)")
        }
        let alias = metadata["mtls_endpoint_aliases"]?["token_endpoint"]
        #expect(alias == "https://mtls.example/token")
    }

    @Test("the key set has only public members, and keeps the previous keys after a rotation")
    func keySet() throws {
        var world = try DemoWorld()
        let before = try world.signIn().text("id_token")
        let keys = try world.get("/jwks").json()["keys"]?.array ?? []
        #expect(keys.compactMap { $0["alg"]?.string } == ["RS256", "ES256"])
        #expect(keys.allSatisfy { key in ["d", "p", "q", "k"].allSatisfy { key[$0] == nil } })
        try world.provider.rotateKeys()
        let after = try world.signIn().text("id_token")
        let rotated = try world.keys()
        #expect(rotated.keys.count == 4)
        #expect(try JWS(compact: before).verify(keys: rotated) == .valid)
        #expect(try JWS(compact: after).verify(keys: rotated) == .valid)
        #expect(try JWS(compact: before).keyID != JWS(compact: after).keyID)
    }

    @Test("a browser gets a page for what is not there, and a program one line")
    func nothing() throws {
        var world = try DemoWorld()
        for (path, status) in [("/nothing", 404), ("/token", 405)] {
            #expect(try world.get(path).headers["Content-Type"] == "text/plain; charset=utf-8")
            let page = try world.get(path, headers: [("Accept", "text/html,*/*")])
            #expect(page.status == status && String(decoding: page.body, as: UTF8.self).contains("<h1"))
        }
    }

    @Test("an unsupported method gets a 405 that lists the supported ones")
    func methods() throws {
        var world = try DemoWorld()
        let response = try world.get("/token")
        #expect(response.status == 405)
        #expect(response.headers["Allow"] == "POST")
        #expect(try world.get("/favicon.ico").status == 404)
    }

    @Test("the Date header comes from the provider's own clock")
    func date() throws {
        var world = try DemoWorld { $0.clockOffset = 86_400 }
        #expect(try world.get("/").headers["Date"] == "Sat, 16 Jan 2027 08:00:00 GMT")
    }

    @Test("error descriptions have only printable ASCII without quotes and backslashes")
    func errorAlphabet() throws {
        var world = try DemoWorld()
        let answer = try world.callback(["scope": "openid b\u{FC}\"\\\u{1B}d"])
        let description = try #require(answer["error_description"])
        #expect(description.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
    }

    @Test("expired state is dropped, valid state is kept")
    func sweep() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        world.now = world.now.adding(10 * 86_400)
        for _ in 0..<600 { _ = try world.get("/favicon.ico") }
        #expect(try world.refresh(try tokens.text("refresh_token")).status == 200)
        #expect(world.provider.log.count == 500)
    }
}
