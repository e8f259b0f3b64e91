import Foundation
import OIDCCore
@testable import OIDCSessions
import TestSupport
import Testing

@Suite("links of resources")
struct ResourceLinkTests {
    private let state = ScratchDirectory()
    private var links: ResourceLinks { ResourceLinks(state: state.path) }

    private func link(_ path: String = "/mcp", account: String? = nil) -> ResourceLink {
        var link = ResourceLink(
            resource: "https://mcp.example\(path)", metadataURL: "https://mcp.example/.well-known/x",
            issuer: "https://op.example", clientID: "c-1", scope: Scope("read write"), account: account)
        link.registration = "op.example-1"
        return link
    }

    private func found(_ url: String) throws -> [ResourceLink] {
        try links.links(of: try #require(WebURL(url)))
    }

    @Test("a link is found by any URL of its origin, with all that was kept")
    func kept() throws {
        var whole = link()
        whole.profile = "work"
        whole.bindsTokens = true
        whole.isIssuerNamed = true
        whole.settings["port"] = 8_484
        whole.grant = .clientCredentials
        try links.keep(whole)
        #expect(try found("https://mcp.example/other") == [whole])
        #expect(try found("https://MCP.example:443/") == [whole])
        #expect(try links.all() == [whole])
    }

    @Test(
        "no other origin has it",
        arguments: ["http://mcp.example/mcp", "https://mcp.example:8443/mcp", "https://example/mcp"])
    func origins(url: String) throws {
        try links.keep(link())
        #expect(try found(url).isEmpty)
    }

    @Test("a resource has one link for each grant and account, the newest first")
    func replaced() throws {
        try links.keep(link())
        try links.keep(link(account: "other"))
        var moved = link()
        moved.issuer = "https://new.example"
        try links.keep(moved)
        try links.keep(link("/second"))
        #expect(try found("https://mcp.example/") == [link("/second"), moved, link(account: "other")])
    }

    @Test("a link for a part of its resource covers only that part, and is kept beside the whole")
    func prefix() throws {
        var part = link("/")
        part.prefix = "https://mcp.example/evil"
        try links.keep(part)
        try links.keep(link("/"))
        #expect(try found("https://mcp.example/") == [link("/"), part])
        func url(_ path: String) throws -> WebURL { try #require(WebURL("https://mcp.example\(path)")) }
        for path in ["/evil", "/evil/", "/evil/x"] { #expect(part.covers(try url(path))) }
        for path in ["/", "/evilx", "/good", "/evil/../good"] { #expect(!part.covers(try url(path))) }
        for path in ["/evil", "/evil/"] { #expect(part.isFor(try url(path))) }
        for path in ["/evil/x", "/"] { #expect(!part.isFor(try url(path))) }
        #expect(link("/").isFor(try url("")))
        #expect(!link().isFor(try url("/mcp?x=1")))
        var beyond = link()
        beyond.prefix = "https://mcp.example/other"
        #expect(!beyond.covers(try url("/other")))
    }

    @Test("a sign-in to a URL is what the URL leads to afterwards, whatever was kept before")
    func leading() throws {
        func found() throws -> [ResourceLink] {
            try self.found("https://mcp.example/").map { link in
                var link = link
                link.identifiedBefore = []
                return link
            }
        }
        func url(_ path: String) throws -> WebURL { try #require(WebURL("https://mcp.example\(path)")) }
        var part = link("")
        part.prefix = "https://mcp.example/mcp"
        for earlier in [link(), link("/mcp/"), part] {
            try links.keep(earlier)
            try links.keep(link(account: "other"))
            // The resource has grown: it is the whole origin now.
            try links.keep(link(""), leadingFrom: url("/mcp"))
            #expect(try found() == [link(""), link(account: "other")])
            // The session of the smaller one is still signed out of by that URL.
            var key = SessionKey(provider: earlier.issuer, clientID: earlier.clientID)
            key.resources = [earlier.resource]
            let wasIdentified = try self.found("https://mcp.example/")[0].wasIdentified(by: key)
            #expect(wasIdentified == (earlier.resource != link("").resource))
        }
        try links.keep(link())
        try links.keep(link(""), leadingFrom: url("/mcp/deep"))
        var deep = link("")
        deep.prefix = "https://mcp.example/mcp/deep"
        #expect(
            try found() == [deep, link(), link(""), link(account: "other")])
        // A larger resource stays beside a part that is one of its own.
        try links.keep(link("/mcp/deep"), leadingFrom: url("/mcp/deep"))
        #expect(
            try found()
                == [link("/mcp/deep"), link(), link(""), link(account: "other")])
    }

    @Test("a record that cannot be written is found out before a sign-in")
    func probe() throws {
        let url = try #require(WebURL("https://mcp.example/mcp"))
        try links.probe(url)
        #expect(try links.all().isEmpty)
        try links.keep(link())
        try links.probe(url)
        let folder = "\(state.path)/resources"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.filter { !$0.hasSuffix(".lock") }.count == 1)
        let file = try #require(names.first { $0.hasSuffix(".json") })
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: "\(folder)/\(file)")
        #expect(throws: OIDCError.self) { try links.probe(url) }
        try FileManager.default.removeItem(atPath: "\(folder)/\(file)")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/\(file)", withDestinationPath: "/dev/null")
        #expect(throws: OIDCError.self) { try links.probe(url) }
    }

    @Test(
        "a link that was replaced meanwhile is not ended; one that has ended leads nowhere, and is remembered"
    )
    func ended() throws {
        let url = try #require(WebURL("https://mcp.example/mcp/x"))
        try links.keep(link())
        var moved = link()
        moved.clientID = "c-2"
        try links.keep(moved)
        try links.end(link())
        #expect(try found("https://mcp.example/") == [moved])
        try links.end(moved)
        try links.keep(link("/second"))
        #expect(try found("https://mcp.example/") == [link("/second")] && links.wereFor(url))
        #expect(try !links.wereFor(url, exactly: true))
        #expect(try links.wereFor(#require(WebURL("https://mcp.example/mcp")), exactly: true))
        #expect(try !links.wereFor(#require(WebURL("https://mcp.example/other"))))
    }

    @Test("nothing is created for a link that is only looked up")
    func absent() throws {
        #expect(try found("https://mcp.example/").isEmpty)
        try links.end(link())
        #expect(state.names.isEmpty)
    }

    @Test("files are 0600 in a directory of 0700, and one that others can read is refused")
    func permissions() throws {
        try links.keep(link())
        let directory = state["resources"]
        let file = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".json") })
        #expect(mode(directory) == 0o700 && mode("\(directory)/\(file)") == 0o600)
        chmod("\(directory)/\(file)", 0o644)
        let error = try #require(
            failure { () throws(OIDCError) in
                try links.links(of: WebURL("https://mcp.example/")!)
            })
        #expect(error.message.contains("0600") && error.hint?.description.contains("chmod 600") == true)
    }

    @Test(
        "a file that is damaged or of a later version has no links, and is written again",
        arguments: [
            "", "{", "[]", #"{"version":2,"origin":"https://mcp.example","resources":[]}"#,
        ])
    func damaged(text: String) throws {
        try links.keep(link())
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: state["resources"]).first)
        try Data(text.utf8).write(to: URL(fileURLWithPath: state["resources/\(name)"]))
        #expect(try found("https://mcp.example/").isEmpty)
        let url = try #require(WebURL("https://mcp.example/"))
        #expect(links.damagedFile(of: url)?.hasSuffix("\(name)") == true)
        try links.keep(link())
        #expect(try found("https://mcp.example/") == [link()] && links.damagedFile(of: url) == nil)
    }

    @Test("a file of another origin with the same name, which a hostile one may choose, is kept")
    func sameName() throws {
        let files = FileManager.default
        try links.keep(link())
        let name = try #require(try files.contentsOfDirectory(atPath: state["resources"]).first)
        let file = state["resources/\(name)"]
        let other = try String(contentsOfFile: file, encoding: .utf8).replacing(
            "mcp.example", with: "evil.example")
        try Data(other.utf8).write(to: URL(fileURLWithPath: file))
        #expect(try found("https://mcp.example/").isEmpty)
        try links.keep(link())
        #expect(try found("https://mcp.example/") == [link()])
        #expect(try String(contentsOfFile: file, encoding: .utf8) == other)
        #expect(try links.all().count == 2)
    }

    @Test("a link of another origin in the file is not used")
    func foreign() throws {
        try links.keep(link())
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: state["resources"]).first)
        let file = URL(fileURLWithPath: state["resources/\(name)"])
        let text = try String(contentsOf: file, encoding: .utf8)
        try Data(text.replacingOccurrences(of: "mcp.example/mcp", with: "evil.example/mcp").utf8).write(
            to: file)
        #expect(try found("https://mcp.example/").isEmpty)
    }
}

