package import Posix

/// The properties of this machine that decide whether it can show a browser; passed in for tests.
package struct BrowserSurroundings: Hashable, Sendable {
    /// Whether this is macOS, which always has `open`.
    package var isDarwin: Bool
    /// Whether this is Linux inside Windows (WSL), where a Windows browser can be started.
    package var isWSL: Bool
    package var isContainer: Bool
    package var environment: Variables
    /// The directory of Windows' own programs in WSL, which need not be in `PATH` (`appendWindowsPath` in wsl.conf).
    var windowsSystem = "/mnt/c/Windows/System32"

    package init(
        isDarwin: Bool = false, isWSL: Bool = false, isContainer: Bool = false, environment: Variables
    ) {
        self.isDarwin = isDarwin
        self.isWSL = isWSL
        self.isContainer = isContainer
        self.environment = environment
    }

    package static func current(environment: Variables = ProcessEnvironment.current)
        -> BrowserSurroundings
    {
        BrowserSurroundings(
            isDarwin: Platform.isDarwin, isWSL: Platform.isWSL(environment),
            isContainer: Platform.isContainer(environment),
            environment: environment)
    }

    var hasDisplay: Bool { isSet("DISPLAY") || isSet("WAYLAND_DISPLAY") }
    var isRemote: Bool { isSet("SSH_CONNECTION") || isSet("SSH_TTY") || isSet("SSH_CLIENT") }

    func isSet(_ name: String) -> Bool { !environment[name, default: ""].isEmpty }

    func hasProgram(_ name: String) -> Bool {
        (try? Executable.find(name, in: environment)) != nil
    }
}
