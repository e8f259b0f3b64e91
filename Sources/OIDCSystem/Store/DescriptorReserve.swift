import OIDCCore

/// File descriptors held back while a refresh token is presented, so its successor can be stored even if the
/// process has used up all others by then.
final class DescriptorReserve {
    private final class Held {
        let file: OpenFile

        init() throws(Errno) { file = try OpenFile("/dev/null", for: .reading) }
    }

    private let held: [Held]

    init() throws(OIDCError) {
        do throws(Errno) {
            held = [try Held(), try Held(), try Held(), try Held()]
        } catch {
            throw .store("cannot open another file", error)
        }
    }
}
