"""A process that a test started: its output is read all the time, and only it is ever ended."""

import json
import os
import signal
import subprocess
import threading
import time

BINARY = os.environ.get("SLUICE_BINARY", "build/release/sluice")


class Output:
    """Lines of one pipe, kept for assertions. `pause()` stops reading: a blocked log sink."""

    def __init__(self, pipe):
        self.lines = []
        self.ended = False
        self._pipe = pipe
        self._paused = False
        self._changed = threading.Condition()
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        rest = b""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._paused)
            data = os.read(self._pipe.fileno(), 64 * 1024)
            *whole, rest = (rest + data).split(b"\n")
            with self._changed:
                self.lines += whole + ([rest] if not data and rest else [])
                self.ended = not data
                self._changed.notify_all()
            if not data:
                self._pipe.close()
                return

    def pause(self):
        with self._changed:
            self._paused = True

    def resume(self):
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def find(self, predicate, within=0.0):
        """The first line that `predicate` likes, waited for at most `within` seconds."""
        found = []
        seen = 0

        def look():
            nonlocal seen
            while seen < len(self.lines) and not found:
                if predicate(self.lines[seen]):
                    found.append(self.lines[seen])
                seen += 1
            return found or self.ended

        with self._changed:
            self._changed.wait_for(look, within)
        return found[0] if found else None

    def wait_end(self, within):
        self.resume()
        with self._changed:
            return self._changed.wait_for(lambda: self.ended, within)

    def text(self):
        return b"\n".join(self.lines).decode("utf-8", "replace")


class Program:
    """`sluice <args>`. `pipe_size` shrinks the pipes, so that an unread one is full soon."""

    def __init__(self, *args, env=None, pipe_size=-1):
        self.args = [BINARY, *map(str, args)]
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("SLUICE_")} | (env or {})
        self.process = subprocess.Popen(
            self.args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, pipesize=pipe_size)
        self.pid = self.process.pid
        self.out = Output(self.process.stdout)
        self.err = Output(self.process.stderr)

    def wait_message(self, message, within=20.0):
        """The first JSON log line with this `msg`, as an object."""
        def wanted(line):
            try:
                return json.loads(line).get("msg") == message
            except (ValueError, AttributeError):
                return False

        line = self.err.find(wanted, within)
        if line is None:
            raise AssertionError(
                f"no log line with msg={message!r} from {' '.join(self.args)} within {within} s;"
                f" exit code {self.process.poll()}\n{self.tail()}")
        return json.loads(line)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait_exit(self, within):
        """The exit code; nothing when it still runs after `within` seconds."""
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            return None
        self.out.wait_end(5)
        self.err.wait_end(5)
        return code

    def running(self):
        return self.process.poll() is None

    def stop(self, within=20.0):
        """SIGTERM; a process that does not leave is killed and reported."""
        if self.running():
            self.terminate()
        self.out.resume()
        self.err.resume()
        code = self.wait_exit(within)
        if code is None:
            self.process.kill()
            self.wait_exit(5)
            raise AssertionError(f"{self.args[1]} still ran {within} s after SIGTERM\n{self.tail()}")
        return code

    def tail(self, lines=30):
        return "\n".join(line.decode("utf-8", "replace")
                         for line in (self.out.lines[-lines:] + self.err.lines[-lines:]))


def run(*args, within=30.0, env=None):
    """Runs `sluice <args>` to its end and returns it; too long is an error."""
    program = Program(*args, env=env)
    if program.wait_exit(within) is None:
        program.process.kill()
        program.wait_exit(5)
        raise AssertionError(f"{' '.join(program.args)} took more than {within} s"
                             f"\n{program.tail()}")
    program.code = program.process.returncode
    return program


def wait_until(predicate, within, what="the condition"):
    """Asks again until `predicate()` is true, and returns what it returned.

    For state that another process keeps and tells nobody of by itself, so it has to be asked:
    a few milliseconds between two questions leave it the processor. Nothing else here polls.
    """
    deadline = time.monotonic() + within
    pause = threading.Event()
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {within} s")
        pause.wait(0.005)
