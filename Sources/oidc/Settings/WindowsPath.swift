import OIDCCore
import Posix

/// A path as Windows writes it: `C:\…`, `\\wsl.localhost\DISTRIBUTION\…`, `\\wsl$\DISTRIBUTION\…` or another share.
/// A variable has one if Windows shares it with WSL without the flag `/p` in `WSLENV` (Microsoft, "Working across
/// Windows and Linux file systems", 2021-09-27). Linux would take it for a name in the working directory.
struct WindowsPath {
    private enum Root {
        case drive(Character)
        case distribution(String)
        case share
    }

    private let root: Root
    /// The names below the root.
    private let names: [Substring]

    init?(_ text: String) {
        let names = text.split { $0 == "\\" || $0 == "/" }
        if text.hasPrefix(#"\\"#) {
            // Since Windows 11, `\\wsl$` is the old name (WSL's release notes).
            let isOfWSL = ["wsl.localhost", "wsl$"].contains(names.first.map { ASCII.lowercased($0) })
            guard isOfWSL, names.count > 1 else {
                (root, self.names) = (.share, Array(names.dropFirst()))
                return
            }
            (root, self.names) = (.distribution(String(names[1])), Array(names.dropFirst(2)))
            return
        }
        let start = text.prefix(3)
        guard let letter = start.first, letter.isASCII, letter.isLetter, start.dropFirst() == #":\"# else {
            return nil
        }
        (root, self.names) = (.drive(letter), Array(names.dropFirst()))
    }

    /// Returns the path of the same file in WSL; nil if it is not a file of this distribution or a mounted drive, or
    /// if this is not WSL.
    func inLinux(_ environment: Variables, isWSL: Bool) -> String? {
        guard isWSL else { return nil }
        let path = names.joined(separator: "/")
        switch root {
        case .drive(let letter): return "/mnt/\(letter.lowercased())/\(path)"
        case .distribution(let name):
            let own = environment["WSL_DISTRO_NAME"] ?? name
            return ASCII.lowercased(own) == ASCII.lowercased(name) ? "/\(path)" : nil
        case .share: return nil
        }
    }

    /// Returns the error if `text`, the value of a variable or an option, is a path of Windows.
    static func problem(
        _ text: String, of name: String, _ environment: Variables, isWSL: @autoclosure () -> Bool
    ) -> OIDCError? {
        guard let path = WindowsPath(text) else { return nil }
        let translated = path.inLinux(environment, isWSL: isWSL()).map {
            ShellWord.quoted(DisplayText.clean($0))
        }
        return OIDCError.usage(
            "\(name): \(DisplayText.clean(text)) is a path of Windows",
            hint: translated.map { "use \($0), which is that file in WSL" } ?? "name a file of this machine")
    }
}
