package import OIDCCore
package import Posix

/// A started browser. It runs in the background with its output discarded, and is watched only for an early
/// failure.
package struct Browser: Sendable {
    private let address: String
    private let environment: Variables
    private var untried: ArraySlice<[String]>
    private var current:
        (command: [String], status: BackgroundResult<ExitStatus>, watchedUntil: MonotonicTime)?
    private var problems: [String] = []

    /// Opens a URL with the first command that starts. Only https and loopback URLs are opened, so none can
    /// be read as an option or a file.
    package static func open(
        _ address: WebURL, with choice: BrowserChoice, environment: Variables
    ) throws(OIDCError) -> Browser {
        guard address.isSecure || address.isLoopback else {
            throw OIDCError(
                .failed, "no browser is opened for \(address.origin), which is neither https nor on loopback")
        }
        switch choice {
        case .none(let reason):
            throw OIDCError(.failed, "no browser is opened: \(reason)")
        case .commands(let commands):
            var browser = Browser(address, commands[...], ProcessEnvironment.withoutOurs(environment))
            guard browser.startNext() else { throw browser.failure }
            return browser
        }
    }

    private init(_ address: WebURL, _ commands: ArraySlice<[String]>, _ environment: Variables) {
        self.address = address.text
        self.environment = environment
        untried = commands
    }

    /// Checks the running command; call it repeatedly. If it failed early, starts the next one or, if there
    /// is none, returns the failure once.
    ///
    /// A command that ends later has not failed: the user closed the browser.
    package mutating func check() -> OIDCError? {
        guard let (command, result, watchedUntil) = current, let status = result.value else { return nil }
        current = nil
        guard !status.isSuccess, MonotonicTime.now() < watchedUntil else { return nil }
        problems.append("\(DisplayText.quoted(command[0])) \(status)")
        return startNext() ? nil : failure
    }

    private var failure: OIDCError {
        let details = problems.isEmpty ? "no command is named" : problems.joined(separator: ", ")
        return OIDCError(
            .failed, "the browser could not be opened: \(details)",
            hint: .advice(.nameBrowser))
    }

    private mutating func startNext() -> Bool {
        while let command = untried.popFirst() {
            if let problem = BrowserCommand.problem(command) {
                problems.append(problem)
                continue
            }
            do throws(Errno) {
                let path = try Executable.find(command.first ?? "", in: environment)
                let child = try Spawn.start(
                    path, arguments: BrowserCommand.arguments(command, address: address),
                    environment: environment,
                    streams: StandardStreams(), options: [.newSession, .closeOthers])
                // The thread also reaps the program, so it never becomes a zombie.
                let status = try BackgroundResult { child.awaitEnd() }
                current = (command, status, MonotonicTime.now().adding(seconds: 5))
                return true
            } catch {
                problems.append("\(DisplayText.quoted(command.first ?? "")): \(error)")
            }
        }
        return false
    }
}
