import Foundation
import OIDCCore
@testable import OIDCSignIn
@testable import Posix
import TestSupport
import Testing

@Suite("Which browser")
struct BrowserChoiceTests {
    /// A directory of programs that do nothing.
    private func programs(_ names: [String]) throws -> String {
        let directory = NSTemporaryDirectory() + "browsers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for name in names {
            _ = FileManager.default.createFile(
                atPath: "\(directory)/\(name)", contents: Data("#!/bin/sh\n".utf8),
                attributes: [.posixPermissions: 0o755])
        }
        return directory
    }

    private func resolve(
        _ environment: Variables,
        having names: [String] = ["xdg-open", "firefox", "wslview", "rundll32.exe"],
        isDarwin: Bool = false, isWSL: Bool = false, isContainer: Bool = false, setting: [String] = [],
        windowsSystem: String = "/no/such/directory", warn: (String) -> Void = { _ in }
    ) throws -> BrowserChoice {
        var environment = environment
        let directory = try programs(names)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        environment["PATH"] = directory
        var surroundings = BrowserSurroundings(
            isDarwin: isDarwin, isWSL: isWSL, isContainer: isContainer, environment: environment)
        surroundings.windowsSystem = windowsSystem
        return BrowserChoice.resolve(setting: setting, surroundings, warn: warn)
    }

    @Test("the setting comes before $BROWSER, and either counts as a browser on every platform")
    func named() throws {
        let remote: Variables = ["BROWSER": "w3m:links -g %s", "SSH_CONNECTION": "x"]
        #expect(try resolve(remote, setting: ["firefox", "%s"]) == .commands([["firefox", "%s"]]))
        #expect(try resolve(remote) == .commands([["w3m"], ["links", "-g", "%s"]]))
        #expect(try resolve(remote, having: []) == .commands([["w3m"], ["links", "-g", "%s"]]))
    }

    @Test("with a display, the openers that are there are tried in order")
    func display() throws {
        for name in ["DISPLAY", "WAYLAND_DISPLAY"] {
            #expect(try resolve([name: ":0"]) == .commands([["xdg-open"], ["firefox"]]))
        }
        #expect(try resolve(["DISPLAY": ":0", "BROWSER": " : "]) == .commands([["xdg-open"], ["firefox"]]))
        #expect(try resolve(["DISPLAY": ":0", "SSH_TTY": "x"]) == .commands([["xdg-open"], ["firefox"]]))
    }

    @Test(
        "in a workspace on another machine, only $BROWSER opens the URL, even if there is a display",
        arguments: [
            ("CODESPACES", "true", "a codespace"), ("VSCODE_PROXY_URI", "https://x/{{port}}", "code-server"),
            ("REMOTE_CONTAINERS", "true", "a dev container"),
            ("REMOTE_DEV_LAUNCHER_NAME_FOR_USAGE", "remote-dev-server.sh", "a JetBrains remote backend"),
        ])
    func workspace(name: String, value: String, title: String) throws {
        let reason = "this is \(title), and your browser is on another machine"
        #expect(try resolve([name: value, "DISPLAY": ":0"]) == .none(reason: reason))
        let helper: Variables = [name: value, "BROWSER": "/vscode/bin/helpers/browser.sh"]
        #expect(try resolve(helper) == .commands([["/vscode/bin/helpers/browser.sh"]]))
        #expect(try resolve([name: value], setting: ["firefox"]) == .commands([["firefox"]]))
        #expect(try resolve([name: "", "DISPLAY": ":0"]) == .commands([["xdg-open"], ["firefox"]]))
    }

    @Test("in WSL, rundll32.exe opens the URL in the browser of Windows, and a browser of Linux comes second")
    func windows() throws {
        let opener = ["rundll32.exe", "url.dll,FileProtocolHandler", "%s"]
        #expect(try resolve([:], isWSL: true) == .commands([opener]))
        #expect(try resolve(["DISPLAY": ":0"], isWSL: true) == .commands([opener, ["firefox"]]))
        #expect(
            try resolve(["DISPLAY": ":0", "SSH_TTY": "x"], isWSL: true) == .commands([["firefox"]]),
            "Windows is at the other machine")
        #expect(
            try resolve(["BROWSER": "firefox"], isWSL: true) == .commands([["firefox"]]), "the user's choice")
        #expect(
            try resolve([:], having: [], isWSL: true)
                == .none(reason: "rundll32.exe of Windows was not found, and there is no display"))
    }

    @Test("in WSL, rundll32.exe is also found if the directories of Windows are not in PATH")
    func windowsWithoutPath() throws {
        let directory = try programs(["rundll32.exe"])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(
            try resolve([:], having: [], isWSL: true, windowsSystem: directory)
                == .commands([["\(directory)/rundll32.exe", "url.dll,FileProtocolHandler", "%s"]]))
        #expect(try resolve([:], having: [], windowsSystem: directory).isAvailable == false)
    }

    @Test("in WSL, no program is used that hands the URL to PowerShell, or may choose one that does")
    func noShellOfWindows() throws {
        let dispatchers = [
            "wslview", "xdg-open", "sensible-browser", "x-www-browser", "gnome-open", "cmd.exe",
        ]
        #expect(
            try resolve(["DISPLAY": ":0"], having: dispatchers, isWSL: true)
                == .none(reason: "no browser was found on PATH"))
        var warnings: [String] = []
        let choice = try resolve(["BROWSER": "/usr/bin/wslview"], isWSL: true) { warnings.append($0) }
        #expect(choice == .commands([["rundll32.exe", "url.dll,FileProtocolHandler", "%s"]]))
        #expect(
            warnings == [
                "an entry of $BROWSER is not used: wslview passes its arguments to a shell, which could execute "
                    + "parts of the URL"
            ])
    }

    @Test("WSL is known by its variable, even with a kernel of the user's")
    func windowsVariable() {
        #expect(Platform.isWSL(["WSL_DISTRO_NAME": "Debian"]))
        #expect(Platform.isWSL(["WSL_DISTRO_NAME": ""]) == Platform.isWSL([:]))
    }

    @Test("on Darwin there is one, except over SSH")
    func darwin() throws {
        #expect(try resolve([:], isDarwin: true) == .commands([["/usr/bin/open"]]))
        #expect(try resolve(["SSH_TTY": "x"], isDarwin: true) == .none(reason: "this is an SSH session"))
    }

    @Test("without a browser, the reason is reported")
    func none() throws {
        #expect(
            try resolve([:]) == .none(reason: "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)")
        )
        #expect(
            try resolve(["DISPLAY": ""])
                == .none(reason: "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"))
        #expect(
            try resolve(["SSH_CONNECTION": "x"]) == .none(reason: "this is an SSH session without a display"))
        #expect(try resolve([:], isContainer: true) == .none(reason: "this is a container without a display"))
        #expect(try resolve(["DISPLAY": ":0"], having: []) == .none(reason: "no browser was found on PATH"))
    }
}

