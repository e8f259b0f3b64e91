import CommandLineKit
import Foundation

/// A real shell that has loaded the toy's completion script.
struct ShellSession {
    let shell: Shell
    let directory: URL

    static func path(_ program: String) -> String? {
        ["/bin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + program }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    static func isInstalled(_ shell: Shell) -> Bool {
        path(shell.rawValue) != nil && (shell == .fish || path("script") != nil)
    }

    /// Makes a directory with the script, a `toy` that passes its arguments to this process, and some files.
    init(_ shell: Shell) throws {
        self.shell = shell
        let manager = FileManager.default
        directory = manager.temporaryDirectory.appendingPathComponent("toy-\(UUID().uuidString)")
        try manager.createDirectory(
            at: directory.appendingPathComponent("work/sub"), withIntermediateDirectories: true)
        try Completion.script(shell, Toy.program).write(
            to: directory.appendingPathComponent("script"), atomically: false, encoding: .utf8)
        for name in ["fi le", "fine"] {
            try Data().write(to: directory.appendingPathComponent("work/\(name)"))
        }
        for name in ["ask", "answer"] { mkfifo(directory.appendingPathComponent(name).path, 0o600) }
        // Written by another process: a program that another test starts now would keep a file of this one open for
        // writing, which cannot be executed meanwhile.
        let toy = """
            #!/bin/sh
            printf '%s\\0' "$@" > '\(directory.path)/ask'
            cat '\(directory.path)/answer'

            """
        _ = try run("sh", ["-c", "cat >../toy; chmod 755 ../toy"], input: toy)
        Thread.detachNewThread { [directory] in Self.answer(in: directory) }
    }

    /// Answers `toy completions SHELL --complete -- WORDS` in this process until the directory is removed.
    private static func answer(in directory: URL) {
        let (ask, answer) = (
            directory.appendingPathComponent("ask"), directory.appendingPathComponent("answer")
        )
        while let asked = try? FileHandle(forReadingFrom: ask).readDataToEndOfFile(), !asked.isEmpty {
            let words = asked.dropLast().split(separator: 0, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            guard words.count > 4, let shell = Shell(rawValue: words[1]),
                words[0] == "completions", words[2...3] == ["--complete", "--"]
            else { return }
            let text = Toy.program.answer(shell, Array(words[4...]), dynamic: Toy.values)
            try? FileHandle(forWritingTo: answer).write(contentsOf: Data(text.utf8))
        }
    }

    /// Opening and closing the pipe ends the thread that answers.
    func remove() {
        close(open(directory.appendingPathComponent("ask").path, O_RDWR | O_NONBLOCK))
        try? FileManager.default.removeItem(at: directory)
    }

    func read(_ name: String) -> String {
        (try? String(contentsOf: directory.appendingPathComponent(name), encoding: .utf8)) ?? ""
    }

    /// Returns the candidates for each line, sorted, without the shell's quoting.
    func candidates(_ lines: [String]) throws -> [[String]] {
        switch shell {
        case .bash: try bash(lines)
        case .zsh: try zsh(lines)
        case .fish: try fish(lines)
        }
    }

    /// Lets bash insert all candidates, and writes the line to a file.
    private func bash(_ lines: [String]) throws -> [[String]] {
        try type(
            lines, key: "\u{1B}*\u{07}",
            start: """
                source ../script; \
                keep() { printf '%s\\n' "$READLINE_LINE" >> ../out; READLINE_LINE=; }; \
                bind -x '"\\C-g": keep'; bind '"\\e*": insert-completions'
                """,
            arguments: ["bash --norc --noprofile -i"])
        return zip(lines, read("out").split(separator: "\n")).map { typed, buffer in
            let start =
                typed.replacingOccurrences(of: "\\ ", with: "__").lastIndex(of: " ") ?? typed.startIndex
            let head = typed.distance(from: typed.startIndex, to: start)
            let isChanged = buffer != typed
            return isChanged ? Self.words(String(buffer.dropFirst(head))) : []
        }
    }

    /// Writes what reaches `compadd` to a file.
    private func zsh(_ lines: [String]) throws -> [[String]] {
        try type(
            lines, key: "\u{07}",
            start: """
                PS1='> '; autoload -Uz compinit; compinit -u -D; source ../script
                typeset -ga hits
                compadd() { \
                  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi; \
                  typeset -a found; builtin compadd -A found "$@"; hits+=("$found[@]"); builtin compadd "$@"; }
                collect() { hits=(); zle complete-it; print -r -- "=${(j: :)hits}" >> ../out; BUFFER=; }
                zle -C complete-it list-choices _main_complete; zle -N collect; bindkey '^G' collect
                """,
            arguments: ["zsh -f -i"])
        return read("out").split(separator: "\n").map { Self.words(String($0.dropFirst())) }
    }

    private func fish(_ lines: [String]) throws -> [[String]] {
        let calls = lines.map { line in
            let quoted = line.replacingOccurrences(of: "\\", with: "\\\\")
            return "complete -C '\(quoted)' | string replace -r '\\t.*' ''; echo =="
        }
        let text = try run(
            "fish", ["-N", "-c", "source ../script; " + calls.joined(separator: "; ")], input: "")
        return text.components(separatedBy: "==\n").dropLast().map { block in
            Self.plain(block.split(separator: "\n").map(String.init))
        }
    }

    private func type(_ lines: [String], key: String, start: String, arguments: [String]) throws {
        let input = "\(start)\n" + lines.map { $0 + key }.joined() + "exit\n"
        _ = try run("script", ["-qec"] + arguments + ["/dev/null"], input: input)
    }

    private func run(_ program: String, _ arguments: [String], input: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.path(program) ?? program)
        process.arguments = arguments
        process.currentDirectoryURL = directory.appendingPathComponent("work")
        process.environment = [
            "PATH": "\(directory.path):/usr/bin:/bin", "HOME": directory.path, "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        ]
        let file = directory.appendingPathComponent("input")
        try Data(input.utf8).write(to: file)
        process.standardInput = try FileHandle(forReadingFrom: file)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// Splits words at spaces and removes backslashes.
    private static func words(_ text: String) -> [String] {
        var words = [""]
        var isEscaped = false
        for character in text {
            if isEscaped {
                words[words.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == " " {
                words.append("")
            } else {
                words[words.count - 1].append(character)
            }
        }
        return plain(words)
    }

    /// Brings candidates into one form for all shells: without `--option=`, the slash after a directory, and
    /// repetitions.
    private static func plain(_ words: [String]) -> [String] {
        let bare = words.map { word in
            var word = word
            if word.hasPrefix("--"), !word.hasSuffix("="), let equals = word.firstIndex(of: "=") {
                word = String(word[word.index(after: equals)...])
            }
            return word.hasSuffix("/") ? String(word.dropLast()) : word
        }
        return Set(bare).subtracting([""]).sorted()
    }
}
