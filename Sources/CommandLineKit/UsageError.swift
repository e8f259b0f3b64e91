/// A command line that can't be followed: what is wrong, and what to type instead.
public struct UsageError: Error, Equatable {
    public let message: String
    /// A command to type, or a short remedy; shown after `try: `.
    public var hint: String?

    public init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }

    /// An argument as it may be shown: without control characters, and only as much as a person would type.
    ///
    /// What is longer may be a token that was pasted in the wrong place.
    public static func quoted(_ argument: String) -> String {
        let scalars = argument.unicodeScalars
        guard scalars.count <= 40 else { return "a text of \(scalars.count) characters" }
        var shown = String.UnicodeScalarView()
        for scalar in scalars { shown.append(scalar.isPrintable ? scalar : "?") }
        return "'\(String(shown))'"
    }

    func hinting(_ hint: String) -> UsageError {
        UsageError(message, hint: self.hint ?? hint)
    }
}

extension Unicode.Scalar {
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            false
        default: true
        }
    }
}
