import Foundation
package import OIDCCore

/// A server that speaks HTTP/2 over TLS, frame by frame as a test says, by python3. It does not read the fields of
/// requests: the first one gets the first answer, and so on; the last answer is given again and again.
package final class HTTP2Server: Sendable {
    /// A step of an answer.
    package enum Step: Sendable {
        /// A HEADERS frame with these fields; `:status` comes first.
        case fields([(String, String)], ends: Bool = false)
        /// DATA frames with this text, so many times.
        case data(String, times: Int = 1, ends: Bool = false)
        /// Waits for the end of the request.
        case request
        /// From now on, takes no more of the connection's bodies: its window is not opened again.
        case stall
        /// RST_STREAM with a code (RFC 9113 §7).
        case reset(Int)
        /// GOAWAY with the last stream that is handled: this one, or none.
        case goAway(handlesThis: Bool)
        /// Frames of a type, on this stream, as fast as they can be sent, without an end.
        case flood(type: Int, payload: [UInt8])
        /// Ends the connection, with TLS's notice but without END_STREAM.
        case close
    }

    package let port: Int
    private let server: PythonServer

    package init(_ answers: [[Step]]) throws {
        guard let servers = TLSServers.shared else { throw CocoaError(.fileNoSuchFile) }
        let plan = String(
            decoding: try JSONSerialization.data(withJSONObject: answers.map { $0.map(\.plan) }),
            as: UTF8.self)
        server = try PythonServer(HTTP2Server.script, [servers.folder, plan])
        guard let port = Int(server.firstLine) else { throw CocoaError(.executableLoad) }
        self.port = port
    }

    package var url: WebURL { WebURL("https://127.0.0.1:\(port)/")! }

    /// What happened so far: `connection`, `request`, `body BYTES`, `reset CODE`,
    /// `sent BYTES` of an unfinished answer, and `end` of a connection.
    package var events: [String] {
        let mark = "mark \(UInt64.random(in: 0 ... .max))"
        server.send(mark)
        guard wait(for: mark) else { return [] }
        return server.output.filter { !$0.hasPrefix("mark") }
    }

    package func count(_ event: String) -> Int { events.count { $0 == event } }

    /// Waits until an event has happened so many times.
    package func wait(for event: String, times: Int = 1) -> Bool {
        let end = Date().addingTimeInterval(60)
        while Date() < end {
            if server.output.count(where: { $0 == event }) >= times { return true }
            usleep(5_000)
        }
        return false
    }

    private static let script = #"""
        import json, socket, ssl, struct, sys, threading
        folder, answers = sys.argv[1] + "/", json.loads(sys.argv[2])
        lock, count = threading.Lock(), 0
        def say(*words):
            with lock: print(*words, flush=True)
        def frame(kind, flags, stream, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
        def number(value, bits):
            if value < (1 << bits) - 1: return bytes([value])
            value, rest = value - (1 << bits) + 1, b""
            while value > 127: value, rest = value >> 7, rest + bytes([value & 127 | 128])
            return bytes([(1 << bits) - 1]) + rest + bytes([value])
        def block(fields):
            return b"".join(b"\0" + b"".join(number(len(t.encode()), 7) + t.encode() for t in f) for f in fields)
        class Connection:
            def __init__(self, s):
                self.s, self.window, self.first, self.streams, self.buffer = s, 65535, 65535, {}, b""
                self.stalls = False
            def read(self, length):
                while len(self.buffer) < length:
                    more = self.s.recv(65536)
                    if not more: raise EOFError
                    self.buffer += more
                result, self.buffer = self.buffer[:length], self.buffer[length:]
                return result
            def run(self):
                say("connection")
                self.read(24)
                self.s.sendall(frame(4, 0, 0))
                while True: self.take()
            def take(self):
                head = self.read(9)
                length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                stream, payload = int.from_bytes(head[5:], "big"), self.read(length)
                if kind == 4 and not flags & 1:
                    for at in range(0, length, 6):
                        name, value = struct.unpack(">HI", payload[at:at + 6])
                        if name == 4: self.first = value
                    self.s.sendall(frame(4, 1, 0))
                elif kind == 6 and not flags & 1: self.s.sendall(frame(6, 1, 0, payload))
                elif kind == 8:
                    more = struct.unpack(">I", payload)[0]
                    if stream == 0: self.window += more
                    elif stream in self.streams: self.streams[stream]["window"] += more
                elif kind == 3:
                    say("reset", struct.unpack(">I", payload)[0])
                    state = self.streams.pop(stream, None)
                    if state: say("sent", state["sent"])
                elif kind == 1:
                    global count
                    with lock: steps, count = answers[min(count, len(answers) - 1)], count + 1
                    say("request")
                    self.streams[stream] = dict(steps=list(steps), window=self.first, body=0, ends=bool(flags & 1), sent=0)
                elif kind == 0:
                    if not self.stalls: self.s.sendall(frame(8, 0, 0, struct.pack(">I", max(1, length))))
                    state = self.streams.get(stream)
                    if state:
                        state["body"] += length
                        state["ends"] = bool(flags & 1)
                        if flags & 1: say("body", state["body"])
                        elif not self.stalls: self.s.sendall(frame(8, 0, stream, struct.pack(">I", max(1, length))))
                for stream in list(self.streams): self.go_on(stream)
            def go_on(self, stream):
                state = self.streams[stream]
                while state["steps"]:
                    name, *words = state["steps"][0]
                    if name == "request" and not state["ends"]: return
                    if name == "stall": self.stalls = True
                    if name == "fields": self.s.sendall(frame(1, 4 | words[1], stream, block(words[0])))
                    if name == "data":
                        text, times, ends = words[0].encode(), words[1], words[2]
                        while times > 0:
                            if min(self.window, state["window"]) < len(text):
                                state["steps"][0] = [name, words[0], times, ends]
                                return
                            times -= 1
                            self.window -= len(text)
                            state["window"] -= len(text)
                            state["sent"] += len(text)
                            self.s.sendall(frame(0, ends if times == 0 else 0, stream, text))
                        if ends: say("done")
                    if name == "reset":
                        self.s.sendall(frame(3, 0, stream, struct.pack(">I", words[0])))
                    if name == "away":
                        self.s.sendall(frame(7, 0, 0, struct.pack(">II", stream if words[0] else 0, 0)))
                    if name == "flood":
                        say("flood")
                        one = frame(words[0], 0, stream if words[0] != 6 else 0, bytes(words[1]))
                        while True: self.s.sendall(one * (16000 // len(one)))
                    if name == "close": raise EOFError
                    state["steps"].pop(0)
        def talk(raw):
            try:
                with context.wrap_socket(raw, server_side=True) as s:
                    connection = Connection(s)
                    try: connection.run()
                    except EOFError: say("end")
                    try: s.unwrap()
                    except OSError: pass
            except OSError:
                say("end")
                raw.close()
        def serve():
            while True: threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "good.pem", folder + "good.key")
        context.set_alpn_protocols(["h2"])
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        threading.Thread(target=serve, daemon=True).start()
        for line in sys.stdin: say(line.strip())
        """#
}

extension HTTP2Server.Step {
    fileprivate var plan: [Any] {
        switch self {
        case .fields(let fields, let ends): ["fields", fields.map { [$0.0, $0.1] }, ends ? 1 : 0]
        case .data(let text, let times, let ends): ["data", text, times, ends ? 1 : 0]
        case .request: ["request"]
        case .stall: ["stall"]
        case .reset(let code): ["reset", code]
        case .goAway(let handlesThis): ["away", handlesThis]
        case .flood(let type, let payload): ["flood", type, payload.map(Int.init)]
        case .close: ["close"]
        }
    }
}
