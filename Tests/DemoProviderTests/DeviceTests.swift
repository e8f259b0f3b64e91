import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("the demo provider: device authorization")
struct DeviceTests {
    private func start(_ world: inout DemoWorld) throws -> JSONValue {
        try world.post("/device_authorization", [("client_id", "demo"), ("scope", "openid")]).json()
    }

    private func poll(_ world: inout DemoWorld, _ device: JSONValue) throws -> HTTPResponse {
        try world.post(
            "/token",
            [
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("client_id", "demo"),
                ("device_code", try device.text("device_code")),
            ])
    }

    @Test("a user who opens the complete URL, signs in and agrees authorizes the device")
    func approved() throws {
        var world = try DemoWorld()
        let device = try start(&world)
        #expect(device["interval"] == 5)
        #expect(try poll(&world, device).oauthError == "authorization_pending")
        let page = world.browse(try #require(WebURL(try device.text("verification_uri_complete")))).page
        #expect(page.text.contains("Your device is signed in"))
        world.now = world.now.adding(5)
        let tokens = try poll(&world, device).json()
        #expect(try JWS(compact: tokens.text("id_token")).claims?["sub"] == "alice")
        world.now = world.now.adding(5)
        #expect(try poll(&world, device).oauthError == "invalid_grant")
    }

    @Test("the code may be typed in lower case and without the hyphen")
    func typed() throws {
        var world = try DemoWorld()
        let device = try start(&world)
        let code = try device.text("user_code").lowercased().filter { $0 != "-" }
        world.browser.typed = ["user_code": code]
        let page = world.browse(try #require(WebURL(try device.text("verification_uri")))).page
        #expect(page.text.contains("Your device is signed in"))
    }

    @Test("a user who denies the request ends it with access_denied")
    func denied() throws {
        var world = try DemoWorld()
        let device = try start(&world)
        world.browser.choice = .deny
        _ = world.browse(try #require(WebURL(try device.text("verification_uri_complete"))))
        #expect(try poll(&world, device).oauthError == "access_denied")
    }

    @Test("polling too soon is slow_down, and adds five seconds for good")
    func slowDown() throws {
        var world = try DemoWorld()
        let device = try start(&world)
        #expect(try poll(&world, device).oauthError == "authorization_pending")
        world.now = world.now.adding(4)
        #expect(try poll(&world, device).oauthError == "slow_down")
        world.now = world.now.adding(9)
        #expect(try poll(&world, device).oauthError == "slow_down")
        world.now = world.now.adding(15)
        #expect(try poll(&world, device).oauthError == "authorization_pending")
    }

    @Test("an old code has expired, an unknown one is invalid_grant")
    func expired() throws {
        var world = try DemoWorld()
        let device = try start(&world)
        world.now = world.now.adding(600)
        #expect(try poll(&world, device).oauthError == "expired_token")
        #expect(try poll(&world, ["device_code": "x"]).oauthError == "invalid_grant")
    }

    @Test("the configured answer arrives after the configured number of polls")
    func automatic() throws {
        var world = try DemoWorld {
            $0.user = .approves("bob")
            $0.deviceInterval = 0
            $0.devicePollsBeforeDecision = 2
        }
        let device = try start(&world)
        #expect(try poll(&world, device).oauthError == "authorization_pending")
        #expect(try poll(&world, device).oauthError == "authorization_pending")
        #expect(try poll(&world, device).status == 200)
    }

    @Test("a decision without the page's own ticket is ignored")
    func forgedDecision() throws {
        var world = try DemoWorld()
        let device = try start(&world)
        let pairs = [("user_code", try device.text("user_code")), ("decision", "approve")]
        #expect(try world.post("/device", pairs).status == 400)
        #expect(try poll(&world, device).oauthError == "authorization_pending")
    }
}
