package import OIDCCore
import Posix

/// A file cache of providers' metadata and keys, for as long as their answers allow. Files that cannot be
/// read, written or trusted count as absent.
package struct MetadataCache: DocumentCache {
    private let path: String
    private static let formatVersion: Int64 = 1

    package init(directory path: String) {
        self.path = path
    }

    package func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? {
        guard let directory = try? PrivateDirectory.open(path),
            let bytes = try? AtomicFile.read(MetadataCache.name(url) + ".json", in: directory)
        else { return nil }
        return MetadataCache.body(of: bytes, for: url, at: now)
    }

    /// Returns the body of a cached answer; nil if it is no longer fresh or the file is not valid.
    static func body(of bytes: [UInt8], for url: WebURL, at now: Instant) -> [UInt8]? {
        guard let json = try? JSONValue(parsing: bytes),
            json["version"]?.integer == MetadataCache.formatVersion, json["url"]?.string == url.text,
            let fetchedAt = json["fetched_at"]?.integer, let freshUntil = json["fresh_until"]?.integer,
            let body = json["body"]?.string
        else { return nil }
        let lifetime = freshUntil.subtractingReportingOverflow(fetchedAt)
        guard !lifetime.overflow, lifetime.partialValue <= HTTPCacheLifetime.longest,
            (fetchedAt..<max(fetchedAt, freshUntil)).contains(now.secondsSinceEpoch)
        else { return nil }
        return Array(body.utf8)
    }

    /// Stores an answer. If the answer must not be stored, an earlier one is removed.
    package func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
        guard response.status == 200,
            let seconds = HTTPCacheLifetime.seconds(for: response, at: now), seconds > 0,
            let body = String(validating: response.body, as: UTF8.self)
        else { return forget(url) }
        let json: JSONValue = [
            "version": JSONValue(MetadataCache.formatVersion), "url": .string(url.text),
            "fetched_at": JSONValue(now.secondsSinceEpoch),
            "fresh_until": JSONValue(now.adding(seconds).secondsSinceEpoch), "body": .string(body),
        ]
        guard let directory = try? PrivateDirectory.create(path) else { return }
        let name = MetadataCache.name(url)
        _ = try? AtomicFile.write(
            to: name + ".json", temporary: name + ".tmp", in: directory, survivesPowerFailure: false
        ) { json.bytes }
    }

    package func forget(_ url: WebURL) {
        guard let directory = try? PrivateDirectory.open(path) else { return }
        let name = MetadataCache.name(url)
        _ = try? AtomicFile.remove(name + ".json", temporary: name + ".tmp", in: directory)
    }

    /// Returns a readable file name: `<host and the end of the path>-<hash of the whole URL>`.
    private static func name(_ url: WebURL) -> String {
        let last = url.path.split(separator: "/").last.map { "-\($0)" } ?? ""
        return FileName.of(url.host + last, hashing: url.text)
    }
}
