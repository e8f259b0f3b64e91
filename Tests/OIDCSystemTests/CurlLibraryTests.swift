import CLibcurl
import Foundation
import Testing

@testable import OIDCSystem

@Suite("loading libcurl")
struct CurlLibraryTests {
    /// What `oidc_curl_load` says of a list of names; nil where it loads one.
    private func problem(_ names: [String]) -> String? {
        var pointers: [UnsafePointer<CChar>?] = names.map { UnsafePointer(strdup($0)) } + [nil]
        defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
        let library = UnsafeMutablePointer<oidc_curl_library>.allocate(capacity: 1)
        defer { library.deallocate() }
        var text = [CChar](repeating: 0, count: 512)
        return oidc_curl_load(&pointers, library, &text, text.count).map { String(cString: $0) }
    }

    @Test("a machine without it is told so by the first name")
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

    @Test("a file that is no library says why it cannot be loaded")
    func noLibrary() throws {
        let path = NSTemporaryDirectory() + "oidc-\(UInt64.random(in: 0 ... .max)).so.4"
        try Data("no library at all".utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        #expect(problem([path])?.hasPrefix("\(path) cannot be loaded: ") == true)
    }

    @Test("the second name serves where the first is missing")
    func second() {
        #expect(problem(["libcurl-missing.so.4", "libcurl.so.4", "libcurl-gnutls.so.4"]) == nil)
    }
}
