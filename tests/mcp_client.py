# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of the Model Context Protocol for the tests: an `airlock mcp` with a home and a project of its own.

    with Place() as place, Client(place) as client:
        client.initialize()
        client.tool("run_command", command="echo hello")["structuredContent"]["stdout"]
"""
import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

PATIENCE = 50  # seconds; only a server that hangs needs them
META = "io.modelcontextprotocol/"


class Place:
    """A home and a project that nobody else has."""

    def __enter__(self):
        base = os.environ.get("TMPDIR") or str(Path.home())
        self.top = Path(tempfile.mkdtemp(prefix="mcp.", dir=base)).resolve()
        self.home, self.project = self.top / "home", self.top / "home" / "project"
        self.project.mkdir(parents=True)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "AIRLOCK_"))}
        self.env["HOME"] = str(self.home)
        self.env["AIRLOCK_PERMISSION_WAIT"] = "0"  # nobody is there to answer, but for the tests that say so
        return self

    def __exit__(self, *_):
        subprocess.run(["chmod", "-R", "u+rwx", self.top], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def airlock(self, *arguments, **options):
        return subprocess.run([program(), *arguments], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, **options)


def program():
    return os.environ.get("AIRLOCK") or str(Path(sys.argv[1], "airlock").resolve())


class Client:
    def __init__(self, place, *options, through=()):
        """through: a command that executes the server, for instance in another namespace."""
        self.place, self.options, self.through = place, options, through
        self.messages = queue.Queue()
        self.next_id = 0
        self.asked = []  # requests of the server
        self.notes = []  # notifications of the server
        self.answer = None  # what to answer them with: a function of the request
        self.meta = None  # of every request: set for 2026-07-28

    def __enter__(self):
        self.process = subprocess.Popen([*self.through, program(), "mcp", *self.options], cwd=self.place.project,
                                        env=self.place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()

    def listen(self):
        with contextlib.suppress(ValueError, OSError):
            for line in self.process.stdout:
                self.messages.put(json.loads(line))
        self.messages.put(None)

    # ---- by hand

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next message, whatever it is; None at the end."""
        return self.messages.get(timeout=PATIENCE)

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    # ---- as a client does

    def start(self, method, params=None, progress=None):
        """Sends a request; returns its id."""
        self.next_id += 1
        params = dict(params or {})
        meta = dict(self.meta or {})
        if progress is not None:
            meta["progressToken"] = progress
        if meta:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def wait(self, wanted):
        """The response to this id; what comes meanwhile is kept, or answered."""
        while True:
            message = self.receive()
            assert message is not None, f"the server ended: {self.process.stderr.read().decode()}"
            if "method" in message and "id" in message:
                self.asked.append(message)
                if self.answer:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.answer(message)})
            elif "method" in message:
                self.notes.append(message)
            elif message["id"] == wanted:
                return message
            else:
                self.notes.append(message)

    def until_written(self, name, number):
        """Waits until the command of this request has made a file of this name in the project, as it sees it."""
        end = time.monotonic() + PATIENCE
        while not list(self.place.home.glob(f".local/state/airlock/runs/*/upper/overlay1/{name}")):
            assert time.monotonic() < end, f"no {name} after {PATIENCE} s"
            with contextlib.suppress(queue.Empty):
                message = self.messages.get(timeout=0.02)
                assert message and message.get("id") != number, message

    def request(self, method, params=None):
        return self.wait(self.start(method, params))

    def initialize(self, revision="2025-11-25", **capabilities):
        reply = self.request("initialize", {"protocolVersion": revision, "capabilities": capabilities,
                                            "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return reply["result"]

    def modern(self, **capabilities):
        self.meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": capabilities,
                     META + "clientInfo": {"name": "test", "version": "1"}}
        return self

    def tool(self, tool, **arguments):
        reply = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in reply, reply
        return reply["result"]

    def run(self, command, **arguments):
        return self.tool("run_command", command=command, **arguments)


def whole(result):
    """The result of a command as programs read it: what a model is shown, and the rest."""
    return {**result.get("_meta", {}).get("airlock/result", {}), **result["structuredContent"]}


def text_of(result):
    return result["content"][0]["text"]


TESTS = []


def test(function):
    TESTS.append(function)
    return function


def main():
    """Runs every test of the file in a place of its own; prints TAP."""
    failed = 0
    print(f"1..{len(TESTS)}", flush=True)
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            with Place() as place:
                function(place)
            print(f"ok {number} {name}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} {name}", flush=True)
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    return 1 if failed else 0
