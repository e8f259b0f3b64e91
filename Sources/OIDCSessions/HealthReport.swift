/// One result of a check of a store's server.
package struct HealthReport: Hashable, Sendable {
    package var text: String
    /// The advice if something is wrong; nil otherwise.
    package var warning: String?

    package init(_ text: String, warning: String? = nil) {
        self.text = text
        self.warning = warning
    }
}
