"""A demo provider, a home directory with a profile, and the program under test."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HARNESS = Path(__file__).resolve().parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


class World:
    def __init__(self, oidc, kubectl):
        self.oidc, self.kubectl = oidc, kubectl
        self.problems, self.children, self.servers = [], [], []
        self.home = Path(tempfile.mkdtemp(prefix="oidc-programs-"))
        self.programs = self.home / "bin"
        self.programs.mkdir()
        (self.programs / "oidc").symlink_to(oidc)
        if kubectl:
            (self.programs / "kubectl").symlink_to(kubectl)
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            "BROWSER": str(HARNESS / "browser")}

    def __enter__(self):
        port = free_port()
        self.issuer = f"http://127.0.0.1:{port}"
        self.start([self.oidc, "demo", "--serve", "--port", str(port)], port)
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
        for child in self.children:
            child.terminate()
            child.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self, command, port):
        log = (self.home / f"{Path(command[0]).name}.log").open("w")
        self.children.append(subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        wait_for(port)

    def configure(self, **settings):
        """One profile, named work, which has to be named on every command line."""
        profile = {"issuer": self.issuer, "client_id": "demo", **settings}
        file = self.home / ".config/oidc/config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"profiles": {"work": profile, "other": {}}}))
        file.chmod(0o600)

    def sign_in(self, *options):
        self.ran("oidc", "login", "-p", "work", "--flow", "browser", "--timeout", "30", *options)

    def sign_out(self):
        self.ran("oidc", "logout", "-p", "work")

    def run(self, *command, input=None, **variables):
        return subprocess.run(
            [str(word) for word in command], env=self.environment | variables, input=input, capture_output=True,
            text=True, timeout=120, cwd=self.home)

    def ran(self, *command, **options):
        """What it printed; anything but exit 0 ends the case."""
        result = self.run(*command, **options)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {result.returncode}: {result.stderr}{result.stdout}")
        return result.stdout

    def expect(self, truth, text):
        if not truth:
            self.problems.append(f"not so: {text}")

    def refuses(self, result, *texts):
        """It failed, and whoever reads its output learns why."""
        said = result.stdout + result.stderr
        self.expect(result.returncode != 0, f"{result.args[0]} fails; it said: {said}")
        for text in texts:
            self.expect(text in said, f"{result.args[0]} says {text!r}; it said: {said}")

    def accepts(self, token):
        """Whether the provider takes it for an access token."""
        request = urllib.request.Request(f"{self.issuer}/userinfo", headers={"Authorization": f"Bearer {token}"})
        try:
            return urllib.request.urlopen(request, timeout=10).status == 200
        except (urllib.error.HTTPError, ValueError):
            return False

    def revoke_access(self):
        """As a provider ends an access token early: the session here does not learn of it."""
        token = self.ran("oidc", "token", "-p", "work").strip()
        elsewhere = f"OIDC_STATE_DIR={self.home}/elsewhere"
        self.ran("env", elsewhere, "oidc", "revoke", "-p", "work", "-", input=token)

    def server(self, handler, certificate=None):
        """An HTTP server on a thread; its origin."""
        import servers

        server = servers.start(handler, certificate)
        self.servers.append(server)
        return f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"


def basic_password(header):
    import base64

    if not header or not header.startswith("Basic "):
        return None
    return base64.b64decode(header[6:]).decode().partition(":")[2]
