import Glibc
import OIDCCore

private let chosen = getenv("FUZZ_TARGET").flatMap { targets[String(cString: $0)] }

/// Runs the target on one input of libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard let chosen else {
        print("FUZZ_TARGET is one of:", targets.keys.sorted().joined(separator: " "))
        exit(2)
    }
    chosen(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
