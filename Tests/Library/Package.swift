// swift-tools-version: 6.1
import PackageDescription

/// The library by the URL of a repository with the tag 1.0.0, or by path.
let library: Package.Dependency =
    Context.environment["OIDC_URL"].map { .package(url: $0, exact: "1.0.0") }
    ?? .package(name: "oidc", path: "../..")

let package = Package(
    name: "Library",
    platforms: [.macOS(.v15)],
    dependencies: [library],
    targets: [
        .executableTarget(
            name: "Library",
            dependencies: [
                .product(name: "OIDCCrypto", package: "oidc"), .product(name: "OIDCCore", package: "oidc"),
                .product(name: "OIDCSystem", package: "oidc"), .product(name: "oidc", package: "oidc"),
            ], path: "Sources")
    ],
    swiftLanguageModes: [.v6]
)
