import CommandLineKit
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix

struct LendCommand: RunnableCommand {
    static let name = "lend"
    static let summary = "Lend sessions to another machine or a container, for a time"
    static let declaration = Declaration<LendCommand>(
        discussion: """
            Serves a Unix socket that hands out access tokens of the named profiles to oidc on the other side, where \
            OIDC_LENT names the socket: token, userinfo, request, exec, credential, proxy and status work there as \
            here. -p may be repeated, and the other side uses the first profile unless it names another. Refresh tokens, \
            keys and other profiles stay here. Whoever can open the socket can use \
            what is lent for as long as it is lent; the tokens that were handed out then live on to their own end. \
            Each token is logged on stderr. With --to, ssh forwards the socket to a new folder on HOST, runs CMD or a \
            login shell there with OIDC_LENT set, and ends with it. For tokens that are bound to a key (DPoP), proofs are signed here, and only \
            for requests to servers that the profile's token is for.
            """,
        usage: ["[options]", "--to HOST [options] [--] [CMD [ARGUMENT...]]"],
        examples: [
            Example("oidc lend --to build1 -- make release", "make runs on build1, and may call oidc token"),
            Example("oidc lend -p work --for 1h", "prints the path of the socket"),
            Example(
                "docker run -v PATH:/run/oidc.sock -e OIDC_LENT=/run/oidc.sock IMAGE",
                "with --peer 0, as root in a container is another user here"),
        ],
        exitCodes: [ExitCode("0", "the time is over"), ExitCode("3", "sign in first")],
        operands: [.rest(\.command, "CMD", "with --to: the command and its arguments", completion: .command)],
        stopsAtFirstOperand: true,
        options: [
            .value(\.host, "--to", "HOST", "run CMD, or a login shell, on this host by ssh"),
            .value(
                \.listen, "--listen", "unix:PATH", "where to listen, mode 0600",
                defaultText: "a socket of this user"),
            .value(\.time, "--for", "TIME", "how long to lend, as in 30m, 8h or 2d"),
            .number(
                \.minimumValidity, "--min-valid", "SECONDS", in: 0...86_400,
                "minimum remaining validity of each token, but never more than half of the lifetime"),
            .value(\.type, "--type", "TYPE", "the tokens to lend; id: ID tokens, too"),
            .flag(\.asks, "--ask", "ask about each new caller, at the terminal or by SSH_ASKPASS"),
            .repeated(
                \.peers, "--peer", "UID", "also serve this user of this machine, if it can open the socket"),
            .group(\.options), .group(\.common),
        ])

    var command: [String] = []
    var host: String?
    var listen: String?
    var time = LendTime(seconds: 8 * 3_600)
    var minimumValidity = 60
    var type = TokenKind.access
    var asks = false
    var peers: [Int] = []
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { host == nil }

