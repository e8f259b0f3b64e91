import Posix
import Synchronization
package import OIDCCore

/// A loopback server on its own thread, for a provider in the same process as its client.
package final class BackgroundServer: Sendable {
    package let port: UInt16
    package let origin: String
    private let stop: FileDescriptor
    private let thread: BackgroundThread

    /// The server while it is passed to its thread. `@unchecked Sendable`, as only that thread uses it
    /// afterward.
    private struct Handover: @unchecked Sendable {
        let server: LoopbackServer
    }

    /// Starts the server. `handle` runs on its thread, one request at a time.
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
            do throws(Errno) {
                thread = try BackgroundThread {
                    _ = handover.server.serve(also: [reading.rawValue]) { request in
                        request.request(to: origin).map(handle) ?? HTTPResponse(status: 400)
                    }
                    handover.server.close()
                    reading.close()
                }
            } catch {
                reading.close()
                writing.close()
                throw error
            }
        } catch {
            throw OIDCError(.failed, "a server could not be started: \(error)")
        }
    }

    /// Stops the server and returns when its port is free again.
    package func end() {
        stop.close()
        thread.join()
    }
}
