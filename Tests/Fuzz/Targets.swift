import Glibc
import OIDCCore

/// Every reader of bytes from outside, by name; `FUZZ_TARGET` chooses one.
let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "answers": fuzzAnswers, "authorization": fuzzAuthorization, "callers": fuzzCallers,
    "challenge": fuzzChallenge, "config": fuzzConfig, "demo": fuzzDemo, "device": fuzzDevice,
    "form": fuzzForm, "helper": fuzzHelper, "http1": fuzzHTTP1, "idtoken": fuzzIDToken, "json": fuzzJSON,
    "jwks": fuzzJWKS, "jws": fuzzJWS, "key": fuzzKey, "metadata": fuzzMetadata, "pasted": fuzzPasted,
    "resource": fuzzResource, "search": fuzzSearch, "session": fuzzSession, "settings": fuzzSettings,
    "text": fuzzText, "token": fuzzToken, "url": fuzzURL,
    "userinfo": fuzzUserInfo, "xml": fuzzXML,
]

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
