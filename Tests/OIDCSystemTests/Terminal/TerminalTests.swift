import Foundation
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("Terminal, input and output")
struct TerminalTests {
    private func lines(_ chunks: [String], edits: Bool = false, limit: Int = 65_536) -> [TerminalInput.Event]
    {
        var buffer = LineBuffer(limit: limit, edits: edits)
        var events: [TerminalInput.Event] = []
        for chunk in chunks {
            buffer.feed(Array(chunk.utf8))
            while let event = buffer.next() { events.append(event) }
        }
        buffer.finish()
        while let event = buffer.next() { events.append(event) }
        return events
    }

    @Test("lines end with LF or CR LF, and the last needs no end")
    func lineEnds() {
        #expect(lines(["a\nb", "c\r\n\nd"]) == [.line("a"), .line("bc"), .line(""), .line("d")])
    }

    @Test("a line over the limit is dropped, and the next one is read")
    func tooLong() {
        #expect(lines(["abcd\nabcde\nf\n"], limit: 4) == [.line("abcd"), .tooLong, .line("f")])
    }

    @Test("on a terminal, Ctrl-U discards a line over the limit, and the next line is read")
    func discarding() {
        #expect(lines(["abcde\u{15}f\n"], edits: true, limit: 4) == [.line("f")])
        #expect(lines(["abcde\u{15}", "abcde\n", "f\n"], edits: true, limit: 4) == [.tooLong, .line("f")])
    }

    @Test("on a terminal, erasing what is over the limit makes the line whole again")
    func erasing() {
        #expect(lines(["abcdef\u{7F}\u{7F}\n"], edits: true, limit: 4) == [.line("abcd")])
        #expect(lines(["abcdef\u{7F}\n"], edits: true, limit: 4) == [.tooLong])
        #expect(lines(["abcdé\u{7F}\u{7F}x\n"], edits: true, limit: 4) == [.line("abcx")])
        // The limit is within the last character, which counts as one over it.
        #expect(lines(["abcé\n"], edits: true, limit: 4) == [.tooLong])
        #expect(lines(["abcé\u{7F}d\n"], edits: true, limit: 4) == [.line("abcd")])
    }

    @Test("on a terminal, keys edit the line")
    func editing() {
        #expect(lines(["ax\u{7F}bé\u{08}c\r"], edits: true) == [.line("abc")])
        #expect(lines(["wrong\u{15}right\u{1B}\n"], edits: true) == [.line("right")])
        #expect(lines(["a\u{04}b\n\u{04}"], edits: true) == [.line("ab"), .endOfInput])
    }

    @Test("input is read as it arrives, and every read at its end returns the end")
    func incremental() throws {
        let pipe = try FileDescriptor.pipe()
        defer { pipe.reading.close() }
        var input = TerminalInput(pipe.reading)
        #expect(input.descriptor() == pipe.reading.rawValue)
        #expect(input.next() == nil)
        try pipe.writing.writeAll(Array("one\ntwo\nthr".utf8))
        #expect(input.next() == .line("one"))
        #expect(input.next() == .line("two"))
        #expect(input.next() == nil)
        #expect(input.pendingCount == 3)
        pipe.writing.close()
        #expect(input.next() == .line("thr"))
        #expect(input.next() == .endOfInput)
        #expect(input.next() == .endOfInput)
        #expect(input.descriptor() == nil)
    }

