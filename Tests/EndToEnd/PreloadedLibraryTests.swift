import Posix

#if os(Linux)
    import Foundation
    import DemoProvider
    import OIDCAccount
    import TestSupport
    import Testing

    @Suite("preloaded libraries")
    struct PreloadedLibraryTests {
        private static let compiler = try? Executable.find(
            "clang", in: Variables(ProcessInfo.processInfo.environment))

        /// Returns the path of a library of this source.
        private func compiled(_ text: String, for program: Program) throws -> String {
            let source = program.home.appendingPathComponent("preloaded.c")
            let library = program.home.appendingPathComponent("preloaded.so").path
            try Data(text.utf8).write(to: source)
            let compiling = try Process.run(
                URL(fileURLWithPath: #require(PreloadedLibraryTests.compiler)),
                arguments: ["-shared", "-fPIC", "-o", library, source.path])
            compiling.waitUntilExit()
            try #require(compiling.terminationStatus == 0)
            return library
        }

        @Test(
            "time limits pass while the machine sleeps, when CLOCK_MONOTONIC stands still",
            .enabled(if: compiler != nil, "no clang in PATH"))
        func sleep() throws {
            let provider = try ProviderServer()
            let program = try Program(provider)
            defer { withExtendedLifetime(provider) { program.remove() } }
            let library = try compiled(
                """
                #define _GNU_SOURCE
                #include <sys/syscall.h>
                #include <time.h>
                #include <unistd.h>
                int clock_gettime(clockid_t id, struct timespec *now) {
                    int result = syscall(SYS_clock_gettime, id, now);
                    if (id == CLOCK_MONOTONIC) now->tv_sec = 1000, now->tv_nsec = 0;
                    return result;
                }
                """, for: program)
            let login = try program.start(
                ["login", "--no-browser", "--timeout", "1"], ["LD_PRELOAD": library]
            ).finish(within: 60)
            #expect(login.status == 6, "\(login)")
        }

        @Test(
            "a disk that reports only at fsync that it is full costs no session: the successor is kept",
            .enabled(if: compiler != nil, "no clang in PATH"))
        func fullDisk() throws {
            let provider = try ProviderServer()
            let program = try Program(provider)
            defer { withExtendedLifetime(provider) { program.remove() } }
            let library = try compiled(
                """
                #include <errno.h>
                int fsync(int file) { errno = EDQUOT; return -1; }
                """, for: program)
            try program.signIn(at: provider)
            for variables in [["LD_PRELOAD": library], ["LD_PRELOAD": library], [:]] {
                let token = try program.start(["token", "--refresh"], variables).finish()
                #expect(token.status == 0, "\(token)")
                if variables.isEmpty { #expect(token.errorOutput == "", "\(token)") }
            }
            #expect(try program.start(["token", "--refresh"]).finish().status == 0)
        }

        @Test(
            "a successor that cannot be put in place costs no session: the refresh token before it is not presented",
            .enabled(if: compiler != nil, "no clang in PATH"))
        func failingRename() throws {
            let provider = try ProviderServer()
            let program = try Program(provider)
            defer { withExtendedLifetime(provider) { program.remove() } }
            let library = try compiled(
                """
                #include <errno.h>
                int renameat(int from, const char *name, int to, const char *other) { errno = EIO; return -1; }
                """, for: program)
            try program.signIn(at: provider)
            let first = try program.start(["token", "--refresh"], ["LD_PRELOAD": library]).finish()
            #expect(first.errorOutput.contains("Input/output error"), "\(first)")
            let second = try program.start(["token", "--refresh"], ["LD_PRELOAD": library]).finish()
            #expect(second.status == 1, "\(second)")
            #expect(second.errorOutput.contains("a later copy of the session"), "\(second)")
            #expect(try program.start(["token", "--refresh"]).finish().status == 0)
        }

        @Test(
            "a library that changes the environment before main leaves the command line as it is",
            .enabled(if: compiler != nil, "no clang in PATH"),
            arguments: [#"setenv("A_VARIABLE", "1", 1)"#, "clearenv()"])
        func arguments(call: String) throws {
            let program = try Program()
            defer { program.remove() }
            let library = try compiled(
                "#include <stdlib.h>\n__attribute__((constructor)) static void change(void) { \(call); }\n",
                for: program)
            let known = try program.run("--version", variables: ["LD_PRELOAD": library])
            #expect(known.status == 0 && known.output.hasPrefix("oidc "), "\(known)")
            let unknown = try program.run("nonsense", variables: ["LD_PRELOAD": library])
            #expect(unknown.status == 2 && unknown.output.isEmpty, "\(unknown)")
        }
    }
#endif
