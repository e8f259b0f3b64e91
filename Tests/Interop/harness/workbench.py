"""One provider, one `oidc`, one browser: what the scenarios are written with."""

import http.server
import json
import os
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROVIDERS = HERE.parent / "providers"


class Failure(Exception):
    pass


class BrowserHangs(Failure):
    """The browser was started through $BROWSER and never reported back: says nothing about the program."""


def expect(truth, text):
    if not truth:
        raise Failure(text)


class Result:
    """What one run of the binary left behind; each expectation names the command in its complaint."""

    def __init__(self, words, status, out, err, seconds):
        self.words, self.status, self.out, self.err, self.seconds = words, status, out, err, seconds

    def complain(self, text):
        raise Failure(f"oidc {' '.join(self.words)}: {text}\n  exit {self.status}\n  stdout {self.out!r}\n  stderr {self.err!r}")

    def exits(self, status):
        if self.status != status:
            self.complain(f"expected exit {status}")
        return self

    def says(self, *texts):
        for text in texts:
            if text not in self.err:
                self.complain(f"expected {text!r} on stderr")
        return self

    def silent(self):
        """A failure, or talk only: nothing on stdout."""
        if self.out:
            self.complain("expected an empty stdout")
        return self

    def one_line(self):
        """The error is one readable line, after it at most the hint."""
        lines = [line for line in self.err.splitlines() if line.startswith(("error: ", "  try: "))]
        ends = [line[:5] for line in lines] in (["error"], ["error", "  try"])
        if not ends or self.err.splitlines()[-len(lines):] != lines or "\x1b" in self.err:
            self.complain("expected one error line at the end of stderr, then at most one hint")
        return self

    def refused(self, status, *texts):
        return self.exits(status).silent().one_line().says(*texts)

    def data(self):
        self.exits(0)
        try:
            return json.loads(self.out)
        except ValueError:
            self.complain("expected JSON on stdout")

    def line(self):
        self.exits(0)
        if self.out.count("\n") != 1 or not self.out.endswith("\n") or len(self.out) < 2:
            self.complain("expected one line on stdout")
        return self.out[:-1]


