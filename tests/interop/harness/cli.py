"""The `weft` command, as a person or a script runs it."""

import json
import re
import signal
import subprocess

from .inbox import WAIT_SECONDS, Inbox
from .places import binary
from .process import LineProcess


class Cli:
    """Runs `weft`, and ends what still runs when the test is over."""

    def __init__(self):
        self._started = []

    def run(self, *arguments, timeout=WAIT_SECONDS, input=None):
        """Runs to the end. The result has `returncode`, `stdout` and `stderr` as text."""
        command = [binary("weft"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, input=input)

    def start(self, *arguments):
        """Starts in the background."""
        process = CliProcess(arguments)
        self._started.append(process)
        return process

    def close(self):
        for process in self._started:
            process.kill()


class CliProcess:
    """A running `weft`."""

    def __init__(self, arguments):
        name = " ".join(["weft", *map(str, arguments)])
        self.lines = Inbox(f"stdout of `{name}`")
        self.error_lines = Inbox(f"stderr of `{name}`")
        self._process = LineProcess(
            [binary("weft"), *arguments], self.lines.put, self._ended, on_error_line=self.error_lines.put
        )
        self._process.start()

    def _ended(self):
        self.lines.close("the process ended")
        self.error_lines.close("the process ended")

    @property
    def pid(self):
        return self._process.pid

    def wait_line(self, pattern, timeout=WAIT_SECONDS):
        """The match of the first line of standard output in which the regular expression `pattern` is found."""
        line = self.lines.wait_for(lambda line: re.search(pattern, line), timeout)
        return re.search(pattern, line)

    def wait_json(self, count, timeout=WAIT_SECONDS):
        """The first `count` lines of standard output, parsed: what `--json` prints."""
        return [json.loads(line) for line in self.lines.wait(count, timeout)]

    def write_line(self, line):
        self._process.write_line(line)

    def interrupt(self, timeout=WAIT_SECONDS):
        """Ctrl-C: returns the exit status."""
        self._process.signal(signal.SIGINT)
        return self._process.wait(timeout)

    def wait(self, timeout=WAIT_SECONDS):
        """Waits for it to end by itself and returns the exit status."""
        return self._process.wait(timeout)

    def kill(self):
        if self._process.returncode is None:
            self._process.kill()
