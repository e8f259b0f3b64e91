import OIDCCore

/// A record that a list can hold.
protocol StoredRecord: Hashable, Sendable {
    /// Returns nil for JSON that is not such a record.
    init?(_ json: JSONValue)
    var json: JSONValue { get }
}

/// Lists of records, one file each. A file names its owner and counts as empty for any other: a token or a
/// secret in it is sent only to the owner.
struct RecordList<Record: StoredRecord>: Sendable {
    private let formatVersion: Int64 = 1

    let directory: SessionDirectory
    /// The name of the member that holds the owner.
    let ownerMember: String
    /// The name of the member that holds the records.
    let recordsMember: String
    /// The maximum number of records in a file; the last ones are dropped first.
    let limit: Int

    /// Returns the records of a file. A damaged file counts as empty: the next change writes it again.
    func records(_ name: String, of owner: String) throws(OIDCError) -> [Record] {
        try found(name, of: owner).bytes.map { parse($0, of: owner) } ?? []
    }

    /// Returns the file of an owner: the one with this name or, as a hostile owner may choose the hash in its
    /// name, the first with a number that is not another owner's.
    private func found(_ name: String, of owner: String) throws(OIDCError) -> (name: String, bytes: [UInt8]?)
    {
        var (file, number) = (name, 1)
        while let bytes = try directory.read(file) {
            guard isOther(bytes, than: owner) else { return (file, bytes) }
            number += 1
            file = "\(name)-\(number)"
        }
        return (file, nil)
    }

    private func isOther(_ bytes: [UInt8], than owner: String) -> Bool {
        guard let found = (try? JSONValue(parsing: bytes))?[ownerMember]?.string else { return false }
        return !ExactText.isSame(found, owner)
    }

    /// Returns the records of all files, each with its owner. Files that cannot be read are left out.
    func all() throws(OIDCError) -> [(owner: String, records: [Record])] {
        try directory.names().compactMap { name in
            guard let bytes = try? directory.read(name),
                let owner = (try? JSONValue(parsing: bytes))?[ownerMember]?.string,
                document(bytes, of: owner) != nil
            else { return nil }
            return (owner, parse(bytes, of: owner))
        }
    }

    /// Changes the records of a file; `body` returns false to leave it as it is.
    func change(
        _ name: String, of owner: String, _ body: (inout [Record]) -> Bool
    ) throws(OIDCError) {
        try directory.replace(try found(name, of: owner).name) { existing in
            // Another owner's file may have come since.
            guard existing.map({ !isOther($0, than: owner) }) ?? true else { return nil }
            var records = existing.map { parse($0, of: owner) } ?? []
            guard body(&records) else { return nil }
            var document = JSONObject()
            document["version"] = JSONValue(formatVersion)
            document[ownerMember] = .string(owner)
            document[recordsMember] = .array(records.prefix(limit).map(\.json))
            return JSONValue.object(document).bytes
        }
    }

    /// Returns the path of a file that is damaged or of a later version; nil if it is valid or does not exist.
    func damagedFile(_ name: String, of owner: String) -> String? {
        guard let file = try? found(name, of: owner), let bytes = file.bytes,
            document(bytes, of: owner) == nil
        else { return nil }
        return directory.location(file.name)
    }

    private func parse(_ bytes: [UInt8], of owner: String) -> [Record] {
        (document(bytes, of: owner)?[recordsMember]?.array ?? []).compactMap { Record($0) }
    }

    private func document(_ bytes: [UInt8], of owner: String) -> JSONValue? {
        guard let json = try? JSONValue(parsing: bytes), let found = json[ownerMember]?.string,
            ExactText.isSame(found, owner), let version = json["version"]?.integer, version <= formatVersion
        else { return nil }
        return json
    }
}
