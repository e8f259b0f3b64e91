import CommandLineKit
import OIDCCore
import Posix

/// The questions of `config init` at a terminal. The answers become the words and options of the draft.
struct InitDialog {
    let say: (String) -> Void
    /// The function that prompts for one line and returns nil at the end of the input. The flag hides what is
    /// typed.
    let ask: (String, Bool) throws(OIDCError) -> String?
    /// The function that returns the lines about what to register, for the words and options so far.
    let registration: (Draft) throws(OIDCError) -> [String]
    /// The function that determines the kind of the typed URL.
    let finding: (Draft) throws(OIDCError) -> Finding
    /// The home directory, for `~/` in a file's name.
    let home: String?

    /// The kind of a typed URL.
    struct Finding {
        /// Whether it is a resource, which names its server itself.
        var isResource = false
        /// Whether the client ID may be left out, as the server registers clients itself.
        var registers = false
    }

    /// A typed secret, and the file to keep it in.
    struct SecretInput {
        let text: Redacted<String>
        let destination: ProfileSecret
    }

    /// Prompts for the values missing on the command line. `profiles` are those of the configuration file at
    /// `path`. Leaves the client ID out if the provider is to register a client. Takes no secret for a resource:
    /// the resource itself names the server that would get it.
    func complete(
        _ draft: inout Draft, profiles: JSONObject, path: String
    ) throws(OIDCError) -> SecretInput? {
        try ProfilesFile.checkName(draft.name)
        let given = try draft.options.entries().map(\.setting)
        let preset = try preset(&draft, given)
        try parameters(&draft, preset)
        let name = try profile(&draft, profiles.names)
        let finding = preset == nil ? try finding(draft) : Finding()
        if !given.contains(.clientID) {
            let mayRegister = finding.registers
            say(try registration(draft).joined(separator: "\n"))
            let id = try required(mayRegister ? "Client ID (Enter: register one now): " : "Client ID: ") {
                $0.isEmpty && !mayRegister ? "a client ID is needed" : nil
            }
            guard !id.isEmpty else { return nil }
            draft.options.clientID = id
        }
        guard !finding.isResource else { return nil }
        let isConfidential = preset.map { $0.secret != .none } ?? true
        let secrets: [Setting] = [.clientSecret, .clientSecretFile, .clientSecretCommand]
        guard isConfidential, !given.contains(where: secrets.contains) else { return nil }
        return try secret(&draft, ProfileSecret(of: name, beside: path), profiles)
    }

    private func preset(
        _ draft: inout Draft, _ given: [Setting]
    ) throws(OIDCError) -> Preset? {
        if let name = draft.provider {
            guard let preset = Preset.named(name) else {
                throw Preset.unknown(name, line: { .run("config init", $0 + ["--client-id", "ID"]) })
            }
            return preset
        }
        guard !given.contains(.issuer), !given.contains(.tokenEndpoint) else { return nil }
        say("Known providers:\n\n" + InitDialog.columns(Preset.all.map(\.name)) + "\n")
        var shown: [Preset] = []
        while true {
            let typed = try line("Provider (a part of its name, or the URL of any other issuer): ")
            if let url = WebURL(typed), url.isSecure || url.isLoopback {
                draft.options.issuer = typed
                return nil
            }
            if let url = LoginOperand.url(withoutScheme: typed) {
                draft.options.issuer = url.text
                return nil
            }
            let answer = ASCII.lowercased(typed)
            if let number = Int(answer), shown.indices.contains(number - 1) {
                draft.provider = shown[number - 1].name
                return shown[number - 1]
            }
            let found = InitDialog.search(answer)
            if found.count == 1 {
                draft.provider = found[0].name
                say("  \(found[0].title)")
                return found[0]
            }
            if !found.isEmpty { shown = found }
            let nearest = Nearest.match(answer, among: Preset.all.map(\.name)) ?? Preset.meant(by: answer)
            say(
                found.isEmpty
                    ? "  no known provider matches \"\(DisplayText.clean(answer, limit: 40))\""
                        + (nearest.map { ", did you mean \($0)?" } ?? "")
                    : found.enumerated().map { "  \($0.offset + 1)  \($0.element.name): \($0.element.title)" }
                        .joined(separator: "\n"))
        }
    }

    /// Returns the preset with this name, or else those whose name or title contains it.
    static func search(_ part: String) -> [Preset] {
        guard !part.isEmpty else { return Preset.all }
        if let preset = Preset.named(part) { return [preset] }
        return Preset.all.filter { $0.name.includes(part) || ASCII.lowercased($0.title).includes(part) }
    }

