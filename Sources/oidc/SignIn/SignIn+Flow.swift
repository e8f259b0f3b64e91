import OIDCCore
import OIDCSignIn
import Posix

/// The choice of the flow.
extension SignIn {
    /// Whether a URL can be pasted.
    var hasInput: Bool { provider.context.ownsTerminal && !TerminalInput.isExhausted }

    /// Refuses a redirect URL that must be pasted if nothing can be pasted.
    func refuseUnreadable(_ redirect: RedirectAddress) throws(OIDCError) {
        guard redirect.loopback == nil, !hasInput else { return }
        let text = "redirect_uri \(DisplayText.clean(redirect.text)) can only be pasted, and stdin "
        guard provider.context.ownsTerminal else {
            throw OIDCError.usage(text + "belongs to the command", hint: provider.settings.loginLine)
        }
        throw OIDCError.usage(
            text + "has ended", hint: "run it on a terminal, or pipe the redirected URL into it")
    }

    enum Flow {
        case device
        /// A URL to open on this or another device; `offersDeviceCode` offers a code as well.
        case browser(BrowserChoice?, readsInput: Bool, offersDeviceCode: Bool = false)
    }

    /// Chooses the flow. `auto` opens a browser if this machine can show one, or else prints the URL, with a
    /// device code if the provider supports it.
    ///
    /// `--no-browser` alone prints the URL without a code, so a script does not poll. On a terminal, the
    /// redirected URL can be pasted.
    func flow(_ metadata: ProviderMetadata) throws(OIDCError) -> Flow {
        let isTerminal = provider.context.ownsTerminal && Terminal.isForeground(.standardInput)
        switch settings.flow {
        case .device: return .device
        case .paste: return .browser(nil, readsInput: true)
        case .auto, .browser:
            let browser =
                opensBrowser ? try provider.browserChoice() : BrowserChoice.none(reason: "--no-browser")
            let usable = browser.isAvailable ? browser : nil
            guard settings.flow == .auto, opensBrowser || settings.isFlowChosen else {
                return .browser(usable, readsInput: isTerminal)
            }
            let isPasteOnly = try settings.redirect().loopback == nil
            if opensBrowser, case .none(let reason) = browser {
                console.note("No browser is opened: \(reason).")
            }
            return .browser(
                usable, readsInput: isTerminal || isPasteOnly,
                offersDeviceCode: usable == nil && metadata.deviceAuthorizationEndpoint != nil)
        }
    }
}
