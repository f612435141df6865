#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The network gate under load and against hostile programs and name servers: what takes too long for integration/hosts.py.
Prints TAP.

    torture.py BUILD
"""
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import hosts_world  # noqa: E402
from hosts_world import ANSWERS, PORTS, SERVER, addresses  # noqa: E402
from mcp_client import main, program, test  # noqa: E402

BACKEND = os.environ.get("AIRLOCK_TEST_BACKENDS", "native").split()[0]
MEGABYTE = 1 << 20
RULES = '[network]\nmode = "hosts"\nallow = ["srv.test", "*.wild.test", "*.many.test"]\ndeny = ["bad.test"]\n'


def start(place, code, rules=RULES, limit=None):
    file = place.home / ".config/airlock/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(rules)
    words = [program(), "run", "--json", "--backend", BACKEND, "--timeout", "200s", "--", "/usr/bin/python3", "-c", code]
    if limit:
        words = ["/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *words]
    return subprocess.Popen(words, cwd=place.project, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=250)
    assert out, err
    result = json.loads(out)
    return result, {(h["host"], h["port"]): h for h in (result["network"] or {"hosts": []})["hosts"]}


def run(place, code, rules=RULES, limit=None):
    return finish(start(place, code, rules, limit))


class Peak(threading.Thread):
    """The most memory and descriptors that airlock's own process had."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.pid, self.kilobytes, self.descriptors = process.pid, 0, 0
        self.start()

    def run(self):
        while True:
            try:
                status = Path(f"/proc/{self.pid}/status").read_text()
                self.kilobytes = max(self.kilobytes, int(status.partition("RssAnon:")[2].split()[0] or 0))
                self.descriptors = max(self.descriptors, len(os.listdir(f"/proc/{self.pid}/fd")))
            except (OSError, IndexError, ValueError):
                return
            time.sleep(0.02)


COMMON = f"""if 1:
    import os, resource, socket, struct, threading, time
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    def connect(host, port, seconds=60):
        return socket.create_connection((host, port), seconds)
    def echo(host, n, port={PORTS["echo"]}):
        with connect(host, port) as s:
            s.sendall(b"x" * n)
            s.shutdown(socket.SHUT_WR)
            got = b""
            while data := s.recv(1000):
                got += data
            return int(got.split()[0]) if got else -1
    def at_once(n, function):
        results = [None] * n
        def one(i):
            try:
                results[i] = function(i)
            except OSError as error:
                results[i] = type(error).__name__
        all = [threading.Thread(target=one, args=(i,)) for i in range(n)]
        for thread in all:
            thread.start()
        for thread in all:
            thread.join()
        return results
    def query(name, kind=1, flags=0x100, edns=False):
        labels = b"".join(bytes([len(l)]) + l for l in name.split(b".")) + b"\\0"
        return (struct.pack(">HHHHHH", 7, flags, 1, 0, 0, edns) + labels + struct.pack(">HH", kind, 1)
                + (b"\\0\\0\\x29\\x10\\0\\0\\0\\0\\0\\0\\0" if edns else b""))
"""


@test
def a_gigabyte_comes_through_in_each_direction_and_memory_stays_flat(place):
    size = 1 << 30
    process = start(place, COMMON + f"""
    with connect("srv.test", {PORTS["bulk"]}) as s:
        s.sendall(b"{size}\\n")
        total, buffer = 0, bytearray(1 << 20)
        while got := s.recv_into(buffer):
            total += got
        print(total)
    with connect("srv.test", {PORTS["echo"]}) as s:
        for _ in range({size} >> 20):
            s.sendall(buffer)
        s.shutdown(socket.SHUT_WR)
        print(s.recv(100).split()[0].decode())""")
    peak = Peak(process)
    result, hosts = finish(process)
    assert result["stdout"].split() == [str(size)] * 2, result
    assert hosts["srv.test", PORTS["bulk"]]["bytes_in"] == size and hosts["srv.test", PORTS["echo"]]["bytes_out"] == size, hosts
    assert 0 < peak.kilobytes < 8192, peak.kilobytes