def own_address():
    """An address of this machine that is not loopback; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            raise Failure(f"this machine has no address but loopback: {error}") from None
        return probe.getsockname()[0]


class Provider:
    """A folder of `providers`, started on loopback or, for what loopback is exempt from, on an own address."""

    def __init__(self, name, work, cache, host="127.0.0.1"):
        self.name, self.work, self.cache, self.host = name, work, cache, host
        self.folder = PROVIDERS / name
        text = (self.folder / "supports.json").read_text()
        port = json.loads(text)["port"]
        self.facts = json.loads(text.replace(f"127.0.0.1:{port}", f"{host}:{port}"))
        self.state = work / "state" / (name if host == "127.0.0.1" else f"{name}-{host}")
        self.environment = os.environ | {
            "INTEROP_STATE": str(self.state), "INTEROP_CACHE": str(cache), "INTEROP_HOST": host}
        self.copy = None

    def run(self, verb):
        done = subprocess.run([self.folder / verb], env=self.environment, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip() or "it says nothing"
            raise Failure(f"{said}\n(providers/{self.name}/{verb}, exit {done.returncode})")
        if verb == "up":
            self.version = (self.state / "version").read_text().strip()
        elif self.copy:
            self.copy.run(verb)

    def elsewhere(self):
        """A second one of this kind at an own address; `down` ends it too."""
        if self.copy is None:
            self.copy = Provider(self.name, self.work, self.cache, own_address())
            self.copy.run("up")
        return self.copy

    def expire_codes(self):
        """Makes all codes that were given out as old as if nobody had redeemed them in time."""
        connection = sqlite3.connect(self.state / self.facts["database"], timeout=20)
        with connection:
            changed = connection.execute(self.facts["expire_codes"]).rowcount
        connection.close()
        expect(changed > 0, f"{self.facts['database']} holds no code")

    @property
    def origin(self):
        parts = urllib.parse.urlsplit(self.facts["issuer"])
        return f"{parts.scheme}://{parts.netloc}"


class Bench:
    """A home of its own for one scenario: config, sessions, cache, transcript; and the browser's profile."""

    def __init__(self, binary, provider, browser, directory, profile):
        self.binary, self.provider, self.browser = binary, provider, browser
        self.facts = provider.facts
        self.directory, self.profile = directory, profile
        self.home = directory / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.walks = 0

    def settings(self):
        """The settings of a user at this provider, as a flat config file would hold them."""
        values = {"issuer": self.facts["issuer"], "client_id": self.facts["public_client"]["id"],
                  "scope": self.facts["scope"], "client_auth": "none"}
        redirect = self.facts["public_client"]["redirect_uri"]
        if urllib.parse.urlsplit(redirect).port:
            values["redirect_uri"] = redirect
        if "ca_file" in self.facts:
            values["ca_file"] = str(self.provider.state / self.facts["ca_file"])
        return values | self.facts.get("endpoints", {})

    def environment(self, extra):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return kept | {"HOME": str(self.home), "NO_COLOR": "1"} | {k: v for k, v in extra.items() if v is not None}

    def start(self, *words, settings=None, env=None):
        """Starts the binary with these settings in its config file, or with the file as it is where settings is
        False; `finish` waits for it."""
        config = self.home / "config.json"
        text = json.dumps(self.settings() if settings is None else settings)
        if settings is not False and (not config.exists() or config.read_text() != text):
            config.touch(mode=0o600)
            config.write_text(text)
        words = [words[0], "--config", str(config), *map(str, words[1:])]
        process = subprocess.Popen(
            [self.binary, *words], env=self.environment(env or {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.home)
        process.words, process.began = words, time.monotonic()
        return process

    def finish(self, process, stdin="", seconds=240, broken=lambda: None):
        """Waits for the end, or until `broken` names the reason why it will not come."""
        until = time.monotonic() + seconds
        while True:
            try:
                out, err = process.communicate(stdin, timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                stdin = None
                reason = broken() or (f"still running after {seconds} s" if time.monotonic() > until else None)
                if reason:
                    process.kill()
                    _, err = process.communicate()
                    kind = BrowserHangs if "TimeoutError" in reason else Failure
                    raise kind(f"oidc {' '.join(process.words)}: {reason}\n  stderr {err!r}") from None
        result = Result(process.words, process.returncode, out, err, time.monotonic() - process.began)
        with open(self.directory / "transcript.txt", "a") as transcript:
            transcript.write(f"$ oidc {' '.join(result.words)}\n{out}{err}[exit {result.status}, {result.seconds:.2f} s]\n\n")
        return result

    def oidc(self, *words, settings=None, env=None, stdin="", seconds=240):
        return self.finish(self.start(*words, settings=settings, env=env), stdin, seconds)

    def walk(self, answer="approve", **more):
        """Prepares the next walk through the pages; answers the environment that makes $BROWSER take it."""
        self.walks += 1
        self.artefact = self.directory / f"walk-{self.walks}"
        scenario = {"browser": self.browser, "origin": self.provider.origin, "pages": self.facts["pages"],
                    "user": self.facts["user"], "answer": answer, "profile": str(self.profile),
                    "artefact": str(self.artefact)} | more
        path = self.directory / f"walk-{self.walks}.scenario"
        path.write_text(json.dumps(scenario))
        return {"BROWSER": str(HERE / "browser"), "INTEROP_SCENARIO": str(path)}

    def report(self, seconds=120):
        """What the browser saw; waits for it, since `oidc` does not."""
        path = Path(f"{self.artefact}.json")
        until = time.monotonic() + seconds
        while not path.exists():
            if time.monotonic() > until:
                if Path(f"{self.artefact}.started").exists():
                    raise BrowserHangs(f"{self.browser} hangs: no {path.name} after {seconds} s")
                raise Failure(f"{self.browser} was not started through $BROWSER: no {path.name}")
            time.sleep(0.1)
        if reason := self.broken():
            raise (BrowserHangs if "TimeoutError" in reason else Failure)(reason)
        return json.loads(path.read_text())

    def broken(self):
        """What went wrong in the browser, if that is known already."""
        path = Path(f"{self.artefact}.json")
        report = json.loads(path.read_text()) if path.exists() else {"error": None}
        if report["error"] is None:
            return None
        return (f"{self.browser}: {report['error']}; it did {report['steps']}; it shows {report['text'][:300]!r}; "
                f"see {self.artefact}.png")

    def login(self, *words, settings=None, env=None, answer="approve", status=0, page="signed in", **walk):
        """A whole sign-in in the browser; answers the result and what the browser saw."""
        environment = self.walk(answer, **walk) | (env or {})
        process = self.start("login", "--timeout", "180", *words, settings=settings, env=environment)
        result = self.finish(process, broken=self.broken)
        if result.status != status:
            try:
                report = self.report(10)
                seen = f"the browser did {report['steps']} and shows {report['text'][:300]!r}"
            except Failure as failure:
                seen = str(failure)
            result.complain(f"expected exit {status}; {seen}")
        result.silent()
        report = self.report()
        expect(page.lower() in report["text"].lower(), f"expected {page!r} on the last page, found {report['text'][:300]!r}")
        return result, report


class Callback:
    """A listener of our own at a redirect address, for the building blocks that scripts use."""

    def __init__(self, redirect):
        self.address = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if "state=" in self.path and outer.address is None:
                    outer.address = f"http://{self.headers['Host']}{self.path}"
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<p>received</p>")

            def log_message(self, *_):
                pass

        parts = urllib.parse.urlsplit(redirect)
        self.server = http.server.ThreadingHTTPServer((parts.hostname, parts.port or 0), Handler)
        self.redirect = f"{parts.scheme}://{parts.hostname}:{self.server.server_port}{parts.path}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
