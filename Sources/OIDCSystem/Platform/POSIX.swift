import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What a process sets up once for itself.
public enum Platform {
    /// Closed standard descriptors are filled so that nothing else takes their place, and a broken pipe is
    /// an error instead of a death; before anything else is opened.
    public static func secureStandardDescriptors() {
        oidc_reserve_standard_descriptors()
        oidc_ignore_broken_pipes()
    }

    /// How many descriptors this process may have open.
    static var descriptorLimit: Int { Int(oidc_descriptor_limit()) }
}

/// The two shapes of `strerror_r` come to this one: whether `code` is known, its text in `text`.
func describeError(_ code: Int32, _ text: inout [CChar]) -> Bool {
    strerror_r(code, &text, text.count) == 0
}
