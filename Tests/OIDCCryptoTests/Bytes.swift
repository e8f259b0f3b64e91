import Foundation

func bytes(hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...($0 + 1)]), radix: 16)! }
}

func bytes(base64URL: String) -> [UInt8] {
    let text = base64URL.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    return Array(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))!)
}