    private func parameters(_ draft: inout Draft, _ preset: Preset?) throws(OIDCError) {
        for parameter in preset?.parameters ?? [] {
            guard !draft.words.contains(where: { $0.hasPrefix("\(parameter.name)=") }) else { continue }
            let others = parameter.special.map { ", or \($0.key)" }.joined()
            let example = parameter.standard.map { "[\($0)]" } ?? "as in \(parameter.example)"
            let value = try required("\(parameter.name), \(parameter.meaning)\(others) (\(example)): ") {
                $0.isEmpty && parameter.standard != nil ? nil : parameter.problem(InitDialog.bare($0))
            }
            if !value.isEmpty { draft.words.append("\(parameter.name)=\(value)") }
            if let preset { draft.words = preset.takingApart(draft.words) }
        }
    }

    /// Returns a copied URL without the slash at its end.
    private static func bare(_ text: String) -> String {
        WebURL(text) != nil && text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Returns the profile's name. Prompts for another if the name is taken.
    private func profile(
        _ draft: inout Draft, _ profiles: [String]
    ) throws(OIDCError) -> String {
        let name = draft.name
        guard !draft.isForced, profiles.contains(name) else { return name }
        let other = try required("Profile (there is one named \(DisplayText.clean(name)) already): ") {
            if $0.isEmpty || profiles.contains($0) { return "another name is needed" }
            do throws(OIDCError) { try ProfilesFile.checkName($0) } catch { return error.message }
            return nil
        }
        draft.name = other
        return other
    }

    /// Prompts once, hidden, for the secret or its file. A secret that is typed needs a file of its own.
    private func secret(
        _ draft: inout Draft, _ destination: ProfileSecret, _ profiles: JSONObject
    ) throws(OIDCError) -> SecretInput? {
        var isTaken = false
        do throws(OIDCError) { try destination.check(among: profiles, replacing: draft.isForced) } catch {
            say("  \(error.commandLine)")
            isTaken = true
        }
        let prompt =
            isTaken
            ? "@FILE with the client secret (hidden; Enter: none): "
            : "Client secret, or @FILE (hidden; Enter: none): "
        let typed = try required(prompt, isHidden: true) { answer in
            guard answer.hasPrefix("@") else {
                return answer.isEmpty || !isTaken ? nil : "only a file can be used here, as in @FILE"
            }
            let file = String(answer.dropFirst())
            return !file.isEmpty && UserFile.isThere(SettingFile.path(file, home: home))
                ? nil : "there is no such file"
        }
        guard !typed.isEmpty else { return nil }
        if typed.hasPrefix("@") {
            draft.options.assignments.append("client_secret_file=\(typed.dropFirst())")
            return nil
        }
        draft.options.assignments.append("client_secret_file=\(destination.file)")
        return SecretInput(text: Redacted(typed), destination: destination)
    }

    /// Asks a yes-or-no question. An empty answer means yes.
    static func confirms(
        _ question: String, _ ask: (String, Bool) throws(OIDCError) -> String?
    ) throws(OIDCError) -> Bool {
        guard let answer = try ask("\(question) [Y/n] ", false) else { return false }
        return answer.isEmpty || ASCII.lowercased(answer).hasPrefix("y")
    }

    /// Prompts until `problem` returns nil for the answer.
    private func required(
        _ prompt: String, isHidden: Bool = false, problem: (String) -> String?
    ) throws(OIDCError) -> String {
        while true {
            let answer = try line(prompt, isHidden: isHidden)
            guard let problem = problem(answer) else { return answer }
            say("  \(problem)")
        }
    }

    private func line(_ prompt: String, isHidden: Bool = false) throws(OIDCError) -> String {
        guard let answer = try ask(prompt, isHidden) else {
            throw OIDCError.usage("the questions were not answered, so nothing was written")
        }
        return answer
    }

    /// Formats words in columns that fit the terminal.
    static func columns(_ words: [String], width: Int = Terminal.width() ?? 80) -> String {
        let perLine = max(1, (width - 2) / (2 + (words.map(\.utf8.count).max() ?? 0)))
        let rows = stride(from: 0, to: words.count, by: perLine).map { start in
            [""] + words[start..<min(start + perLine, words.count)]
        }
        return Table.text(columns: rows.map { $0 + Array(repeating: "", count: perLine + 1 - $0.count) })
    }
}