@Suite("Opening a browser")
struct BrowserTests {
    private let environment: Variables = [
        "PATH": "/usr/bin:/bin", "OIDC_CLIENT_SECRET": "s3cret", "OIDC_X": "y", "LANG": "C",
    ]

    private func address(_ text: String = "https://op.example/authorize?a=b&c=%73") throws -> WebURL {
        try #require(WebURL(text))
    }

    /// What a shell script that replaces the browser writes to its `$1`.
    private func output(of script: String, _ words: String...) throws -> String {
        let path = NSTemporaryDirectory() + "browser-\(UUID().uuidString)"
        defer { unlink(path) }
        let command = ["sh", "-c", "{ \(script)\n} > \(path).new; mv \(path).new \(path)"] + words
        var browser = try Browser.open(address(), with: .commands([command]), environment: environment)
        let limit = MonotonicTime.now().adding(seconds: 10)
        while access(path, F_OK) != 0, MonotonicTime.now() < limit {
            #expect(browser.check() == nil)
            Poll.sleep(until: MonotonicTime.now().adding(milliseconds: 2))
        }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test("the URL replaces %s, or comes last; no shell reads it")
    func arguments() {
        let address = "https://a.example/?x=$(id)&y=%s"
        func arguments(_ words: String...) -> [String] { BrowserCommand.arguments(words, address: address) }
        #expect(arguments("b", "--new", "%s") == ["b", "--new", address])
        #expect(arguments("b", "--app=%s", "%d%") == ["b", "--app=\(address)", "%d%"])
        #expect(arguments("b") == ["b", address])
        #expect(arguments("%s") == ["%s", address])
    }

    @Test(
        "a command that would let a shell read the URL is refused",
        arguments: [
            ["sh", "-c", "%s"], ["sh", "-c", "firefox %s"], ["sh", "-c", "firefox '%s'"], ["sh", "-c"],
            ["/bin/bash", "-lc", "%s"], ["bash", "-x", "-c", "%s"], ["bash", "-c", "-x", "%s"],
            ["bash", "-c", "-o", "posix", "%s"], ["bash", "-co", "posix", "%s"], ["sh", "-c", "--", "%s"],
            ["zsh", "-c", "%s"], ["dash", "-ec", "%s"], ["fish", "--command=%s"],
            ["fish", "--command", "%s"],
            ["env", "A=b", "sh", "-c", "%s"], ["busybox", "sh", "-c", "%s"], ["su", "alice", "-c", "%s"],
            ["ssh", "laptop", "open", "%s"], ["cmd.exe", "/c", "start", "%s"], ["cmd.exe", "/c", "start"],
            ["wslview"], ["wslview", "%s"], ["/usr/bin/wslview", "-s", "%s"],
            [#"C:\Windows\System32\CMD.EXE"#, "/c", "%s"], ["powershell.exe", "Start-Process", "%s"],
            ["watch", "%s"], ["watch", "-n1", "curl"], ["tmux", "new-window", "%s"],
            ["flock", "F", "-c", "%s"],
            ["flock", "F", "-c"], ["sg", "G", "-c", "%s"], ["perl", "-e", "%s"], ["perl", "-ne"],
            ["perl5.36", "-E", "%s"], ["/usr/bin/awk", "%s"], ["gawk", "-f", "a.awk", "%s"],
            ["node", "-e", "%s"], ["node", "--eval=%s"], ["nodejs", "-pe", "%s"], ["deno", "eval", "%s"],
            ["python3.11", "-Ic", "%s"], ["ruby", "-e", "%s"], ["php8.2", "-r", "%s"], ["lua5.4", "-e"],
            ["vim", "-c", "%s"], ["xterm", "-e", "%s"], ["x-terminal-emulator", "-e"],
            ["gnome-terminal", "--command=%s"], ["xfce4-terminal", "-x", "sh", "%s"],
            ["env", "-S", "w3m", "%s"], ["sed", "%s"], ["nice", "watch", "%s"],
            ["xterm", "-e", "w3m '%s'"], ["b", "x%s"], ["b", "%sx"], ["b", "--a=%sx"], ["b", "--a=%s=%s"],
        ])
    func shells(command: [String]) throws {
        #expect(BrowserCommand.problem(command) != nil)
        #expect(throws: OIDCError.self) {
            try Browser.open(address(), with: .commands([command]), environment: environment)
        }
    }

    @Test(
        "a shell with a script file may get the URL as an argument",
        arguments: [
            ["sh", "-c", #"exec firefox "$1""#, "sh", "%s"], ["sh", "-c", "touch x", "sh"],
            ["sh", "open.sh", "%s"], ["perl", "-e", "exec 'w3m', @ARGV", "%s"], ["python3", "open.py", "%s"],
            ["node", "open.js", "%s"], ["flock", "F", "firefox", "%s"], ["env", "A=b", "firefox", "%s"],
            ["rundll32.exe", "url.dll,FileProtocolHandler", "%s"], ["bash", "-l", "open.sh"],
            ["firefox", "--private-window", "%s"], ["b", "--app=%s"], [],
        ])
    func scripts(command: [String]) {
        #expect(BrowserCommand.problem(command) == nil)
    }

    @Test(
        "the words of $BROWSER may be quoted, and an entry may be a file with blanks in its name",
        arguments: [
            ("w3m:links -g %s", [["w3m"], ["links", "-g", "%s"]]), (" : ", []), ("", []),
            (#"'/opt/My Browser/run' --new "a b":x"#, [["/opt/My Browser/run", "--new", "a b"], ["x"]]),
            (#"/opt/My\ Browser/run %s"#, [["/opt/My Browser/run", "%s"]]),
            ("/opt/There Is/run:w3m", [["/opt/There Is/run"], ["w3m"]]),
            ("/opt/There Is/run %s", [["/opt/There", "Is/run", "%s"]]),
            (#"b --u="%s" 'x:y' "\"\\\a" ''"#, [["b", "--u=%s", "x:y", #""\\a"#, ""]]),
            (#"b \"#, [["b", #"\"#]]),
        ] as [(String, [[String]])])
    func quoting(text: String, commands: [[String]]) {
        var remarks: [String] = []
        let found = BrowserCommand.commands(
            ofVariable: text, isExecutable: { $0 == "/opt/There Is/run" }, warn: { remarks.append($0) })
        #expect(found == commands && remarks == [])
    }

    @Test("an entry of $BROWSER that cannot be used is passed over with a remark")
    func remarks() {
        var remarks: [String] = []
        let found = BrowserCommand.commands(
            ofVariable: "sh -c %s:firefox:x'y:z", isExecutable: { _ in false }, warn: { remarks.append($0) }
        )
        #expect(found == [["firefox"]])
        #expect(
            remarks == [
                "an entry of $BROWSER is not used: sh -c could execute parts of the URL",
                "an entry of $BROWSER is not used: a quote is not closed",
            ])
    }

    @Test("the browser's arguments hold nothing of ours but the URL, and its environment nothing")
    func child() throws {
        let text = try output(of: "echo \"$0|$1|$#\"; env | grep -c OIDC", "name")
        #expect(text == "name|https://op.example/authorize?a=b&c=%73|1\n0\n")
    }

    @Test("the browser has its own session, no input, no output, and none of our descriptors")
    func isolation() throws {
        let pipe = try FileDescriptor.pipe()
        let inherited = dup(pipe.reading.rawValue)
        defer {
            close(inherited)
            pipe.reading.close()
            pipe.writing.close()
        }
        let script = """
            readlink /proc/self/fd/0; readlink /proc/$$/fd/2; ls /proc/self/fd | wc -l
            [ "$(cut -d' ' -f6 /proc/$$/stat)" = "$$" ] && echo leader
            """
        #expect(try output(of: script) == "/dev/null\n/dev/null\n4\nleader\n")
    }

    @Test(
        "rundll32.exe gets the URL as one argument, as it is, which WSL does not quote",
        arguments: [
            "https://op.example/a?b=c&calc.exe&d=%COMSPEC%", "https://op.example/$(calc)?a=$env:PATH;calc",
            "https://op.example/a?b='&start%20calc&c='",
            "https://op.example/a?b=%22&calc&%26calc%26!x!,(calc)",
        ])
    func windows(text: String) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let words = directory.appendingPathComponent("words")
        try ExecutableScript.write(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > \(words.path).new; mv \(words.path).new \(words.path)\n",
            to: directory.appendingPathComponent("rundll32.exe"))
        let environment: Variables = ["PATH": "\(directory.path):/usr/bin:/bin"]
        let choice = BrowserChoice.resolve(BrowserSurroundings(isWSL: true, environment: environment))
        let url = try address(text)
        var browser = try Browser.open(url, with: choice, environment: environment)
        let limit = MonotonicTime.now().adding(seconds: 20)
        while !FileManager.default.fileExists(atPath: words.path), MonotonicTime.now() < limit {
            #expect(browser.check() == nil)
            Poll.sleep(until: .now().adding(milliseconds: 2))
        }
        #expect(try String(contentsOf: words, encoding: .utf8) == "url.dll,FileProtocolHandler\n\(text)\n")
        // WSL puts an argument with one of these into quotes, and escapes.
        #expect(!url.text.contains { " \t\r\n\"".contains($0) })
    }

    @Test("a command that cannot be started, or fails at once, is followed by the next")
    func fallback() throws {
        let path = NSTemporaryDirectory() + "browser-\(UUID().uuidString)"
        defer { unlink(path) }
        let commands = [["no-such-browser"], ["false"], ["touch", path, "--", "%s"], ["false"]]
        var browser = try Browser.open(address(), with: .commands(commands), environment: environment)
        let limit = MonotonicTime.now().adding(seconds: 10)
        while access(path, F_OK) != 0, MonotonicTime.now() < limit { _ = browser.check() }
        #expect(access(path, F_OK) == 0)
    }

    @Test("if none is left, each failure is reported once")
    func failure() throws {
        var browser = try Browser.open(
            address(), with: .commands([["no-such-browser"], ["sh", "-c", "exit 3"]]),
            environment: environment)
        var failure: OIDCError?
        let limit = MonotonicTime.now().adding(seconds: 10)
        while failure == nil, MonotonicTime.now() < limit { failure = browser.check() }
        #expect(
            failure?.message
                == "the browser could not be opened: \"no-such-browser\": No such file or directory, \"sh\" exited with 3"
        )
        #expect(browser.check() == nil)
        #expect(throws: OIDCError.self) {
            try Browser.open(address(), with: .commands([["no-such-browser"]]), environment: environment)
        }
    }

    @Test(
        "only https and loopback URLs are opened",
        arguments: ["http://op.example/", "http://127.0.0.2/", "http://localhost.example/"])
    func plainAddress(text: String) throws {
        let error = OIDCError(
            .failed,
            "no browser is opened for \(try address(text).origin), which is neither https nor on loopback")
        #expect(throws: error) {
            try Browser.open(address(text), with: .commands([["true"]]), environment: environment)
        }
    }

    @Test("a browser that has ended leaves no zombie behind, whether or not its status is read")
    func zombie() throws {
        let script = "echo $$ > $0.new; mv $0.new $0"
        let path = NSTemporaryDirectory() + "browser-\(UUID().uuidString)"
        defer { unlink(path) }
        let command = ["sh", "-c", script, path]
        _ = try Browser.open(address(), with: .commands([command]), environment: environment)
        let limit = MonotonicTime.now().adding(seconds: 20)
        var number: Int32?
        while number == nil || kill(number ?? 0, 0) == 0, MonotonicTime.now() < limit {
            let text = try? String(contentsOfFile: path, encoding: .utf8)
            number = text.flatMap { Int32($0.dropLast()) }
            Poll.sleep(until: MonotonicTime.now().adding(milliseconds: 2))
        }
        #expect(kill(try #require(number), 0) == -1 && errno == ESRCH)
    }

    @Test("loopback URLs are opened with plain http")
    func loopback() throws {
        for text in ["http://127.0.0.1:9480/", "http://[::1]/", "http://localhost/"] {
            _ = try Browser.open(address(text), with: .commands([["true"]]), environment: environment)
        }
    }
}
