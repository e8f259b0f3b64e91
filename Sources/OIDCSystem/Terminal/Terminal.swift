import CPlatform

/// What the other end of a descriptor can show.
package enum Terminal {
    package static func isTerminal(_ descriptor: FileDescriptor) -> Bool { descriptor.isTerminal }

    /// Columns; nil if it is not a terminal, or one that does not say.
    package static func width(_ descriptor: FileDescriptor = .standardError) -> Int? {
        let width = Int(oidc_terminal_width(descriptor.rawValue))
        return width > 0 ? width : nil
    }

    /// Colour, and lines that are written over: on a terminal that is not `dumb`, unless `NO_COLOR` is set to
    /// something.
    package static func usesColor(
        _ descriptor: FileDescriptor = .standardError, environment: [String: String]
    ) -> Bool {
        canRewrite(descriptor, environment: environment) && environment["NO_COLOR", default: ""].isEmpty
    }

    static func canRewrite(_ descriptor: FileDescriptor, environment: [String: String]) -> Bool {
        descriptor.isTerminal && !["", "dumb"].contains(environment["TERM", default: ""])
    }
}