    @Test("on a terminal, a pasted line may be longer than the terminal's own limit", .waiting)
    func longPaste() async {
        await #expect(processExitsWith: .exitCode(9)) {
            let terminal = try PseudoTerminal(isOurs: true)
            let slave = terminal.slave
            var input = TerminalInput(slave)
            guard input.descriptor() == slave.rawValue else { exit(2) }
            let pasted = String(repeating: "0123456789", count: 1000)
            var line: TerminalInput.Event?
            for chunk in 0..<10 {
                try terminal.master.writeAll(
                    Array(pasted.dropFirst(chunk * 1000).prefix(1000).utf8))
                while let event = input.next() { line = event }
            }
            guard line == nil, input.pendingCount == 10_000 else { exit(3) }
            try terminal.master.writeAll([0x0D])
            line = input.next()
            input.release()
            exit(line == .line(pasted) ? 9 : 4)
        }
    }

    @Test("a terminal that another program has is not read, which would stop us")
    func foreignTerminal() throws {
        let terminal = try PseudoTerminal()
        defer { terminal.close() }
        var input = TerminalInput(terminal.slave)
        #expect(input.descriptor() == nil)
        #expect(input.next() == nil)
    }

    @Test(
        "color needs a terminal that is not dumb, and no NO_COLOR",
        arguments: [
            (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": "1"], false),
            (["TERM": "xterm", "NO_COLOR": ""], true), (["TERM": "dumb"], false), ([:], false),
        ])
    func colour(environment: [String: String], isUsed: Bool) throws {
        let terminal = try PseudoTerminal()
        defer { terminal.close() }
        #expect(
            Terminal.usesColor(terminal.slave, environment: Variables(environment)) == isUsed)
        let pipe = try FileDescriptor.pipe()
        #expect(!Terminal.usesColor(pipe.writing, environment: Variables(environment)))
        pipe.reading.close()
        pipe.writing.close()
    }

    @Test(
        "links are shown on terminals that are known to have them, and never without color",
        arguments: [
            (["TERM": "xterm-kitty"], true), (["TERM": "alacritty"], true), (["TERM": "xterm"], false),
            (["TERM": "xterm-256color"], false), (["TERM": "linux"], false), (["TERM": "dumb"], false),
            (["TERM": "xterm-256color", "VTE_VERSION": "7006"], true),
            (["TERM": "xterm-256color", "VTE_VERSION": "4602"], false),
            (["TERM": "xterm-256color", "VTE_VERSION": "x"], false),
            (["TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"], true),
            (["TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"], false),
            (["TERM": "xterm-256color", "WT_SESSION": "1"], true),
            (["TERM": "xterm-256color", "KONSOLE_VERSION": "230800"], true),
            (["TERM": "screen-256color", "TERM_PROGRAM": "iTerm.app"], false),
            (["TERM": "xterm-kitty", "TMUX": "/tmp/tmux,1,0"], false),
            (["TERM": "xterm-kitty", "STY": "1.a"], false),
            (["TERM": "xterm-kitty", "NO_COLOR": "1"], false),
            (["TERM": "dumb", "WT_SESSION": "1"], false),
        ])
    func links(environment: [String: String], areShown: Bool) throws {
        let terminal = try PseudoTerminal()
        defer { terminal.close() }
        #expect(Terminal.showsLinks(terminal.slave, environment: Variables(environment)) == areShown)
        let pipe = try FileDescriptor.pipe()
        #expect(!Terminal.showsLinks(pipe.writing, environment: Variables(environment)))
        pipe.reading.close()
        pipe.writing.close()
    }

    @Test("the live line goes nowhere but to a terminal")
    func statusLine() throws {
        let pipe = try FileDescriptor.pipe()
        defer { pipe.reading.close() }
        var line = TerminalStatusLine(pipe.writing, environment: ["TERM": "xterm"])
        line.show("waiting")
        line.clear()
        pipe.writing.close()
        #expect(try pipe.reading.read() == [])
    }

    @Test("a full output is a failure")
    func fullOutput() throws {
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        defer { close(full) }
        #expect(
            throws: OIDCError(.failed, "standard output cannot be written: No space left on device")
        ) { try StandardOutput.write([1], to: FileDescriptor(rawValue: full)) }
    }

    @Test("a write to a broken pipe is an error")
    func goneReader() throws {
        Platform.secureStandardDescriptors()
        let pipe = try FileDescriptor.pipe()
        pipe.reading.close()
        defer { pipe.writing.close() }
        #expect(throws: OIDCError(.failed, "standard output cannot be written: broken pipe")) {
            try StandardOutput.write([1], to: pipe.writing)
        }
    }

    @Test("a page whose reader has seen enough is no failure; data is", .waiting)
    func pageReader() async {
        await #expect(processExitsWith: .success) {
            Platform.secureStandardDescriptors()
            let pipe = try FileDescriptor.pipe()
            pipe.reading.close()
            dup2(pipe.writing.rawValue, STDOUT_FILENO)
            try StandardOutput.writePage("help")
            #expect(throws: OIDCError(.failed, "standard output cannot be written: broken pipe")) {
                try StandardOutput.write("token")
            }
        }
    }

    @Test("a closed standard descriptor is not reused for the next file, and writing to it fails", .waiting)
    func closedOutput() async {
        await #expect(processExitsWith: .exitCode(9)) {
            close(1)
            Platform.secureStandardDescriptors()
            let pipe = try FileDescriptor.pipe()
            guard pipe.reading.rawValue > 2 else { exit(1) }
            do {
                try StandardOutput.write("token")
            } catch let error as OIDCError {
                exit(error.message == "standard output cannot be written: it is closed" ? 9 : 2)
            }
        }
    }

    @Test("the environment is a value, and time goes on")
    func environmentAndTime() {
        #expect(ProcessEnvironment.current["PATH"] == ProcessInfo.processInfo.environment["PATH"])
        let now = MonotonicTime.now()
        #expect(now.adding(milliseconds: 5).milliseconds(from: now) == 5)
        #expect(now.milliseconds(from: now.adding(seconds: 1)) == 0)
        #expect(now.adding(seconds: .max).nanoseconds == .max)
        #expect(abs(Clock.now().secondsSinceEpoch - Int64(Date().timeIntervalSince1970)) <= 1)
    }
}

/// Both ends of a terminal that only this test has.
private struct PseudoTerminal {
    let master: FileDescriptor
    let slave: FileDescriptor

    /// With `isOurs` it becomes the controlling terminal of this process, in whose foreground it is.
    init(isOurs: Bool = false) throws {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        try #require(ioctl(master, 0x4004_5431, &isLocked) == 0)
        try #require(ioctl(master, 0x8004_5430, &number) == 0)
        if isOurs { setsid() }
        let slave = open("/dev/pts/\(number)", isOurs ? O_RDWR : O_RDWR | O_NOCTTY)
        try #require(slave >= 0)
        self.master = FileDescriptor(rawValue: master)
        self.slave = FileDescriptor(rawValue: slave)
    }

    func close() {
        master.close()
        slave.close()
    }
}
