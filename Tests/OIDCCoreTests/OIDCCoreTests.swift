import Foundation
import Testing

@Suite("the core as a whole")
struct OIDCCoreTests {
    @Test("OIDCCore imports only OIDCCrypto, so it can reach no file, socket or clock")
    func imports() throws {
        let core = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/OIDCCore")
        let files = try #require(FileManager.default.enumerator(at: core, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            count += 1
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"),
                    words[..<index].allSatisfy({ $0.hasPrefix("@") || ["package", "public"].contains($0) })
                else { continue }
                #expect(words.last == "OIDCCrypto", "\(file.lastPathComponent): \(line)")
            }
        }
        #expect(count > 50)
    }
}
