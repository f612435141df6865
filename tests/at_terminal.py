#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a program at a terminal of its own and types at it.

    at_terminal.py [PATTERN KEYS]... -- PROGRAM [ARG]...

Waits until what was shown since the last keys fits PATTERN, then types KEYS (\\r is Enter, \\x03 Ctrl-C). Prints what
was shown, without carriage returns, and exits as the program did. Anything that does not come within ten seconds ends
it with 99. LINES and COLUMNS say how large the terminal is (24 by 80).
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

SECONDS = 10
SETTLE = 0.2  # a question is shown before it listens: it forgets what was typed ahead
STUCK = 99


def read_some(fd, until):
    """What the program shows next; None when it is over, "" when the time is."""
    if not select.select([fd], [], [], max(0, until - time.monotonic()))[0]:
        return ""
    try:
        return os.read(fd, 65536).decode("utf-8", "replace") or None
    except OSError:  # EIO: nobody has the terminal open any more
        return None


class Session:
    def __init__(self, argv):
        self.shown, self.seen = "", 0
        size = struct.pack("HHHH", int(os.environ.get("LINES", 24)), int(os.environ.get("COLUMNS", 80)), 0, 0)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.execvp(argv[0], argv)

    def wait_for(self, pattern):
        until = time.monotonic() + SECONDS
        while not re.search(pattern, self.shown[self.seen:]):
            some = read_some(self.fd, until)
            if not some:
                return False
            self.shown += some
        self.seen = len(self.shown)
        return True

    def type(self, keys):
        time.sleep(SETTLE)
        os.write(self.fd, keys.encode().decode("unicode_escape").encode("latin-1"))

    def finish(self):
        until = time.monotonic() + SECONDS
        while True:
            some = read_some(self.fd, until)
            if some is None:
                return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            if not some:
                return self.stop("# it does not end")
            self.shown += some

    def stop(self, why):
        self.shown += f"\n{why}\n"
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return STUCK


def run(steps, argv):
    session = Session(argv)
    for pattern, keys in zip(steps[::2], steps[1::2]):
        if not session.wait_for(pattern):
            status = session.stop(f"# never shown: {pattern}")
            break
        session.type(keys)
    else:
        status = session.finish()
    print(session.shown.replace("\r", ""), end="")
    return status


if __name__ == "__main__":
    at = sys.argv.index("--")
    sys.exit(run(sys.argv[1:at], sys.argv[at + 1:]))
