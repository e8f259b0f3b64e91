// swift-tools-version: 6.1
import PackageDescription

/// The commit that `oidc --version` names; empty outside a git checkout.
let commit = Context.gitInformation.map { "\($0.currentCommit.prefix(12))" } ?? ""

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A release build starts fast: with the C++ run time inside, nothing in it twice, nothing offered to others.
let startsFast: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=lld", "-L\(Context.packageDirectory)/Sources/oidc/Linking",
            "-Xclang-linker", "-static-libgcc", "-Xlinker", "--as-needed", "-Xlinker", "--icf=all",
            "-Xlinker", "--no-export-dynamic",
        ], .when(platforms: [.linux], configuration: .release))
]

let package = Package(
    name: "oidc",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "OIDCCore", targets: ["OIDCCore"]),
        .library(name: "OIDCSystem", targets: ["OIDCSystem"]),
        .executable(name: "oidc", targets: ["oidc"]),
    ],
    targets: [
        .target(name: "CLibcrypto"),
        .target(name: "CLibcurl"),
        .target(name: "CPlatform", cSettings: [.define("OIDC_COMMIT", to: "\"\(commit)\"")]),
        .target(
            name: "CStartup", cSettings: [.define("OIDC_RELEASE", .when(configuration: .release))]),
        .target(name: "OIDCCrypto", dependencies: ["CLibcrypto"], swiftSettings: strict),
        .target(
            name: "OIDCCore", dependencies: ["OIDCCrypto"], swiftSettings: strict,
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
        .target(
            name: "OIDCSystem", dependencies: ["OIDCCore", "OIDCCrypto", "CLibcurl", "CPlatform"],
            swiftSettings: strict),
        .target(name: "CommandLineKit", swiftSettings: strict),
        .target(name: "DemoProvider", dependencies: ["OIDCCore", "OIDCCrypto"], swiftSettings: strict),
        .executableTarget(
            name: "oidc",
            dependencies: [
                "CommandLineKit", "OIDCCore", "OIDCCrypto", "OIDCSystem", "DemoProvider", "CPlatform",
                "CStartup",
            ],
            exclude: ["Linking"], swiftSettings: strict, linkerSettings: startsFast),

        .target(
            name: "TestSupport", dependencies: ["OIDCCore", "OIDCCrypto", "OIDCSystem", "DemoProvider"],
            path: "Tests/Support", swiftSettings: strict),
        .testTarget(
            name: "OIDCCryptoTests", dependencies: ["OIDCCrypto", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "OIDCCoreTests", dependencies: ["OIDCCore", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "OIDCSystemTests", dependencies: ["OIDCSystem", "CLibcurl", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "CommandLineKitTests", dependencies: ["CommandLineKit"], swiftSettings: strict),
        .testTarget(
            name: "DemoProviderTests", dependencies: ["DemoProvider", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ConformanceTests", dependencies: ["oidc", "TestSupport"], path: "Tests/Conformance",
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests", dependencies: ["oidc", "TestSupport"], path: "Tests/EndToEnd",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
