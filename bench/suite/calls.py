# SPDX-License-Identifier: LGPL-2.1-or-later
"""A running `airlock mcp` and calls of its tools."""
import json
import subprocess

from .measure import Failed

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Server:
    def __init__(self, airlock, project, stderr=subprocess.DEVNULL):
        self.process = subprocess.Popen([airlock, "mcp"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=stderr)
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
            if answer.get("result", {}).get("structuredContent", {}).get("exit_code") != 0:
                raise Failed(f"run_command true: {json.dumps(answer)[:300]}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
