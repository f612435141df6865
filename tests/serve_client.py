# SPDX-License-Identifier: LGPL-2.1-or-later
"""An `airlock serve` with a home of its own, and a client of it for the tests.

    with Place() as place, Server(place) as server:
        server.new("a")
        server.execute("a", "echo hello")["stdout"]
"""
import http.client
import json
import signal
import socket
import subprocess
import threading
import urllib.parse

from mcp_client import program

PATIENCE = 40


class Server:
    def __init__(self, place, *options, tokens="", listen="127.0.0.1:0"):
        self.place, self.options, self.listen = place, options, listen
        self.file = place.top / "tokens.toml"
        self.token = self.new_token("one") if not self.file.exists() else None
        if tokens:
            self.file.write_text(self.file.read_text() + tokens)

    def new_token(self, name):
        done = self.place.airlock("serve", "--new-token", name, "--token-file", str(self.file))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self):
        self.process = subprocess.Popen(
            [program(), "serve", "--listen", self.listen, "--token-file", str(self.file), "--workspaces",
             str(self.place.top / "workspaces"), "--name", "here", *self.options], cwd=self.place.project,
            env=self.place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        assert line.startswith("http"), (line, self.process.stderr.read())
        self.url = urllib.parse.urlparse(line)
        return self

    __enter__ = start

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self, sig=signal.SIGTERM, seconds=PATIENCE):
        self.process.send_signal(sig)
        return self.process.wait(seconds)

    def restart(self, sig=signal.SIGKILL):
        self.stop(sig)
        self.process.stdout.close()
        self.process.stderr.close()
        return self.start()

    # ── Asking ──

    def connect(self, seconds=PATIENCE):
        return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=seconds)

    def headers(self, token=None, **more):
        return {"Authorization": f"Bearer {token or self.token}", **{k.replace("_", "-"): v for k, v in more.items()}}

    def ask(self, method, path, body=None, token=None, connection=None, **headers):
        """(status, headers, body): the body as JSON where it is."""
        own = connection or self.connect()
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        own.request(method, path, data, self.headers(token, **headers))
        reply = own.getresponse()
        content = reply.read()
        if not connection:
            own.close()
        is_json = (reply.getheader("Content-Type") or "").startswith("application/json")
        return reply.status, reply, json.loads(content) if is_json and content else content

    def new(self, name=None, token=None, **wish):
        status, _, body = self.ask("POST", "/v1/sandboxes", {**({"id": name} if name else {}), **wish}, token)
        assert status == 201, (status, body)
        return body["id"]

    def execute(self, name, command, token=None, **arguments):
        status, _, body = self.ask("POST", f"/v1/sandboxes/{name}/execute", {"command": command, **arguments}, token)
        assert status == 200, (status, body)
        return body

    def raw(self, data, seconds=10):
        """Everything that comes back for these bytes, until the server closes or stays silent."""
        with socket.create_connection((self.url.hostname, self.url.port), seconds) as s:
            s.sendall(data)
            got = b""
            try:
                while piece := s.recv(65536):
                    got += piece
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    def events(self, name, command):
        own = self.connect()
        own.request("POST", f"/v1/sandboxes/{name}/execute", json.dumps({"command": command}),
                    self.headers(Accept="text/event-stream"))
        reply = own.getresponse()
        assert reply.status == 200 and reply.getheader("Content-Type") == "text/event-stream", reply.status
        event, data = "", []
        for line in reply:
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                event = text[7:]
            elif text.startswith("data: "):
                data.append(text[6:])
            elif not text and data:
                yield event, "\n".join(data)
                data = []
        own.close()


def at_once(n, function):
    results = [None] * n

    def one(i):
        try:
            results[i] = function(i)
        except Exception as error:  # noqa: BLE001  (the test looks at what it was)
            results[i] = error
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
