import OIDCCore
import TestSupport
import Testing

@Suite("resources", .serialized, .waiting)
struct ResourcesTests {
    private func world() throws -> ToolWorld {
        let world = try ToolWorld()
        try world.configure([
            "issuer": .string(world.issuer), "client_id": "demo",
            "resources": [
                ["title": "Hello", "url": .string("\(world.issuer)/api/hello")],
                ["title": "Items", "url": .string("\(world.issuer)/api/items"), "scope": "api:read"],
                [
                    "title": "Add", "url": .string("\(world.issuer)/api/items"), "scope": "api:write",
                    "method": "POST",
                ],
            ],
        ])
        return world
    }

    @Test("the list shows what the granted scopes allow")
    func list() throws {
        let world = try world()
        #expect(try world.run(["resources"]).output.contains("Items  sign in  api:read"))
        try world.signIn(scope: "openid api:read")
        let asked = world.requests.count
        #expect(
            try world.run(["resources"]).output == """
                TITLE  STATE   SCOPE      URL
                Hello  open    -          \(world.issuer)/api/hello
                Items  open    api:read   \(world.issuer)/api/items
                Add    closed  api:write  POST \(world.issuer)/api/items

                """)
        let json = try world.run(["resources", "-o", "json"]).json()
        #expect(json.array?.map { $0["open"]?.bool } == [true, true, false])
        #expect(world.requests.count == asked)
    }

    @Test("a resource is called by its title, with its method")
    func call() throws {
        let world = try world()
        try world.signIn(scope: "openid api:read api:write")
        #expect(try world.run(["resources", "Items"]).output.contains("biscuits"))
        let added = try world.run(["resources", "Add", "-d", "abc"])
        #expect(added.code == 0 && added.output == #"{"received":3}"#, "\(added)")
        let unknown = try world.run(["resources", "Itms"])
        #expect(unknown.code == 2 && unknown.errors.contains("Items"), "\(unknown)")
    }

    @Test("options of a call are refused without the title of a resource")
    func listOptions() throws {
        let world = try world()
        for options in [["-d", "x"], ["-H", "A: b"], ["-i"]] {
            let refused = try world.run(["resources"] + options)
            #expect(refused.code == 2 && refused.errors.contains("requires the title"), "\(refused)")
        }
    }

    @Test("a profile without resources gets a hint how to name one")
    func none() throws {
        let world = try ToolWorld()
        #expect(try world.run(["resources"], world.person).code == 2)
    }
}
