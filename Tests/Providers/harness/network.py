"""The network of one case: a proxy that leads every host to the stand-in, under a certificate of our own."""

import http.client
import http.server
import json
import threading
import urllib.parse
from dataclasses import dataclass, field


@dataclass
class Request:
    method: str
    url: str
    headers: dict
    body: bytes

    def __post_init__(self):
        parts = urllib.parse.urlsplit(self.url)
        self.place = f"{parts.scheme}://{parts.netloc}{parts.path}"
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))

    @property
    def is_json(self):
        return self.headers.get("content-type", "").split(";")[0] == "application/json"

    @property
    def form(self):
        if self.is_json:
            return json.loads(self.body)
        return dict(urllib.parse.parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass
class Response:
    status: int = 200
    body: bytes = b""
    headers: dict = field(default_factory=dict)


def answer(value, status=200, **headers):
    return Response(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def page(status, text):
    """A page for the user: nothing that a program could act on."""
    return Response(status, f"<!doctype html><p>{text}".encode(), {"Content-Type": "text/html"})


class Tunnel(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host = None

    def do_CONNECT(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        self.host = self.path.removesuffix(":443")
        try:
            self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        except OSError as error:
            self.server.strays.append(f"{self.host}: {error}")
            self.close_connection = True
            return
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
        self.close_connection = False

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(Request(self.command, f"https://{self.host}{self.path}", headers, body))
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        self.wfile.flush()

    do_GET = do_POST = do_HEAD = respond

    def finish(self):
        try:
            super().finish()
            self.connection.close()
        except OSError:
            pass

    def log_message(self, *_):
        pass


class Network(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, authority, respond):
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.context, self.respond, self.strays = authority.context, respond, []
        self.client = authority.client
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request, client_address):
        import traceback
        self.strays.append(traceback.format_exc())

    def get(self, url, ends, hops=10):
        """Follows redirects like a browser elsewhere, through the proxy, to a URL that starts with `ends`."""
        for _ in range(hops):
            parts = urllib.parse.urlsplit(url)
            connection = http.client.HTTPSConnection("127.0.0.1", self.server_port, timeout=20, context=self.client)
            connection.set_tunnel(parts.netloc, 443)
            connection.request("GET", f"{parts.path}?{parts.query}")
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
            target = response.getheader("Location")
            if target is None:
                raise RuntimeError(f"{url}: {response.status}: {text}")
            url = urllib.parse.urljoin(url, target)
            if url.startswith(ends) and "state=" in url:
                return url
        raise RuntimeError(f"too many redirects: {url}")

