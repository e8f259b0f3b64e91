@testable import oidc
import Testing

@Suite("QR codes")
struct QRCodeTests {
    /// ISO/IEC 18004 annex I.2: "01234567" in version 1-M.
    @Test("check bytes are those of the standard's example")
    func checkBytes() {
        let data: [UInt8] = [
            0x10, 0x20, 0x0C, 0x56, 0x61, 0x80, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11,
        ]
        #expect(
            ReedSolomon.check(data, count: 10)
                == [0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55])
    }

    /// Read back by other programs' readers when it was taken down.
    @Test("a text has the expected code")
    func knownCode() throws {
        let code = try #require(QRCode("HELLO"))
        let rows = (0..<code.size).map { row in
            (0..<code.size).map { code.isDark(column: $0, row: row) ? "#" : "." }.joined()
        }
        #expect(
            rows == [
                "#######.##.#..#######", "#.....#..##.#.#.....#", "#.###.#..####.#.###.#",
                "#.###.#.#..#..#.###.#", "#.###.#.#...#.#.###.#", "#.....#.#.##..#.....#",
                "#######.#.#.#.#######", "........#####........", "#...#.######.#####..#",
                "...###..#.###..#.####", "#.##..#.#.##..###..#.", "###..#...#...##.#....",
                "..#.###..#..###...##.", "........###.###..#.##", "#######.##..##...#.#.",
                "#.....#....##..#...#.", "#.###.#.#..#..###.#.#", "#.###.#....##....#.##",
                "#.###.#..###..####...", "#.....#..#...##......", "#######.#...#####.#.#",
            ])
    }

    @Test(
        "the smallest version is used, with more error correction if it fits",
        arguments: [
            (14, 1, .medium), (15, 1, .low), (17, 1, .low), (18, 2, .medium), (106, 5, .low), (107, 6, .low),
            (230, 9, .low), (231, 10, .low), (213, 9, .low), (331, 12, .low), (425, 13, .low),
        ] as [(Int, Int, QRLayout.Correction)])
    func layouts(count: Int, version: Int, correction: QRLayout.Correction) {
        let layout = QRLayout(version: version, correction: correction)
        #expect(QRLayout.smallest(for: count) == layout)
    }

    @Test("a text that is too long has no code")
    func tooLong() {
        #expect(QRCode(String(repeating: "a", count: 425))?.size == 69)
        #expect(QRCode(String(repeating: "a", count: 426)) == nil)
    }

    @Test("a code contains its version and error correction level", arguments: [20, 200])
    func formatAndVersion(count: Int) throws {
        let code = try #require(QRCode(String(repeating: "x", count: count)))
        let layout = try #require(QRLayout.smallest(for: count))
        let first = (0..<6).map { (8, $0) } + [(8, 7), (8, 8), (7, 8)] + (9..<15).map { (14 - $0, 8) }
        let second = (0..<8).map { (code.size - 1 - $0, 8) } + (8..<15).map { (8, code.size - 15 + $0) }
        let value = { (places: [(Int, Int)]) in
            places.enumerated().reduce(0) { sum, place in
                sum | (code.isDark(column: place.element.0, row: place.element.1) ? 1 << place.offset : 0)
            }
        }
        #expect(value(first) == value(second))
        #expect((value(first) ^ 0x5412) >> 13 == Int(layout.correction.rawValue))
        guard layout.version >= 7 else { return }
        let corner = value((0..<18).map { (code.size - 11 + $0 % 3, $0 / 3) })
        #expect(corner >> 12 == layout.version)
        #expect(corner == value((0..<18).map { ($0 / 3, code.size - 11 + $0 % 3) }))
    }

    @Test("the bytes of a code are its mode, its length and the text, padded")
    func codewords() throws {
        let layout = try #require(QRLayout.smallest(for: 5))
        #expect(
            layout.codewords(Array("HELLO".utf8)).prefix(16) == [
                0x40, 0x54, 0x84, 0x54, 0xC4, 0xC4, 0xF0, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11,
                0xEC,
            ])
    }

    @Test("on a terminal it has its own colors and a light border, two rows a line")
    func terminal() throws {
        let code = try #require(QRCode("HELLO"))
        let lines = code.text(usesColor: true).split(separator: "\n")
        #expect(lines.count == 15)
        #expect(
            lines.allSatisfy { $0.hasPrefix("\u{1B}[38;5;16;48;5;231m    ") && $0.hasSuffix("\u{1B}[0m") })
        let plain = code.text(usesColor: false).split(separator: "\n")
        #expect(plain.allSatisfy { $0.count == 29 })
        #expect(plain[0] == Substring(String(repeating: "█", count: 29)))
        #expect(plain[2].hasPrefix("████ ▄▄▄▄▄ █"))
    }
}
