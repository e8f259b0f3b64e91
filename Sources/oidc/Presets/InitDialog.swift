import OIDCCore
import OIDCSystem

/// The questions of `config init` at a terminal. The answers become the words and options of its command line.
struct InitDialog {
    let say: (String) -> Void
    /// Asks for one line; nil at the end of the input. The flag hides what is typed.
    let ask: (String, Bool) throws(OIDCError) -> String?
    /// Says what to register for the words and options so far.
    let registration: (ConfigInitCommand) throws(OIDCError) -> [String]

    /// A secret that was typed, and the file to keep it in.
    struct TypedSecret {
        let text: Redacted<String>
        let file: String
    }

    /// Asks for what the command line does not say.
    func complete(
        _ command: inout ConfigInitCommand, profiles: [String], secretFile: (String) -> String
    ) throws(OIDCError) -> TypedSecret? {
        let preset = try preset(&command)
        try parameters(&command, preset)
        let name = try profile(&command, profiles)
        if command.options.clientID == nil {
            say(try registration(command).joined(separator: "\n"))
            command.options.clientID = try required("Client ID: ") {
                $0.isEmpty ? "a client ID is needed" : nil
            }
        }
        let isConfidential = preset.map { $0.secret != .none } ?? true
        return try isConfidential ? secret(&command, preset, file: secretFile(name)) : nil
    }

    private func preset(_ command: inout ConfigInitCommand) throws(OIDCError) -> Preset? {
        if let name = command.provider {
            guard let preset = Preset.named(name) else { throw Preset.unknown(name) }
            return preset
        }
        guard command.options.issuer == nil else { return nil }
        say("Known providers:\n\n" + InitDialog.columns(Preset.all.map(\.name)) + "\n")
        var shown: [Preset] = []
        while true {
            let typed = try line("Provider (a part of its name, or the https URL of any other issuer): ")
            if let url = WebURL(typed), url.isSecure || url.isLoopback {
                command.options.issuer = typed
                return nil
            }
            let answer = ASCII.lowercased(typed)
            if let number = Int(answer), shown.indices.contains(number - 1) {
                command.provider = shown[number - 1].name
                return shown[number - 1]
            }
            let found = InitDialog.search(answer)
            if found.count == 1 {
                command.provider = found[0].name
                say("  \(found[0].title)")
                return found[0]
            }
            if !found.isEmpty { shown = found }
            say(
                found.isEmpty
                    ? "  none has “\(DisplayText.clean(answer, limit: 40))” in its name"
                    : found.enumerated().map { "  \($0.offset + 1)  \($0.element.name): \($0.element.title)" }
                        .joined(separator: "\n"))
        }
    }

    /// Returns the presets with a part in their name or title, or the one that has exactly that name.
    static func search(_ part: String) -> [Preset] {
        guard !part.isEmpty else { return Preset.all }
        if let preset = Preset.named(part) { return [preset] }
        return Preset.all.filter { $0.name.includes(part) || ASCII.lowercased($0.title).includes(part) }
    }

    private func parameters(_ command: inout ConfigInitCommand, _ preset: Preset?) throws(OIDCError) {
        for parameter in preset?.parameters ?? [] {
            guard !command.words.contains(where: { $0.hasPrefix("\(parameter.name)=") }) else { continue }
            let others = parameter.special.map { ", or \($0.key)" }.joined()
            let example = parameter.standard.map { "[\($0)]" } ?? "as in \(parameter.example)"
            let value = try required("\(parameter.name), \(parameter.meaning)\(others) (\(example)): ") {
                $0.isEmpty && parameter.standard != nil ? nil : parameter.problem($0)
            }
            if !value.isEmpty { command.words.append("\(parameter.name)=\(value)") }
        }
    }

    /// Returns the profile's name. Asks for one if the usual one is taken.
    private func profile(
        _ command: inout ConfigInitCommand, _ profiles: [String]
    ) throws(OIDCError) -> String {
        let name = command.common.profile ?? "default"
        guard !command.isForced, profiles.contains(name) else { return name }
        let other = try required("Profile (there is one named \(DisplayText.clean(name)) already): ") {
            $0.isEmpty || profiles.contains($0) ? "another name is needed" : nil
        }
        command.common.profile = other
        return other
    }

    /// Asks for the secret's file, or for the secret itself.
    private func secret(
        _ command: inout ConfigInitCommand, _ preset: Preset?, file: String
    ) throws(OIDCError) -> TypedSecret? {
        guard !command.options.assignments.contains(where: { $0.hasPrefix("client_secret") }) else {
            return nil
        }
        let named = try required("File that holds the client secret (Enter: none, or type the secret next): ")
        {
            $0.isEmpty || UserFile.isThere($0) ? nil : "there is no such file"
        }
        if !named.isEmpty {
            command.options.assignments.append("client_secret_file=\(named)")
            return nil
        }
        let typed = try line("Client secret (not shown; Enter: none): ", isHidden: true)
        guard !typed.isEmpty else { return nil }
        command.options.assignments.append("client_secret_file=\(file)")
        return TypedSecret(text: Redacted(typed), file: file)
    }

    /// Asks a question that is answered with yes or no; yes if nothing is typed.
    func confirms(_ question: String) throws(OIDCError) -> Bool {
        let answer = ASCII.lowercased(try line("\(question) [Y/n] "))
        return answer.isEmpty || answer.hasPrefix("y")
    }

    /// Asks until `problem` finds none.
    private func required(
        _ prompt: String, problem: (String) -> String?
    ) throws(OIDCError) -> String {
        while true {
            let answer = try line(prompt)
            guard let problem = problem(answer) else { return answer }
            say("  \(problem)")
        }
    }

    private func line(_ prompt: String, isHidden: Bool = false) throws(OIDCError) -> String {
        guard let answer = try ask(prompt, isHidden) else {
            throw OIDCError.usage("config init was not finished; nothing was written")
        }
        return answer
    }

    /// Formats words in columns of at most 80 characters.
    private static func columns(_ words: [String]) -> String {
        let perLine = max(1, 78 / (2 + (words.map(\.utf8.count).max() ?? 0)))
        let rows = stride(from: 0, to: words.count, by: perLine).map { start in
            [""] + words[start..<min(start + perLine, words.count)]
        }
        return Table.text(columns: rows.map { $0 + Array(repeating: "", count: perLine + 1 - $0.count) })
    }
}
