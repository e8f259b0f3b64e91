import Posix

/// The browser to open, or the reason why there is none.
package enum BrowserChoice: Hashable, Sendable {
    /// Commands to try in this order. `%s` stands for the URL, which otherwise is the last argument.
    case commands([[String]])
    /// No browser; `reason` completes "no browser is opened: …".
    case none(reason: String)

    package var isAvailable: Bool {
        if case .commands = self { true } else { false }
    }

    /// Returns the `browser` setting, else the commands in `$BROWSER`, else this machine's commands to open a
    /// URL. The first two are used even without a display.
    ///
    /// `warn` is called with the reason why an entry of `$BROWSER` is not used.
    package static func resolve(
        setting: [String] = [], _ surroundings: BrowserSurroundings, warn: (String) -> Void = { _ in }
    ) -> BrowserChoice {
        if !setting.isEmpty { return .commands([setting]) }
        let named = BrowserCommand.commands(
            ofVariable: surroundings.environment["BROWSER", default: ""],
            isExecutable: { (try? Spawn.isExecutableFile($0).get()) != nil }, warn: warn)
        if !named.isEmpty { return .commands(named) }
        if surroundings.isDarwin {
            return surroundings.isRemote && !surroundings.hasDisplay
                ? .none(reason: "this is an SSH session") : .commands([["/usr/bin/open"]])
        }
        return usual(surroundings)
    }

    private static let windowsOpeners = [["wslview"], ["rundll32.exe", "url.dll,FileProtocolHandler", "%s"]]
    private static let openers = [
        "xdg-open", "sensible-browser", "x-www-browser", "gnome-open", "firefox", "chromium",
        "chromium-browser",
        "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser",
    ].map { [$0] }

    private static func usual(_ surroundings: BrowserSurroundings) -> BrowserChoice {
        var candidates: [[String]] = []
        if surroundings.isWSL, !surroundings.isRemote { candidates += windowsOpeners }
        if surroundings.hasDisplay { candidates += openers }
        let found = candidates.filter { surroundings.hasProgram($0[0]) }
        guard found.isEmpty else { return .commands(found) }
        return .none(reason: reason(surroundings))
    }

    private static func reason(_ surroundings: BrowserSurroundings) -> String {
        if surroundings.hasDisplay { return "no browser was found on PATH" }
        if surroundings.isRemote { return "this is an SSH session without a display" }
        if surroundings.isContainer { return "this is a container without a display" }
        return "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"
    }
}
