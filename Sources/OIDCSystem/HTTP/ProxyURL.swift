import OIDCCore

/// A proxy as a variable names it.
package enum ProxyURL {
    /// Scheme, host and port, which is all that may be shown. Nil if it is not clear where they are: a part of
    /// the password could be taken for them.
    package static func shown(_ value: String) -> String? {
        let (scheme, rest) =
            value.parts(around: "://").map { ("\($0.before)://", $0.after) } ?? ("", value[...])
        guard scheme.dropLast(3).utf8.allSatisfy(ASCII.isAlphanumeric) else { return nil }
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard !rest[end...].contains("@") else { return nil }
        let host = rest[..<end].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return WebURL("http://\(host)").map { "\(scheme)\($0.hostAndPort)" }
    }
}
