"""A child process that speaks in lines."""

import collections
import signal
import subprocess
import threading

from .inbox import WAIT_SECONDS


class LineProcess:
    """Runs `command`, hands each line of its standard output to `on_line`, and calls `on_end` once after the last.

    The last lines of its standard error are kept for messages. Nothing is read before `start`, so that whoever owns
    this has a reference to it when the first line comes.
    """

    def __init__(self, command, on_line, on_end, on_error_line=None, env=None):
        self.command = [str(word) for word in command]
        self._popen = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=env,
        )
        self._stderr = collections.deque(maxlen=40)
        self._on_line, self._on_end, self._on_error_line = on_line, on_end, on_error_line
        self._writing = threading.Lock()
        self._error_reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader = threading.Thread(target=self._read_stdout, daemon=True)

    def start(self):
        self._error_reader.start()
        self._reader.start()

    @property
    def pid(self):
        return self._popen.pid

    @property
    def returncode(self):
        """The exit status, negative for a signal, or `None` while it runs."""
        return self._popen.poll()

    @property
    def stderr(self):
        """The last lines of standard error."""
        return "\n".join(self._stderr)

    def write_line(self, line):
        """Raises `OSError` when the process has gone."""
        with self._writing:
            self._popen.stdin.write(line + "\n")
            self._popen.stdin.flush()

    def close_stdin(self):
        with self._writing:
            try:
                self._popen.stdin.close()
            except OSError:
                # The process has gone with unread input, which is not what this call is about.
                pass

    def signal(self, number):
        self._popen.send_signal(number)

    def kill(self):
        """SIGKILL: the process has no chance to say goodbye to anybody."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, timeout=WAIT_SECONDS):
        """Waits for the end and returns the exit status; both outputs have been read completely then."""
        try:
            status = self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.command[0]} still runs after {timeout} s; stderr:\n{self.stderr}") from None
        self._reader.join(timeout)
        self._error_reader.join(timeout)
        return status

    def _read_stdout(self):
        for line in self._popen.stdout:
            self._on_line(line.rstrip("\n"))
        # What it said last explains the end. A grandchild may hold standard error open for longer.
        self._error_reader.join(timeout=1)
        self._on_end()

    def _read_stderr(self):
        for line in self._popen.stderr:
            self._stderr.append(line.rstrip("\n"))
            if self._on_error_line:
                self._on_error_line(line.rstrip("\n"))
