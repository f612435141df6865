#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock serve` at full load for long: memory stays flat, and nothing is left behind. Prints TAP, and a line a minute.

    hour.py BUILD [SECONDS]        default 3600

Eight clients do what clients do: commands, streams, files, calls over MCP, processes in the background, sandboxes that are made, rest
and are deleted. Records of runs are kept for a minute, so that their collection is part of it.
"""
import json
import os
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import main, test  # noqa: E402
from serve_client import Server, at_once  # noqa: E402

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3600
CLIENTS = 8
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
CONFIG = '[retention]\nruns = "60s"\nbackups = "60s"\n'
GROWTH_KB = 4096  # that the server may grow by after its first tenth


class Client:
    """One of them, with a connection and a sandbox of its own."""

    def __init__(self, server, number):
        self.server, self.name, self.own = server, f"c{number}", server.connect(120)
        self.random, self.count, self.times = random.Random(number), 0, []
        server.new(self.name)

    def ask(self, method, path, body=None, **headers):
        return self.server.ask(method, path, body, connection=self.own, **headers)

    def execute(self, command, name=None):
        begun = time.monotonic()
        status, _, body = self.ask("POST", f"/v1/sandboxes/{name or self.name}/execute", {"command": command})
        assert status == 200, (status, body)
        self.count += 1
        self.times.append(time.monotonic() - begun)
        return body

    def run(self):
        assert self.execute("true")["exit_code"] == 0

    def write(self):
        text = os.urandom(self.random.randrange(200000))
        path = f"/v1/sandboxes/{self.name}/files/d/{self.random.randrange(20)}"
        assert self.ask("PUT", path, text)[0] in (201, 204)
        assert self.ask("GET", path)[2] == text

    def stream(self):
        events = list(self.server.events(self.name, "seq 1000"))
        assert events[-1][0] == "result" and json.loads(events[-1][1])["exit_code"] == 0, events[-1:]
        self.count += 1

    def call(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "run_command", "arguments": {"command": "echo x", "sandbox": self.name}, "_meta": MODERN}}
        status, _, body = self.ask("POST", "/mcp", message, Accept="application/json, text/event-stream",
                                   Content_Type="application/json", MCP_Protocol_Version="2026-07-28")
        assert status == 200 and body["result"]["structuredContent"]["stdout"] == "x\n", (status, body)
        self.count += 1

    def background(self):
        self.execute("sleep 20 >/dev/null 2>&1 &")

    def sandbox(self):
        """One that lives for a moment."""
        made = self.server.new()
        self.execute("echo x >/tmp/x; mkdir -p /a/b; echo y >/a/b/c", made)
        if self.random.random() < 0.5:
            self.execute("sleep 100 >/dev/null 2>&1 &", made)
        assert self.ask("DELETE", f"/v1/sandboxes/{made}")[0] == 204

    def work(self, end):
        kinds = [self.run] * 80 + [self.write] * 5 + [self.stream] * 3 + [self.call] * 5 + [self.background] + [self.sandbox] * 6
        while time.monotonic() < end:
            self.random.choice(kinds)()


def status_kb(server, what):
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(what)).split()[1])


def holders(state):
    """Processes that hold sessions and are alive."""
    alive = []
    for file in state.glob("airlock/sessions/*/*/holder"):
        pid = (file.read_text().split() or ["0"])[0]
        try:
            if Path("/proc", pid, "comm").read_text() == "airlock-holder\n":
                alive.append(pid)
        except OSError:
            pass
    return alive


def mounts():
    return Path("/proc/self/mountinfo").read_text().count("\n")


def groups(server):
    return [str(p) for p in Path("/sys/fs/cgroup").glob(f"**/airlock-in*.{server.process.pid}-*")]


def inodes(path):
    return sum(1 + len(files) for _, _, files in os.walk(path))


@test
def memory_is_flat_and_nothing_is_left(place):
    state = Path(place.env.get("XDG_STATE_HOME") or Path(place.env["HOME"], ".local/state"))
    config = Path(place.env.get("XDG_CONFIG_HOME") or Path(place.env["HOME"], ".config")) / "airlock/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG)
    before_mounts, samples, begun = mounts(), [], time.monotonic()
    with Server(place, "--idle", "5s") as server:
        clients = [Client(server, i) for i in range(CLIENTS)]
        end = begun + SECONDS

        def look():
            while time.monotonic() < end:
                time.sleep(min(60, max(1, SECONDS / 20)))
                seen = (status_kb(server, "VmRSS"), len(os.listdir(f"/proc/{server.process.pid}/fd")), len(holders(state)),
                        inodes(state))
                samples.append(seen)
                done = sum(c.count for c in clients)
                print(f"# {time.monotonic() - begun:5.0f} s: {done} commands, {seen[0]} KB, {seen[1]} descriptors, "
                      f"{seen[2]} holders, {seen[3]} inodes of records", flush=True)
        looker = threading.Thread(target=look)
        looker.start()
        results = at_once(CLIENTS, lambda i: clients[i].work(end) or True)
        looker.join()
        assert all(r is True for r in results), results
        done, times = sum(c.count for c in clients), sorted(t for c in clients for t in c.times)
        print(f"# {done} commands, {done / SECONDS:.0f} a second; median {times[len(times) // 2] * 1000:.1f} ms, "
              f"p99 {times[len(times) * 99 // 100] / times[len(times) // 2]:.1f} x")
        early = max(s[0] for s in samples[:max(1, len(samples) // 10)])
        assert samples[-1][0] < early + GROWTH_KB, samples
        assert samples[-1][1] < max(s[1] for s in samples[:max(1, len(samples) // 10)]) + 50, samples
        for client in clients:
            assert client.ask("DELETE", f"/v1/sandboxes/{client.name}")[0] == 204
        assert server.ask("GET", "/v1/sandboxes")[2]["sandboxes"] == []
        wait_until(lambda: not list((place.top / "workspaces").glob(".deleted-*")), 60)
        assert not holders(state), holders(state)
        # What is left of the records is the history of the last minute, and goes with the next collections.
        wait_until(lambda: not list(state.glob("airlock/runs/*")), 900)
        print(f"# {inodes(state)} inodes of records at the end, {status_kb(server, 'VmRSS')} KB, most {status_kb(server, 'VmHWM')} KB")
        assert inodes(state) < 60, sorted(map(str, state.glob("**/*")))[:100]
        assert not list(state.glob("airlock/sessions/*")), list(state.glob("airlock/sessions/*"))
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        assert not children, children
        assert server.stop() == 0
    left = [p.name for p in (place.top / "workspaces").iterdir() if not p.name.startswith(".pool-") and p.name != "one"]
    assert not left and not list((place.top / "workspaces/one").iterdir()), left
    assert not groups(server), groups(server)
    assert mounts() <= before_mounts + 2, (before_mounts, mounts())  # others on this machine may mount something


def wait_until(is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.5)
    assert is_so(), "not within its time"


if __name__ == "__main__":
    sys.exit(main())
