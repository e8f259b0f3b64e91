"""Redis and etcd of this machine, in a directory of their own."""
import os, shutil, socket, subprocess, time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(test, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if test():
            return True
        time.sleep(0.05)
    return False


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Node:
    """One server process."""

    def __init__(self, folder, command, port):
        self.folder, self.command, self.port, self.child = folder, command, port, None
        folder.mkdir(parents=True, exist_ok=True)

    def launch(self):
        """Starts the process without waiting for it: the nodes of a cluster wait for each other."""
        log = (self.folder / "log").open("a")
        self.child = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self):
        self.launch()
        assert wait_for(lambda: listens(self.port)), f"{self.command[0]} does not start: see {self.folder}/log"
        return self

    def stop(self, signal=15):
        if self.child and self.child.poll() is None:
            self.child.send_signal(signal)
            self.child.wait()


class Redis:
    name, program = "redis", "redis-server"

    def __init__(self, folder):
        self.nodes = [self.node(folder / str(index), free_port()) for index in range(2)]
        for node in self.nodes:
            node.start()
        self.cli(1, "replicaof", "127.0.0.1", str(self.nodes[0].port))
        assert wait_for(lambda: b"master_link_status:up" in self.cli(1, "info", "replication"))
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        self.url = f"redis://:pw@{hosts}/1"

    def node(self, folder, port):
        return Node(folder, [
            "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--requirepass", "pw", "--masterauth", "pw",
            "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"], port)

    def cli(self, index, *words):
        return subprocess.run(
            ["redis-cli", "-p", str(self.nodes[index].port), "-a", "pw", "--no-auth-warning", *words],
            capture_output=True).stdout

    def take(self):
        """Removes all sessions, and returns them."""
        names = self.cli(0, "-n", "1", "--raw", "keys", "oidc:session:*").decode().split()
        kept = {name: self.cli(0, "-n", "1", "--raw", "get", name).rstrip(b"\n") for name in names}
        self.cli(0, "-n", "1", "del", *names)
        return kept

    def put(self, kept):
        for name, value in kept.items():
            self.cli(0, "-n", "1", "set", name, value)

    def restart(self):
        self.nodes[0].stop(9)
        self.nodes[0].start()
        wait_for(lambda: self.cli(0, "ping").strip() == b"PONG")

    def fail_over(self):
        self.nodes[0].stop(9)
        self.cli(1, "replicaof", "no", "one")

    def stop(self):
        for node in self.nodes:
            node.stop(9)

    start_again = restart


class Etcd:
    name, program = "etcd", "etcd"

    def __init__(self, folder):
        ports = [(free_port(), free_port()) for _ in range(3)]
        cluster = ",".join(f"n{i}=http://127.0.0.1:{peer}" for i, (_, peer) in enumerate(ports))
        self.nodes = []
        for index, (client, peer) in enumerate(ports):
            self.nodes.append(Node(folder / str(index), [
                "etcd", "--name", f"n{index}", "--data-dir", "data", "--listen-client-urls", f"http://127.0.0.1:{client}",
                "--advertise-client-urls", f"http://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}", "--initial-cluster", cluster], client))
        self.start_again()
        self.url = "etcd://" + ",".join(f"127.0.0.1:{client}" for client, _ in ports) + "/fleet"

    def leader(self):
        for node in self.nodes:
            text = self.ctl(node, "endpoint", "status", "-w", "fields")
            if '"Leader" : ' in text:
                leader = text.split('"Leader" : ')[1].split()[0]
                for other in self.nodes:
                    if f'"MemberID" : {leader}' in self.ctl(other, "endpoint", "status", "-w", "fields"):
                        return other
        return None

    def ctl(self, node, *words):
        return subprocess.run(
            ["etcdctl", "--endpoints", f"http://127.0.0.1:{node.port}", "--command-timeout", "2s", *words],
            env=os.environ | {"ETCDCTL_API": "3"}, capture_output=True, text=True).stdout

    def take(self):
        """Removes all sessions, and returns them."""
        node = self.nodes[0]
        names = [name for name in self.ctl(node, "get", "", "--prefix", "--keys-only").split() if "session/" in name]
        kept = {name: self.ctl(node, "get", name, "--print-value-only").rstrip("\n") for name in names}
        for name in names:
            self.ctl(node, "del", name)
        return kept

    def put(self, kept):
        for name, value in kept.items():
            self.ctl(self.nodes[0], "put", name, "--", value)

    def restart(self):
        self.stop()
        self.start_again()

    def start_again(self):
        for node in self.nodes:
            node.launch()
        assert wait_for(lambda: self.leader() is not None), "etcd finds no leader"

    def fail_over(self):
        self.leader().stop(9)

    def stop(self):
        for node in self.nodes:
            node.stop(9)


