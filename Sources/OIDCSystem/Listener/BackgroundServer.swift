import Synchronization
package import OIDCCore

/// A loopback server on a thread of its own, for a provider that runs beside its client.
package final class BackgroundServer: Sendable {
    package let port: UInt16
    package let origin: String
    private let stop: FileDescriptor
    private let thread: BackgroundThread

    /// A server is used by one thread alone: it is handed over before the thread starts.
    private struct Handover: @unchecked Sendable {
        let server: LoopbackServer
    }

    /// `handle` runs on the server's thread, one request at a time.
    package init(
        _ address: LoopbackAddress = LoopbackAddress(),
        handle: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws(OIDCError) {
        let handover = Handover(server: try LoopbackServer(address))
        let origin = handover.server.origin
        port = handover.server.port
        self.origin = origin
        do throws(Errno) {
            let (reading, writing) = try FileDescriptor.pipe()
            stop = writing
            thread = try BackgroundThread {
                _ = handover.server.serve(also: [reading.rawValue]) { request in
                    request.request(to: origin).map(handle) ?? HTTPResponse(status: 400)
                }
                handover.server.close()
                reading.close()
            }
        } catch {
            throw OIDCError(.failed, "a server could not be started: \(error)")
        }
    }

    /// Returns when the port is free again.
    package func end() {
        stop.close()
        thread.join()
    }
}
