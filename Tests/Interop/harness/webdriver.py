"""Chromium over its driver's HTTP interface and Firefox over its own Marionette port, as one small class each.

Both speak the commands of W3C WebDriver; Debian ships a driver for Chromium only. HTTP/2 is off: a stream that a
browser cancels can stop a whole provider, where one thread answers everything and then waits for that stream.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserFault(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(words, log):
    with open(log, "ab") as output:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)


class Driver:
    """What a user does with a page; subclasses bring `execute`."""

    def visible(self, selector):
        """The first element that `selector` names and a user could see, or None."""
        found = self.script(
            "return Array.from(document.querySelectorAll(arguments[0])).find("
            "e => e.offsetParent !== null && !e.disabled && getComputedStyle(e).visibility !== 'hidden') || null",
            selector)
        return found[ELEMENT] if found else None

    def text(self):
        return self.script("return document.body ? document.body.innerText : ''") or ""

    def html(self):
        return self.script("return document.documentElement.outerHTML") or ""

    def script(self, source, *arguments):
        return self.execute(source, list(arguments))


class Chromium(Driver):
    programs = ("chromedriver", "chromium")

    def __init__(self, profile, log):
        port = free_port()
        self.process = started(["chromedriver", f"--port={port}"], log)
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                     "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
                     "--window-size=900,1000", "--no-proxy-server", "--disable-http2", f"--user-data-dir={profile}"]
        self.await_driver()
        answer = self.send("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "acceptInsecureCerts": True, "pageLoadStrategy": "none",
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}}})
        self.base += "/session/" + answer["sessionId"]
        self.version = answer["capabilities"]["browserVersion"]

    def await_driver(self):
        for _ in range(150):
            try:
                if self.send("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.1)
        raise BrowserFault("chromedriver did not start")

    def send(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            return json.load(opener.open(request, timeout=20))["value"]
        except urllib.error.HTTPError as error:
            raise BrowserFault(json.load(error)["value"]["message"].splitlines()[0]) from None

    def open(self, url):
        self.send("POST", "/url", {"url": url})

    def url(self):
        return self.send("GET", "/url")

    def execute(self, source, arguments):
        return self.send("POST", "/execute/sync", {"script": source, "args": arguments})

    def type(self, element, text):
        self.send("POST", f"/element/{element}/clear", {})
        self.send("POST", f"/element/{element}/value", {"text": text})

    def click(self, element):
        self.send("POST", f"/element/{element}/click", {})

    def screenshot(self):
        return base64.b64decode(self.send("GET", "/screenshot"))

    def quit(self):
        try:
            self.send("DELETE", "")
        except (BrowserFault, OSError):
            pass
        self.process.terminate()
        stop(self.process)


class Firefox(Driver):
    programs = ("firefox-esr",)

    def __init__(self, profile, log):
        port = free_port()
        os.makedirs(profile, exist_ok=True)
        with open(os.path.join(profile, "user.js"), "w") as preferences:
            for name, value in {
                "marionette.port": port, "browser.shell.checkDefaultBrowser": False, "app.update.enabled": False,
                "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.enabled": False,
                "browser.startup.homepage_override.mstone": "ignore", "network.captive-portal-service.enabled": False,
                "network.connectivity-service.enabled": False, "services.settings.server": "data:,",
                "browser.aboutwelcome.enabled": False, "trailhead.firstrun.didSeeAboutWelcome": True,
                "signon.rememberSignons": False, "network.proxy.type": 0,
                "network.http.http2.enabled": False,
            }.items():
                preferences.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = started(
            ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", profile,
             "--width", "900", "--height", "1000"], log)
        self.count = 0
        self.connect(port)
        answer = self.send("WebDriver:NewSession", {"acceptInsecureCerts": True, "pageLoadStrategy": "none"})
        self.version = answer["capabilities"]["browserVersion"]

    def connect(self, port):
        for _ in range(600):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), 20)
                self.stream = self.socket.makefile("rb")
                self.receive()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise BrowserFault(f"firefox-esr ended with {self.process.returncode}") from None
                time.sleep(0.1)
        raise BrowserFault("firefox-esr did not start")

    def receive(self):
        length = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise BrowserFault("firefox-esr closed the connection")
            length += byte
        return json.loads(self.stream.read(int(length)))

    def send(self, name, parameters=None):
        self.count += 1
        body = json.dumps([0, self.count, name, parameters or {}]).encode()
        self.socket.sendall(f"{len(body)}:".encode() + body)
        _, _, fault, value = self.receive()
        if fault:
            raise BrowserFault(fault["message"].splitlines()[0])
        return value

    def open(self, url):
        self.send("WebDriver:Navigate", {"url": url})

    def url(self):
        return self.send("WebDriver:GetCurrentURL")["value"]

    def execute(self, source, arguments):
        return self.send("WebDriver:ExecuteScript", {"script": source, "args": arguments})["value"]

    def type(self, element, text):
        self.send("WebDriver:ElementClear", {"id": element})
        self.send("WebDriver:ElementSendKeys", {"id": element, "text": text})

    def click(self, element):
        self.send("WebDriver:ElementClick", {"id": element})

    def screenshot(self):
        return base64.b64decode(self.send("WebDriver:TakeScreenshot", {"full": False})["value"])

    def quit(self):
        try:
            self.send("Marionette:Quit", {"flags": ["eForceQuit"]})
        except (BrowserFault, OSError):
            pass
        stop(self.process)


def stop(process):
    try:
        process.wait(8)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()


BROWSERS = {"chromium": Chromium, "firefox": Firefox}