def certificates(folder):
    """An authority, and a certificate for 127.0.0.1 that is for servers and clients."""
    folder.mkdir(parents=True, exist_ok=True)
    run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=authority",
        "-keyout", "ca.key", "-out", "ca.pem")
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/O=store", "-keyout", "key.pem",
        "-out", "request.pem")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n")
    run("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-extfile", "names", "-out", "cert.pem")
    return folder


class RedisVariants:
    """The ways to reach Redis: TLS with an ACL user, a socket, Sentinel, a cluster."""

    def __init__(self, folder):
        self.nodes, self.folder = [], folder
        keys = certificates(folder / "tls")
        port, tls = free_port(), free_port()
        socket_path = f"/tmp/oidc-{os.getpid()}.sock"
        (folder / "users").write_text(
            "user default on nopass ~* &* +@all\nuser fleet on >a/b@c ~oidc:* +get +set +del +eval +scan +info +time +select\n")
        self.start("main", port, "--aclfile", str(folder / "users"), "--tls-port", str(tls), "--tls-cert-file", str(keys / "cert.pem"), "--tls-key-file",
                   str(keys / "key.pem"), "--tls-ca-cert-file", str(keys / "ca.pem"), "--tls-auth-clients", "no",
                   "--unixsocket", socket_path)
        self.tls = f"rediss://fleet:a%2Fb%40c@127.0.0.1:{tls}/0"
        self.ca = str(keys / "ca.pem")
        self.socket = f"redis+unix:{socket_path}?db=1"
        sentinel = free_port()
        (folder / "sentinel.conf").write_text(
            f"port {sentinel}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {port} 1\n")
        self.nodes.append(Node(folder, ["redis-server", str(folder / "sentinel.conf"), "--sentinel"], sentinel).start())
        self.sentinel = f"redis://127.0.0.1:1,127.0.0.1:{sentinel}/0?sentinel=main"
        ports = [free_port() % 40_000 + 10_000 for _ in range(3)]
        for number in ports:
            self.start(f"cluster{number}", number, "--cluster-enabled", "yes")
        made = subprocess.run(["redis-cli", "--cluster", "create", *[f"127.0.0.1:{number}" for number in ports], "--cluster-yes"],
                              capture_output=True, text=True)
        assert made.returncode == 0, made.stdout + made.stderr
        assert wait_for(lambda: all("cluster_state:ok" in subprocess.run(
            ["redis-cli", "-p", str(number), "cluster", "info"], capture_output=True, text=True).stdout for number in ports))
        self.clusters = [f"redis://127.0.0.1:{number}" for number in ports]

    def start(self, name, port, *words):
        node = Node(self.folder / name, ["redis-server", "--port", str(port), "--bind", "127.0.0.1", *words], port)
        self.nodes.append(node.start())

    def stop(self):
        for node in self.nodes:
            node.stop(9)


class EtcdVariants:
    """etcd with TLS, client certificates and users."""

    def __init__(self, folder):
        keys = certificates(folder / "tls")
        client, peer = free_port(), free_port()
        self.files = {"OIDC_CA_FILE": str(keys / "ca.pem"), "OIDC_TLS_CLIENT_CERTIFICATE": str(keys / "cert.pem"),
                      "OIDC_TLS_CLIENT_KEY": str(keys / "key.pem")}
        self.node = Node(folder / "node", [
            "etcd", "--data-dir", "data", "--listen-client-urls", f"https://127.0.0.1:{client}", "--advertise-client-urls",
            f"https://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--cert-file",
            str(keys / "cert.pem"), "--key-file", str(keys / "key.pem"), "--client-cert-auth", "--trusted-ca-file",
            str(keys / "ca.pem")], client).start()
        self.host = f"127.0.0.1:{client}"
        for words in (["user", "add", "root:pw"], ["role", "add", "fleet"], ["user", "grant-role", "root", "root"],
                      ["role", "grant-permission", "fleet", "--prefix=true", "readwrite", "team/"], ["user", "add", "ci:pw"],
                      ["user", "grant-role", "ci", "fleet"], ["auth", "enable"]):
            done = subprocess.run(
                ["etcdctl", "--endpoints", f"https://{self.host}", "--cacert", keys / "ca.pem", "--cert", keys / "cert.pem",
                 "--key", keys / "key.pem", *words], env=os.environ | {"ETCDCTL_API": "3"}, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        self.url = f"etcds://ci:pw@{self.host}/team"

    def stop(self):
        self.node.stop(9)


ENGINES = [engine for engine in (Redis, Etcd) if shutil.which(engine.program)]
