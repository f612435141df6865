# SPDX-License-Identifier: LGPL-2.1-or-later
"""A person at a terminal, for tests.

    from pseudo_terminal import Terminal

    with Terminal([airlock, "run", "--network", "--", "true"]) as terminal:
        terminal.expect("[A]llow once  [D]eny: ")
        terminal.answer("a")
        assert terminal.wait() == 0

The program is the leader of a session with a terminal of its own. What it did not do in ten seconds it does not do.
"""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

PATIENCE = 10


class Terminal:
    def __init__(self, argv, rows=24, columns=80, env=None, cwd=None):
        self.screen = ""  # everything it wrote so far, \r\n as \n
        self.status = None
        self._raw = b""
        self._at = 0  # where expect goes on
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            if cwd:
                os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(argv[0], argv, os.environ if env is None else env)
        self.mode_before = self.mode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)

    def _read(self, seconds):
        """Takes what is there, waiting so long for something; False at the end of it."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # EIO: nobody has the other side open
            return False
        self._raw += data
        self.screen = self._raw.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def expect(self, text):
        """Until it wrote this, after what was expected before."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.screen.find(text, self._at)
            if found >= 0:
                self._at = found + len(text)
                return
            if time.monotonic() > end or not self._read(0.1):
                raise AssertionError(f"never on the screen: {text!r}\nthe screen: {self.screen!r}")

    def type(self, keys):
        os.write(self.master, keys.encode())

    def answer(self, keys):
        """Types it until there is a reaction: what is typed before a question has settled is dropped, and rightly so."""
        seen, end = len(self._raw), time.monotonic() + PATIENCE
        while len(self._raw) == seen and time.monotonic() < end:
            self.type(keys)
            if not self._read(0.5):
                return

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def mode(self):
        """What stty shows."""
        return termios.tcgetattr(self.master)

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """Its exit status, or 128+N."""
        end = time.monotonic() + PATIENCE
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
            elif time.monotonic() > end:
                raise AssertionError(f"it does not end\nthe screen: {self.screen!r}")
            elif not self._read(0.02):
                time.sleep(0.02)
        while select.select([self.master], [], [], 0)[0] and self._read(0):
            pass
        return self.status
