#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two `airlock serve` behind a real HAProxy with the configuration of contrib/haproxy. Prints TAP.

    haproxy.py BUILD
"""
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))
from mcp_client import main, test  # noqa: E402
from serve_client import Server, at_once  # noqa: E402

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Named(Server):
    """A server of a name, with workspaces of its own and the tokens of the first."""

    def __init__(self, place, name, *options):
        super().__init__(place, "--workspaces", str(place.top / name), "--name", name, "--behind-proxy", *options)


class Proxy:
    def __init__(self, place, servers):
        self.place, self.servers = place, servers
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.file = place.top / "haproxy.cfg"
        self.client = servers[0]

    def configure(self, servers):
        """servers: {name: url}"""
        listed = self.place.top / "list"
        listed.write_text("".join(f"{name} {url.netloc}\n" for name, url in servers.items()))
        made = subprocess.run([TOP.parent / "contrib/haproxy/make-config", listed, "--bind", f"127.0.0.1:{self.port}"],
                              capture_output=True, text=True, check=True)
        self.file.write_text(made.stdout)

    def start(self):
        self.process = subprocess.Popen(["haproxy", "-W", "-f", self.file], stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        time.sleep(1.5)  # the first checks

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def ask(self, *arguments, **options):
        direct, self.client.url = self.client.url, self.client.url._replace(netloc=f"127.0.0.1:{self.port}")
        try:
            return self.client.ask(*arguments, **options)
        finally:
            self.client.url = direct


class Fleet:
    def __init__(self, place):
        one = Named(place, "one")
        two = Named(place, "two")
        two.token = one.token
        self.servers = {"one": one.start(), "two": two.start()}
        self.proxy = Proxy(place, [one, two])
        self.proxy.configure({name: server.url for name, server in self.servers.items()})
        self.proxy.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proxy.stop()
        for server in self.servers.values():
            server.__exit__()

    def ask(self, *arguments, **options):
        return self.proxy.ask(*arguments, **options)

    def new(self):
        status, _, body = self.ask("POST", "/v1/sandboxes", {})
        assert status == 201, (status, body)
        return body["id"]

    def one_on(self, name):
        for _ in range(60):
            made = self.new()
            if made.startswith(f"{name}-"):
                return made
        raise AssertionError(f"no sandbox came to {name}")


@test
def requests_go_to_the_server_of_the_sandbox(place):
    with Fleet(place) as fleet:
        for name in ("one", "two"):
            made = fleet.one_on(name)
            for i in range(6):
                status, _, body = fleet.ask("POST", f"/v1/sandboxes/{made}/execute", {"command": f"echo {i} >>/f; cat /f | wc -l"})
                assert status == 200 and body["stdout"].strip() == str(i + 1), (status, body)
            params = {"name": "read_file", "arguments": {"path": "/f", "sandbox": made}, "_meta": MODERN}
            status, _, body = fleet.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
                                        MCP_Protocol_Version="2026-07-28", Mcp_Param_Sandbox=made)
            assert status == 200 and body["result"]["structuredContent"]["total_lines"] == 6, body
        status, _, body = fleet.ask("POST", "/v1/sandboxes", {"id": "chosen"})
        assert status == 201, body


@test
def a_session_of_mcp_stays_with_its_server(place):
    with Fleet(place) as fleet:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        status, reply, _ = fleet.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        assert status == 200, status
        session = reply.getheader("Mcp-Session-Id")
        found = {fleet.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, Mcp_Session_Id=session)[0]
                 for _ in range(8)}
        assert found == {200}, found


@test
def a_server_that_is_killed(place):
    with Fleet(place) as fleet:
        lost, kept = fleet.one_on("one"), fleet.one_on("two")
        fleet.servers["one"].stop(signal.SIGKILL)
        time.sleep(3)
        status, reply, body = fleet.ask("GET", f"/v1/sandboxes/{lost}")
        assert status == 503 and "does not answer" in json.dumps(body) and reply.getheader("Retry-After") == "5", (status, body)
        assert fleet.ask("GET", f"/v1/sandboxes/{kept}")[0] == 200
        assert all(fleet.new().startswith("two-") for _ in range(6))


@test
def a_server_that_drains(place):
    with Fleet(place) as fleet:
        busy = fleet.one_on("one")

        def work(i):
            if i == 0:
                return fleet.servers["one"].ask("POST", f"/v1/sandboxes/{busy}/execute", {"command": "sleep 6; echo done"})[2]["stdout"]
            time.sleep(1)
            fleet.servers["one"].process.send_signal(signal.SIGTERM)
            time.sleep(3)
            server = fleet.servers["two"]
            direct, server.url = server.url, server.url._replace(netloc=f"127.0.0.1:{fleet.proxy.port}")
            made = [server.ask("POST", "/v1/sandboxes", {}) for _ in range(6)]
            server.url = direct
            return [(status, body.get("id", "")[:4]) for status, _, body in made]
        results = at_once(2, work)
        assert results == ["done\n", [(201, "two-")] * 6], results


@test
def the_list_changes_without_a_lost_connection(place):
    with Fleet(place) as fleet:
        made = fleet.one_on("two")

        def work(i):
            if i == 0:
                return [fleet.servers["two"].ask("POST", f"/v1/sandboxes/{made}/execute", {"command": "sleep 0.2; echo x"})[0]
                        for _ in range(15)]
            time.sleep(0.5)
            fleet.proxy.configure({"two": direct})
            fleet.proxy.process.send_signal(signal.SIGUSR2)
            return None
        server = fleet.servers["two"]
        direct, server.url = server.url, server.url._replace(netloc=f"127.0.0.1:{fleet.proxy.port}")
        results = at_once(2, work)
        assert results[0] == [200] * 15, results
        server.url = direct
        assert fleet.new().startswith("two-")


if __name__ == "__main__":
    if not shutil.which("haproxy"):
        print("1..0 # skip needs: haproxy")
        sys.exit(0)
    sys.exit(main())
