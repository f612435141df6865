# SPDX-License-Identifier: LGPL-2.1-or-later
"""A home with a secret, a project, an airlock of its own, a canary, and an agent that is run in it."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from model import Model

SECRET = "the-secret-key-7731"
PATIENCE = 150


class Canary:
    """A server on the machine's loopback. Whoever reaches it has the machine's network."""

    def __enter__(self):
        canary = self
        self.hits = 0

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                canary.hits += 1
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"canary")
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class World:
    def __init__(self, bench, agent, way):
        self.bench, self.agent, self.way = bench, agent, way

    def __enter__(self):
        self.top = Path(tempfile.mkdtemp(prefix="airlock-agents.", dir=os.environ.get("TMPDIR") or "/var/tmp")).resolve()
        self.home, self.project, self.other = self.top / "home", self.top / "home/project", self.top / "home/other"
        self.bin = self.top / "bin"
        self.bin.mkdir()
        for name in ("airlock", "airlock-sh"):
            shutil.copy2(self.bench.airlock.parent / name, self.bin / name)
        (self.bin / "airlock-bash").symlink_to("airlock-sh")
        self.airlock = self.bin / "airlock"
        for place in (self.project, self.other):
            place.mkdir(parents=True)
            subprocess.run(["git", "init", "-q", place], check=True)
        self.write(".ssh/id_rsa", SECRET + "\n")
        self.stack = contextlib.ExitStack()
        self.canary = self.stack.enter_context(Canary())
        self.env = {"HOME": str(self.home), "PATH": f"{self.bench.node}:/usr/local/bin:/usr/bin:/bin", "TERM": "dumb",
                    "LANG": "C.UTF-8", "SHELL": "/bin/bash", "USER": os.environ.get("USER", "root")}
        return self

    def __exit__(self, *_):
        self.stack.close()
        self.end_all()
        subprocess.run(["chmod", "-R", "u+rwx", self.top], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def end_all(self):
        """Processes that still work in this world."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if int(entry.name) != os.getpid() and os.readlink(entry / "cwd").startswith(str(self.top)):
                    os.kill(int(entry.name), signal.SIGKILL)

    # ---- files

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def edit_json(self, name, more):
        path = self.home / name
        old = json.loads(path.read_text()) if path.exists() and path.read_text().strip() else {}
        for key, value in more.items():
            old[key] = {**old[key], **value} if isinstance(old.get(key), dict) and isinstance(value, dict) else value
        self.write(name, json.dumps(old, indent=2) + "\n")

    def files(self):
        """Every file of the agents' configuration, with its bytes."""
        skip = (self.project, self.other, self.home / ".local")
        return {str(path.relative_to(self.home)): path.read_bytes() for path in sorted(self.home.rglob("*"))
                if path.is_file() and not any(path.is_relative_to(place) for place in skip)}

    # ---- airlock

    def run_airlock(self, *arguments, **options):
        return subprocess.run([self.airlock, *arguments], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, **options)

    def set_up(self):
        """Puts airlock in front of the agent, as a person does."""
        return self.way.set_up(self)

    def runs(self):
        done = self.run_airlock("log", "--json", "-n", "100")
        return json.loads(done.stdout)["runs"] if done.returncode == 0 else []

    # ---- the agent

    def start(self, model, **how):
        path, _ = self.bench.programs[self.agent.NAME]
        command = self.way.command(self, model, path, self.agent.arguments(**how), self.env)
        env = {**self.env, **self.agent.environment(model)}
        return subprocess.Popen(command, cwd=self.project, env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)

    address = "127.0.0.1"  # where the model is

    def model(self, script):
        return Model(script, self.address)

    def apply_held(self):
        """A person takes what was held."""
        if self.way.HOLDS:
            self.run_airlock("apply", self.way.SESSION)

    def talk(self, script, deny=False, **how):
        """Runs the agent with this script; returns the model afterwards."""
        with self.model(script) as model:
            self.agent.configure(self, model, deny=deny)
            process = self.start(model, deny=deny, **how)
            try:
                model.output, _ = process.communicate(timeout=PATIENCE)
                model.status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                model.output, _ = process.communicate()
                model.status = "it did not end"
            return model

    def shell(self, command, **options):
        return self.way.shell(self.agent, command, **options)


def wait_for(is_true, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        value = is_true()
        if value:
            return value
        time.sleep(0.1)
    return None