    func validate() throws(UsageError) {
        if let listen, !listen.hasPrefix("unix:") || listen.utf8.count == 5 {
            throw UsageError("--listen takes unix:PATH")
        }
        for peer in peers where !(0...Int(UInt32.max - 1)).contains(peer) {
            throw UsageError("--peer takes the number of a user, not \(peer)")
        }
        if host == nil, let word = command.first {
            throw UsageError(
                "unexpected argument \(UsageError.quoted(word)): a command needs --to HOST",
                hint: .text("name a profile with -p"))
        }
        if let host {
            // ssh would take it for an option.
            guard !host.isEmpty, !host.hasPrefix("-") else {
                throw UsageError("--to takes a host, as ssh does")
            }
            if listen != nil { throw UsageError("--to and --listen cannot be used together") }
        }
        let names = common.profiles
        if let again = names.first(where: { name in names.filter { $0 == name }.count > 1 }) {
            throw UsageError("profile \(UsageError.quoted(again)) is given twice")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var question = asks ? try LendQuestion(context.environment, ownsTerminal: host == nil) : nil
        var remote = try host.map { host throws(OIDCError) in
            try RemoteLend(host, command, context.environment)
        }
        let end = (
            time: context.now.adding(time.seconds), moment: MonotonicTime.now().adding(seconds: time.seconds)
        )
        let loans = try loans(context, until: end.time)
        let withheld = loans.flatMap(\.secretVariables)
        question?.withheld = withheld
        remote?.withheld = withheld
        let path = try socketPath(context)
        let configuration = LendServer.Configuration(
            peers: allowedUsers, end: end, question: question,
            log: common.isQuiet
                ? nil : { line, prompt in log("\(LendCommand.clock()) \(line)", prompt, context.console) })
        let server = try LendServer(path, loans, configuration)
        if let warning = SocketListener.warning(of: path) { context.console.warn(warning) }
        if let remote { return try run(remote, server, loans, end.time, context) }
        announce(loans, end.time, context)
        try context.console.isJSON
            ? StandardOutput.write(document(path, loans, end.time).compact + "\n")
            : context.console.output(path)
        StandardError.startBacklog()
        switch server.run() {
        case .interrupted(let signal): return context.console.ended(bySignal: signal)
        case .ended, .readable:
            context.console.note("Nothing is lent any more.")
            return 0
        }
    }

    /// Lends to a command on another host, and ends with it.
    private func run(
        _ remote: RemoteLend, _ server: LendServer, _ loans: [Loan], _ end: Instant, _ context: CommandContext
    ) throws(OIDCError) -> Int32 {
        let folder = try remote.makeFolder()
        announce(loans, end, context)
        let child: ForegroundChild
        do throws(OIDCError) {
            try Interruption.throwIfPending()
            child = try remote.start(folder, socket: server.path)
        } catch {
            remote.removeFolder(folder)
            throw error
        }
        StandardError.startBacklog()
        _ = server.run(also: [child.endDescriptor])
        let status = child.finish()
        if status == RemoteLend.connectionFailed || status > 128 { remote.removeFolder(folder) }
        return status
    }

    /// Logs a line. While a command on another host uses the terminal, a line end must include a carriage
    /// return.
    private func log(_ line: String, _ prompt: String?, _ console: Console) {
        guard host != nil, Terminal.isTerminal(.standardError) else {
            return console.note(line, interrupting: prompt)
        }
        let text = Terminal.text(
            DisplayText.clean(line, limit: 600), environment: ProcessEnvironment.current)
        let lines = WrappedText(.standardError).text(text).pieces(between: "\n")
        StandardError.write("\r" + lines.joined(separator: "\r\n") + "\r\n")
    }

    private var allowedUsers: Set<UInt32> { Set(peers.map { UInt32(clamping: $0) }) }

    private func socketPath(_ context: CommandContext) throws(OIDCError) -> String {
        if let listen { return UserFile.absolute(context.path(String(listen.dropFirst(5)))) }
        let directory = try LendSocketPath.directory(context)
        LendSocketPath.removeAbandoned(in: directory)
        return FilePath.join(directory, LendSocketPath.name(isOnlyOne: host == nil))
    }

    /// Returns the loans. Checks that each can provide a token.
    private func loans(_ context: CommandContext, until end: Instant) throws(OIDCError) -> [Loan] {
        let user =
            context.environment["USER"] ?? context.environment["LOGNAME"] ?? "user \(FileStatus.currentUser)"
        let scope = options.scope.isEmpty ? nil : Scope(options.scope.joined(separator: " "))
        let conditions = Loan.Conditions(
            end: end, scope: scope, minimumValidity: Int64(minimumValidity), givesIDTokens: type == .id,
            lender: DisplayText.clean("\(user)@\(Platform.hostName ?? "?")", limit: 130),
            users: allowedUsers.union([FileStatus.currentUser]).count)
        let names: [String?] = common.profiles.isEmpty ? [nil] : common.profiles
        return try names.map { name throws(OIDCError) -> Loan in
            let own = name.map { context.using(profile: $0) } ?? context
            let target = try own.target(options)
            try target.provider.refuseIfLent(Self.name)
            let loan = Loan(
                target.renewed(quiet(target.context)),
                named: name ?? target.provider.settings.profile ?? "default",
                conditions)
            try loan.check(reporting: own.console)
            return loan
        }
    }

    /// Returns the context of requests, whose warnings were shown at the start.
    private func quiet(_ context: CommandContext) -> CommandContext {
        var common = context.common
        common.isQuiet = !common.isVerbose
        return CommandContext(
            console: context.console.with(common), environment: context.environment, common: context.common,
            ownsTerminal: false)
    }

    private func announce(_ loans: [Loan], _ end: Instant, _ context: CommandContext) {
        let clock = TimeWords.clock(end, now: context.now) ?? "\(end)"
        context.console.note(
            "Lending \(loans.map(\.name).joined(separator: ", ")) until \(clock) (\(TimeWords.duration(time.seconds))). "
                + "Tokens that were handed out by then live on to their own end.")
    }

    private func document(_ path: String, _ loans: [Loan], _ end: Instant) -> JSONValue {
        [
            "socket": .string(path), "profiles": .array(loans.map { .string($0.name) }),
            "until": JSONValue(end.secondsSinceEpoch),
        ]
    }

    private static func clock() -> String {
        let now = Clock.now()
        return TimeWords.clock(now, now: now) ?? "\(now)"
    }
}

/// A duration as users write it: `90s`, `30m`, `8h`, `2d`.
struct LendTime: OptionValue, Hashable {
    let seconds: Int64

    private static let units: [(name: Character, seconds: Int64)] = [
        ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1),
    ]
    private static let longest: Int64 = 30 * 86_400

    init(seconds: Int64) { self.seconds = seconds }

    init?(argument: String) {
        guard let unit = LendTime.units.first(where: { $0.name == argument.last }),
            let number = Int64(argument.dropLast()), (1...LendTime.longest).contains(number),
            (1...LendTime.longest).contains(number * unit.seconds)
        else { return nil }
        seconds = number * unit.seconds
    }

    var argument: String {
        let unit = LendTime.units.first { seconds % $0.seconds == 0 } ?? ("s", 1)
        return "\(seconds / unit.seconds)\(unit.name)"
    }

    static let expectation = "a time as in 30m, 8h or 2d, at most 30d"
}

/// The default path of a lender's socket.
enum LendSocketPath {
    private static let (prefix, suffix) = ("lend-", ".sock")

    /// Returns the name of a socket. It is random for commands on other hosts, of which there may be any
    /// number.
    static func name(isOnlyOne: Bool) -> String {
        isOnlyOne ? "lend.sock" : prefix + Base64URL.encode(Random.bytes(6)) + suffix
    }

    /// Removes the sockets of lenders that were killed.
    static func removeAbandoned(in path: String) {
        guard let directory = try? PrivateDirectory.open(path), let names = try? directory.file.names() else {
            return
        }
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            SocketListener.removeAbandoned(FilePath.join(path, name), olderThan: 10)
        }
    }

    /// Returns a directory that only this user can enter.
    static func directory(_ context: CommandContext) throws(OIDCError) -> String {
        let runtime = context.environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard
            let directory = runtime.map({ FilePath.join($0, "oidc") })
                ?? StateDirectories(environment: context.environment).state
        else {
            throw .usage(
                "no directory for a socket is available: neither HOME nor XDG_RUNTIME_DIR is set",
                hint: .options(["--listen", "unix:PATH"]))
        }
        _ = try PrivateDirectory.create(directory)
        return directory
    }
}
