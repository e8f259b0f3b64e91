import LoopbackHTTP
import OIDCCore
import Posix
import Synchronization

/// The process that continues after the first step of a sign-in, and waits for the answer.
///
/// It knows the sign-in's file; its variables, its working directory and the secrets that are not in that
/// file come through a pipe, so neither arguments nor variables that others can read contain them.
enum WaitingProcess {
    /// The name of the task for `DetachedProcess`.
    static let task = "sign-in"

    static func start(
        for signIn: WaitingSignIn, _ listener: LoopbackListener?, _ secrets: [SettingLayers.Entry]
    ) throws(Errno) {
        let input: JSONValue = [
            "id": .string(signIn.id), "fingerprint": .string(signIn.fingerprint),
            "secrets": .array(secrets.map(\.recorded)),
            "surroundings": ProcessEnvironment.surroundings,
        ]
        let descriptors = listener?.descriptors ?? []
        try DetachedProcess(
            task: task, input: input.bytes, output: descriptors.first, errors: descriptors.dropFirst().first
        ).start()
    }

    /// Waits for the answer and returns the exit code; the process does nothing else.
    static func run() -> Int32 {
        let descriptors = DetachedProcess.takeListeners()
        guard let input = DetachedProcess.begin(), let json = try? JSONValue(parsing: input),
            let id = json["id"]?.string
        else { return 2 }
        ProcessEnvironment.adopt(json["surroundings"] ?? .null)
        do {
            try Interruption.install()
            let secrets = (json["secrets"]?.array ?? []).compactMap { SettingLayers.Entry(recorded: $0) }
            try wait(for: id, of: json["fingerprint"]?.string, secrets, descriptors)
            return 0
        } catch {
            // There is nobody to show the error to. A pasted URL may still finish the sign-in.
            return Diagnostics.exitCode(error)
        }
    }

    private static func wait(
        for id: String, of fingerprint: String?, _ secrets: [SettingLayers.Entry],
        _ descriptors: [FileDescriptor]
    ) throws(OIDCError) {
        let common = CommonOptions()
        let context = CommandContext(
            console: Console(common), environment: ProcessEnvironment.current, common: common)
        ProcessEnvironment.forgetKeyLog()
        guard let signIns = WaitingSignIns(context.environment) else { return }
        let lock = try signIns.hold(id, within: .seconds(10))
        let rest = SignInRest()
        defer {
            lock.release()
            rest.finish(id, signIns)
        }
        // A later first step of the same account has its own process, and another redirect URL.
        guard !signIns.isStopped(id), let waiting = try signIns.load(id), waiting.isOpen(at: context.now),
            waiting.fingerprint == fingerprint
        else { return }
        let step = try SecondStep(waiting, context, secrets: secrets, leaving: rest)
        let watch = ListenerWatch(descriptors) { signIns.isStopped(id) }
        defer { watch.end() }
        _ = try step.wait(descriptors, signIns)
    }

    /// A listener that is closed as soon as the sign-in is canceled: the waiting thread may be in a request
    /// to the provider, which only its answer or its time limit ends.
    private final class ListenerWatch: Sendable {
        private let hasEnded = Mutex(false)
        private let thread = Mutex<BackgroundThread?>(nil)

        init(_ listeners: [FileDescriptor], isStopped: @escaping @Sendable () -> Bool) {
            guard !listeners.isEmpty else { return }
            let watch = try? BackgroundThread { [self] in
                while !hasEnded.withLock({ $0 }) {
                    if isStopped() { return listeners.forEach(LoopbackSocket.stopListening) }
                    Poll.pause(until: MonotonicTime.now().adding(milliseconds: 250))
                }
            }
            thread.withLock { $0 = watch }
        }

        func end() {
            hasEnded.withLock { $0 = true }
            thread.withLock { $0 }?.join()
        }
    }
}
