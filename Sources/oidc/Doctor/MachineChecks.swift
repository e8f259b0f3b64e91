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
        guard settings.token.grant.needsUser else { return [identity()] }
        return [callback(), localhost(), browser(), identity()]
    }

    private func callback() -> Finding {
        do throws(OIDCError) {
            let redirect = try settings.signIn.redirect()
            guard let address = redirect.loopback else {
                return Finding("callback", .ok, "\(redirect.text) is pasted, so no port is needed")
            }
            let server = try LoopbackServer(address)
            defer { server.close() }
            let url = redirect.text(port: server.port)
            guard isWSL else { return Finding("callback", .ok, "\(url) is available") }
            return WindowsForwarding(environment: variables)
                .finding(of: url, isIPv6Only: address.host == .ipv6)
        } catch {
            return Finding("callback", error)
        }
    }

    /// Checks that `localhost` is this machine for the browser; this program does not look it up.
    private func localhost() -> Finding {
        let addresses = HostLookup.addresses(of: "localhost")
        let isNeeded = (try? settings.signIn.redirect())?.loopback?.host == .localhost
        let strangers = addresses.filter { $0 != "::1" && !$0.hasPrefix("127.") }
        let hint: Hint =
            isNeeded ? "fix /etc/hosts, or use http://127.0.0.1/… as redirect_uri" : "fix /etc/hosts"
        guard strangers.isEmpty else {
            return Finding(
                "localhost", isNeeded ? .problem : .warning,
                "resolves to another machine: \(strangers.joined(separator: ", "))", hint: hint)
        }
        guard !addresses.isEmpty else {
            return Finding("localhost", .warning, "this machine's resolver does not know it", hint: hint)
        }
        return Finding("localhost", .ok, addresses.joined(separator: ", "))
    }

    private func browser() -> Finding {
        let choice: BrowserChoice
        do throws(OIDCError) { choice = try provider.browserChoice() } catch {
            return Finding("browser", error)
        }
        switch choice {
        case .commands(let commands):
            let programs = commands.compactMap(\.first)
            if let found = programs.first(where: { (try? Executable.find($0, in: variables)) != nil }) {
                return Finding("browser", .ok, found)
            }
            return Finding(
                "browser", .warning, "cannot be run: \(programs.joined(separator: ", "))",
                hint: "check the setting browser, or the variable BROWSER")
        case .none(let reason):
            return Finding(
                "browser", .warning, "none: \(reason)",
                hint: .words(
                    "set BROWSER to a program; without one, ", .run("login"),
                    " shows a device code or a URL to open elsewhere"))
        }
    }

    private func identity() -> Finding {
        guard let identity = CIIdentity.detected(variables) else {
            return Finding("CI identity", .ok, "none")
        }
        let source = settings.subject.source ?? settings.client.assertionSource
        return Finding("CI identity", .ok, identity.name, hint: source == nil ? identity.hint : nil)
    }
}
