import OIDCCore

/// File descriptors that are reserved while a refresh token is redeemed, so its successor can be stored even
/// if the process has used up all others.
final class DescriptorReserve {
    private final class ReservedDescriptor {
        let file: OpenFile

        init() throws(Errno) { file = try OpenFile("/dev/null", for: .reading) }
    }

    private let descriptors: [ReservedDescriptor]

    init() throws(OIDCError) {
        do throws(Errno) {
            descriptors = try (0..<4).map { _ throws(Errno) in try ReservedDescriptor() }
        } catch {
            throw .store("cannot open another file", error)
        }
    }
}
