import OIDCCore

/// File descriptors that are reserved while a refresh token is redeemed, so its successor can be stored even
/// if the process has used up all others.
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
