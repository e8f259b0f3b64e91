"""The way to the provider: TLS with a private authority, and proxies."""

import socket
import subprocess
import time
import urllib.parse

from webdriver import free_port
from workbench import Failure, expect

from .registry import scenario


@scenario("private-ca", "HTTPS with a private CA (`ca_file`)", ())
def private_ca(case):
    bench = case.bench()
    settings = bench.settings()
    bench.oidc("discover", settings=settings).data()
    file = settings.pop("ca_file")
    bench.oidc("discover", settings=settings).refused(7)
    bench.oidc("discover", settings=settings, env={"SSL_CERT_FILE": file}).data()
    bench.oidc("discover", settings=settings | {"ca_file": "/nonexistent/ca.pem"}).refused(2, "/nonexistent/ca.pem")


class Tinyproxy:
    """A proxy on loopback, and what it was asked for."""

    def __init__(self, directory, name, person=None):
        self.port = free_port()
        self.log = directory / f"{name}.log"
        self.config = directory / f"{name}.conf"
        self.config.write_text(
            f'Listen 127.0.0.1\nPort {self.port}\nLogFile "{self.log}"\nLogLevel Connect\nMaxClients 50\n'
            + (f"BasicAuth {person}\n" if person else ""))

    def address(self, person=None):
        return f"http://{person + '@' if person else ''}127.0.0.1:{self.port}"

    def asked(self):
        """`METHOD TARGET` of every request so far."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split("): ", 1)[1].rsplit(" ", 1)[0] for line in lines if " Request (file descriptor" in line]

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        try:
            self.process = subprocess.Popen(["tinyproxy", "-d", "-c", self.config], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            raise Failure("tinyproxy is not installed") from None
        until = time.monotonic() + 20
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > until:
                self.__exit__()
                raise Failure(f"tinyproxy does not start; see {self.log}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@scenario("proxy", "Through a proxy (tinyproxy), and around it by `no_proxy`")
def proxy(case):
    far = case.elsewhere()
    bench, secret = far.bench(), {}
    issuer = urllib.parse.urlsplit(far.facts["issuer"])
    variable = f"{issuer.scheme}_proxy"

    def fetch(**env):
        far.pause()
        return bench.oidc("token", "--refresh", settings=settings, env=secret | env)

    with Tinyproxy(bench.directory, "open") as tiny:
        through = {variable: tiny.address()}
        if issuer.scheme == "https":
            settings, form = bench.settings(), f"CONNECT {issuer.netloc}"
            bench.login(env=through)[0].says("alice")
            bench.oidc("userinfo", env=through).data()
        else:
            settings, secret = far.service(*next(iter(far.facts["client_auth"].items())))
            settings["allow_insecure_http"], form = True, f" http://{issuer.netloc}/"
        fetch(**through).line()
        asked = tiny.asked()
        expect(len(asked) > 1 and all(form in line for line in asked), f"the proxy was asked for {asked}")
        for name in ("no_proxy", "NO_PROXY"):
            fetch(**through, **{name: f"example.test,{issuer.hostname}"}).line()
        everywhere = {name: tiny.address() for name in ("http_proxy", "https_proxy", "all_proxy")}
        case.bench().oidc("discover", env=everywhere).data()
        more = tiny.asked()[len(asked):]
        expect(not more, f"in spite of no_proxy, or for loopback, the proxy was asked for {more}")
        fetch(all_proxy=tiny.address()).line()
        expect(len(tiny.asked()) > len(asked), "all_proxy is not used")

    fetch(**through).refused(5, f"cannot connect to the proxy for {issuer.netloc}", variable)
    with Tinyproxy(bench.directory, "closed", "alice s3cret") as tiny:
        # Without a body: this proxy refuses before it has read one, and the refusal may then be lost.
        def discover(person):
            env = {variable: tiny.address(person)}
            return far.bench().oidc("discover", settings=settings, env=secret | env)

        discover(None).refused(5, "the proxy does not connect", "407", f"password in {variable}")
        if issuer.scheme == "https":
            refusal = discover("alice:wrong").refused(5, "401", f"password in {variable}")
            expect("wrong" not in refusal.err, "the proxy's password is on stderr")
        fetch(**{variable: tiny.address("alice:s3cret")}).line()
