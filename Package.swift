// swift-tools-version: 6.1
import PackageDescription

/// The commit that `oidc --version` names; empty outside a git checkout.
let commit = Context.gitInformation.map { "\($0.currentCommit.prefix(12))" } ?? ""

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// glibc's checks of buffer sizes, which need an optimized build.
let hardened: [CSetting] = [
    .define("_FORTIFY_SOURCE", to: "2", .when(platforms: [.linux], configuration: .release))
]

let package = Package(
    name: "oidc",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "OIDCCrypto", targets: ["OIDCCrypto"]),
        .library(name: "OIDCCore", targets: ["OIDCCore"]),
        .library(name: "OIDCSystem", targets: ["OIDCSystem", "OIDCSessions"]),
        .executable(name: "oidc", targets: ["oidc"]),
    ],
    // Each target is listed after those that it uses.
    targets: [
        .target(name: "CLibcrypto", cSettings: hardened),
        .target(name: "CLibcurl", cSettings: hardened),
        .target(name: "CLibssl", cSettings: hardened),
        .target(
            name: "CKeychain", cSettings: hardened,
            linkerSettings: [
                .linkedFramework("Security", .when(platforms: [.macOS])),
                .linkedFramework("CoreFoundation", .when(platforms: [.macOS])),
            ]),
        .target(
            name: "CPlatform", cSettings: hardened + [.define("OIDC_COMMIT", to: "\"\(commit)\"")]),
        .target(name: "OIDCCrypto", dependencies: ["CLibcrypto"], swiftSettings: strict),
        .target(
            name: "OIDCCore", dependencies: ["OIDCCrypto"], swiftSettings: strict),
        .target(name: "Posix", dependencies: ["OIDCCore", "CPlatform"], swiftSettings: strict),
        .target(
            name: "CurlHTTP", dependencies: ["OIDCCore", "OIDCCrypto", "Posix", "CLibcurl", "CPlatform"],
            swiftSettings: strict),
        .target(
            name: "LoopbackHTTP", dependencies: ["OIDCCore", "Posix", "CLibssl", "CPlatform"],
            swiftSettings: strict),
        .target(
            name: "OIDCSessions", dependencies: ["OIDCCore", "OIDCCrypto", "Posix", "CKeychain"],
            swiftSettings: strict),
        .target(
            name: "OIDCSignIn",
            dependencies: ["OIDCCore", "OIDCCrypto", "Posix", "LoopbackHTTP", "CPlatform"],
            swiftSettings: strict),
        .target(
            name: "OIDCAccount",
            dependencies: ["OIDCCore", "OIDCCrypto", "Posix", "OIDCSessions", "OIDCSignIn"],
            swiftSettings: strict),
        .target(
            name: "OIDCShared",
            dependencies: [
                "OIDCCore", "OIDCCrypto", "Posix", "CurlHTTP", "OIDCSessions", "CPlatform",
            ], swiftSettings: strict),
        .target(
            name: "OIDCProxy",
            dependencies: [
                "OIDCCore", "OIDCCrypto", "Posix", "CurlHTTP", "LoopbackHTTP", "OIDCAccount",
            ], swiftSettings: strict),
        // Only this target awaits, so the command line links no concurrency runtime.
        .target(
            name: "OIDCSystem",
            dependencies: [
                "OIDCCore", "OIDCCrypto", "Posix", "CurlHTTP", "OIDCSessions", "OIDCSignIn", "OIDCAccount",
            ], swiftSettings: strict),
        .target(name: "CommandLineKit", swiftSettings: strict),
        .target(name: "DemoProvider", dependencies: ["OIDCCore", "OIDCCrypto"], swiftSettings: strict),
        .executableTarget(
            name: "oidc",
            dependencies: [
                "CommandLineKit", "OIDCCore", "OIDCCrypto", "Posix", "CurlHTTP", "LoopbackHTTP",
                "OIDCSessions", "OIDCSignIn", "OIDCAccount", "OIDCShared", "OIDCProxy",
                "DemoProvider", "CPlatform",
            ], swiftSettings: strict),

        .target(
            name: "TestSupport",
            dependencies: [
                "CommandLineKit", "OIDCCore", "OIDCCrypto", "Posix", "CurlHTTP", "LoopbackHTTP",
                "OIDCSessions", "DemoProvider",
            ],
            path: "Tests/Support", swiftSettings: strict),
        .testTarget(
            name: "OIDCCryptoTests", dependencies: ["OIDCCrypto", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "OIDCCoreTests", dependencies: ["OIDCCore", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "OIDCSystemTests",
            dependencies: [
                "Posix", "CurlHTTP", "LoopbackHTTP", "OIDCSessions", "OIDCSignIn", "OIDCAccount",
                "OIDCShared", "OIDCProxy", "OIDCSystem", "CLibcurl", "TestSupport",
            ], swiftSettings: strict),
        .testTarget(
            name: "CommandLineKitTests", dependencies: ["CommandLineKit", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "DemoProviderTests", dependencies: ["DemoProvider", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ConformanceTests", dependencies: ["oidc", "TestSupport"], path: "Tests/Conformance",
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests", dependencies: ["oidc", "OIDCSystem", "TestSupport"],
            path: "Tests/EndToEnd",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