@test
def thousands_of_connections(place):
    process = start(place, COMMON + """
    for wave in range(12):
        got = at_once(250, lambda i: echo("srv.test", i))
        assert got == list(range(250)), got
    print("done")""")
    peak = Peak(process)
    result, hosts = finish(process)
    assert result["stdout"] == "done\n" and hosts["srv.test", PORTS["echo"]]["connections"] == 3000, (result, hosts)
    assert 0 < peak.kilobytes < 16384, peak.kilobytes


@test
def slow_readers_and_those_that_never_read_cost_little(place):
    process = start(place, COMMON + f"""
    lazy = [connect("srv.test", {PORTS["bulk"]}) for _ in range(200)]
    for s in lazy:
        s.sendall(b"{64 * MEGABYTE}\\n")
    time.sleep(1)
    assert echo("srv.test", 1000) == 1000  # others are served
    for s in lazy[:5]:
        for _ in range(50):
            assert s.recv(1000)
            time.sleep(0.002)
    print("done")""")
    peak = Peak(process)
    result, _ = finish(process)
    assert result["stdout"] == "done\n", result
    assert 0 < peak.kilobytes < 48 * 1024, peak.kilobytes


@test
def half_closed_connections_stay_half_closed(place):
    result, _ = run(place, COMMON + f"""
    def late(i):
        with connect("srv.test", {PORTS["echo"]}) as s:
            s.sendall(b"y" * 5000)
            time.sleep(0.5)
            s.shutdown(socket.SHUT_WR)
            time.sleep(0.5)
            return s.recv(100).split()[0]
    assert at_once(50, late) == [b"5000"] * 50
    def one_way(i):
        with connect("srv.test", {PORTS["bulk"]}) as s:
            s.sendall(b"100000\\n")
            s.shutdown(socket.SHUT_WR)  # and still everything comes
            n = 0
            while data := s.recv(4096):
                n += len(data)
            return n
    assert at_once(50, one_way) == [100000] * 50
    print("done")""")
    assert result["stdout"] == "done\n", result


@test
def few_descriptors_are_enough(place):
    process = start(place, COMMON + """
    got = at_once(200, lambda i: echo("srv.test", 10))
    print(got.count(10))""", limit=256)
    peak = Peak(process)
    result, _ = finish(process)
    assert result["stdout"] == "200\n" and 0 < peak.descriptors <= 256, (result, peak.descriptors)


@test
def as_many_addresses_and_ports_as_one_likes(place):
    """More than the gate keeps open at a time; afterwards the first ones work again."""
    hosts = {f"n{i}.many.test" for i in range(600)}
    ANSWERS.update((name, lambda query, end: addresses(query, end, SERVER)) for name in hosts)
    process = start(place, COMMON + """
    for i in list(range(600)) + list(range(20)):
        assert echo(f"n{i}.many.test", 5) == 5, i
    def scan(i):
        try:
            connect("srv.test", 20000 + i).close()
        except OSError:
            return 1
        return 0
    for start in range(0, 4000, 200):
        at_once(200, lambda i: scan(start + i))
    assert echo("srv.test", 5) == 5 and echo("n0.many.test", 5) == 5
    print("done")""")
    peak = Peak(process)
    result, _ = finish(process)
    ANSWERS.clear()
    assert result["stdout"] == "done\n", result
    assert 0 < peak.kilobytes < 16384 and peak.descriptors < 700, (peak.kilobytes, peak.descriptors)


