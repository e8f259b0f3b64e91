"""What the benchmarks share: how a command is measured, and when a table may be written."""
import ctypes, datetime, json, os, pathlib, platform, re, shlex, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "Sources/OIDCCore/Documentation.docc/Performance.md"
# The words of the release command.
RELEASE = shlex.split(subprocess.run([ROOT / ".ci/build", "--print"], check=True, capture_output=True, text=True).stdout)
work = pathlib.Path(tempfile.mkdtemp(prefix="oidc-benchmark-"))
base = {"PATH": os.environ["PATH"], "HOME": str(work / "home"), "LC_ALL": "C.UTF-8"}
# The share of the processors that others may use, and how far apart the quartiles of one command may be.
BUSY, SPREAD = 0.1, 0.3
# How often a comparison is repeated if a machine that others share was not quiet.
ATTEMPTS = 5
# The pairs of one row before the next row has its turn. With five, a program that is not the first of its group had not
# warmed up the caches yet: a copy of the same program seemed six percent slower than the first one.
PAIRS = 20
noise = []


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def prepare():
    """Writes the demo client's secret, and compiles the two C programs that every comparison needs."""
    (work / "home").mkdir()
    (work / "secret").write_text("demo-secret")
    (work / "secret").chmod(0o600)
    (work / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    for source in (work / "hello.c", ROOT / "Tests/Benchmarks/measure.c"):
        subprocess.run(["cc", "-O2", "-o", work / source.stem, source], check=True)


def release(oidc):
    """Returns the path of the binary to measure; without one, .ci/build builds it."""
    if not oidc:
        subprocess.run(RELEASE, cwd=ROOT, check=True, stdout=sys.stderr)
    return os.path.abspath(oidc or ROOT / ".build/release/oidc")


def measured(command, environment):
    line = subprocess.run([work / "measure", *command], env=environment, check=True, capture_output=True, text=True)
    wall, user, system, faults, peak, status = map(int, line.stdout.split())
    return {"wall": wall / 1e6, "cpu": (user + system) / 1e3, "faults": faults, "peak": peak, "status": status}


def installed(program):
    """A copy of a program, as an installation makes it. What a linker has just written starts up to a tenth slower."""
    copy = work / f"program-{len(list(work.glob('program-*')))}"
    shutil.copy(program, copy)
    return copy


def rounds_of(commands, rounds, expected=0, prepare=lambda name: None):
    """Every command in turn with the first one; the medians by name, with that of the ratios, pair by pair. Measures
    again if the first command varies too much; the last attempt counts."""
    for _ in range(ATTEMPTS):
        medians, spread = attempt(commands, rounds, expected, prepare)
        if spread <= SPREAD:
            break
    noise.append(spread)
    return medians


def attempt(commands, rounds, expected, prepare):
    """The medians, and how far apart the quartiles of the first command are."""

    def once(name, command, environment):
        prepare(name)
        sample = measured([str(word) for word in command], base | environment)
        assert sample["status"] == expected, (name, sample)
        return sample

    first, *others = commands
    samples = {name: [] for name, *_ in commands}
    ratios = {first[0]: [1]}
    # Every row gets its pairs in several turns, so a slow second of the machine hits them all. The first pair of each turn finds
    # the caches as another row has left them.
    for _ in range(-(-rounds // PAIRS)):
        for other in others or [first]:
            for pair in range(1 + PAIRS):
                left, right = once(*first), once(*other)
                if pair == 0:
                    continue
                samples[first[0]].append(left)
                samples[other[0]].append(right)
                if other is not first:
                    ratios.setdefault(other[0], []).append(right["wall"] / left["wall"])
    walls = [sample["wall"] for sample in samples[first[0]]]
    spread = 0
    if len(walls) > 9:
        low, middle, high = statistics.quantiles(walls, n=4)
        spread = (high - low) / middle
    medians = {}
    for name, runs in samples.items():
        medians[name] = {key: statistics.median(run[key] for run in runs) for key in ("wall", "cpu", "faults", "peak")}
        medians[name]["ratio"] = statistics.median(ratios[name])
    return medians, spread


def oidc_environment(name, profiles, **more):
    home = work / name
    (home / "config").mkdir(parents=True)
    (home / "config/config.json").write_text(json.dumps({"default_profile": "bench", "profiles": profiles}))
    (home / "config/config.json").chmod(0o600)
    return {"HOME": str(home), "OIDC_CONFIG": str(home / "config/config.json"), **more}


def demo_profiles(port, count):
    profile = {"issuer": f"http://127.0.0.1:{port}", "client_id": "demo-confidential", "scope": "api:read",
               "client_secret_file": str(work / "secret"), "grant": "client_credentials"}
    return {"bench": profile} | {f"other-{index}": profile | {"account": str(index)} for index in range(1, count)}


def run(command, environment, **more):
    return subprocess.run([str(word) for word in command], env=base | environment, check=True, capture_output=True,
                          text=True, **more)


def store(environment):
    return pathlib.Path(environment["HOME"]) / ".local/state/oidc"


class DemoProvider:
    """`oidc demo --serve`, for as long as the block lasts."""

    def __init__(self, oidc):
        self.oidc = oidc

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.child = subprocess.Popen(
            [self.oidc, "demo", "--serve", "--port", str(port)], env=base, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert "runs at" in self.child.stderr.readline()
        return port

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait()


def certificate():
    """Makes a certificate of 127.0.0.1, signed by itself; returns a file with it and its key."""
    file = work / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=oidc benchmark", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", work / "server.key",
                    "-out", file], check=True, capture_output=True)
    file.write_text(file.read_text() + (work / "server.key").read_text())
    return file


def trust(file):
    """Adds a certificate to the system's authorities, for the programs that this one starts; returns why it cannot."""
    system = pathlib.Path("/etc/ssl/certs")
    if not any(system.glob("*.0")) or not (system / "ca-certificates.crt").exists():
        return "no directory of authorities that has their hashes, and a bundle"
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(0x00020000) != 0:  # CLONE_NEWNS
        return "adding an authority to the system's needs root"
    copy = work / "certs"
    shutil.copytree(system, copy, symlinks=True)
    text = file.read_text()
    text = text[:text.index("-----END CERTIFICATE-----")] + "-----END CERTIFICATE-----\n"
    name = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", file], check=True, capture_output=True, text=True)
    (copy / f"{name.stdout.strip()}.0").write_text(text)
    with open(copy / "ca-certificates.crt", "a") as bundle:
        bundle.write(text)
    for arguments in (["--make-rprivate", "/"], ["--bind", copy, system]):
        subprocess.run(["mount", *arguments], check=True)
    return None


def login(oidc, provider, environment):
    """Signs in with a stand-in for the browser, which requests the URL that is printed."""
    import urllib.request
    before, start = len(provider.requests), time.monotonic()
    child = subprocess.Popen([oidc, "login", "--flow", "browser", "--no-browser"], env=base | environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in child.stderr:
        if address := re.search(r"http://\S+/authorize\S+", line):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address[0]).read()
            break
    child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    assert status == 0, "login failed"
    asked = [request for request in provider.requests[before:] if request != "/authorize"]
    return (time.monotonic() - start) * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3, len(asked)


def processors():
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def busy(seconds=2):
    """Returns the share of the processors that is in use while we wait."""
    idle, total = processors()
    time.sleep(seconds)
    idle_after, total_after = processors()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def why_not_written(before, after):
    """Returns why these figures must not be published, or nothing."""
    for share in (before, after):
        if share > BUSY:
            return f"other programs use {share:.0%} of this machine; at most {BUSY:.0%} may be in use"
    if noise and max(noise) > SPREAD:
        return f"the same command varies by {max(noise):.0%} on this machine; at most {SPREAD:.0%} is accepted"
    return None


def machine():
    name = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return (f"{os.cpu_count()} × {name or platform.machine()}, {system}, Linux {platform.release().split('-')[0]}, "
            f"{datetime.date.today().isoformat()}")


def write(page, name, text):
    """Replaces what is between the marks of that name."""
    pattern = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.S)
    page.write_text(pattern.sub(lambda match: match[1] + text + match[2], page.read_text()))


def finish(before, tables, wanted=True):
    """Prints each table, and writes it to its page unless the machine was not quiet. A table: page, name, text."""
    for page, _, text in tables:
        print(f"{page.name}\n\n{text}")
    reason = why_not_written(before, busy())
    shutil.rmtree(work)
    if not wanted:
        return
    if reason:
        sys.exit(f"not written: {reason}")
    for table in tables:
        write(*table)
