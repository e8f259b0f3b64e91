/// Bytes of the operating system's generator.
public enum Random {
    public static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<max(0, count)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }
}
