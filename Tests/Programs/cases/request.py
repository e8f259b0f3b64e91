"""request streams a large answer and a large body in bounded memory, and repeats only what it can"""

import os
import subprocess
import threading

from servers import Handler

MEBIBYTE = 1 << 20
LIMIT = 64 * MEBIBYTE


def run(world):
    refused = []

    class API(Handler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(1024 * MEBIBYTE))
            self.end_headers()
            for _ in range(1024):
                self.wfile.write(b"x" * MEBIBYTE)

        def do_POST(self):
            size = len(self.body())
            if self.path == "/refusing" and len(refused) < 1:
                refused.append(size)
                return self.answer(401, b"no")
            self.answer(200, str(size).encode())

    origin = world.server(API)
    world.configure()
    world.sign_in()
    call = [str(world.programs / "oidc"), "request", "-p", "work", "--allow-origin", origin]

    count, memory = measured(world, [*call, f"{origin}/large"])
    world.expect(count == 1024 * MEBIBYTE, f"all of it comes: {count} bytes")
    world.expect(memory < LIMIT, f"1 GiB takes less than 64 MiB of memory: {memory // MEBIBYTE} MiB")

    size = 200 * MEBIBYTE
    output, memory = piped(world, [*call, f"{origin}/upload", "-d", "-"], size)
    world.expect(output == str(size).encode(), f"a body from a pipe arrives whole: {output}")
    world.expect(memory < LIMIT, f"200 MiB from a pipe take less than 64 MiB of memory: {memory // MEBIBYTE} MiB")

    long = world.run(*call, f"{origin}/refusing", "-d", "-", input="y" * (2 * MEBIBYTE))
    world.expect(long.returncode == 4 and "@FILE" in long.stderr and long.stdout == "no",
                 f"a long body from a pipe is not sent twice: {long.stderr}")
    refused.clear()
    (world.home / "body").write_bytes(b"z" * (2 * MEBIBYTE))
    again = world.run(*call, f"{origin}/refusing", "-d", "@body")
    world.expect(again.returncode == 0 and again.stdout == str(2 * MEBIBYTE), f"a file is: {again.stderr}")


def finished(child):
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{child.args[0]}: exit {child.returncode}")
    return usage.ru_maxrss * 1024


def measured(world, command):
    child = subprocess.Popen(command, env=world.environment, stdout=subprocess.PIPE)
    count = 0
    while part := child.stdout.read(MEBIBYTE):
        count += len(part)
    return count, finished(child)


def piped(world, command, size):
    child = subprocess.Popen(command, env=world.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def feed():
        for _ in range(size // MEBIBYTE):
            child.stdin.write(b"y" * MEBIBYTE)
        child.stdin.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    output = child.stdout.read()
    feeder.join()
    return output, finished(child)
