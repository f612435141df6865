#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock serve` under load and with bad clients, for longer than the other tests may take. Prints TAP.

    load.py BUILD [SECONDS]        how long the full load lasts; default 60
"""
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import main, test  # noqa: E402
from serve_client import Server, at_once  # noqa: E402

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
IDLE_CONNECTIONS = 10000
IDLE_SANDBOXES = 200


def memory_kb(server, what="VmRSS"):
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(what)).split()[1])


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def bwrap_rate(seconds=5, workers=8):
    """Sandboxes per second of plain bwrap with as many workers."""
    counts, end = [0] * workers, time.monotonic() + seconds

    def work(i):
        while time.monotonic() < end:
            subprocess.run(["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"], check=True)
            counts[i] += 1
    at_once(workers, work)
    return sum(counts) / seconds


def load(server, seconds, workers=8):
    """Commands per second, and how long each took, sorted."""
    times, lock, end = [], threading.Lock(), time.monotonic() + seconds

    def work(i):
        own = server.connect()
        while time.monotonic() < end:
            begun = time.monotonic()
            status, _, body = server.ask("POST", f"/v1/sandboxes/w{i}/execute", {"command": "true"}, connection=own)
            assert status == 200 and body["exit_code"] == 0, (status, body)
            with lock:
                times.append(time.monotonic() - begun)
        return True
    results = at_once(workers, work)
    assert all(r is True for r in results), results
    return len(times) / seconds, sorted(times)


@test
def full_load_leaves_nothing_behind(place):
    with Server(place) as server:
        for i in range(8):
            server.new(f"w{i}")
        load(server, 5)
        before, open_before = memory_kb(server), descriptors(server)
        peer = bwrap_rate()
        rate, times = load(server, SECONDS)
        median, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(f"# {rate:.0f} commands/s, {rate / peer:.2f} x bwrap's {peer:.0f}; median {median * 1000:.1f} ms, p99 {p99 / median:.1f} x")
        assert memory_kb(server) < before + 2048, (before, memory_kb(server))
        assert descriptors(server) <= open_before + 2
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        assert not children, children
        assert p99 < 8 * median, (median, p99)


@test
def idle_sandboxes_are_cheap(place):
    with Server(place) as server:
        server.new("first")
        server.execute("first", "true")
        before = memory_kb(server)
        for i in range(IDLE_SANDBOXES):
            server.new(f"s{i}")
        at_once(8, lambda w: [server.execute(f"s{i}", "echo x >/tmp/x") for i in range(w, IDLE_SANDBOXES, 8)])
        each = (memory_kb(server) - before) / IDLE_SANDBOXES
        print(f"# {each:.1f} KB for each of {IDLE_SANDBOXES} idle sandboxes")
        assert each < 2048, each


@test
def ten_thousand_connections(place):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(place) as server:
        server.new("a")
        silent = []
        for _ in range(min(IDLE_CONNECTIONS, hard - 200)):
            s = socket.socket()
            s.settimeout(5)
            try:
                s.connect((server.url.hostname, server.url.port))
                s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")  # and never ends its header
            except OSError:
                break
            silent.append(s)
        print(f"# {len(silent)} connections that say nothing: {memory_kb(server) // 1024} MB")
        assert memory_kb(server) < 600 << 10
        for s in silent[:200]:
            s.close()
        time.sleep(0.5)
        assert server.execute("a", "echo alive")["stdout"] == "alive\n"
        for s in silent:
            s.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@test
def a_gigabyte_in_bounded_memory(place):
    with Server(place) as server:
        server.new("a")
        own = server.connect(120)
        own.putrequest("PUT", "/v1/sandboxes/a/files/big")
        for name, value in server.headers(Content_Length=str(1 << 30)).items():
            own.putheader(name, value)
        own.endheaders()
        for _ in range(1 << 10):
            own.send(b"x" * (1 << 20))
        reply = own.getresponse()
        assert reply.status == 201, reply.status
        reply.read()
        own.request("GET", "/v1/sandboxes/a/files/big", None, server.headers())
        reply, total = own.getresponse(), 0
        while piece := reply.read(1 << 20):
            total += len(piece)
        assert total == 1 << 30, total
        print(f"# 1 GB both ways: at most {memory_kb(server, 'VmHWM') // 1024} MB")
        assert memory_kb(server, "VmHWM") < 64 << 10


@test
def a_client_that_does_not_read_holds_up_nobody(place):
    with Server(place, "--timeout", "20s") as server:
        server.new("a")
        body = json.dumps({"command": "yes"})
        stalled = []
        for _ in range(8):
            s = socket.create_connection((server.url.hostname, server.url.port))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(f"POST /v1/sandboxes/a/execute HTTP/1.1\r\nHost: {server.url.netloc}\r\nAccept: text/event-stream\r\n"
                      f"Authorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            stalled.append(s)
        time.sleep(3)
        assert memory_kb(server) < 64 << 10, memory_kb(server)
        begun = time.monotonic()
        assert server.execute("a", "echo alive")["stdout"] == "alive\n"
        assert time.monotonic() - begun < 5
        for s in stalled:
            s.close()
        for _ in range(100):
            if server.ask("GET", "/v1/sandboxes/a")[2]["running"] == 0:
                break
            time.sleep(0.2)
        assert server.ask("GET", "/v1/sandboxes/a")[2]["running"] == 0


@test
def a_full_disk(place):
    """507 with the reason, nothing half written, and it goes on when there is room again."""
    if os.getuid() != 0:
        return
    disk = place.top / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], check=True)
    try:
        with Server(place, "--workspaces", str(disk)) as server:
            server.new("a")
            status, _, body = server.ask("PUT", "/v1/sandboxes/a/files/f", b"x" * (12 << 20))
            assert status == 507 and "error" in body, (status, body)
            assert server.ask("GET", "/v1/sandboxes/a/list")[2]["entries"] == []
            assert server.ask("PUT", "/v1/sandboxes/a/files/f", b"small")[0] == 201
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@test
def killed_again_and_again(place):
    with Server(place) as server:
        kept = {}
        for turn in range(8):
            made = server.new()
            server.ask("PUT", f"/v1/sandboxes/{made}/files/f", made.encode())
            kept[made] = made.encode()
            stop = threading.Event()

            def disturb(_, made=made, stop=stop):
                while not stop.is_set():
                    try:
                        server.ask("POST", f"/v1/sandboxes/{made}/execute", {"command": "echo x >/tmp/y"})
                        server.ask("PUT", f"/v1/sandboxes/{made}/files/g", b"y" * 100000)
                        server.new()
                    except (OSError, http.client.HTTPException, AssertionError):
                        return
            threads = [threading.Thread(target=disturb, args=(i,)) for i in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.1 + 0.13 * turn)
            server.restart()
            stop.set()
            for thread in threads:
                thread.join()
            for name, content in kept.items():
                assert server.ask("GET", f"/v1/sandboxes/{name}/files/f")[2] == content, name
            for shown in server.ask("GET", "/v1/sandboxes")[2]["sandboxes"]:
                assert server.ask("GET", f"/v1/sandboxes/{shown['id']}/list")[0] == 200, shown


if __name__ == "__main__":
    sys.exit(main())
