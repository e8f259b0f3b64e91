/// A command is a struct whose properties are its defaults, plus one table of key paths (`declaration`).
///
/// Name and summary stand apart from the table, so that finding a command builds no table at all.
public protocol Command: Sendable {
    /// The word that calls it, as in `oidc token`.
    static var name: String { get }
    /// What it does, in one line of at most 60 characters.
    static var summary: String { get }
    /// Everything else: options, operands, examples, prose.
    static var declaration: Declaration<Self> { get }
    /// Whether it can be called by its name alone, which then reads no table.
    static var needsOperand: Bool { get }
    /// A command with subcommands does nothing of its own: one of them must be named.
    static var subcommands: [any Command.Type] { get }

    init()

    /// Rules between options, checked once all of them are read.
    func validate() throws(UsageError)
}

extension Command {
    public static var declaration: Declaration<Self> { Declaration() }
    public static var needsOperand: Bool { false }
    public static var subcommands: [any Command.Type] { [] }
    public func validate() throws(UsageError) {}
}

/// Options that several commands share: a struct of defaults with its own table, held as one property.
public protocol OptionGroup: Sendable {
    /// The heading of its block in the help, as in `Common options`.
    static var title: String { get }
    static var options: [Option<Self>] { get }

    init()
}
