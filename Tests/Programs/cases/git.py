"""git clones, fetches and pushes over HTTP with the token as its password"""

import os
import subprocess

from servers import Handler
from world import basic_password


def run(world):
    repository = world.home / "served/repo.git"
    world.ran("git", "init", "-q", "--bare", repository)
    world.ran("git", "-C", repository, "config", "http.receivepack", "true")
    asked = []

    class Server(Handler):
        def do_GET(self):
            self.serve()

        def do_POST(self):
            self.serve()

        def serve(self):
            body = self.body()
            password = basic_password(self.headers.get("Authorization"))
            asked.append(password)
            if not (password and world.accepts(password)):
                return self.answer(401, b"who are you?", WWW_Authenticate='Basic realm="git"')
            path, _, query = self.path.partition("?")
            backend = subprocess.run(
                ["git", "http-backend"], input=body, capture_output=True,
                env=os.environ | {
                    "GIT_PROJECT_ROOT": str(world.home / "served"), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                    "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "somebody",
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")})
            head, _, content = backend.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.answer(int(fields.pop("Status", "200").split()[0]), content, **fields)

    origin = world.server(Server)
    host = origin.removeprefix("http://")
    world.environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    world.ran("git", "config", "--global", "user.name", "Somebody")
    world.ran("git", "config", "--global", "user.email", "somebody@example.com")
    world.configure(git_hosts=[{"host": host}])
    world.ran("sh", "-c", world.ran("oidc", "credential", "git", "--setup", "-p", "work"))

    clone = ("git", "clone", "-q", f"{origin}/repo.git", "clone")
    world.refuses(world.run(*clone), "not signed in", "oidc login")
    world.sign_in()
    world.ran(*clone)
    world.ran("sh", "-c", "cd clone && echo hello > file && git add file && git commit -qm one && git push -q origin HEAD")
    world.expect(asked[-1] == world.ran("oidc", "token", "-p", "work").strip(), "git sends the session's token")

    filled = world.ran("git", "credential", "fill", input=f"protocol=http\nhost={host}\n\n")
    world.expect(f"password={asked[-1]}\n" in filled and "username=oauth2\n" in filled, f"git is given both: {filled}")
    other = world.run("git", "credential", "fill", input="protocol=https\nhost=other.example.com\n\n")
    world.expect(asked[-1] not in other.stdout + other.stderr, "another host is not answered")

    world.revoke_access()
    fetch = ("git", "-C", "clone", "fetch", "-q")
    world.refuses(world.run(*fetch))
    world.ran(*fetch)
    world.expect(asked[-1] != asked[0], "after git has erased the token that was refused, it gets another")
