/// The browser to open, or why there is none.
public enum BrowserChoice: Hashable, Sendable {
    /// Tried in this order; `%s` stands for the address, which otherwise comes last.
    case commands([[String]])
    /// Completes a sentence: "no browser is opened: …".
    case none(reason: String)

    public var isAvailable: Bool {
        if case .commands = self { true } else { false }
    }

    /// The `browser` setting, else `$BROWSER`, else what this machine has to open an address with. The first two
    /// are believed: whoever names a browser has one.
    public static func resolve(setting: [String] = [], _ surroundings: BrowserSurroundings) -> BrowserChoice {
        if !setting.isEmpty { return .commands([setting]) }
        let named = commands(ofVariable: surroundings.environment["BROWSER", default: ""])
        if !named.isEmpty { return .commands(named) }
        if surroundings.isDarwin {
            return surroundings.isRemote && !surroundings.hasDisplay
                ? .none(reason: "this is an SSH session") : .commands([["/usr/bin/open"]])
        }
        return usual(surroundings)
    }

    /// `$BROWSER`: commands with colons between, each split on spaces.
    static func commands(ofVariable text: String) -> [[String]] {
        text.split(separator: ":").map { $0.split(separator: " ").map(String.init) }.filter { !$0.isEmpty }
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
