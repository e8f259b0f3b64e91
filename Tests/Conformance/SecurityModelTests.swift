import Foundation
import Testing

@Suite("the table of requirements and tests")
struct SecurityModelTests {
    private static let page = TestCatalog.tests.deletingLastPathComponent()
        .appendingPathComponent("Sources/OIDCCore/Documentation.docc/SecurityModel.md")

    private static func requirements() throws -> Requirements {
        Requirements(
            try String(
                contentsOf: TestCatalog.tests.appendingPathComponent("requirements.txt"), encoding: .utf8))
    }

    @Test("every requirement has a test, and every test that is named is there")
    func complete() throws {
        let requirements = try Self.requirements()
        #expect(!requirements.rows.isEmpty)
        let problems = try requirements.problems(TestCatalog.all.get())
        #expect(problems == [])
    }

    @Test("every client module that is run is in the table")
    func modules() throws {
        let named = Set(try Self.requirements().rows.flatMap(\.tests))
        let missing = Module.all.map { "SignInModuleTests/signIn: \($0.name)" }.filter { !named.contains($0) }
        #expect(missing == [])
    }

    @Test("the page Security model matches the table; OIDC_WRITE_DOCUMENTATION=1 updates it")
    func current() throws {
        try WrittenTable.expect(
            try Self.requirements().page(TestCatalog.all.get()), in: Self.page, mark: "requirements",
            suite: "SecurityModelTests")
    }

    @Test("a reference to a missing test, or to one of two tests of the same name, is reported")
    func missing() {
        let source = """
            @Suite("a suite")
            struct SampleTests {
                @Test("the \\"rule\\"", arguments: [1])
                func rule(number: Int) {}
                @Test func bare() {}
                @Test(
                    "long", arguments: ["a case"])
                func table(text: String) {}
                @Test func twice() {}
                @Test func twice(again: Int) {}
                func helper() {}
            }
            """
        let catalog = TestCatalog(source: source)
        #expect(catalog.title(of: "SampleTests/rule") == "the \"rule\"")
        #expect(catalog.title(of: "SampleTests/bare") == "bare")
        #expect(catalog.title(of: "SampleTests/table") == "long")
        #expect(catalog.title(of: "SampleTests/table: a case") == "a case")
        for absent in ["table: other", "twice", "helper", "renamed"] {
            #expect(catalog.title(of: "SampleTests/\(absent)") == nil, "\(absent)")
        }
        let requirements = Requirements(
            "# how\n\n== A\n\none\n  RFC 1\n  SampleTests/rule\n  SampleTests/helper\n\ntwo\n  -")
        #expect(
            requirements.problems(catalog) == ["no such test: SampleTests/helper", "without a test: two"])
        #expect(requirements.page(catalog).hasPrefix("### A\n\n| Requirement | Clause | Test |\n"))
    }
}
