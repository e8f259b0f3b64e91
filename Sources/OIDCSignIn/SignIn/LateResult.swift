import CPlatform
import LoopbackHTTP
import OIDCCore
import Posix

/// The page with the result of a sign-in, for a browser that requests it after the command has ended: a
/// detached process serves it at the listener's port for a few seconds.
package struct LateResult {
    let page: HTTPResponse
    let location: ResultLocation
    let program: String?
    let host: LoopbackAddress.Host
    let port: UInt16
    /// The values of Host with which a reverse proxy passes requests on.
    let names: [String]
    /// The files of the server's certificate, if it has one.
    let files: TLSFiles?
    /// The agreement by which another sign-in asks for a fixed port; nil if none can want this one.
    var handover: PortHandover?

    /// The name of the task for `DetachedProcess`.
    package static let task = "result-page"
    /// The time in milliseconds for which the page is served.
    static let lifetime: Int64 = 10_000

    /// Starts the process, which gets nothing of the sign-in except the page.
    func serve(at listeners: [FileDescriptor]) throws(Errno) {
        guard let first = listeners.first, listeners.count <= 2 else { throw .badDescriptor }
        try DetachedProcess(
            task: LateResult.task, input: Array(json.compact.utf8), output: first,
            errors: listeners.dropFirst().first
        ).start()
    }

    /// Serves the page and returns the exit code; the detached process does nothing else.
    package static func run() -> Int32 {
        let descriptors = [FileDescriptor.standardOutput, .standardError].filter {
            oidc_is_listener($0.rawValue) != 0
        }
        guard !descriptors.isEmpty, let input = DetachedProcess.begin(),
            let json = try? JSONValue(parsing: input), let late = LateResult(json)
        else { return 2 }
        let server = LoopbackServer(
            LoopbackListener(descriptors, late.host, port: late.port), identify: PeerOwner.identified)
        server.names = late.names
        if let files = late.files {
            // Loaded without the checks of `identity(for:at:)`, as the browser has just accepted the
            // certificate.
            guard let identity = try? files.identity() else { return 2 }
            server.secure(with: identity)
        }
        server.finish(
            showing: late.page, at: late.location, program: late.program, milliseconds: lifetime,
            unless: late.handover.map { handover in { handover.isWanted(late.port) } })
        return 0
    }
}

extension LateResult {
    var json: JSONValue {
        var members = JSONObject()
        members["callback"] = .string(location.callback)
        members["name"] = .string(location.name)
        members["program"] = program.map { .string($0) }
        members["host"] = .string(host.text)
        members["port"] = JSONValue(Int64(port))
        members["certificate"] = files.map { .string($0.certificate) }
        members["key"] = files.map { .string($0.key) }
        members["names"] = .array(names.map { .string($0) })
        members["handover"] = handover.map { .string($0.directory) }
        members["status"] = JSONValue(Int64(page.status))
        members["headers"] = .array(
            page.headers.fields.map { .array([.string($0.name), .string($0.value)]) })
        members["body"] = .string(String(decoding: page.body, as: UTF8.self))
        return .object(members)
    }

    init?(_ json: JSONValue) {
        guard let callback = json["callback"]?.string, let name = json["name"]?.string,
            let body = json["body"]?.string,
            let host = json["host"]?.string.flatMap({ LoopbackAddress.Host(urlText: $0) }),
            let port = json["port"]?.integer.flatMap({ UInt16(exactly: $0) }),
            let status = json["status"]?.integer, (200..<600).contains(status)
        else { return nil }
        let fields = (json["headers"]?.array ?? []).compactMap { field -> (String, String)? in
            guard let name = field.array?.first?.string, let value = field.array?.last?.string else {
                return nil
            }
            return (name, value)
        }
        self.init(
            page: HTTPResponse(
                status: Int(status), headers: HTTPHeaders(fields), body: Array(body.utf8)),
            location: ResultLocation(callback: callback, name: name, reference: nil),
            program: json["program"]?.string, host: host, port: port,
            names: (json["names"]?.array ?? []).compactMap(\.string),
            files: json["certificate"]?.string.flatMap { certificate in
                json["key"]?.string.map { TLSFiles(certificate: certificate, key: $0) }
            }, handover: json["handover"]?.string.map(PortHandover.init(directory:)))
    }
}
