# SPDX-License-Identifier: LGPL-2.1-or-later
"""A home of its own with a project in it, airlock there, and `airlock ui` with a client. For integration/ui.py and pages/.

    with World(build) as world:
        run = world.held("echo x >a")
        with world.ui() as ui:
            ui.get("/ui/overview")
"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

ADDRESS = re.compile(r"^http://(127\.0\.0\.1|\[::1\]):(\d+)/#token=([0-9a-f]{64})$")


class World:
    def __init__(self, build):
        self.airlock = str((Path(build) / "airlock").resolve())
        self.top = Path(tempfile.mkdtemp(prefix="airlock-ui."))
        self.home, self.project = self.top / "home", self.top / "home/project"
        self.project.mkdir(parents=True)
        keep = ("PATH", "LANG", "TMPDIR", "AIRLOCK_BACKEND", "AIRLOCK_TEST_BACKENDS")
        self.env = {name: os.environ[name] for name in keep if name in os.environ}
        self.env |= {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "XDG_CONFIG_HOME": str(self.home / "config"),
                     "XDG_RUNTIME_DIR": str(self.top / "run")}
        (self.top / "run").mkdir(mode=0o700)
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            stop(process)
        subprocess.run(["chmod", "-R", "u+rwX", self.top], check=False, capture_output=True)
        shutil.rmtree(self.top, ignore_errors=True)

    def call(self, *words, check=True, env=None, **more):
        """One airlock command; its output."""
        done = subprocess.run([self.airlock, *words], cwd=self.project, env=self.env | (env or {}), capture_output=True,
                              text=True, errors="surrogateescape", stdin=subprocess.DEVNULL, check=False, **more)
        assert not check or done.returncode == 0, (words, done)
        return done.stdout

    def json(self, *words):
        return json.loads(self.call(*words, "--json"))

    def held(self, command, *options):
        """Runs it and holds its changes; the id of the run."""
        return json.loads(self.call("run", "--hold", "--json", *options, "-c", command))["run"]

    def start(self, *words, env=None, **more):
        process = subprocess.Popen([self.airlock, *words], cwd=self.project, env=self.env | (env or {}), text=True,
                                   stdin=subprocess.DEVNULL, **more)
        self.started.append(process)
        return process

    def ask(self, command="true", **env):
        """An agent's run that waits for an answer."""
        return self.start("run", "--network", "-c", command, env={"AIRLOCK_AGENT": "1"} | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    @contextlib.contextmanager
    def ui(self, *options):
        ui = Ui(self, *options)
        try:
            yield ui
        finally:
            ui.stop()


def stop(process, number=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


class Reply:
    def __init__(self, reply):
        self.status, self.body = reply.status, reply.read()
        self.headers = {name.lower(): value for name, value in reply.getheaders()}

    def json(self):
        return json.loads(self.body)


class Ui:
    """A running `airlock ui`, and a client that is let in."""

    def __init__(self, world, *options):
        self.world = world
        self.process = world.start("ui", "--no-open", *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address = self.process.stdout.readline().rstrip("\n")
        found = ADDRESS.match(self.address)
        assert found, (self.address, self.process.poll(), self.process.stderr.read() if self.process.poll() is not None else "")
        self.host, self.port, self.token = found[1], int(found[2]), found[3]
        self.cookie = self.key = None

    def stop(self, number=signal.SIGTERM):
        stop(self.process, number)
        return self.process.returncode

    def connect(self):
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=30)

    def raw(self, method, path, headers=None, body=None):
        """Exactly this request; a header of None is left out."""
        connection = self.connect()
        all_headers = {"Host": f"{self.host}:{self.port}"} | (headers or {})
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None:
            all_headers |= {"Content-Length": str(len(body))}
        for name, value in all_headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        with contextlib.closing(connection):
            return Reply(connection.getresponse())

    def origin(self):
        return f"http://{self.host}:{self.port}"

    def login(self, token=None):
        body = json.dumps({"token": token or self.token}).encode()
        reply = self.raw("POST", "/ui/login", {"Origin": self.origin(), "Content-Type": "application/json"}, body)
        if reply.status == 200:
            self.cookie = reply.headers["set-cookie"].split(";")[0]
            self.key = reply.json()["key"]
        return reply

    def credentials(self):
        if not self.cookie:
            assert self.login().status == 200
        return {"Cookie": self.cookie, "Airlock-Key": self.key}

    def get(self, path, /, **query):
        rest = "&".join(f"{name}={quote(value, safe='', errors='surrogateescape')}" for name, value in query.items())
        return self.raw("GET", path + ("?" + rest if rest else ""), self.credentials())

    def post(self, path, /, **body):
        return self.raw("POST", path, self.credentials() | {"Origin": self.origin(), "Content-Type": "application/json"}, json.dumps(body).encode())

    @contextlib.contextmanager
    def events(self, **query):
        """Yields a function that waits for an event and returns its data."""
        connection = self.connect()
        path = "/ui/events" + ("?" + "&".join(f"{n}={quote(str(v))}" for n, v in query.items()) if query else "")
        connection.request("GET", path, headers={"Host": f"{self.host}:{self.port}"} | self.credentials())
        reply = connection.getresponse()
        assert reply.status == 200, reply.status

        def wait(name, seconds=20):
            """With several names: the first of them, and its name before it."""
            until, event, data = time.monotonic() + seconds, None, ""
            connection.sock.settimeout(seconds)
            while time.monotonic() < until:
                line = reply.readline().decode().rstrip("\n")
                if line.startswith("event: "):
                    event, data = line[7:], ""
                elif line.startswith("data: "):
                    data += line[6:]
                elif not line and event == name:
                    return json.loads(data)
                elif not line and isinstance(name, tuple) and event in name:
                    return event, json.loads(data)
            raise AssertionError(f"no event {name}")

        try:
            yield wait
        finally:
            reply.close()
            connection.close()


def until(condition, seconds=15):
    """The first value of condition() that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")