@test
def a_flood_of_refused_connections_harms_nobody(place):
    process = start(place, COMMON + """
    end = time.monotonic() + 4
    def flood(i):
        n = 0
        while time.monotonic() < end:
            try:
                connect(f"b{n % 50}.other.test" if i % 2 else "bad.test", 54 + n % 60000).close()  # 53 is the name server of every address
                return "connected"
            except OSError:
                n += 1
        return n
    got = at_once(200, flood)
    assert all(isinstance(n, int) and n > 0 for n in got), got
    begun = time.monotonic()
    assert echo("srv.test", 5) == 5 and time.monotonic() - begun < 5
    print(sum(got))""")
    peak = Peak(process)
    result, hosts = finish(process)
    assert result["exit_code"] == 0 and int(result["stdout"]) > 1000, result
    assert len(hosts) <= 4096 and 0 < peak.kilobytes < 16384, (len(hosts), peak.kilobytes)


@test
def names_without_end(place):
    """As many as the gate has addresses for, and more; parallel, over UDP and TCP, with EDNS."""
    process = start(place, COMMON + """
    def ask(thread):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.settimeout(20)
        udp.connect(("127.0.0.1", 53))
        for i in range(9000):
            udp.send(query(b"%d-%d.%s.test" % (thread, i, b"x" * 60), edns=i % 2))
            udp.recv(1000)
        return 0
    assert at_once(8, ask) == [0] * 8
    def stream(thread):
        with connect("127.0.0.1", 53) as tcp:
            for i in range(200):
                q = query(b"srv.test" if i % 2 else b"t%d.test" % i)
                tcp.sendall(struct.pack(">H", len(q)) + q)
                need = struct.unpack(">H", tcp.recv(2, socket.MSG_WAITALL))[0]
                assert len(tcp.recv(need, socket.MSG_WAITALL)) == need
        return 0
    assert at_once(40, stream) == [0] * 40
    assert echo("srv.test", 5) == 5
    print("done")""")
    peak = Peak(process)
    result, _ = finish(process)
    assert result["stdout"] == "done\n", result
    assert 0 < peak.kilobytes < 64 * 1024, peak.kilobytes


@test
def queries_made_of_noise(place):
    result, _ = run(place, COMMON + """
    import random
    random.seed(1)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    whole = query(b"srv.test", edns=True)
    for i in range(20000):
        data = bytearray(whole if i % 3 else os.urandom(random.randrange(1, 600)))
        for _ in range(random.randrange(4)):
            data[random.randrange(len(data))] = random.randrange(256)
        udp.sendto(bytes(data[:random.randrange(1, len(data) + 1)]), ("127.0.0.1", 53))
    for i in range(300):
        with connect("127.0.0.1", 53) as tcp:
            try:
                tcp.sendall(os.urandom(random.randrange(1, 3000)))
            except OSError:
                pass
    time.sleep(0.2)
    assert echo("srv.test", 5) == 5
    print("done")""")
    assert result["stdout"] == "done\n", result


