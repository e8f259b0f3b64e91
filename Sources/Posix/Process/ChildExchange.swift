#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The input and output of a running program.
struct ChildExchange {
    private let child: Child
    private let specification: ChildProcess
    private let deadline: MonotonicTime
    /// The time to call `onWaiting`; nil after the call.
    private var notice: MonotonicTime?
    private var input: FileDescriptor?
    private var unsent: ArraySlice<UInt8>
    private var output: Stream
    private var errors: Stream
    private var status: ExitStatus?

    /// One of the program's outputs; its descriptor is nil once it has ended.
    private struct Stream {
        var descriptor: FileDescriptor?
        var bytes: [UInt8] = []

        mutating func close() {
            descriptor?.close()
            descriptor = nil
        }
    }

    init(_ specification: ChildProcess) throws(Errno) {
        self.specification = specification
        let start = MonotonicTime.now()
        let limit = start.adding(milliseconds: specification.milliseconds)
        deadline = specification.deadline.map { min($0, limit) } ?? limit
        notice = start.adding(milliseconds: specification.noticeAfter)
        unsent = specification.input[...]
        let path = try Executable.find(specification.command.first ?? "", in: specification.environment)
        var pipes: [(reading: FileDescriptor, writing: FileDescriptor)] = []
        let captures = specification.errorOutput == .captured
        do throws(Errno) {
            for _ in 0..<(captures ? 3 : 2) { pipes.append(try FileDescriptor.pipe()) }
            try pipes[0].writing.setNonBlocking()
            for pipe in pipes.dropFirst() { try pipe.reading.setNonBlocking() }
            let inherited = specification.errorOutput == .inherited ? FileDescriptor.standardError : nil
            child = try Spawn.start(
                path, arguments: specification.command, environment: specification.environment,
                streams: StandardStreams(
                    input: pipes[0].reading, output: pipes[1].writing,
                    errors: captures ? pipes[2].writing : inherited),
                // A library may have opened descriptors without close-on-exec.
                options: .closeOthers)
        } catch {
            for pipe in pipes {
                pipe.reading.close()
                pipe.writing.close()
            }
            throw error
        }
        pipes[0].reading.close()
        for pipe in pipes.dropFirst() { pipe.writing.close() }
        input = pipes[0].writing
        output = Stream(descriptor: pipes[1].reading)
        errors = Stream(descriptor: captures ? pipes[2].reading : nil)
    }

    private var hasOpenOutput: Bool { output.descriptor != nil || errors.descriptor != nil }

    /// Reads and writes the pipes until the program has ended, which usually closes them.
    ///
    /// If a process that it started keeps them open, the end is polled for, at long intervals, as a thousand
    /// processes may wait like this.
    mutating func finish() throws(ChildProcess.Failure) -> ChildProcess.Outcome {
        var pause: Int64 = 1
        while status == nil {
            if let signal = Interruption.pending { throw .interrupted(signal: signal) }
            let now = MonotonicTime.now()
            if let end = specification.deadline, now >= end { throw .deadline }
            if specification.isCancelled() { throw .deadline }
            guard now < deadline else { throw .timedOut(milliseconds: specification.milliseconds) }
            if let moment = notice, now >= moment {
                notice = nil
                specification.onWaiting()
            }
            send()
            let hadOpenOutput = hasOpenOutput
            try receive()
            if hadOpenOutput, !hasOpenOutput { pause = 1 }
            status = child.reap()
            if status == nil, !wait(until: min(deadline, now.adding(milliseconds: pause))) {
                pause = min(pause * 2, hasOpenOutput ? 100 : 20)
            }
        }
        try receive()
        return ChildProcess.Outcome(
            status: status ?? .exited(0), output: output.bytes, errorOutput: errors.bytes)
    }

    /// Ends the program and its descendants, first with SIGTERM and after half a second with SIGKILL.
    mutating func stop() {
        var family = ProcessFamily()
        if status == nil {
            family.addDescendants(of: child.processID)
            child.terminate()
        }
        family.signal(SIGTERM)
        reap(family, within: 500)
        guard status == nil || family.isRunning else { return }
        // A reaped process's number may already belong to another process.
        family.addDescendants(of: status == nil ? child.processID : nil)
        if status == nil { child.kill() }
        family.signal(SIGKILL)
        reap(family, within: 2000)
    }

    private mutating func reap(_ family: ProcessFamily, within milliseconds: Int64) {
        let limit = MonotonicTime.now().adding(milliseconds: milliseconds)
        while true {
            if status == nil { status = child.reap() }
            guard status == nil || family.isRunning, MonotonicTime.now() < limit else { return }
            Poll.pause(until: MonotonicTime.now().adding(milliseconds: 2))
        }
    }

    mutating func close() {
        input?.close()
        input = nil
        output.close()
        errors.close()
    }

    private mutating func send() {
        guard let descriptor = input else { return }
        if !unsent.isEmpty {
            do throws(Errno) {
                unsent = unsent.dropFirst(try descriptor.write(unsent))
            } catch {
                guard error == .wouldBlock else {
                    unsent = []
                    return closeInput()
                }
            }
        }
        if unsent.isEmpty { closeInput() }
    }

    private mutating func closeInput() {
        input?.close()
        input = nil
    }

    private mutating func receive() throws(ChildProcess.Failure) {
        try ChildExchange.drain(&output, limit: specification.outputLimit)
        try ChildExchange.drain(&errors, limit: specification.outputLimit)
    }

    private static func drain(_ stream: inout Stream, limit: Int) throws(ChildProcess.Failure) {
        while let descriptor = stream.descriptor {
            do throws(Errno) {
                let bytes = try descriptor.read()
                if bytes.isEmpty { stream.close() }
                stream.bytes += bytes
            } catch {
                if error != .wouldBlock { stream.close() }
                return
            }
            guard stream.bytes.count <= limit else { throw .tooMuchOutput(limit: limit) }
        }
    }

    private func wait(until moment: MonotonicTime) -> Bool {
        var interests: [Poll.Interest] = []
        if let input { interests.append(Poll.Interest(input.rawValue, .writing)) }
        for descriptor in [output.descriptor, errors.descriptor] {
            if let descriptor { interests.append(Poll.Interest(descriptor.rawValue, .reading)) }
        }
        if let wakeUp = Interruption.wakeUpDescriptor { interests.append(Poll.Interest(wakeUp, .reading)) }
        return Poll.wait(&interests, until: moment)
    }
}
