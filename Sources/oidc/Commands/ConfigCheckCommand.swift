import CommandLineKit
import OIDCCore
import Posix

struct ConfigCheckCommand: RunnableCommand {
    static let name = "check"
    static let summary = "Check every profile of the configuration file"
    static let declaration = Declaration<ConfigCheckCommand>(
        examples: [
            Example("oidc config check", "exit 0 if every profile is valid"),
            Example("oidc config check --config draft.json", "another file"),
        ],
        options: [.group(\.common)])

    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let loader = context.settingsLoader
        context.traceConfiguration()
        guard let file = try loader.file() else {
            throw OIDCError.usage(
                "there is no configuration file at \(DisplayText.clean(try loader.requiredPath()))",
                hint: .run("config init"))
        }
        var warnings: [JSONValue] = []
        var failure: OIDCError?
        for profile in file.profiles {
            do throws(OIDCError) { try file.check(profile.name) } catch {
                // The first problem is thrown at the end; the others are warnings.
                if failure != nil { context.console.warn(error.message) }
                failure = failure ?? error
                continue
            }
            context.console.note("profile \(DisplayText.clean(profile.name)): ok")
            for secret in try file.missingSecrets(of: profile.name, home: context.environment["HOME"]) {
                let warning = "\(secret.name): there is no file \(DisplayText.clean(secret.path))"
                context.console.warn(warning)
                warnings.append(.string("profile \(DisplayText.clean(profile.name)): \(warning)"))
            }
        }
        if let failure { throw failure }
        if file.profiles.isEmpty {
            context.console.note("\(DisplayText.clean(file.path)) contains no profile")
        }
        if context.console.isJSON {
            try context.console.output(
                [
                    "path": .string(file.path), "profiles": .array(file.profiles.map { .string($0.name) }),
                    "warnings": .array(warnings),
                ])
        }
        return 0
    }
}