@Suite("registered clients")
struct RegistrationsTests {
    private let state = ScratchDirectory()
    private var registrations: Registrations { Registrations(state: state.path) }
    private let issuer = "https://op.example"
    private let now = Instant(secondsSinceEpoch: 1_700_000_000)
    private var name: String { Registrations.name(issuer: issuer, redirects: ["http://127.0.0.1/callback"]) }

    @Test("a client is kept with its secret and settings, in a file of mode 0600")
    func kept() throws {
        var client = RegisteredRecord(
            clientID: "c-1", clientSecret: Redacted("s3cret"), secretExpiresAt: now, scope: Scope("a b"))
        client.settings["redirect_ports"] = [1, 2]
        try registrations.keep(client, as: name, issuer: issuer) { _ in false }
        #expect(try registrations.clients(name, issuer: issuer) == [client])
        #expect(try registrations.client("c-1", issuer: issuer) == client)
        #expect(mode(state["registrations/\(name).json"]) == 0o600)
        #expect(!"\(client)".contains("s3cret"))
    }

    @Test("of many clients, the newest are kept, and those in use")
    func manyClients() throws {
        for number in 0..<300 {
            try registrations.keep(RegisteredRecord(clientID: "c-\(number)"), as: name, issuer: issuer) {
                ["c-3", "c-20"].contains($0)
            }
        }
        let kept = try registrations.clients(name, issuer: issuer).map(\.clientID)
        #expect(kept == (44..<300).reversed().map { "c-\($0)" } + ["c-20", "c-3"])
    }

