import OIDCCore
import Posix

/// The way from a browser on Windows to the listener of a sign-in in WSL (Microsoft, "Accessing network applications
/// with WSL", 2024-07-16, and "Advanced settings configuration in WSL", 2026-04-15).
struct WindowsForwarding {
    /// WSL's networking mode, as `wslinfo` prints it; nil in versions of WSL without it.
    let mode: String?

    init(mode: String?) { self.mode = mode }

    init(environment: Variables) {
        var question = ChildProcess(
            ["wslinfo", "--networking-mode"], environment: ProcessEnvironment.withoutOurs(environment))
        question.milliseconds = 2_000
        let answer = try? question.run()
        let word = answer.flatMap {
            $0.status.isSuccess ? ASCII.trimmed(String(decoding: $0.output, as: UTF8.self)) : nil
        }
        mode = word.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the outcome for a redirect URL whose port is available in WSL.
    func finding(of url: String, isIPv6Only: Bool) -> Finding.Outcome {
        let modeText = mode.map { "WSL's networking mode is \($0)" }
        let hint: Hint =
            "paste the URL that the browser was redirected to, or set networkingMode=mirrored in .wslconfig"
        switch mode {
        case "mirrored" where isIPv6Only:
            return .warning(
                "browsers on Windows do not reach \(url): \(modeText ?? "")",
                hint: "use http://127.0.0.1/… as redirect_uri")
        case "mirrored", "wsl1":
            return .ok("\(url) is available, also to browsers on Windows")
        case "none":
            return .warning(
                "browsers on Windows do not reach \(url): \(modeText ?? "")", hint: hint
            )
        case "nat", nil:
            return .ok(
                "\(url) is available, also to browsers on Windows unless .wslconfig says localhostForwarding=false"
            )
        default:
            return .ok("\(url) is available; browsers on Windows may not reach it: \(modeText ?? "")")
        }
    }
}
