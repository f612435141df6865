# SPDX-License-Identifier: LGPL-2.1-or-later
"""A running `airlock mcp` and calls of its tools."""
import json
import subprocess
import time
from pathlib import Path

from .measure import Failed

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


WARM_SECONDS = 5  # more than enough for a sandbox to be made
WARM_TRIES = 5


def is_waiting(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "airlock-ready\n"
    except OSError:
        return False


class Server:
    def __init__(self, airlock, project, *options, stderr=subprocess.DEVNULL):
        self.process = subprocess.Popen([airlock, "mcp", *options], cwd=project, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=stderr)
        self.number = 0
        self.send(HELLO)
        self.receive()
        self.send(READY)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        """The next answer; what the server tells by itself is passed over."""
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if "id" in message and "method" not in message:
                return message
        raise Failed("airlock mcp ended")

    def call(self, times=1):
        """`true` in the sandbox, that many at once."""
        for _ in range(times):
            self.number += 1
            self.send({"jsonrpc": "2.0", "id": self.number, "method": "tools/call",
                       "params": {"name": "run_command", "arguments": {"command": "true"}}})
        for _ in range(times):
            answer = self.receive()
            more = answer.get("result", {}).get("_meta", {}).get("airlock/result", {})
            self.was_warm = more.get("usage", {}).get("warm_start")
            if answer.get("result", {}).get("structuredContent", {}).get("exit_code") != 0:
                raise Failed(f"run_command true: {json.dumps(answer)[:300]}")

    def wait_for_sandbox(self):
        """Until the server has made one in advance, as it does in a quiet moment."""
        pid, end = self.process.pid, time.monotonic() + WARM_SECONDS
        while not any(map(is_waiting, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())):
            if time.monotonic() > end:
                raise Failed("airlock mcp makes no sandbox in advance here")
            time.sleep(0.001)

    def call_warm(self):
        """`true` in a sandbox made in advance: milliseconds. What something else on the machine has spoilt does not count."""
        for _ in range(WARM_TRIES):
            self.wait_for_sandbox()
            start = time.perf_counter()
            self.call()
            took = (time.perf_counter() - start) * 1000
            if self.was_warm:
                return took
        raise Failed("a sandbox made in advance is never used")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
