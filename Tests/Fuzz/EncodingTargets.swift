@testable import OIDCCore
@testable import CurlHTTP
@testable import LoopbackHTTP
@testable import OIDCSignIn
@testable import Posix
@testable import oidc

/// The same requests whole and byte by byte.
@Sendable func fuzzHTTP1(_ bytes: [UInt8]) {
    func read(_ pieces: [[UInt8]]) -> [String] {
        var parser = HTTP1.RequestParser()
        var seen: [String] = []
        for piece in pieces {
            parser.feed(piece)
            while true {
                switch parser.next() {
                case .request(let request):
                    seen.append("\(request.method.name) \(request.target) \(request.body)")
                    continue
                case .rejected(let rejection):
                    seen.append("\(rejection.status)")
                    return seen
                case .needsMore: break
                }
                break
            }
        }
        return seen
    }
    let whole = read([bytes])
    require(whole == read(bytes.map { [$0] }), "pieces are read otherwise than the whole")
}

@Sendable func fuzzForm(_ bytes: [UInt8]) {
    guard let pairs = FormEncoding.decode(text(bytes)) else { return }
    let again = FormEncoding.decode(FormEncoding.encode(pairs))
    require(again?.map(\.value) == pairs.map(\.value), "encoding is not undone")
}

@Sendable func fuzzJSON(_ bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes) else { return }
    _ = (value.integer, value.number?.wholePart)
    guard let again = try? JSONValue(parsing: value.bytes) else {
        return require(false, "what was written cannot be read")
    }
    require(again.bytes == value.bytes, "writing is not stable")
    require(
        !value.compact.unicodeScalars.contains(where: DisplayText.isInvisible), "unfit for a terminal")
}

/// A base in the first line, and a reference to be resolved against it.
@Sendable func fuzzURL(_ bytes: [UInt8]) {
    let (line, rest) = firstLine(bytes)
    _ = outcome { () throws(OIDCError) in try RedirectURI.check(text(line)) }
    if let address = outcome({ () throws(OIDCError) in try RedirectAddress(text(line)) }) {
        let bound = address.text(port: 4_711)
        if let loopback = address.loopback {
            let (before, after) = (WebURL(address.text), WebURL(bound))
            require(after?.port == before?.port ?? 4_711, "another port than the bound one: \(bound)")
            require(after?.host == before?.host && after?.path == before?.path, "another address: \(bound)")
            require(LoopbackAddress.Host(after?.host ?? "") == loopback.host, "another host: \(bound)")
        } else {
            require(bound == address.text, "a port in an address that is not ours: \(bound)")
        }
    }
    guard let base = WebURL(text(line)) else { return }
    let tail = (base.query.map { "?\($0)" } ?? "") + (base.fragment.map { "#\($0)" } ?? "")
    let again = WebURL(base.withoutQuery + tail)
    require(again?.origin == base.origin && again?.path == base.path, "its parts are not the address")
    require(again?.query == base.query && again?.fragment == base.fragment, "its parts are not the address")
    let longer = base.appendingQuery([FormEncoding.Pair("name", "value & more")])
    require(WebURL(longer.text)?.query == longer.query, "the query is not in the text: \(longer)")
    require(longer.origin == base.origin && longer.fragment == nil, "adding a query changes more")
    let reference = text(rest)
    guard let target = base.resolving(reference) else { return }
    require(target.fragment == nil, "a fragment is kept")
    let isRelative = !reference.prefix { !"/?#".contains($0) }.contains(":") && !reference.hasPrefix("//")
    require(!isRelative || target.origin == base.origin, "a relative reference leads to another origin")
    let redirect = Redirect(request: .json(base), stage: .discovery)
    let answer = HTTPResponse(status: 302, headers: HTTPHeaders([("Location", reference)]))
    let next = outcome { () throws(OIDCError) in try redirect.next(after: answer, count: 0) }
    require(next.flatMap { $0 }.map { $0.origin == base.origin } ?? true, "another origin is followed")
}

/// Strings that are shown to a user, and dates of headers.
@Sendable func fuzzText(_ bytes: [UInt8]) {
    let whole = text(bytes)
    let clean = DisplayText.clean(whole, limit: 80)
    require(clean.unicodeScalars.count <= 80, "longer than its limit")
    require(!clean.unicodeScalars.contains(where: DisplayText.isInvisible), "unfit for a terminal")
    require(!ShellWord.quoted(whole).unicodeScalars.contains(where: DisplayText.isInvisible), "unfit word")
    if let date = HTTPDate.instant(whole) {
        require((-62_135_596_800...253_402_300_800).contains(date.secondsSinceEpoch), "a date out of range")
    }
    let head = response(Array("HTTP/1.1 200\n".utf8) + bytes + [0x0A, 0x0A])
    let kept = HTTPCacheLifetime.seconds(for: head, at: now)
    require((0...HTTPCacheLifetime.longest).contains(kept ?? 0), "kept for too long")
    let isRefused = head.headers.values("Cache-Control").contains { ASCII.lowercased($0) == "no-store" }
    require(!isRefused || kept == nil, "kept in spite of no-store")
    for edits in [false, true] {
        func lines(_ pieces: [[UInt8]]) -> [String] {
            var buffer = LineBuffer(limit: 64, edits: edits)
            for piece in pieces { buffer.feed(piece) }
            buffer.finish()
            var seen: [String] = []
            while let event = buffer.next() { seen.append("\(event)") }
            return seen
        }
        require(lines([bytes]) == lines(bytes.map { [$0] }), "pieces are read otherwise than the whole")
    }
    let page = ResultPage.failure(title: whole, message: whole, advice: whole)
    let plain = ResultPage.failure(title: "", message: "", advice: "")
    let tags = [page, plain].map { $0.body.count { $0 == 0x3C } }
    require(tags[0] == tags[1], "a tag that is not ours is on the page")
    if bytes.count <= 16 { _ = QRCode(whole)?.text(usesColor: false) }
}