def hostile_answers():
    """By name: what a name server says that wants to do harm. Addresses in them are private, unless they are to be believed."""
    def record(name, kind, data):
        return name + struct.pack(">HHIH", kind, 1, 0, len(data)) + data

    def raw(flags, count, rest):
        return lambda query, end: query[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0) + query[12:end] + rest
    pointer, inside = b"\xc0\x0c", socket.inet_aton("10.9.9.9")
    return {
        "loop.many.test": raw(0x8180, 1, b"\xc0\x1c" + struct.pack(">HHIH", 1, 1, 0, 4) + inside),
        "itself.many.test": lambda query, end: query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0\xc0\x0c\0\1\0\1",
        "alias.many.test": raw(0x8180, 1, record(pointer, 5, pointer)),  # of itself
        "bomb.many.test": raw(0x8180, 0xffff, record(pointer, 1, inside)),
        "cut.many.test": raw(0x8180, 1, pointer + b"\0\1\0\1\0\0\0\0\0\4\x0a"),
        "long.many.test": raw(0x8180, 1, record(b"\x3f" + b"a" * 63, 1, inside)),
        "empty.many.test": lambda query, end: b"",
        "tiny.many.test": lambda query, end: query[:2],
        "other.many.test": lambda query, end: addresses(query[:12] + b"\3foo\4test\0\0\1\0\1", 26, "10.9.9.9"),
        "wrong.many.test": lambda query, end: bytes([query[0] ^ 1]) + addresses(query, end, "10.9.9.9")[1:],
        "truncated.many.test": lambda query, end: addresses(query, end, flags=0x8380),  # and nobody is there over TCP
        "refused.many.test": lambda query, end: addresses(query, end, flags=0x8185),
        "mapped.many.test": raw(0x8180, 1, record(pointer, 28, socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1"))),
        "hundred.many.test": lambda query, end: addresses(query, end, *(f"203.0.113.{n}" for n in range(20, 40)), "10.9.9.9"),
        "silent.many.test": lambda query, end: None,
        "good.many.test": lambda query, end: addresses(query, end, SERVER),
    }


@test
def a_hostile_name_server_gets_nobody_anywhere(place):
    ANSWERS.update(hostile_answers())
    names = sorted(set(ANSWERS) - {"good.many.test"})
    result, hosts = run(place, COMMON + f"""
    names = {names!r}
    got = at_once(len(names), lambda i: echo(names[i], 3))
    print(*(name for name, n in zip(names, got) if isinstance(n, int) and n >= 0))
    assert echo("good.many.test", 3) == 3
    print("done")""")
    ANSWERS.clear()
    assert result["stdout"] == "\ndone\n", result
    assert hosts["good.many.test", PORTS["echo"]]["connections"] == 1, hosts
    assert all(h["connections"] == 0 for (name, _), h in hosts.items() if name != "good.many.test"), hosts


@test
def many_lookups_at_once_wait_for_each_other(place):
    """The machine's name server is asked about a hundred names at a time, however many the command wants."""
    waiting = []

    def slow(query, end):
        waiting.append(time.monotonic())
        return addresses(query, end, SERVER)
    ANSWERS.update((f"s{i}.many.test", slow) for i in range(1500))
    result, _ = run(place, COMMON + """
    def ask(thread):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.settimeout(2)
        udp.connect(("127.0.0.1", 53))
        left = {b"s%d" % (thread * 100 + i) for i in range(100)}
        for attempt in range(20):  # of so many at once the kernel loses some
            for name in left:
                udp.send(query(name + b".many.test"))
            try:
                while left:
                    data = udp.recv(1000)
                    if data[-4:-3] == b"\\xc6":
                        left.discard(data[13:13 + data[12]])
            except TimeoutError:
                pass
        return 100 - len(left)
    print(sum(at_once(15, ask)))
    assert echo("s1499.many.test", 3) == 3""")
    ANSWERS.clear()
    assert result["exit_code"] == 0 and result["stdout"] == "1500\n", result


@test
def a_name_that_changes_its_mind_is_judged_again(place):
    """First an address where nobody is, then the loopback: looked up again after a while, and refused."""
    first = time.monotonic()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def rebind(query, end):
        return addresses(query, end, "203.0.113.99" if time.monotonic() - first < 10 else "127.0.0.1")
    ANSWERS["rebind.many.test"] = rebind
    result, hosts = run(place, COMMON + f"""
    for _ in range(2):
        try:
            connect("rebind.many.test", {port}, 20).recv(1)
        except OSError as error:
            print(type(error).__name__)
        time.sleep(32)
    try:
        print(connect("rebind.many.test", {port}, 20).recv(1))
    except OSError as error:
        print(type(error).__name__)""")
    ANSWERS.clear()
    listener.settimeout(0)
    try:
        listener.accept()
        raise AssertionError("it was reached")
    except BlockingIOError:
        pass
    assert hosts["rebind.many.test", port]["by"] == "guard" and hosts["rebind.many.test", port]["connections"] == 0, (result, hosts)


if __name__ == "__main__":
    hosts_world.enter()
    sys.exit(main())
