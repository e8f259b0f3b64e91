"""A provider with strict reuse detection: a refresh token that is presented twice ends its session. It signs everyone
in at once, and counts what it is asked."""
import http.server, json, select, socket, threading, time, urllib.parse


class Provider:
    def __init__(self):
        self.expires_in, self.delay = 3600, 0
        self.refreshes, self.reuses, self.grants = 0, 0, 0
        self.families, self.current, self.last = 0, {}, {}
        self.lock = threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                if url.path == "/.well-known/openid-configuration":
                    return self.answer(provider.metadata())
                if url.path != "/authorize":
                    return self.answer({}, 404)
                query = dict(urllib.parse.parse_qsl(url.query))
                back = urllib.parse.urlencode({"code": "c", "state": query["state"], "iss": provider.issuer})
                self.send_response(302)
                self.send_header("Location", query["redirect_uri"] + "?" + back)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                if form.get("grant_type") != "authorization_code":
                    time.sleep(provider.delay)
                    if self.is_gone():
                        return None
                with provider.lock:
                    status, answer = provider.token(form)
                return self.answer(answer, status)

            def is_gone(self):
                """Whether the client was killed: its request then counts as lost on the way."""
                if not select.select([self.connection], [], [], 0)[0]:
                    return False
                try:
                    return self.connection.recv(1, socket.MSG_PEEK) == b""
                except OSError:
                    return True

            def answer(self, value, status=200):
                body = json.dumps(value).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

        server = Server(("127.0.0.1", 0), Handler)
        self.port = server.server_port
        self.issuer = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def token(self, form):
        grant = form.get("grant_type")
        if grant == "client_credentials":
            self.grants += 1
            return 200, self.answer("machine", self.grants)
        if grant == "authorization_code":
            self.families += 1
            family, number = str(self.families), 1
        else:
            family, number = form.get("refresh_token", "x.0").split(".")
            if self.current.get(family) != int(number):
                self.reuses += 1
                self.current[family] = None
                return 400, {"error": "invalid_grant"}
            self.refreshes += 1
            number = int(number) + 1
        self.current[family] = number
        return 200, self.answer(family, number) | {"refresh_token": f"{family}.{number}"}

    def answer(self, family, number):
        self.last[family] = f"token-{family}-{number}"
        return {"access_token": self.last[family], "token_type": "Bearer", "expires_in": self.expires_in}

    def metadata(self):
        ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return {name: f"{self.issuer}/{path}" for name, path in ends.items()} | {
            "issuer": self.issuer, "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
