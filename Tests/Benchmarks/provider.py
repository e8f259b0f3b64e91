"""A provider that signs everyone in at once and counts what it is asked; for the benchmarks alone."""
import http.server, json, ssl, threading, time, urllib.parse


class Provider:
    def __init__(self, certificate=None):
        """With a certificate and its key in one file, it speaks TLS."""
        self.requests, self.times = [], []
        self.expires_in = 3600
        self.userinfo_size = 1024
        self.refusal = None  # what a refresh is refused with: status, error, headers
        self.delay = 0  # seconds until a refresh is answered
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                provider.note(url.path)
                if url.path == "/.well-known/openid-configuration":
                    return self.answer(provider.metadata())
                if url.path == "/userinfo":
                    return self.answer({"sub": "alice", "text": "x" * provider.userinfo_size})
                query = dict(urllib.parse.parse_qsl(url.query))
                if url.path != "/authorize":
                    return self.answer({}, 404)
                back = urllib.parse.urlencode({"code": "c", "state": query["state"], "iss": provider.issuer})
                self.send_response(302)
                self.send_header("Location", query["redirect_uri"] + "?" + back)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                grant = dict(urllib.parse.parse_qsl(body)).get("grant_type", "")
                provider.note(grant)
                if grant == "refresh_token":
                    time.sleep(provider.delay)
                    if provider.refusal:
                        status, error, headers = provider.refusal
                        return self.answer({"error": error}, status, headers)
                self.answer({"access_token": f"token-{len(provider.requests)}", "token_type": "Bearer", "refresh_token": "refresh",
                             "expires_in": provider.expires_in})

            def answer(self, value, status=200, headers={}):
                body = json.dumps(value).encode()
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

        server = Server(("127.0.0.1", 0), Handler)
        self.issuer = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def note(self, request):
        self.requests.append(request)
        self.times.append(time.monotonic())

    def metadata(self):
        base = {name: f"{self.issuer}/{path}" for name, path in [
            ("authorization_endpoint", "authorize"), ("token_endpoint", "token"), ("userinfo_endpoint", "userinfo"),
            ("jwks_uri", "keys")]}
        return base | {"issuer": self.issuer, "response_types_supported": ["code"],
                       "code_challenge_methods_supported": ["S256"]}
