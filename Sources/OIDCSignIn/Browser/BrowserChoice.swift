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
    /// URL. The first two are used even without a display. The last are not used in a remote workspace, as
    /// its display is not the user's.
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
        if let workspace = RemoteWorkspace.current(surroundings.environment) {
            return .none(reason: "this is \(workspace.name), and your browser is on another machine")
        }
        if surroundings.isDarwin {
            return surroundings.isRemote && !surroundings.hasDisplay
                ? .none(reason: "this is an SSH session") : .commands([["/usr/bin/open"]])
        }
        return usual(surroundings)
    }

    /// Programs that choose a browser. In WSL, that may be wslview; see `BrowserCommand`.
    private static let openers = ["xdg-open", "sensible-browser", "x-www-browser", "gnome-open"]
    private static let browsers = [
        "firefox", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge",
        "brave-browser",
    ]

    private static func usual(_ surroundings: BrowserSurroundings) -> BrowserChoice {
        let isInWindows = surroundings.isWSL && !surroundings.isRemote
        var found = isInWindows ? windowsOpener(surroundings).map { [$0] } ?? [] : []
        if surroundings.hasDisplay {
            let names = (surroundings.isWSL ? [] : openers) + browsers
            found += names.filter(surroundings.hasProgram).map { [$0] }
        }
        guard found.isEmpty else { return .commands(found) }
        return .none(reason: reason(surroundings))
    }

    /// Returns the command that opens a URL in the browser of Windows. WSL passes an argument without spaces and
    /// quotes on as it is (microsoft/WSL, `FormatCommandLine`, 2026-08), and rundll32.exe is not a shell: `&`, `%` and
    /// `^`, which cmd.exe interprets, and `$`, which PowerShell does, are parts of the URL. xdg-open 1.2 does the same.
    private static func windowsOpener(_ surroundings: BrowserSurroundings) -> [String]? {
        let names = ["rundll32.exe", "\(surroundings.windowsSystem)/rundll32.exe"]
        return names.first(where: surroundings.hasProgram).map { [$0, "url.dll,FileProtocolHandler", "%s"] }
    }

    private static func reason(_ surroundings: BrowserSurroundings) -> String {
        if surroundings.hasDisplay { return "no browser was found on PATH" }
        if surroundings.isRemote { return "this is an SSH session without a display" }
        if surroundings.isContainer { return "this is a container without a display" }
        if surroundings.isWSL { return "rundll32.exe of Windows was not found, and there is no display" }
        return "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"
    }
}
