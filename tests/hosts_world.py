# SPDX-License-Identifier: LGPL-2.1-or-later
"""A small internet on this machine, for tests of the network gate: two network namespaces with a wire between them. In one
of them the tests and airlock run, with an /etc/hosts and a name server of their own; in the other are servers with addresses
that look public. Nothing leaves the machine, and it works for an ordinary user, too.

    hosts_world.enter()      executes the program again in there, and returns the second time

Others may add to it: entries of /etc/hosts, a function that makes files, and one that starts servers; both are given its
directory, the first on the tests' side, the second on the servers' side.
"""
import ctypes
import hashlib
import http.server
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

SERVER, SERVER6 = "203.0.113.10", "2001:db8:9::10"
OWN, OWN6 = "203.0.113.1", "2001:db8:9::1"
ROUTED = "203.0.113.200"  # a route makes it the machine's own; no interface has it
HOSTS = f"""127.0.0.1 localhost
{SERVER} srv.test bad.test other.test a.wild.test b.wild.test wild.test xwild.test xn--bcher-kva.test tls.test third.test
{SERVER6} six.test
10.9.9.9 private.test
{SERVER} mixed.test
10.9.9.9 mixed.test
{OWN} own.test
127.0.0.1 loop.test
169.254.169.254 metadata.test
64:ff9b::7f00:1 nat64.test
{ROUTED} routed.test
"""
PORTS = {"http": 80, "other": 8000, "echo": 7000, "reset": 7001, "bulk": 7002, "tls": 443}
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def enter(hosts="", make=None, more=None):
    if "HOSTS_WORLD" not in os.environ:
        own = [] if os.geteuid() == 0 else ["-U", "--map-current-user", "--keep-caps"]
        os.environ["HOSTS_WORLD"] = "1"
        os.execvp("unshare", ["unshare", *own, "-m", "-n", "--kill-child", sys.executable, *sys.argv])
    build(hosts, make, more)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def build(hosts, make, more):
    top = os.environ.get("TMPDIR") or os.path.expanduser("~")
    place = os.path.join(top, f"world.{os.getpid()}")
    os.mkdir(place)
    call("mount", None, b"/", None, 0x40000 | 0x4000, None)  # MS_PRIVATE | MS_REC
    for name, text in ("hosts", HOSTS + hosts), ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"):
        write(os.path.join(place, name), text)
        call("mount", os.path.join(place, name).encode(), os.path.realpath(f"/etc/{name}").encode(), None, 0x1000, None)
    certificate(place, hosts)
    if make:
        make(place)
    ip("link", "set", "lo", "up")
    threading.Thread(target=name_server, daemon=True).start()
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        call("prctl", 1, signal.SIGKILL, 0, 0, 0)  # ends with us
        call("unshare", 0x40000000)
        os.write(told, b"x")
        serve(place, more)
    os.read(ready, 1)
    ip("link", "add", "gate0", "type", "veth", "peer", "name", "gate1", "netns", str(pid))
    for words in (("addr", "add", f"{OWN}/24", "dev", "gate0"),
                  ("addr", "add", f"{OWN6}/64", "dev", "gate0", "nodad"), ("link", "set", "gate0", "up"),
                  ("route", "add", "local", f"{ROUTED}/32", "dev", "lo")):
        ip(*words)
    eventually(lambda: socket.create_connection((SERVER, PORTS["bulk"]), 1).close())
    call("prctl", 47, 4, 0, 0, 0)  # no capability goes to what the tests execute
    os.environ["HOSTS_WORLD_PLACE"] = place
    os.environ["HOSTS_WORLD_CA"] = os.path.join(place, "ca.pem")


def eventually(function):
    for _ in range(100):
        try:
            return function()
        except OSError:
            time.sleep(0.05)
    return function()


def certificate(place, hosts):
    names = ",".join(f"DNS:{name}" for name in ["tls.test", *(word for word in hosts.split() if word.endswith(".test"))])
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=tls.test", "-addext", f"subjectAltName={names}", "-days", "2", "-keyout",
                    f"{place}/key.pem", "-out", f"{place}/ca.pem"], check=True, stderr=subprocess.DEVNULL)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"hello from {self.server.server_address[1]}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    request_queue_size = 500

    def handle_error(self, *_):
        """Clients may go when they like."""


def each_client(port, serve_one):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=500)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve_one, args=(client,), daemon=True).start()


def echo(client):
    """Says how much came and its hash, after the end of it."""
    total, digest = 0, hashlib.sha256()
    while data := client.recv(65536):
        total += len(data)
        digest.update(data)
    client.sendall(f"{total} {digest.hexdigest()}".encode())
    client.close()


def reset(client):
    client.recv(1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def bulk(client):
    """Sends as many bytes as the line says."""
    left = int(client.makefile().readline() or "0")
    block = bytes(range(256)) * 256
    try:
        while left > 0:
            left -= client.send(block[:left])
    except OSError:
        pass
    client.close()


def serve(place, more=None):
    for words in (("link", "set", "lo", "up"),):
        ip(*words)
    eventually(lambda: subprocess.run(["ip", "addr", "add", f"{SERVER}/24", "dev", "gate1"], check=False,
                                      stderr=subprocess.DEVNULL).returncode and wait_a_bit())
    ip("addr", "add", f"{SERVER6}/64", "dev", "gate1", "nodad")
    ip("link", "set", "gate1", "up")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{place}/ca.pem", f"{place}/key.pem")
    for name in "http", "other", "tls":
        server = Server(("::", PORTS[name]), Page)
        if name == "tls":
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, function in ("echo", echo), ("reset", reset):
        threading.Thread(target=each_client, args=(PORTS[name], function), daemon=True).start()
    if more:
        more(place)
    each_client(PORTS["bulk"], bulk)


def wait_a_bit():
    time.sleep(0.05)
    raise OSError("not yet")


LOOKED_UP = []  # names the machine's own name server was asked about
ANSWERS = {}  # a name, and a function of the query and of where its question ends that gives the answer; None: says nothing


def addresses(query, end, *all, flags=0x8180):
    """An answer with these IPv4 addresses; none to a question for others."""
    all = all if query[end - 4:end - 2] == b"\0\1" else ()
    records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(each) for each in all)
    return query[:2] + struct.pack(">HHHHH", flags, 1, len(all), 0, 0) + query[12:end] + records


def name_server():
    """The machine's own: knows dns.test, does not want to talk about names that begin with "unwanted", and says that others do
    not exist."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 53))
    while True:
        query, client = udp.recvfrom(2000)
        name, at = [], 12
        while query[at]:
            name.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += query[at] + 1
        name, kind, end = ".".join(name), query[at + 1:at + 3], at + 5
        LOOKED_UP.append(name)
        if name in ANSWERS:
            if answer := ANSWERS[name](query, end):
                udp.sendto(answer, client)
            continue
        known = name == "dns.test"
        answer = b""
        if known and kind == b"\0\1":
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(SERVER)
        code = 0 if known else 5 if name.startswith("unwanted") else 3
        udp.sendto(query[:2] + b"\x81" + bytes([0x80 | code]) + b"\0\1\0" + bytes([1 if answer else 0]) +
                   b"\0\0\0\0" + query[12:end] + answer, client)