    @Test("a secret is only for the issuer that it came from, and issuers are compared exactly")
    func issuers() throws {
        try registrations.keep(RegisteredRecord(clientID: "c-1"), as: name, issuer: issuer) { _ in false }
        for other in ["https://op.example/", "https://OP.example", "https://evil.example"] {
            #expect(try registrations.clients(name, issuer: other).isEmpty)
            #expect(try registrations.client("c-1", issuer: other) == nil)
        }
    }

    @Test("each issuer, origin of resources and set of redirect URLs has a file of its own")
    func names() {
        let redirect = "http://127.0.0.1/callback"
        let names = [
            Registrations.name(issuer: issuer, redirects: [redirect]),
            Registrations.name(issuer: issuer, redirects: [redirect, "8080"]),
            Registrations.name(issuer: "\(issuer)/", redirects: [redirect]),
            Registrations.name(issuer: issuer, resource: "https://api.example/a", redirects: [redirect]),
            Registrations.name(issuer: issuer, resource: "https://other.example/a", redirects: [redirect]),
        ]
        // Its name would be that of api.example with a hash that is fast.
        let chosen = "https://exj5i6xc9tmbcfwrux5zno0cqg30fld56lml4p516foebp7x.example"
        #expect(Registrations.name(issuer: issuer, resource: chosen, redirects: [redirect]) != names[3])
        #expect(Set(names).count == 5 && names.allSatisfy { $0.hasPrefix("op.example-") })
        let same = [
            ("\(issuer)/api", names[0]), ("https://api.example/b", names[3]),
        ]
        for (resource, name) in same {
            #expect(Registrations.name(issuer: issuer, resource: resource, redirects: [redirect]) == name)
        }
    }

    @Test("a client with an ID that is too long is not read back, so another one is registered")
    func longID() throws {
        for count in [2_048, 2_049] {
            let client = RegisteredRecord(clientID: String(repeating: "x", count: count))
            try registrations.keep(client, as: name, issuer: issuer) { _ in false }
        }
        #expect(try registrations.clients(name, issuer: issuer).map(\.clientID.utf8.count) == [2_048])
    }

