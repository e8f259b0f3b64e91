import CurlHTTP
import OIDCCore
import Posix

/// The value of `-d`: text, `@FILE`, or `-` for stdin. Short data, which is held in memory, and files of any
/// size can be sent again.
struct RequestData {
    /// The maximum number of bytes held in memory.
    static let heldLimit = 1 << 20

    private enum Content {
        case bytes([UInt8])
        case file(FileDescriptor, start: Int64)
        case partial([UInt8], FileDescriptor)
    }

    private let content: Content
    /// The media type if no header sets it: JSON, a form for other text, or `application/octet-stream`.
    let mediaType: String?

    static let none = RequestData(content: .bytes([]), mediaType: nil)

    private init(content: Content, mediaType: String?) {
        self.content = content
        self.mediaType = mediaType
    }

    init(_ data: String) throws(OIDCError) {
        if data == "-" {
            try self.init(.standardInput, named: "stdin")
        } else if data.hasPrefix("@") {
            let path = String(data.dropFirst())
            let file: FileDescriptor
            do throws(Errno) { file = try FileDescriptor.open(reading: path) } catch {
                throw .usage(
                    "-d @\(DisplayText.clean(path)) cannot be read: \(error)", hint: "check the path after @")
            }
            try self.init(file, named: "-d @\(DisplayText.clean(path))")
        } else {
            self.init(
                content: .bytes(Array(data.utf8)),
                mediaType: RequestData.isJSON(data.utf8)
                    ? "application/json" : "application/x-www-form-urlencoded")
        }
    }

    private init(_ file: FileDescriptor, named name: String) throws(OIDCError) {
        if let length = file.remainingLength, length > RequestData.heldLimit, let start = file.position {
            self.init(content: .file(file, start: start), mediaType: "application/octet-stream")
            return
        }
        let (bytes, isWhole) = try UserFile.beginning(of: file, limit: RequestData.heldLimit, named: name)
        self.init(
            content: isWhole ? .bytes(bytes) : .partial(bytes, file),
            mediaType: isWhole && RequestData.isJSON(bytes) ? "application/json" : "application/octet-stream")
    }

    private static func isJSON(_ bytes: some Sequence<UInt8>) -> Bool {
        let bytes = Array(bytes)
        guard let first = bytes.first(where: { ![.space, .tab, .lineFeed, .carriageReturn].contains($0) })
        else { return false }
        return (first == .leftBrace || first == .leftBracket) && (try? JSONValue(parsing: bytes)) != nil
    }

    var isEmpty: Bool {
        if case .bytes(let bytes) = content { bytes.isEmpty } else { false }
    }

    var isRepeatable: Bool {
        if case .partial = content { false } else { true }
    }

    /// Returns the body from its start.
    func opened() throws(OIDCError) -> RequestBody {
        switch content {
        case .bytes(let bytes): return .bytes(bytes)
        case .partial(let bytes, let file): return .prefixed(bytes, file)
        case .file(let file, let start):
            do { try file.seek(to: start) } catch {
                throw .usage("the body cannot be read again: \(error)")
            }
            return .descriptor(file)
        }
    }
}
