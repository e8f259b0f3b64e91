import OIDCCore
import Posix

/// The question whether a resource may have a token that the user's own client gets for it.
struct ScopeQuestion {
    /// The resource, as it is shown.
    let asker: String
    let issuer: String
    let clientID: String
    let scope: Scope
    /// What else the user agrees to.
    var addition = ""

    /// The question as a statement.
    var subject: String { subject(with: ": \(scopeText)") + addition }

    /// Asks the user at a terminal, if the command owns one; else throws `unasked`. The last lines name the resource, the
    /// server and the client, however many scopes there are.
    func confirm(
        _ context: CommandContext, orThrow unasked: @autoclosure () -> OIDCError
    ) throws(OIDCError) {
        guard TerminalQuestion.isPossible, context.ownsTerminal else { throw unasked() }
        let (scopes, isWhole) = excerpt
        let list = isWhole ? "" : "The scopes that \(asker) asks for:\n\n\(scopeText)\n\n"
        let subject = subject(with: scopes)
        let question = WrappedText(.standardError).text("\(list)\(subject)\(addition). Continue? [y/N] ")
        guard try TerminalQuestion.isAllowed(question) == true else {
            throw OIDCError(.refused, "\(subject): declined", stage: .authorization)
        }
    }

    private func subject(with scopes: String) -> String {
        "\(asker) asks for a token of \(DisplayText.clean(issuer)), as your client "
            + "\(DisplayText.clean(clientID, limit: 200)), with\(scopes)"
    }

    private var scopeText: String {
        scope.isEmpty ? "its default scopes" : scope.tokens.map(ScopeQuestion.shown).joined(separator: " ")
    }

    /// Returns a scope as a question names it. With other characters than names and URLs have, it could end the sentence.
    private static func shown(_ token: String) -> String {
        let usual = token.utf8.allSatisfy { ASCII.isAlphanumeric($0) || ":/._-*+~@=%#&".utf8.contains($0) }
        let text = DisplayText.clean(token, limit: .max)
        return usual && !token.hasSuffix(".") ? text : "\"\(text)\""
    }

    /// The limits of scopes within the question: with more, its start could scroll off the screen.
    private static let limits = (scopes: 20, characters: 600)

    /// The scopes within the question, and whether these are all.
    private var excerpt: (text: String, isWhole: Bool) {
        var shown: [String] = []
        var characters = 0
        for token in scope.tokens.prefix(ScopeQuestion.limits.scopes) {
            let token = ScopeQuestion.shown(token)
            characters += token.count + 1
            guard characters <= ScopeQuestion.limits.characters else { break }
            shown.append(token)
        }
        let more = scope.tokens.count - shown.count
        guard more > 0 else { return (": \(scopeText)", true) }
        guard scope.tokens.count > 1 else { return (" the one scope above", false) }
        let list = shown.isEmpty ? "" : ": \(shown.joined(separator: " ")), and \(more) more"
        return (" the \(scope.tokens.count) scopes above\(list)", false)
    }
}
