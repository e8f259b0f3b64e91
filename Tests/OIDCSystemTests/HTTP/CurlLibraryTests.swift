import CLibcurl
@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("loading libcurl")
struct CurlLibraryTests {
    /// Returns the error of `oidc_curl_load` for a list of names; nil if it loads one.
    private func problem(_ names: [String]) -> String? {
        var pointers: [UnsafePointer<CChar>?] = names.map { UnsafePointer(strdup($0)) } + [nil]
        defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
        let library = UnsafeMutablePointer<oidc_curl_library>.allocate(capacity: 1)
        defer { library.deallocate() }
        var text = [CChar](repeating: 0, count: 512)
        return oidc_curl_load(&pointers, library, &text, text.count).map { String(cString: $0) }
    }

    @Test("without the library the error names its first file name")
    func missing() {
        #expect(
            problem(["libcurl-missing.so.4", "libcurl-other.so.4"]) == "libcurl-missing.so.4 is not installed"
        )
    }

    @Test("a library that lacks a function is too old")
    func tooOld() {
        #expect(
            problem(["libm.so.6"])
                == "libm.so.6 is too old (no curl_multi_info_read): version 7.66 or later is needed")
    }

    @Test("a file that is not a library is an error with the reason")
    func noLibrary() throws {
        let path = NSTemporaryDirectory() + "oidc-\(UInt64.random(in: 0 ... .max)).so.4"
        try Data("no library at all".utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        #expect(problem([path])?.hasPrefix("\(path) cannot be loaded: ") == true)
    }

    @Test("the second file name is used if the first is missing")
    func second() {
        #expect(problem(["libcurl-missing.so.4", "libcurl.so.4", "libcurl-gnutls.so.4"]) == nil)
    }

    #if os(Linux)
        private static func isLoaded() -> Bool {
            let maps = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()
            return String(decoding: maps ?? Data(), as: UTF8.self).contains("libcurl")
        }

        @Test("libcurl is loaded at the first request, and not before", .waiting)
        func firstUse() async {
            await #expect(processExitsWith: .success) {
                let server = try ScriptedServer.answering(answer("200 OK"))
                let transport = CurlTransport()
                _ = try? transport.send(.json(WebURL("http://idp.invalid/")!), stage: .discovery)
                guard !Self.isLoaded() else { exit(3) }
                guard try transport.send(.json(server.url()), stage: .discovery).status == 200 else {
                    exit(4)
                }
                guard Self.isLoaded() else { exit(5) }
            }
        }
    #endif

    @Test("a broken pipe inside it does not end the process, one outside still would", .waiting)
    func brokenPipe() async {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            signal(SIGPIPE, SIG_DFL)
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            close(ends[0])
            let writing = ends[1]
            let written = withoutBrokenPipeSignal { write(writing, "x", 1) }
            guard written == -1, errno == EPIPE else { exit(1) }
            write(writing, "x", 1)
            exit(2)
        }
    }
}
