import Foundation
import OIDCCore
import OIDCSessions
import TestSupport
import Testing

@Suite("credential git", .serialized, .waiting)
struct GitTests {
    private func world(_ hosts: JSONValue = [["host": "git.example.com"]]) throws -> ToolWorld {
        let world = try ToolWorld()
        try world.configure([
            "issuer": .string(world.issuer), "client_id": "demo", "git_hosts": hosts,
        ])
        return world
    }

    @Test("get answers name, password and expiry for a host that is ours")
    func get() throws {
        let world = try world([
            ["host": "git.example.com"], ["host": "named.example.com:8443", "username": "me"],
        ])
        let access = try world.signIn().tokens.access
        let expiry = try #require(access.expiresAt).secondsSinceEpoch
        func answer(_ name: String) -> String {
            "username=\(name)\npassword=\(access.token.revealed)\npassword_expiry_utc=\(expiry)\n"
        }
        let questions = [
            ("protocol=https\nhost=git.example.com\n\n", answer("oauth2")),
            (
                "capability[]=authtype\nwwwauth[]=Basic\nwwwauth[]=Bearer\nprotocol=https\nhost=git.example.com:443\n",
                answer("oauth2")
            ),
            ("protocol=https\nhost=GIT.example.com\nusername=you\npath=a/b.git\n\n", answer("you")),
            ("protocol=https\nhost=named.example.com:8443\n\n", answer("me")),
        ]
        for (question, answer) in questions {
            let result = try world.run(["credential", "git", "get"], input: question)
            #expect(
                result.code == 0 && result.output == answer && result.errors == "", "\(question)\(result)")
        }
    }

    @Test(
        "other hosts are met with silence",
        arguments: [
            "protocol=https\nhost=other.example.com\n\n", "protocol=http\nhost=git.example.com\n\n",
            "protocol=ssh\nhost=git.example.com\n\n", "protocol=https\nhost=git.example.com:8443\n\n",
            "protocol=https\nhost=git.example.com.evil.example\n\n",
            "protocol=https\nhost=git.example.com@evil\n\n",
            "protocol=https\nhost=git.example.com/x\n\n", "protocol=https\nhost=\n\n",
            "protocol=cert\npath=/x\n\n", "\n",
            "protocol=https\nhost=other.example.com\n\nhost=git.example.com\n",
        ])
    func silence(question: String) throws {
        let world = try world()
        try world.signIn()
        let result = try world.run(["credential", "git", "get"], input: question)
        #expect(result.code == 0 && result.output == "" && result.errors == "", "\(result)")
    }

    @Test(
        "a question with a line too many gets no token",
        arguments: [
            "protocol=https\nhost=evil.example\nhost=git.example.com\n\n",
            "protocol=https\nhost=git.example.com\r\n\n", "protocol=https\nhost=git.example.com\nrubbish\n\n",
            "protocol=https\nhost=git.example.com\n=x\n\n", "protocol=https\u{0}\nhost=git.example.com\n\n",
        ])
    func injection(question: String) throws {
        let world = try world()
        try world.signIn()
        let result = try world.run(["credential", "git", "get"], input: question)
        #expect(result.code == 2 && result.output == "", "\(result)")
    }

    @Test("a name that is another's is not answered")
    func otherName() throws {
        let world = try world([["host": "git.example.com", "username": "me"]])
        try world.signIn()
        let question = "protocol=https\nhost=git.example.com\nusername=you\n\n"
        #expect(try world.run(["credential", "git", "get"], input: question).output == "")
    }

    @Test("store is ignored; erase expires the token and keeps the session")
    func erase() throws {
        let world = try world()
        let session = try world.signIn()
        let token = session.tokens.access.token.revealed
        let host = "protocol=https\nhost=git.example.com\nusername=oauth2\n"
        let stored = try world.run(["credential", "git", "store"], input: host + "password=x\n\n")
        let unknown = try world.run(["credential", "git", "approve"], input: host)
        #expect(stored.code == 0 && stored.output == "" && unknown.code == 0 && unknown.output == "")
        for password in ["another", ""] {
            #expect(
                try world.run(["credential", "git", "erase"], input: host + "password=\(password)\n\n").code
                    == 0)
            #expect(try world.store.load(world.key) == session)
        }
        let erased = try world.run(["credential", "git", "erase"], input: host + "password=\(token)\n\n")
        let kept = try #require(try world.store.load(world.key))
        #expect(
            erased.code == 0 && erased.output == "" && kept.tokens.refreshToken == session.tokens.refreshToken
        )
        let next = try world.run(["credential", "git", "get"], input: host + "\n")
        #expect(
            next.code == 0 && next.output.contains("password=") && !next.output.contains(token), "\(next)")
    }

    @Test("erase takes no token that nothing could replace")
    func eraseWithoutRefresh() throws {
        let world = try world()
        let session = try world.signIn { $0.tokens.refreshToken = nil }
        let token = session.tokens.access.token.revealed
        let question = "protocol=https\nhost=git.example.com\npassword=\(token)\n\n"
        #expect(try world.run(["credential", "git", "erase"], input: question).code == 0)
        #expect(try world.store.load(world.key) == session)
    }

    @Test("for a host of ours a failure has its exit code and reason; without a session git is told to stop")
    func failure() throws {
        let world = try world()
        let question = "protocol=https\nhost=git.example.com\n\n"
        let none = try world.run(["credential", "git", "get"], input: question)
        #expect(none.code == 3 && none.output == "quit=1\n" && none.errors.contains("oidc login"), "\(none)")
        try world.signIn { $0.tokens.access.type = .dpop }
        let bound = try world.run(["credential", "git", "get"], input: question)
        #expect(bound.code == 4 && bound.output == "", "\(bound)")
    }
}
