import LoopbackHTTP
import OIDCCore
import OIDCSignIn
import Posix

/// Checks of this machine: the redirect URL's port, `localhost`, the browser and the CI identity.
struct MachineChecks {
    let provider: ProviderContext

    private var settings: Settings { provider.settings }
    private var isWSL: Bool { Platform.isWSL(variables) }
    private var variables: Variables { provider.context.environment }

    func findings() -> [Finding] {
        let ofSignIn =
            settings.token.grant.needsUser
            ? [
                Finding("callback", callback), Finding("localhost", localhost), Finding("browser", browser),
            ] : []
        return ofSignIn + [Finding("CI identity", identity)]
    }

    private func callback() throws(OIDCError) -> Finding.Outcome {
        let redirect = try settings.signIn.redirect()
        guard let address = redirect.loopback else {
            return .ok("\(redirect.text) is pasted, so no port is needed")
        }
        let identity = try redirect.identity(at: provider.context.now)
        let server = try PortHandover.bind(address, provider.context.portHandover) {
            (address) throws(OIDCError) in try LoopbackServer(address)
        }
        defer { server.close() }
        let url = redirect.text(port: server.port)
        if let warning = redirect.exposure(port: server.port) {
            return .warning(warning.message, hint: warning.hint)
        }
        if redirect.route != nil {
            let place = "\(server.host.text):\(server.port)\(redirect.path)"
            return .ok("\(place) is available, and \(url) has to lead there")
        }
        if let end = identity?.validity?.end {
            let left = TimeWords.relative(end, to: provider.context.now)
            return end.seconds(since: provider.context.now) < 30 * 86_400
                ? .warning(
                    "the certificate for \(url) expires \(left)", hint: .run("login --make-certificate"))
                : .ok("\(url) is available; its certificate expires \(left)")
        }
        guard isWSL else { return .ok("\(url) is available") }
        return WindowsForwarding(environment: variables)
            .finding(of: url, isIPv6Only: address.host == .ipv6)
    }

    /// Checks that `localhost` is this machine for the browser; this program does not look it up.
    private func localhost() -> Finding.Outcome {
        let addresses = HostLookup.addresses(of: "localhost")
        let isNeeded = (try? settings.signIn.redirect())?.loopback?.host == .localhost
        let strangers = addresses.filter { $0 != "::1" && !$0.hasPrefix("127.") }
        let hint: Hint =
            isNeeded ? "fix /etc/hosts, or use http://127.0.0.1/… as redirect_uri" : "fix /etc/hosts"
        guard strangers.isEmpty else {
            return Finding.Outcome(
                result: isNeeded ? .problem : .warning,
                detail: "resolves to another machine: \(strangers.joined(separator: ", "))", hint: hint)
        }
        guard !addresses.isEmpty else {
            return .warning("this machine's resolver does not know it", hint: hint)
        }
        return .ok(addresses.joined(separator: ", "))
    }

    private func browser() throws(OIDCError) -> Finding.Outcome {
        let choice = try provider.browserChoice()
        switch choice {
        case .commands(let commands):
            let programs = commands.compactMap(\.first)
            if let found = programs.first(where: { (try? Executable.find($0, in: variables)) != nil }) {
                return .ok(found)
            }
            return .warning(
                "cannot be run: \(programs.joined(separator: ", "))",
                hint: "check the setting browser, or the variable BROWSER")
        case .none(let reason):
            return .warning(
                "none: \(reason)",
                hint: .words(
                    "set BROWSER to a program; without one, ", .run("login"),
                    " shows a device code or a URL to open elsewhere"))
        }
    }

    private func identity() -> Finding.Outcome {
        guard let identity = CIIdentity.detected(variables) else { return .ok("none") }
        let source = settings.subject.source ?? settings.client.assertionSource
        return .ok(identity.name, hint: source == nil ? identity.hint : nil)
    }
}
