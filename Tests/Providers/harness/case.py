"""One case: a home of its own, a stand-in, and the program under test between them."""

import json
import re
import shlex
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import nullcontext
from pathlib import Path

from client import refused_at_registration
from network import Network
from provider import Provider
from secret import write_secret


def where_free(function):
    """Repeats a sign-in whose port another program of the machine has at the moment."""
    def repeated(*arguments):
        for _ in range(100):
            outcome = function(*arguments)
            if outcome.returncode != 1 or "in use by another program" not in outcome.stderr:
                break
            time.sleep(0.1)
        return outcome
    return repeated


class Failure(Exception):
    pass


def expect(truth, text):
    if not truth:
        raise Failure(text)


class Case:
    """`with Case(row, …) as case`: after `configure`, the words of the scenarios."""

    ports = threading.Lock()    # a registered port is one of the whole machine

    def __init__(self, row, oidc, authority, keys):
        self.row, self.oidc, self.authority, self.keys = row, oidc, authority, keys
        self.remark, self.setup, self.words = "", {}, ()
        self.without, self.timeout = None, 20

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="oidc-providers-")
        self.home = Path(self.folder.name)
        self.provider = Provider(self.row, self.keys)
        self.network = Network(self.authority, self.provider)
        programs = self.home / "bin"
        programs.mkdir()
        (programs / "oidc").symlink_to(self.oidc)
        self.environment = {
            "HOME": str(self.home), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            "https_proxy": self.network.url, "SSL_CERT_FILE": str(self.authority.file),
            "CURL_CA_BUNDLE": str(self.authority.file), "BROWSER": "curl -sL -o /dev/null %s"}
        return self

    def __exit__(self, *_):
        self.network.shutdown()
        self.network.server_close()
        self.folder.cleanup()

    # Running the program.

    @where_free
    def run(self, *words):
        return subprocess.run([self.oidc, *words, *self.words], env=self.environment, text=True, timeout=60,
                              capture_output=True, cwd=self.home, stdin=subprocess.DEVNULL)

    def exits(self, code, *words):
        """What it printed; another exit code ends the case."""
        outcome = self.run(*words)
        expect(outcome.returncode == code,
               f"oidc {shlex.join(words)}: exit {outcome.returncode}, not {code}: {outcome.stderr.strip()}")
        return outcome

    def configure(self):
        """`config init` with the preset's name, and the registration that it asks for."""
        row = self.row
        words = [*row.parameters, "--client-id", self.provider.client_id, "-o", "json"]
        self.follow(json.loads(self.exits(0, "config", "init", row.preset, *words).stdout))

    def follow(self, setup):
        """Does what `config init` says: registers the redirect URL, and puts the secret where it is looked for."""
        self.setup = setup
        if self.row.secret:
            file = setup["settings"].get("client_secret_file")
            expect(file, "config init says nothing of the client's secret")
            write_secret(self.provider, Path(file.replace("~", str(self.home))))
        self.register(setup["redirect_uri"])
        if self.without:
            file = Path(setup["path"])
            document = json.loads(file.read_text())
            del document["profiles"][setup["profile"]][self.without]
            file.write_text(json.dumps(document))

    def register(self, redirect):
        problem = refused_at_registration(self.row, redirect)
        expect(problem is None, problem)
        self.provider.redirects = [redirect]

    @property
    def redirect(self):
        return self.provider.redirects[0]

    @property
    def turn(self):
        """A lock for a sign-in whose port is fixed."""
        return self.turn_of(self.redirect)

    def turn_of(self, redirect):
        return Case.ports if urllib.parse.urlsplit(redirect).port else nullcontext()

    # Signing in.

    def login(self, *words, code=0, quiet=True):
        """Signs in as `config init` said, with more words; nothing but what was expected is said."""
        if self.redirect.startswith("https:"):
            outcome = self.paste(*words)
        else:
            with self.turn:
                outcome = self.run(*shlex.split(self.setup["next"])[1:], "--timeout", str(self.timeout), *words)
        self.check(outcome, code, quiet, words)
        return outcome

    def check(self, outcome, code, quiet, words):
        expect(outcome.returncode == code,
               f"oidc login {shlex.join(words)}: exit {outcome.returncode}, not {code}: {outcome.stderr.strip()}"
               f"{self.strays()}")
        warnings = [line for line in outcome.stderr.splitlines() if line.startswith("warning:")
                    and (self.row.returns_nonce or "no nonce was sent" not in line)]
        expect(not quiet or not warnings, f"oidc login {shlex.join(words)}: {'; '.join(warnings)}")

    @where_free
    def unattended(self):
        """`oidc login` where there is no browser and no terminal: the URL is opened on this machine by other means,
        and a device code, where one is offered, is entered by the user of the stand-in."""
        environment = {name: value for name, value in self.environment.items() if name != "BROWSER"}
        with self.turn:
            child = subprocess.Popen([self.oidc, "login", "--timeout", "20"], env=environment, text=True, cwd=self.home,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            said, url = "", None
            while line := child.stderr.readline():
                said += line
                url = url or re.search(r"https://\S+response_type=\S+", line)
                if url and self.row.device_refusal and self.row.device_refusal[2][:20] in said:
                    ended = self.network.get(url.group(0), self.redirect.split(":")[0] + "://")
                    urllib.request.urlopen(ended, timeout=20).close()
                    break
            output, rest = child.communicate()
            return subprocess.CompletedProcess(child.args, child.returncode, output, said + rest)

    @where_free
    def paste(self, *words):
        """Opens the printed URL elsewhere and pastes where that browser ends."""
        with self.turn:
            child = subprocess.Popen([self.oidc, "login", "--flow", "paste", "--timeout", str(self.timeout), *words],
                                     env=self.environment, text=True, cwd=self.home, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            said = ""
            while (line := child.stderr.readline()) and not (url := re.search(r"https://\S+", line)):
                said += line
            ended = self.network.get(url.group(0), self.redirect.split(":")[0] + "://") if line else ""
            output, rest = child.communicate(f"{ended}\n")
            return subprocess.CompletedProcess(child.args, child.returncode, output, said + line + rest)

    # What holds now.

    def token(self, *words):
        return self.exits(0, "token", *words).stdout.strip()

    def accepted_token(self, *words):
        token = self.token(*words)
        expect(self.provider.tokens.is_alive(token), f"oidc token {shlex.join(words)}: not the provider's: {token}")
        return token

    def signed_out(self):
        for words in (("status",), ("token",)):
            self.exits(3, *words)

    def says(self, outcome, *texts):
        for text in texts:
            expect(text in outcome.stderr, f"it does not say {text!r}: {outcome.stderr.strip()}")

    def strays(self):
        return "".join(f"\n  network: {stray}" for stray in self.network.strays)
