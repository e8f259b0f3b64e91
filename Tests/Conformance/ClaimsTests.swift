import Foundation
import Testing

@Suite("the claims of the README and the pages, and their proof")
struct ClaimsTests {
    private static let root = TestCatalog.tests.deletingLastPathComponent()
    private static let page = root.appendingPathComponent(
        "Sources/OIDCCore/Documentation.docc/Claims.md")

    private static func claims() throws -> Claims {
        Claims(
            try String(contentsOf: TestCatalog.tests.appendingPathComponent("claims.txt"), encoding: .utf8))
    }

    @Test(
        "every claim is in its page word by word, its proofs exist, and listed sections have no other claim"
    )
    func complete() throws {
        let claims = try Self.claims()
        #expect(!claims.sections.isEmpty)
        let problems = try claims.problems(
            TestCatalog.all.get(),
            pages: { try? String(contentsOf: Self.root.appendingPathComponent($0), encoding: .utf8) },
            isFile: {
                $0.contains("/")
                    && FileManager.default.fileExists(atPath: Self.root.appendingPathComponent($0).path)
            })
        #expect(problems == [])
    }

    @Test("the page Claims matches the table; OIDC_WRITE_DOCUMENTATION=1 updates it")
    func current() throws {
        try WrittenTable.expect(
            try Self.claims().page(TestCatalog.all.get()), in: Self.page, mark: "claims", suite: "ClaimsTests"
        )
    }

    @Test("a sentence, a test, a file or a section that is gone is reported, and an item without a claim")
    func missing() {
        let page = """
            # Program

            It is fast and
            safe.

            ## Security

            1. Files are private,
               also here.
            2. Nobody listens.

            | code | meaning |
            | --- | --- |
            | 0 | done |
            | 1 | failed |

            ## Limits
            - It does not fly.
            """
        let catalog = TestCatalog(
            source: "struct SampleTests {\n    @Test(\"rule\") func rule() {}\n}", file: "A.swift")
        let claims = Claims(
            """
            # comment
            == README.md: Program

            It is fast and safe
              SampleTests/rule
              Tests/speed

            It is small
              SampleTests/gone
              Tests/gone

            It is fast

            == all of README.md: Security

            Files are private, also here
              SampleTests/rule

            | 0 | done |
              SampleTests/rule

            == README.md: Gone
            """)
        let problems = claims.problems(
            catalog, pages: { $0 == "README.md" ? page : nil }, isFile: { $0 == "Tests/speed" })
        #expect(
            problems == [
                "no longer said in README.md: Program: It is small",
                "no such test or file: SampleTests/gone",
                "no such test or file: Tests/gone",
                "without a proof: It is fast",
                "without a claim in README.md: Security: 2. Nobody listens.",
                "without a claim in README.md: Security: | 1 | failed |",
                "no such section: README.md: Gone",
            ])
        #expect(
            claims.page(catalog).hasPrefix(
                """
                ### [README.md: Program](../../../README.md#program)

                | Claim | Proof |
                | --- | --- |
                | It is fast and safe | [rule](../../../Tests/A.swift) · [Tests/speed](../../../Tests/speed) |

                """))
    }
}
