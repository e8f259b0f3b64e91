// Stand-ins until their own files are there: delete an entry when its real type lands.
public import OIDCCore
extension ResultPage {
    static func success(who: String?, provider: String) -> HTTPResponse { stranger(status: 200) }
    static func failure(_ error: OIDCError) -> HTTPResponse { stranger(status: 200) }
}
public struct QRCode { public init?(_ t: String) { return nil }; public var terminalText: String { "" } }
public struct MetadataCache: DocumentCache {
    public init(directory: String) {}
    public func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { nil }
    public func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {}
    public func forget(_ url: WebURL) {}
}
extension ResultPage { public static func signedOut() -> HTTPResponse { stranger(status: 200) } }
public struct CredentialHelperStore {
    public static func make(name: String, directory: String, environment: [String: String])
        -> MemorySessionStore
    { MemorySessionStore() }
}
