# SPDX-License-Identifier: LGPL-2.1-or-later
"""Servers for the programs that people use: an npm registry, an index of Python packages, a Debian repository, a git server over
https and ssh. They live in the small internet of hosts_world.py, and everything they serve is made here.

    hosts_world.enter(servers.HOSTS, servers.make, servers.serve)
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import pwd
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tarfile
import threading
import zipfile
from pathlib import Path

import hosts_world
from hosts_world import SERVER

NAMES = ["git.test", "npm.test", "pip.test", "apt.test", "web.test", "slow.test"]
HOSTS = "".join(f"{SERVER} {name} no-{name}\n" for name in NAMES)  # the tests deny those that begin with no-
PORTS = {"https": 8443, "http": 8080, "ssh": 22, "slow": 8081, "never": 8082, "reset": 8083}


# ---- what they serve

def make(place):
    """Everything below place/srv; runs where the tests run, before the servers start."""
    top = Path(place, "srv")
    top.mkdir()
    make_git(top)
    make_npm(top)
    make_wheel(top)
    make_debian(top)
    make_keys(Path(place))


def shell(command, cwd):
    clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["sh", "-ec", command], cwd=cwd, env=clean, check=True, stdout=subprocess.DEVNULL)


def make_git(top):
    shell("""git init -q -b main work
        cd work
        git config user.name tester
        git config user.email tester@example.org
        echo content >file
        git add file
        git commit -q -m first
        cd ..
        git clone -q --bare work repo.git
        git -C repo.git config http.receivepack true""", top)


def make_npm(top):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps({"name": "tiny-thing", "version": "1.0.0", "main": "index.js"})),
                           ("index.js", "module.exports = 42\n")):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    (top / "tiny-thing-1.0.0.tgz").write_bytes(data.getvalue())


def npm_metadata(top, host):
    data = (top / "tiny-thing-1.0.0.tgz").read_bytes()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    version = {"name": "tiny-thing", "version": "1.0.0", "main": "index.js",
               "dist": {"tarball": f"https://{host}/tiny-thing-1.0.0.tgz", "integrity": integrity,
                        "shasum": hashlib.sha1(data).hexdigest()}}
    return json.dumps({"name": "tiny-thing", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode()


def make_wheel(top):
    files = {"tiny_thing.py": "answer = 42\n",
             "tiny_thing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n",
             "tiny_thing-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{name},,\n" for name in files) + "tiny_thing-1.0.dist-info/RECORD,,\n"
    simple = top / "simple/tiny-thing"
    simple.mkdir(parents=True)
    with zipfile.ZipFile(simple / "tiny_thing-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, "tiny_thing-1.0.dist-info/RECORD": record}.items():
            wheel.writestr(name, text)
    (simple / "index.html").write_text('<a href="tiny_thing-1.0-py3-none-any.whl">tiny_thing-1.0-py3-none-any.whl</a>\n')


def make_debian(top):
    control = "Package: tiny-thing\nVersion: 1.0\nArchitecture: all\nMaintainer: T <t@example.org>\nDescription: tiny\n"
    (top / "deb/DEBIAN").mkdir(parents=True)
    (top / "deb").chmod(0o755)
    (top / "deb/DEBIAN").chmod(0o755)
    (top / "deb/DEBIAN/control").write_text(control)
    shell("""mkdir debian
        dpkg-deb --root-owner-group -b deb debian/tiny-thing.deb
        cd debian
        apt-ftparchive packages . >Packages
        apt-ftparchive release . >Release.new
        mv Release.new Release""", top)
    (top / "debian/Packages.gz").write_bytes(gzip.compress((top / "debian/Packages").read_bytes()))


def make_keys(place):
    """Keys of the ssh server and of its one client, whose home this directory is."""
    (place / ".ssh").mkdir(mode=0o700)
    shell("""ssh-keygen -q -t ed25519 -N '' -f client_key
        cp client_key.pub .ssh/authorized_keys
        chmod 600 .ssh/authorized_keys
        dropbearkey -t ed25519 -f host_key
        dropbearkey -y -f host_key | grep ^ssh- | sed 's/^/git.test /' >known_hosts""", place)
    place.chmod(0o755)


# ---- the servers

class Site(http.server.SimpleHTTPRequestHandler):
    """Files, the registry's answers, and git's own program for its protocol."""
    protocol_version = "HTTP/1.1"

    def host(self):
        return self.headers.get("Host", "")

    def send(self, body, kind="text/plain"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        if self.path == "/hello":
            self.send(f"hello from {self.host()}\n".encode())
        elif self.path == "/tiny-thing":
            self.send(npm_metadata(Path(self.directory), self.host()), "application/json")
        elif self.path.startswith("/repo.git/"):
            self.git()
        else:
            super().do_GET()

    def do_POST(self):
        self.git()

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def git(self):
        path, _, query = self.path.partition("?")
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.directory, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": self.command, "HOME": self.directory, "GIT_CONFIG_COUNT": "1",
               "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=self.body(), env=env, stdout=subprocess.PIPE, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def slow(client):
    """Answers a byte at a time."""
    client.recv(4096)
    text = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nslow\n"
    for at in range(len(text)):
        client.sendall(text[at:at + 1])
        hosts_world.time.sleep(0.02)
    client.close()


def never(client):
    """Takes what comes and says nothing."""
    while client.recv(65536):
        pass


def reset(client):
    """As airlock does where a connection is refused."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def start_ssh(place):
    """Its passwd(5) says that whoever we are has its home here, where the key is."""
    me = pwd.getpwuid(os.getuid())
    file = Path(place, "passwd")
    file.write_text(f"{me.pw_name}:x:{me.pw_uid}:{me.pw_gid}::{place}:/bin/sh\n")
    hosts_world.call("unshare", 0x20000)
    hosts_world.call("mount", None, b"/", None, 0x40000 | 0x4000, None)
    hosts_world.call("mount", os.fsencode(file), b"/etc/passwd", None, 0x1000, None)
    program = shutil.which("dropbear") or "/usr/sbin/dropbear"
    with open(Path(place, "dropbear.log"), "wb") as log:
        subprocess.Popen([program, "-F", "-E", "-r", f"{place}/host_key", "-p", str(PORTS["ssh"]), "-s"],
                         stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                         preexec_fn=lambda: hosts_world.call("prctl", 1, signal.SIGKILL, 0, 0, 0))  # ends with us


def serve(place):
    """Starts them; runs where the servers of hosts_world run."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{place}/ca.pem", f"{place}/key.pem")
    for name in "https", "http":
        server = hosts_world.Server(("::", PORTS[name]), lambda *all: Site(*all, directory=f"{place}/srv"))
        if name == "https":
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, function in ("slow", slow), ("never", never), ("reset", reset):
        threading.Thread(target=hosts_world.each_client, args=(PORTS[name], function), daemon=True).start()
    start_ssh(place)