    @Test("a client that was given up or has an expired secret is not used, but kept")
    func usable() throws {
        let client = RegisteredRecord(clientID: "c-1", secretExpiresAt: now.adding(10), scope: Scope("a b"))
        #expect(client.isUsable(at: now) && !client.isUsable(at: now.adding(10)))
        #expect(client.allows(Scope("b")) && !client.allows(Scope("a c")))
        #expect(RegisteredRecord(clientID: "c").allows(Scope("anything")))
        try registrations.keep(client, as: name, issuer: issuer) { _ in false }
        try registrations.retire("c-1", in: name, issuer: issuer)
        let retired = try #require(try registrations.client("c-1", issuer: issuer))
        #expect(!retired.isUsable(at: now))
        try registrations.keep(RegisteredRecord(clientID: "c-2"), as: name, issuer: issuer) { _ in false }
        #expect(try registrations.clients(name, issuer: issuer).map(\.clientID) == ["c-2", "c-1"])
    }
}

@Suite("where clients were used")
struct ClientUsesTests {
    private let state = ScratchDirectory()
    private var uses: ClientUses { ClientUses(state: state.path) }

    @Test("the user's own uses are kept however many resources there are, with names of servers that are cut")
    func bounds() throws {
        let own = ClientUse(
            issuer: "https://op.example", tokenEndpoint: "https://op.example/token", origin: nil)
        try uses.note(own, of: "https://client.example/oidc.json")
        for number in 0..<3 {
            let long = "https://evil.example/\(number)" + String(repeating: "x", count: 100_000)
            let use = ClientUse(issuer: long, tokenEndpoint: long, origin: "https://api.example")
            try uses.note(use, of: "https://client.example/oidc.json")
            #expect(use.json.compact.utf8.count < 2_200)
        }
        let all = try uses.all()
        #expect(all.count == 4 && all.first?.use == own)
    }

    @Test("a server that a resource only named says nothing about what led the user to it")
    func unused() throws {
        let issuer = "https://op.example"
        func use(origin: String?, isFound: Bool = false, isOnlyNamed: Bool = false) -> ClientUse {
            ClientUse(
                issuer: issuer, tokenEndpoint: "\(issuer)/token", origin: origin, isFound: isFound,
                isOnlyNamed: isOnlyNamed)
        }
        try uses.note(use(origin: "https://api.example", isOnlyNamed: true), of: "c")
        #expect(try uses.all().first?.use.isOnlyNamed == true)
        #expect(!uses.isFound(issuer: issuer, clientID: "c"))
        try uses.note(use(origin: nil, isFound: true), of: "c")
        #expect(uses.isFound(issuer: issuer, clientID: "c"))
    }

    @Test("a URL led to a server at which the user was told to register, until they name it")
    func told() throws {
        let issuer = "https://op.example"
        try uses.note(
            ClientUse(
                issuer: issuer, tokenEndpoint: "\(issuer)/token", origin: "https://api.example",
                isOnlyNamed: true), of: "")
        #expect(uses.isFound(issuer: issuer, clientID: "c"))
        #expect(uses.namedBeside(issuer: issuer) == nil)
        try uses.noteNamed(issuer: issuer, beside: { ["https://a.example"] })
        #expect(!uses.isFound(issuer: issuer, clientID: "c"))
        #expect(uses.namedBeside(issuer: issuer) == ["https://a.example"])
        try uses.noteNamed(issuer: issuer, beside: { ["https://b.example"] })
        #expect(uses.namedBeside(issuer: issuer) == ["https://b.example"])
    }

    @Test("a file that cannot be read may tell of any use")
    func unreadable() throws {
        #expect(try uses.all().isEmpty)
        try uses.note(ClientUse(issuer: nil, tokenEndpoint: "https://op.example/token", origin: nil), of: "c")
        state.put("{", "clients/other.json", mode: 0o600)
        #expect(throws: OIDCError.self) { try uses.all() }
    }
}
