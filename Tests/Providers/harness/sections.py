"""The README's blocks about providers, run as they stand there."""

import json
import re
import subprocess

from case import expect

MARK = re.compile(r"<!-- provider: (\S+) -->\n```sh\n(.*?)```", re.S)


class Section:
    """A scenario that is a block of the README: `config init` on its first line, then what it sets up."""

    def __init__(self, text):
        self.name, self.lines = "readme", text.strip().split("\n")

    def __call__(self, case):
        init, *rest = self.lines
        case.provider.client_id = re.search(r"--client-id (\S+)", init).group(1)
        case.follow(json.loads(self.run(case, init + " -o json")))
        for line in rest:
            with case.turn:
                self.run(case, line)
        case.accepted_token()

    def run(self, case, line):
        outcome = subprocess.run(["bash", "-euo", "pipefail", "-c", line], env=case.environment, cwd=case.home,
                                 capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        expect(outcome.returncode == 0 and "warning:" not in outcome.stderr, f"{line}: {outcome.stderr.strip()}")
        return outcome.stdout


def blocks(readme, rows):
    """Pairs of a row and its block. A block whose words do not fit the row's is one of a provider that is not there,
    which the run then shows."""
    named = {row.name: row for row in rows}
    return [(named[name], Section(text)) for name, text in MARK.findall(readme.read_text())]
