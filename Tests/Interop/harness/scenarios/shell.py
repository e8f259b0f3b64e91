"""What other programs and shell scripts do with a session."""

import json
import re
import subprocess
import urllib.parse
from pathlib import Path

from workbench import expect

from .registry import scenario

TOP = Path(__file__).resolve().parents[4]
DOCUMENTS = [TOP / "README.md", TOP / "Sources/OIDCCore/Documentation.docc/Recipes.md"]


class Shell:
    """bash with `oidc` on its PATH, as a script of the user at this bench has it."""

    def __init__(self, bench, env):
        self.bench = bench
        programs = bench.home / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "oidc").unlink(missing_ok=True)
        (programs / "oidc").symlink_to(bench.binary)
        self.env = bench.environment(env)
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"
        if "ca_file" in bench.settings():
            self.env |= {"CURL_CA_BUNDLE": bench.settings()["ca_file"], "SSL_CERT_FILE": bench.settings()["ca_file"]}

    def run(self, lines, env=None):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", lines], env=self.env | (env or {}), cwd=self.bench.home,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        expect(done.returncode == 0, f"{lines}: exit {done.returncode}, {done.stdout!r} {done.stderr!r}")
        return done.stdout.strip()


@scenario("tools", "`curl`, `jq`, `git` and a shell with the token", ())
def tools(case):
    bench = case.signed_in()
    bench.oidc("token").line()
    address = bench.oidc("discover").data()["userinfo_endpoint"]
    hosts = json.dumps([{"host": "git.example.test", "username": "alice"}])
    shell = Shell(bench, {"OIDC_CONFIG": str(bench.home / "config.json"), "ADDRESS": address, "OIDC_GIT_HOSTS": hosts})
    claims = json.loads(shell.run('curl -sSf -H "$(oidc token --header)" "$ADDRESS"'))
    expect(shell.run("oidc userinfo | jq -r .sub") == claims["sub"], "jq reads another sub")
    shell.run('oidc exec -- sh -c \'curl -sSf -H "Authorization: Bearer $OIDC_ACCESS_TOKEN" "$ADDRESS"\'')
    answer = shell.run("printf 'protocol=https\\nhost=git.example.test\\n\\n' | "
                       "git -c credential.helper= -c credential.helper='!oidc credential git' credential fill")
    expect(f"password={shell.run('oidc token')}" in answer.splitlines(), "git was given another password")


class Readme:
    """The README's shell blocks, with this provider's names in the place of the made-up ones."""

    def __init__(self, case, address):
        facts = case.facts
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(address))
        self.names = {
            "https://login.example.com": facts["issuer"], "my-cli": facts["public_client"]["id"],
            "https://api.example.com/me": address, "https://api.example.com": origin,
            "my-ci": facts["confidential_client"]["id"], "api:read": facts["service_scope"]}
        text = "".join(document.read_text() for document in DOCUMENTS)
        self.blocks = re.findall(r"\n```sh\n(.*?)```", text, re.DOTALL)

    def run(self, shell, part, then=""):
        """Runs the first block that has this in it, and what is to follow it; answers what they print."""
        found = [block for block in self.blocks if part in block]
        expect(found, f"no shell block of the README has {part!r} in it")
        text = found[0] + then
        for name, value in self.names.items():
            text = text.replace(name, value)
        if "oidc login" not in text:
            return shell.run(text)
        out = shell.run(text, shell.bench.walk())
        shell.bench.report()
        return out


@scenario("readme", "The README's scripts, as they stand there")
def readme(case):
    address = case.bench().oidc("discover").data()["userinfo_endpoint"]
    document = Readme(case, address)
    variables = {"SECRET": case.facts["confidential_client"]["secret"]}
    if redirect := case.bench().settings().get("redirect_uri"):
        variables["OIDC_REDIRECT_URI"] = redirect

    def shell():
        return Shell(case.bench(case.signed_in().profile), variables)

    person = shell()
    called = document.run(person, "oidc login https://login.example.com --client-id my-cli\n")
    expect('"sub"' in called, f"the first call with a token prints {called!r}")
    status = document.run(person, "oidc doctor\noidc status")
    expect(case.facts["issuer"] in status, f"status prints {status!r}")
    printed = document.run(person, "oidc userinfo --claim")
    expect(re.fullmatch(r"(alice@example.test\n){2}\d+", printed), f"userinfo and expiry: {printed!r}")
    called = document.run(person, "oidc exec")
    expect(len(re.findall(r'"sub"', called)) == 3 and called.endswith("alice@example.test"),
           f"the calls print {called!r}")
    # The userinfo endpoint that stands for the API may refuse a token of no person: the token itself is looked at.
    service = document.run(shell(), "OIDC_GRANT=client_credentials", 'printf "\\ntoken:%s\\n" "$token"')
    expect(re.fullmatch(r"token:\S+", service.splitlines()[-1]), f"the CI block prints {service!r}")
    document.run(person, "oidc credential kubectl --setup")
    document.run(person, "oidc credential git --setup")
