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


ENGINES = [engine for engine in (Redis, Etcd) if shutil.which(engine.program)]
