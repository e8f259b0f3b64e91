import Posix

#if os(Linux)
    import Foundation
    import OIDCAccount
    import TestSupport
    import Testing

    @Suite("preloaded libraries")
    struct PreloadedLibraryTests {
        private static let compiler = try? Executable.find(
            "clang", in: Variables(ProcessInfo.processInfo.environment))

        @Test(
            "a library that changes the environment before main leaves the command line as it is",
            .enabled(if: compiler != nil, "no clang in PATH"),
            arguments: [#"setenv("A_VARIABLE", "1", 1)"#, "clearenv()"])
        func arguments(call: String) throws {
            let program = try Program()
            defer { program.remove() }
            let source = program.home.appendingPathComponent("preloaded.c")
            let library = program.home.appendingPathComponent("preloaded.so").path
            let text =
                "#include <stdlib.h>\n__attribute__((constructor)) static void change(void) { \(call); }\n"
            try Data(text.utf8).write(to: source)
            let compiling = try Process.run(
                URL(fileURLWithPath: #require(PreloadedLibraryTests.compiler)),
                arguments: ["-shared", "-fPIC", "-o", library, source.path])
            compiling.waitUntilExit()
            try #require(compiling.terminationStatus == 0)
            let known = try program.run("--version", variables: ["LD_PRELOAD": library])
            #expect(known.status == 0 && known.output.hasPrefix("oidc "), "\(known)")
            let unknown = try program.run("nonsense", variables: ["LD_PRELOAD": library])
            #expect(unknown.status == 2 && unknown.output.isEmpty, "\(unknown)")
        }
    }
#endif
