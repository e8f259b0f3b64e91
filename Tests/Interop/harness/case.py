"""One scenario at one provider with one browser, and the sessions it may share with others."""

import contextlib
import os
import re
import subprocess
import time
import urllib.parse

from workbench import HERE, Bench, Callback, expect


class Case:
    def __init__(self, scenario, provider, browser, binary, runs):
        self.scenario, self.provider, self.browser, self.binary, self.runs = scenario, provider, browser, binary, runs
        self.facts = provider.facts
        self.benches = 0

    def bench(self, profile=None):
        """A fresh home, and a browser that has never been anywhere unless a profile is given."""
        self.benches += 1
        directory = self.runs / self.provider.name / f"{self.scenario.name}-{self.browser}-{self.benches}"
        return Bench(self.binary, self.provider, self.browser, directory, profile or directory / "profile")

    def signed_in(self):
        """The home in which somebody has signed in once; shared, so leave the session as it is."""
        directory = self.runs / self.provider.name / f"signed-in-{self.browser}"
        fresh = not directory.exists()
        bench = Bench(self.binary, self.provider, self.browser, directory, directory / "profile")
        bench.walks = len(list(directory.glob("walk-*.scenario")))
        if fresh:
            bench.login()
        return bench

    def own_session(self):
        """A session that this scenario may spend; the browser is still signed in from before."""
        bench = self.bench(self.signed_in().profile)
        bench.login()
        return bench

    def elsewhere(self):
        """The same case at a copy of the provider that listens beyond loopback."""
        return Case(self.scenario, self.provider.elsewhere(), self.browser, self.binary, self.runs)

    def service(self, method, client):
        """The settings of a confidential client that proves itself by this method, and the environment for it."""
        settings = {"issuer": self.facts["issuer"], "client_id": self.facts["confidential_client"]["id"],
                    "grant": "client_credentials", "scope": self.facts["service_scope"], "client_auth": method}
        if "ca_file" in self.facts:
            settings["ca_file"] = str(self.provider.state / self.facts["ca_file"])
        redirect = self.facts["public_client"]["redirect_uri"]
        if urllib.parse.urlsplit(redirect).port:
            settings["redirect_uri"] = redirect
        settings |= self.facts.get("endpoints", {}) | client
        if "private_key_file" in settings:
            settings["private_key_file"] = str(self.provider.state / settings["private_key_file"])
            return settings, {}
        return settings, {"OIDC_CLIENT_SECRET": self.facts["confidential_client"]["secret"]}

    def service_session(self):
        """A token of the confidential client's own, by the first method that the provider is listed with."""
        settings, env = self.service(*next(iter(self.facts["client_auth"].items())))
        bench = self.bench()
        bench.oidc("token", settings=settings, env=env).line()
        return bench, settings, env

    def pause(self):
        """For a provider whose access tokens of one second are all the same."""
        time.sleep(self.facts.get("refresh_pause", 0))

    @contextlib.contextmanager
    def callback(self):
        """A code that the building blocks have got; yields what exchanges it."""
        bench = self.bench()
        settings = bench.settings()
        with Callback(settings.get("redirect_uri", "http://127.0.0.1/callback")) as callback:
            settings["redirect_uri"] = callback.redirect
            begun = bench.oidc("authorize-url", settings=settings)
            file = bench.home / "pending.json"
            file.touch(mode=0o600)
            file.write_text(begun.out)
            environment = os.environ | bench.walk()
            subprocess.run([HERE / "browser", begun.data()["url"]], env=environment, check=True)
            bench.report()
        yield lambda: bench.oidc("exchange", "--pending", str(file), settings=settings, stdin=callback.address)

    def device(self, answer, status, *says):
        """A device login whose code a user enters in the browser elsewhere."""
        bench = self.bench()
        settings = bench.settings() | {"client_id": self.facts["device_client"]["id"],
                                       "scope": self.facts.get("device_scope", self.facts["scope"])}
        process = bench.start("login", "--flow", "device", "--timeout", "180", settings=settings)
        address, code = self.asked_of_the_person(process)
        environment = bench.walk(answer, user_code=code, done=self.facts["device_done"][answer])
        subprocess.run([HERE / "browser", address], env=os.environ | environment, check=True)
        result = bench.finish(process, broken=bench.broken)
        bench.report()
        if status != 0:
            result.refused(status, *says)
            return
        result.exits(0).silent().says("Signed in")
        bench.oidc("token", settings=settings).line()
        if "openid" in settings["scope"].split():
            result.says("alice")
            bench.oidc("userinfo", settings=settings).data()

    def asked_of_the_person(self, process):
        """The address and the code that a device login names on stderr."""
        said, address, code = "", None, None
        while not (address and code) and (line := process.stderr.readline()):
            said += line
            address = address or re.search(r"https?://\S+", line)
            code = code or re.search(r"\b[A-Z0-9]{4}-?[A-Z0-9]{4}\b", line)
        if not (address and code):
            process.kill()
        expect(address and code, f"no address and code on stderr: {said!r}")
        return address[0], code[0]
