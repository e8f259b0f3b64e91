import Foundation
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("which programs run beside an isolated command")
struct ProgramRuleTests {
    @Test("only kept programs are found, whatever PATH has, and only by their names")
    func kept() async {
        await #expect(processExitsWith: .exitCode(9)) {
            let scratch = ScratchDirectory()
            for name in ["kept", "planted"] {
                scratch.put("#!/bin/sh\n", name)
                try #require(chmod("\(scratch.path)/\(name)", 0o755) == 0)
            }
            let environment: Variables = ["PATH": scratch.path]
            func find(_ name: String) -> String? { try? Executable.find(name, in: environment) }
            ProgramRule.use(.keepingAnswers)
            try #require(find("planted") == "\(scratch.path)/planted")
            ProgramRule.use(.only(["kept": "/elsewhere/kept"]))
            try #require(find("kept") == "/elsewhere/kept")
            try #require(find("planted") == nil)
            try #require(find("\(scratch.path)/planted") == "\(scratch.path)/planted")
            exit(9)
        }
    }
}
