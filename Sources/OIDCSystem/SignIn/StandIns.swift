// Stand-ins until their own files are there: delete an entry when its real type lands.
public import OIDCCore

extension ResultPage {
    static func success(who: String?, provider: String) -> HTTPResponse { stranger(status: 200) }
    static func failure(_ error: OIDCError) -> HTTPResponse { stranger(status: 200) }
    public static func signedOut() -> HTTPResponse { stranger(status: 200) }
}

public struct QRCode {
    public init?(_ text: String) { return nil }
    public var terminalText: String { "" }
}
