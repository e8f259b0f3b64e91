import OIDCCore
package import Posix

/// A workspace whose user has the browser on another machine. The command to open a URL there is in
/// `$BROWSER`, if there is one; the redirect reaches this machine through a forwarded port.
package struct RemoteWorkspace: Sendable {
    /// The name, after "this is".
    package let name: String
    private let isHere: @Sendable (Variables) -> Bool
    /// The way to forward a port, after "forward the port". `machine` is this machine as an argument of
    /// `ssh`.
    private let way: @Sendable (_ port: UInt16, _ machine: String, Variables) -> String

    /// The workspaces that are detected by their variables. The order matters: a codespace is also a dev
    /// container.
    private static let all: [RemoteWorkspace] = [
        RemoteWorkspace(name: "a codespace", isHere: { isTrue("CODESPACES", $0) }) { port, _, variables in
            let name = variables["CODESPACE_NAME", default: ""]
            let option = name.isEmpty ? "" : " -c \(ShellWord.quoted(name))"
            return "; on your own machine, run:\n\n  gh codespace ports forward \(port):\(port)\(option)"
        },
        RemoteWorkspace(name: "code-server", isHere: { isSet("VSCODE_PROXY_URI", $0) }) { port, machine, _ in
            "; on your own machine, run:\n\n  ssh -L \(port):127.0.0.1:\(port) \(machine)"
        },
        RemoteWorkspace(name: "a dev container", isHere: { isTrue("REMOTE_CONTAINERS", $0) }) { _, _, _ in
            ": add it to the view Ports of VS Code."
        },
        RemoteWorkspace(
            name: "a JetBrains remote backend", isHere: { isSet("REMOTE_DEV_LAUNCHER_NAME_FOR_USAGE", $0) }
        ) { _, _, _ in ": add it to the forwarded ports in JetBrains Client." },
    ]

    /// Returns the workspace that this program runs in; nil if it is none of these.
    package static func current(_ environment: Variables) -> RemoteWorkspace? {
        all.first { $0.isHere(environment) }
    }

    private static func isSet(_ name: String, _ variables: Variables) -> Bool {
        !variables[name, default: ""].isEmpty
    }

    private static func isTrue(_ name: String, _ variables: Variables) -> Bool {
        ASCII.lowercased(variables[name, default: ""]) == "true"
    }

    /// Returns advice on how to forward the listener's port. `machine` is this machine as an argument of
    /// `ssh`.
    package func advice(port: UInt16, machine: String, _ environment: Variables) -> String {
        "This is \(name), and your browser is redirected to port \(port) of its own machine. Forward the port"
            + way(port, machine, environment)
    }

    /// Returns the redirect URL at the proxy of code-server, which removes what is before the path (`/proxy/PORT`).
    package static func proxyURL(port: UInt16, path: String, _ environment: Variables) -> String? {
        guard let parts = environment["VSCODE_PROXY_URI", default: ""].parts(around: "{{port}}") else {
            return nil
        }
        var base = "\(parts.before)\(port)\(parts.after)"
        if base.hasSuffix("/") { base.removeLast() }
        return WebURL(base + path).flatMap { $0.isSecure ? $0.text : nil }
    }
}
