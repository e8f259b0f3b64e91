import Foundation
import OIDCCore

@testable import OIDCSessions
@testable import Posix
import TestSupport

/// A credential helper as a shell script, its keychain a directory, with a note of each call.
struct FakeHelper {
    let scratch: ScratchDirectory

    static let name = "fake"
    static let program = "docker-credential-fake"

    /// Keeps what it is given, as real ones do.
    static let keeping = """
        #!/bin/sh
        keychain="$KEYCHAIN"
        echo "$1" >> "$keychain/calls"
        entry() { printf %s "$1" | tr -c 'A-Za-z0-9\\n' '_'; }
        case "$1" in
        store)
            json=$(cat)
            url=$(printf %s "$json" | sed 's/.*"ServerURL":"\\([^"]*\\)".*/\\1/')
            printf %s "$json" > "$keychain/entry.$(entry "$url")" ;;
        get)
            file="$keychain/entry.$(entry "$(cat)")"
            [ -f "$file" ] || { echo "credentials not found in native keychain"; exit 1; }
            cat "$file" ;;
        erase)
            file="$keychain/entry.$(entry "$(cat)")"
            [ -f "$file" ] || { echo "credentials not found in native keychain"; exit 1; }
            rm "$file" ;;
        esac
        """

    init(_ scratch: ScratchDirectory, script: String = keeping) {
        self.scratch = scratch
        mkdir(scratch["bin"], 0o700)
        mkdir(scratch["keychain"], 0o700)
        install(script)
    }

    func install(_ script: String) {
        try? ExecutableScript.write(script, to: URL(fileURLWithPath: scratch["bin/\(FakeHelper.program)"]))
    }

    var environment: Variables {
        ["PATH": scratch["bin"] + ":/usr/bin:/bin", "KEYCHAIN": scratch["keychain"]]
    }

    func store(milliseconds: Int64 = 30_000) -> SessionStore {
        SessionStore(
            helper: FakeHelper.name, directory: scratch["oidc"], environment: environment,
            milliseconds: milliseconds)
    }

    /// The verbs since the last look.
    func calls() -> [String] {
        defer { unlink(scratch["keychain/calls"]) }
        return (scratch.text("keychain/calls") ?? "").split(separator: "\n").map(String.init)
    }

    var entries: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: scratch["keychain"])) ?? [])
            .filter { $0.hasPrefix("entry.") }
    }
}
