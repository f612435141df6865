# SPDX-License-Identifier: LGPL-2.1-or-later
"""A running `airlock serve` with a sandbox for each client."""
import encodings.idna  # noqa: F401  now: who measures later may not be able to read the module
import json
import subprocess
import urllib.parse
import urllib.request

from .measure import Failed


class Served:
    def __init__(self, bench, clients):
        self.bench, self.clients = bench, clients
        place = bench.home / "served"
        place.mkdir(exist_ok=True)
        tokens = place / "tokens.toml"
        made = subprocess.run([bench.server, "serve", "--new-token=bench", f"--token-file={tokens}"], stdout=subprocess.PIPE,
                              text=True, check=True)
        self.token = made.stdout.strip()
        self.process = subprocess.Popen(
            [bench.server, "serve", "--listen=127.0.0.1:0", f"--token-file={tokens}", f"--workspaces={place / 'workspaces'}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Failed("airlock serve did not start")
        for i in range(clients):
            self.ask("/v1/sandboxes", {"id": f"w{i}"})
            for _ in range(2):  # from the second on they share their mounts
                self.ask(f"/v1/sandboxes/w{i}/execute", {"command": "true"})

    def ask(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def load(self, seconds):
        """Commands per second, the median and the 99th percentile in ms."""
        port = urllib.parse.urlparse(self.url).port
        argv = [self.bench.tool("requests"), str(self.clients), str(seconds), str(port), self.token]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Failed(done.stderr.strip() or f"requests ended with {done.returncode}")
        return tuple(map(float, done.stdout.split()))

    def end(self):
        self.process.terminate()
        self.process.stdout.close()
        self.process.wait()
