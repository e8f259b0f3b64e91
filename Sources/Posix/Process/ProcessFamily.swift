#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The descendants of a program.
///
/// They are found by their parents, not as a process group: a program in a group of its own could not prompt
/// for a passphrase on our terminal, as readers outside the foreground group are stopped. Processes whose
/// parent has ended are not found; daemons such as gpg-agent detach themselves that way and should keep
/// running.
package struct ProcessFamily {
    /// A process, distinguished by its start time from a later one with the same number.
    package struct Member: Hashable, Sendable {
        package let processID: Int32
        let startTime: UInt64
    }

    private(set) var members: Set<Member> = []

    /// Adds the current descendants of the program and of the known members.
    mutating func addDescendants(of processID: Int32?) {
        let entries = ProcessFamily.entries()
        let running = Dictionary(entries.map { ($0.member.processID, $0.member) }) { first, _ in first }
        let children = Dictionary(grouping: entries, by: \.parent)
        var parents = members.filter { running[$0.processID] == $0 }.map(\.processID)
        if let processID { parents.append(processID) }
        while let parent = parents.popLast() {
            for child in children[parent, default: []] where members.insert(child.member).inserted {
                parents.append(child.member.processID)
            }
        }
    }

    /// Returns the first child of the program's only child; nil if there is none. Later ones are orphans of the first, which
    /// that child has adopted.
    static func firstGrandchild(of processID: Int32) -> Int32? {
        let children = Dictionary(grouping: entries(), by: \.parent)
        guard let child = children[processID], child.count == 1 else { return nil }
        return children[child[0].member.processID]?.map(\.member)
            .min { ($0.startTime, $0.processID) < ($1.startTime, $1.processID) }?.processID
    }

    /// Whether a member is still running.
    var isRunning: Bool { members.contains(where: \.isRunning) }

    /// Sends a signal to each running member.
    func signal(_ number: Int32) {
        for member in members where member.isRunning { Child.signal(member.processID, number) }
    }
}

extension ProcessFamily.Member {
    /// Returns a process that runs now; nil if there is none with that number, or the system does not say.
    package init?(running processID: Int32) {
        guard let entry = ProcessFamily.entry(processID), !entry.isZombie else { return nil }
        self = entry.member
    }

    /// Whether the process runs; false after its end, even before it is reaped.
    package var isRunning: Bool {
        guard let entry = ProcessFamily.entry(processID) else { return false }
        return entry.member == self && !entry.isZombie
    }
}

extension ProcessFamily {
    /// The system's information about a process.
    struct Entry {
        let member: Member
        let parent: Int32
        let isZombie: Bool
    }

    #if canImport(Darwin)
        static func entry(_ processID: Int32) -> Entry? {
            var information = proc_bsdinfo()
            let size = Int32(MemoryLayout<proc_bsdinfo>.size)
            guard proc_pidinfo(processID, PROC_PIDTBSDINFO, 0, &information, size) == size else { return nil }
            let start = information.pbi_start_tvsec &* 1_000_000 &+ information.pbi_start_tvusec
            return Entry(
                member: Member(processID: processID, startTime: start),
                parent: Int32(truncatingIfNeeded: information.pbi_ppid),
                isZombie: information.pbi_status == UInt32(SZOMB))
        }

        private static func entries() -> [Entry] {
            var numbers = [pid_t](repeating: 0, count: max(0, Int(proc_listallpids(nil, 0))) + 64)
            let size = Int32(numbers.count * MemoryLayout<pid_t>.stride)
            let count = max(0, Int(proc_listallpids(&numbers, size)))
            return numbers.prefix(count).compactMap(entry)
        }
    #else
        /// Reads `/proc/N/stat`: number, name in parentheses, state, parent, …, start time as the 22nd field.
        /// The name may contain spaces and parentheses.
        static func entry(_ processID: Int32) -> Entry? {
            guard let file = try? FileDescriptor.open(reading: "/proc/\(processID)/stat") else { return nil }
            defer { file.close() }
            guard let bytes = try? file.read(limit: 1_024), let end = bytes.lastIndex(of: UInt8(ascii: ")"))
            else { return nil }
            let fields = bytes[bytes.index(after: end)...].split(separator: UInt8(ascii: " "))
            guard fields.count > 19, let parent = Int32(String(decoding: fields[1], as: UTF8.self)),
                let start = UInt64(String(decoding: fields[19], as: UTF8.self))
            else { return nil }
            return Entry(
                member: Member(processID: processID, startTime: start), parent: parent,
                isZombie: fields[0].elementsEqual("Z".utf8))
        }

        private static func entries() -> [Entry] {
            guard let directory = try? OpenFile("/proc", for: .directory),
                let names = try? directory.names()
            else { return [] }
            return names.compactMap { Int32($0) }.compactMap(entry)
        }
    #endif
}
