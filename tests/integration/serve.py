#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock serve`: routes, tokens, quotas, files, what it refuses, and what survives it. Prints TAP.

    serve.py BUILD
"""
import hashlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import main, test  # noqa: E402
from serve_client import Server, at_once  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bindings/python"))
sys.dont_write_bytecode = True
os.environ["AIRLOCK_LIBRARY"] = "/nothing"  # a remote sandbox needs none
from airlock import BlockedError, ConflictError, InvalidError, NotFoundError  # noqa: E402
from airlock.deepagents import AirlockBackend  # noqa: E402
from airlock.remote import Sandbox  # noqa: E402


def eventually(function, seconds=10):
    end = time.monotonic() + seconds
    while not function() and time.monotonic() < end:
        time.sleep(0.05)
    return function()


def code_of(body):
    return body["error"]["code"]


@test
def a_sandbox_from_its_making_to_its_deletion(place):
    with Server(place) as server:
        status, _, body = server.ask("POST", "/v1/sandboxes", {"id": "a"})
        assert status == 201 and body["id"] == "a", body
        made = server.new()
        assert made.startswith("here-"), made
        assert server.ask("POST", "/v1/sandboxes", {"id": "a"})[0] == 409
        result = server.execute("a", "echo out; echo err >&2; echo x >/made; pwd; exit 3")
        assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n/\n", "err\n", 3), result
        assert result["isolation"]["filesystem"] == "enforced" and result["isolation"]["network"] == "blocked", result
        assert server.ask("GET", "/v1/sandboxes/a/files/made")[2] == b"x\n"
        assert list(Path(place.env["HOME"]).glob(".local/state/airlock/sessions/*"))
        status, _, body = server.ask("GET", "/v1/sandboxes")
        assert status == 200 and sorted(s["id"] for s in body["sandboxes"]) == sorted(["a", made]), body
        assert server.ask("GET", "/v1/sandboxes/a")[2]["id"] == "a"
        assert server.ask("DELETE", "/v1/sandboxes/a")[0] == 204
        assert server.ask("DELETE", "/v1/sandboxes/a")[0] == 404
        status, _, body = server.ask("POST", "/v1/sandboxes/a/execute", {"command": "true"})
        assert status == 404 and code_of(body) == "not_found", body
        deleted = place.top / "workspaces"
        for _ in range(100):
            if not list(deleted.glob(".deleted-*")):
                break
            time.sleep(0.05)
        assert not list(deleted.glob(".deleted-*"))
        assert not list(Path(place.env["HOME"]).glob(".local/state/airlock/sessions/*")), "its session went with it"


@test
def commands_of_a_sandbox_share_its_files_and_tmp(place):
    with Server(place) as server:
        server.new("a")
        server.execute("a", "echo f >/file; echo t >/tmp/x")
        assert server.execute("a", "cat /file /tmp/x")["stdout"] == "f\nt\n"
        server.new("b")
        assert server.execute("b", "cat /file /tmp/x")["exit_code"] == 1


@test
def what_is_asked_for_wrongly_is_refused(place):
    with Server(place) as server:
        for body in ({"id": 7}, {"id": ""}, {"id": "a/b"}, {"id": "../x"}, {"id": ".x"}, {"id": "x" * 129}, {"id": "a\nb"},
                     {"limits": {"cpu": 1}}, {"limits": {"memory": "lots"}}, {"limits": {"pids": 0}}, {"limits": []},
                     {"profile": "nonsense"}, {"hosts": "x"}, {"hosts": ["a..b"]}, {"other": 1}, [], "x"):
            status, _, reply = server.ask("POST", "/v1/sandboxes", body if body != "x" else '"x"')
            assert status == 400 and "error" in reply, (body, status, reply)
        assert server.ask("GET", "/v1/sandboxes")[2] == {"sandboxes": []}
        server.new("a")
        for body in ({}, {"command": 1}, {"command": "true", "timeout": -1}, {"command": "true", "other": 1},
                     {"command": "true", "working_dir": 1}):
            assert server.ask("POST", "/v1/sandboxes/a/execute", body)[0] == 400, body
        assert server.ask("POST", "/v1/sandboxes/a/execute", "{nonsense")[0] == 400
        assert server.ask("POST", "/v1/sandboxes/a/execute", {"command": "true", "working_dir": "/none"})[0] in (400, 404)
        assert server.ask("GET", "/v1/other")[0] == 404
        assert server.ask("PATCH", "/v1/sandboxes")[0] == 405
        assert server.ask("POST", "/v1/sandboxes", " " * (2 << 20))[0] == 413
        assert server.execute("a", "echo alive")["stdout"] == "alive\n"


@test
def limits_of_a_sandbox_hold(place):
    with Server(place) as server:
        server.new("a", limits={"timeout": 0.5, "pids": 20, "disk": "1M"})
        assert server.execute("a", "sleep 30", timeout=20)["status"] == "timeout"
        result = server.execute("a", "dd if=/dev/zero of=/big bs=1M count=5")
        assert result["exit_code"] != 0, result
        assert (place.top / "workspaces/one/a/files/big").stat().st_size <= 1 << 20
        assert server.ask("PUT", "/v1/sandboxes/a/files/large", b"x" * (2 << 20))[0] == 507
        assert server.ask("GET", "/v1/sandboxes/a/files/large")[0] == 404
        for _ in range(50):
            status = server.ask("POST", "/v1/sandboxes/a/execute", {"command": "true"})[0]
            if status == 507:
                break
            time.sleep(0.1)
        assert status == 507, status
        assert server.ask("DELETE", "/v1/sandboxes/a/files/big")[0] == 204


@test
def files_stream_both_ways(place):
    content = os.urandom(1 << 20) * 40
    with Server(place) as server:
        server.new("a")
        assert server.ask("PUT", "/v1/sandboxes/a/files/d/e/f", content)[0] == 201
        assert server.ask("PUT", "/v1/sandboxes/a/files/d/e/f", content)[0] == 204
        status, reply, got = server.ask("GET", "/v1/sandboxes/a/files/d/e/f")
        assert status == 200 and hashlib.sha256(got).digest() == hashlib.sha256(content).digest()
        assert reply.getheader("Content-Length") == str(len(content))
        status, reply, got = server.ask("GET", "/v1/sandboxes/a/files/d/e/f", Range="bytes=10-19")
        assert status == 206 and got == content[10:20], (status, got)
        assert server.ask("GET", "/v1/sandboxes/a/files/d/e/f", Range="bytes=99999999-")[0] == 416
        peak = int(next(line for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
                        if line.startswith("VmHWM")).split()[1])
        assert peak < 32 << 10, f"{peak} KB for a file of 40 MB"
        entries = server.ask("GET", "/v1/sandboxes/a/list/d/e")[2]["entries"]
        assert [e["path"] for e in entries] == ["/d/e/f"] and entries[0]["size"] == len(content), entries
        assert server.ask("GET", "/v1/sandboxes/a/files/d")[0] == 400
        assert server.ask("DELETE", "/v1/sandboxes/a/files/d")[0] == 204
        assert server.ask("GET", "/v1/sandboxes/a/list/d")[0] == 404
        odd = "%20%C3%A4%22%0A%FF"
        assert server.ask("PUT", f"/v1/sandboxes/a/files/{odd}", b"odd")[0] == 201
        assert server.ask("GET", f"/v1/sandboxes/a/files/{odd}")[2] == b"odd"


@test
def an_upload_that_breaks_off_leaves_nothing(place):
    with Server(place) as server:
        server.new("a")
        server.ask("PUT", "/v1/sandboxes/a/files/x", b"old")
        with socket.create_connection((server.url.hostname, server.url.port)) as s:
            s.sendall(f"PUT /v1/sandboxes/a/files/x HTTP/1.1\r\nHost: {server.url.netloc}\r\nAuthorization: Bearer "
                      f"{server.token}\r\nContent-Length: 100000\r\n\r\n".encode() + b"new" * 1000)
            time.sleep(0.2)
        time.sleep(0.2)
        assert server.ask("GET", "/v1/sandboxes/a/files/x")[2] == b"old"
        assert [p.name for p in (place.top / "workspaces/one/a/files").iterdir()] == ["x"]


@test
def no_path_leads_out(place):
    secret = place.top / "secret"
    secret.write_text("secret\n")
    with Server(place) as server:
        server.new("a")
        server.execute("a", f"ln -s {secret} /link; ln -s ../../../../secret /up; ln -s / /root; mkfifo /fifo; ln -s {place.top} /dir")
        for path in ("../sandbox.json", "..%2fsandbox.json", "%2e%2e/sandbox.json", "link", "up", "dir/secret",
                     f"root/{secret}", "../../../../../../etc/passwd", "fifo"):
            status, _, body = server.ask("GET", f"/v1/sandboxes/a/files/{path}")
            assert status in (400, 403, 404) and "error" in body, (path, status, body)
            if path != "fifo":
                status, _, body = server.ask("PUT", f"/v1/sandboxes/a/files/{path}x", b"mine")
                assert status in (201, 204, 400, 403, 404), (path, status, body)
        for path in ("link", "dir/secret"):
            assert server.ask("PUT", f"/v1/sandboxes/a/files/{path}", b"mine")[0] in (400, 403, 404), path
        assert secret.read_text() == "secret\n" and not (place.top / "secretx").exists()
        assert server.ask("DELETE", "/v1/sandboxes/a/files/dir")[0] == 204 and secret.exists()
        assert server.ask("DELETE", "/v1/sandboxes/a/files/")[0] in (400, 403)
        for name in ("a%2f..%2fa", "..", "%2e%2e", "a%00", ".%2fa", "A"):
            assert server.ask("GET", f"/v1/sandboxes/{name}")[0] in (400, 404), name
        assert server.ask("GET", "/v1/sandboxes/a")[0] == 200


@test
def output_comes_as_events(place):
    with Server(place) as server:
        server.new("a")
        begun, seen = time.monotonic(), []
        for event, data in server.events("a", "echo one; sleep 0.6; echo two >&2; printf 'a\\r\\nb\\377'; exit 4"):
            seen.append((event, data))
            if len(seen) == 1:
                assert time.monotonic() - begun < 0.55, "the first output came with the last"
        assert seen[0] == ("stdout", "one\n") and ("stderr", "two\n") in seen, seen
        assert "".join(data for event, data in seen if event == "stdout") == "one\na\nb\ufffd", seen
        assert seen[-1][0] == "result" and json.loads(seen[-1][1])["exit_code"] == 4, seen
        total = sum(len(data) for event, data in server.events("a", "head -c 3000000 /dev/zero | tr '\\0' x") if event == "stdout")
        assert total == 3000000, total


@test
def a_client_that_hangs_up_ends_its_command(place):
    with Server(place) as server:
        server.new("a")
        with socket.create_connection((server.url.hostname, server.url.port)) as s:
            body = b'{"command": "echo here >/here; sleep 987"}'
            s.sendall(f"POST /v1/sandboxes/a/execute HTTP/1.1\r\nHost: {server.url.netloc}\r\nAuthorization: Bearer "
                      f"{server.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            for _ in range(200):
                if server.ask("GET", "/v1/sandboxes/a/files/here")[0] == 200:
                    break
                time.sleep(0.05)
            assert server.ask("GET", "/v1/sandboxes/a")[2]["running"] == 1
        for _ in range(200):
            if server.ask("GET", "/v1/sandboxes/a")[2]["running"] == 0:
                break
            time.sleep(0.05)
        assert server.ask("GET", "/v1/sandboxes/a")[2]["running"] == 0


@test
def a_token_is_needed_and_sees_its_own_only(place):
    server = Server(place)
    other = server.new_token("two")
    with server:
        server.new("a")
        server.execute("a", "echo one >/f")
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {server.token}"},
                        {"Authorization": "Bearer "}, {"Authorization": f"Bearer {server.token}x"}):
            for method, path in (("GET", "/v1/sandboxes"), ("GET", "/v1/sandboxes/a/files/f"), ("GET", "/metrics"),
                                 ("POST", "/mcp"), ("GET", "/nothing")):
                own = server.connect()
                own.request(method, path, None, headers)
                reply = own.getresponse()
                assert reply.status == 401 and "error" in json.loads(reply.read()), (headers, path, reply.status)
        assert server.ask("GET", "/healthz", token="wrong")[0] == 200 and server.ask("GET", "/readyz", token="wrong")[0] == 200
        assert server.ask("GET", "/v1/sandboxes", token=other)[2] == {"sandboxes": []}
        mine, none = (server.ask("GET", f"/v1/sandboxes/{name}/files/f", token=other) for name in ("a", "nothing"))
        assert mine[0] == none[0] == 404
        assert json.dumps(mine[2]).replace('"a"', '"X"') == json.dumps(none[2]).replace('"nothing"', '"X"')
        server.new("a", token=other)
        assert server.execute("a", "cat /f", token=other)["exit_code"] == 1
        assert server.ask("DELETE", "/v1/sandboxes/a", token=other)[0] == 204
        assert server.execute("a", "cat /f")["stdout"] == "one\n"


@test
def quotas_of_a_token(place):
    server = Server(place, "--max-sandboxes", "3")
    secret = "s" * 20
    server.file.write_text(server.file.read_text() + f'''
[[token]]
name = "small"
sha256 = "{hashlib.sha256(secret.encode()).hexdigest().upper()}"
max_sandboxes = 1
memory = "64M"
disk = "1M"
requests_per_minute = 8
''')
    with server:
        server.new("a", token=secret)
        assert server.ask("POST", "/v1/sandboxes", {"id": "b"}, secret)[0] == 429
        assert server.ask("POST", "/v1/sandboxes", {"id": "c", "limits": {"memory": "128M"}}, secret)[0] == 403
        assert server.ask("PUT", "/v1/sandboxes/a/files/f", b"x" * (2 << 20), secret)[0] == 507
        statuses = [server.ask("GET", "/v1/sandboxes", token=secret)[0] for _ in range(6)]
        assert statuses[:4] == [200] * 4 and statuses[4:] == [429] * 2, statuses
        assert server.ask("GET", "/v1/sandboxes")[0] == 200, "another token is not held up"
        server.new("x"), server.new("y")
        assert server.ask("POST", "/v1/sandboxes", {"id": "z"})[0] == 503
        text = server.ask("GET", "/metrics")[2].decode()
        assert 'airlock_quota_hits_total{quota="requests"} 2' in text and 'quota="disk"} 1' in text, text


@test
def tokens_are_read_again_on_sighup(place):
    with Server(place) as server:
        later = server.new_token("later")
        assert server.ask("GET", "/v1/sandboxes", token=later)[0] == 401
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert server.ask("GET", "/v1/sandboxes", token=later)[0] == 200
        server.file.write_text("[[token]]\nname = 1\n")
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert server.ask("GET", "/v1/sandboxes")[0] == 200, "a broken file changes nothing"
        done = place.airlock("serve", "--new-token", "x", "--token-file", str(server.file))
        assert done.returncode == 125 and "name" in done.stderr, done


@test
def who_may_not_talk_to_it(place):
    with Server(place) as server:
        for name, value in (("Host", "evil.example"), ("Host", "localhost:1"), ("Origin", "http://evil.example"),
                            ("Origin", "null")):
            own = server.connect()
            own.putrequest("GET", "/v1/sandboxes", skip_host=name == "Host")
            own.putheader(name, value)
            own.putheader("Authorization", f"Bearer {server.token}")
            own.endheaders()
            assert own.getresponse().status == 403, (name, value)
        assert server.ask("GET", "/v1/sandboxes", Origin=f"http://{server.url.netloc}")[0] == 200
    for address in ("0.0.0.0:0", "[::]:0"):
        done = place.airlock("serve", "--listen", address, "--token-file", str(server.file))
        assert done.returncode == 2 and "tls-cert" in done.stderr, done
    with Server(place, "--behind-proxy", listen="0.0.0.0:0") as open_server:
        open_server.token = server.token
        assert open_server.ask("GET", "/v1/sandboxes", Host="any.example")[0] == 200


@test
def two_requests_never_hide_in_one(place):
    with Server(place) as server:
        head = f"Host: {server.url.netloc}\r\nAuthorization: Bearer {server.token}\r\n"
        inner = f"GET /v1/sandboxes HTTP/1.1\r\n{head}\r\n"
        for extra in (f"Content-Length: 0\r\nContent-Length: {len(inner)}\r\n",
                      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: xchunked\r\n",
                      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", f"{head}"):
            got = server.raw(f"POST /v1/sandboxes HTTP/1.1\r\n{head}{extra}\r\n{inner}".encode(), 2)
            assert got.startswith((b"HTTP/1.1 400", b"HTTP/1.1 411", b"HTTP/1.1 501")) and got.count(b"HTTP/1.1 ") == 1, (extra, got)
        assert server.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200000 + b"\r\n\r\n", 2)[9:12] in (b"431", b"413", b"400", b"")
        piped = f"GET /healthz HTTP/1.1\r\nHost: {server.url.netloc}\r\n\r\n".encode() * 5
        assert server.raw(piped, 1).count(b"HTTP/1.1 200") == 5
        assert server.ask("GET", "/healthz")[0] == 200


@test
def everything_is_there_after_a_kill(place):
    with Server(place) as server:
        server.new("a", limits={"timeout": 7}, profile="strict")
        server.ask("PUT", "/v1/sandboxes/a/files/f", b"kept")
        with socket.create_connection((server.url.hostname, server.url.port)) as s:
            body = b'{"command": "echo here >/here; exec sleep 98765"}'
            s.sendall(f"POST /v1/sandboxes/a/execute HTTP/1.1\r\nHost: {server.url.netloc}\r\nAuthorization: Bearer "
                      f"{server.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            for _ in range(200):
                if server.ask("GET", "/v1/sandboxes/a/files/here")[0] == 200:
                    break
                time.sleep(0.05)
            server.restart()
        assert server.ask("GET", "/v1/sandboxes/a/files/f")[2] == b"kept"
        shown = server.ask("GET", "/v1/sandboxes/a")[2]
        assert shown["profile"] == "strict" and shown["limits"] == {"timeout": 7.0}, shown
        assert server.execute("a", "cat /f")["stdout"] == "kept"
        mine = str(place.top).encode()
        for _ in range(100):
            left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _has(p, b"98765", mine)]
            if not left:
                break
            time.sleep(0.05)
        assert not left, left


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _has(path, word, _):
    try:
        return path.read_bytes() == b"sleep\0" + word + b"\0"
    except OSError:
        return False


@test
def sigterm_lets_commands_end(place):
    with Server(place, "--drain", "20s") as server:
        server.new("a")
        results = at_once(2, lambda i: server.execute("a", "echo begun >/begun; sleep 1.5; echo done") if i == 0 else _drain(server))
        assert not isinstance(results[0], Exception) and results[0]["stdout"] == "done\n", results
        assert results[1] == (503, 503, 200), results
        assert server.process.wait(10) == 0


def _drain(server):
    for _ in range(200):
        if server.ask("GET", "/v1/sandboxes/a/files/begun")[0] == 200:
            break
        time.sleep(0.05)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    return (server.ask("GET", "/readyz")[0], server.ask("POST", "/v1/sandboxes", {})[0], server.ask("GET", "/healthz")[0])


@test
def the_routes_of_agent_sandbox(place):
    with Server(place, "--single") as server:
        assert server.ask("POST", "/execute", {"command": "echo $((6 * 7)); exit 2"})[2] == {"stdout": "42\n", "stderr": "", "exit_code": 2}
        body = b'--border\r\nContent-Disposition: form-data; name="file"; filename="d/up.txt"\r\n\r\n' + b"content" * 9000 + b"\r\n--border--\r\n"
        status, _, reply = server.ask("POST", "/upload", body, Content_Type="multipart/form-data; boundary=border")
        assert status == 200 and "message" in reply, (status, reply)
        assert server.ask("GET", "/download/d%2Fup.txt")[2] == b"content" * 9000
        entries = server.ask("GET", "/list/d")[2]
        assert [(e["name"], e["size"], e["type"]) for e in entries] == [("up.txt", 63000, "file")], entries
        assert server.ask("GET", "/exists/d/up.txt")[2] == {"path": "d/up.txt", "exists": True}
        assert server.ask("GET", "/exists/nothing")[2]["exists"] is False
        assert server.ask("GET", "/download/nothing")[0] == 404
        assert server.ask("POST", "/execute", {"command": "true"}, token="wrong")[0] == 401
        bad = body.replace(b"d/up.txt", b"../../out")
        assert server.ask("POST", "/upload", bad, Content_Type="multipart/form-data; boundary=border")[0] in (400, 403)


@test
def metrics_and_audit(place):
    audit = place.top / "audit"
    with Server(place, "--audit", str(audit), "--open-metrics") as server:
        server.new("a")
        server.execute("a", "true")
        text = server.ask("GET", "/metrics", token="wrong")[2].decode()
        assert 'airlock_runs_total{status="exited"} 1' in text and "airlock_run_seconds_count 1" in text, text
        lines = [json.loads(line) for line in audit.read_text().splitlines()]
        assert [(l["token"], l["action"], l["sandbox"], l["status"]) for l in lines] == [
            ("one", "create", "a", 201), ("one", "execute", "a", 200)], lines


@test
def idle_sandboxes_rest_and_old_ones_go(place):
    with Server(place, "--idle", "1s") as server:
        server.new("a")
        server.execute("a", "echo t >/tmp/t; echo f >/f")
        for _ in range(100):
            if not server.ask("GET", "/v1/sandboxes")[2]["sandboxes"][0]["awake"]:
                break
            time.sleep(0.1)
        assert server.execute("a", "cat /f; cat /tmp/t")["stdout"] == "f\n"


MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def mcp(server, method, params, token=None, **headers):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return server.ask("POST", "/mcp", message, token, Accept="application/json, text/event-stream",
                      Content_Type="application/json", **headers)


def call(server, tool, token=None, sandbox_header=None, **arguments):
    headers = {"Mcp_Param_Sandbox": sandbox_header} if sandbox_header else {}
    return mcp(server, "tools/call", {"name": tool, "arguments": arguments, "_meta": MODERN}, token,
               MCP_Protocol_Version="2026-07-28", **headers)


@test
def mount_points_stay_while_it_is_awake_and_are_not_files(place):
    files = place.top / "workspaces" / "one" / "a" / "files"
    with Server(place, "--idle", "1s") as server:
        server.new("a")
        server.execute("a", "echo f >/f")
        made = (files / "usr").stat()
        assert server.execute("a", "ls -d /usr/bin")["exit_code"] == 0
        assert (files / "usr").stat().st_ino == made.st_ino
        names = [e["path"] for e in server.ask("GET", "/v1/sandboxes/a/list")[2]["entries"]]
        assert names == ["/f"], names
        found = call(server, "glob", pattern="*", sandbox="a")[2]["result"]["structuredContent"]
        assert "/usr" not in json.dumps(found) and "/f" in json.dumps(found), found
        assert eventually(lambda: sorted(os.listdir(files)) == ["f"]), os.listdir(files)
        server.execute("a", "true")
        assert (files / "usr").is_dir()
        server.restart()  # killed: the next one removes them
        assert eventually(lambda: sorted(os.listdir(files)) == ["f"]), os.listdir(files)
        server.execute("a", "true")
        server.stop()
        assert sorted(os.listdir(files)) == ["f"], os.listdir(files)


VIEW = """sed 's/^[0-9]* [0-9]* [0-9:]* //' /proc/self/mountinfo; grep -E 'Cap|NoNew|Seccomp|Uid|Gid|Groups' /proc/self/status
ls -a / /dev /etc; ulimit -a; pwd; umask; env; for n in user pid net ipc uts; do readlink /proc/self/ns/$n; done; ls /proc/self/fd"""


@test
def commands_share_mounts_that_none_of_them_can_change(place):
    files = place.top / "workspaces" / "one" / "a" / "files"
    with Server(place) as server:
        server.new("a")
        own = server.execute("a", VIEW)["stdout"]  # the first has mounts of its own
        spaces = [server.execute("a", "readlink /proc/self/ns/mnt")["stdout"] for _ in range(3)]
        told = call(server, "run_command", command="readlink /proc/self/ns/mnt", sandbox="a")[2]["result"]["structuredContent"]
        spaces.append(told["stdout"])
        assert len(set(spaces)) == 1, spaces
        assert server.execute("a", VIEW)["stdout"] == own
        tried = "umount /usr; umount -l /proc; mount -t tmpfs x /tmp; mv /usr /u; rmdir /usr; touch /usr/x /etc/x; true"
        server.execute("a", tried)
        assert server.execute("a", VIEW)["stdout"] == own
        assert server.ask("DELETE", "/v1/sandboxes/a/files/usr")[0] == 204  # takes the mount on it away
        assert server.execute("a", VIEW)["stdout"] == own
        before = (files / "usr").stat().st_ino
        (files / "usr").rename(files / "elsewhere")
        assert server.execute("a", VIEW.replace("ls -a /", "ls -aI elsewhere /"))["stdout"] == own
        assert (files / "usr").stat().st_ino != before
        server.restart()
        assert server.execute("a", "ls -d /usr/bin")["exit_code"] == 0
        assert server.execute("a", "ls -d /usr/bin")["exit_code"] == 0


@test
def what_goes_on_in_the_background(place):
    """A server that one command starts and the next one uses; it ends with rest and deletion, and by the quota of disk."""
    fetch = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8099/f').read().decode())\""
    serve = "echo hello >/f; cd /; python3 -m http.server {} >/log 2>&1 & echo started"
    mark = str(os.getpid() % 50000 + 10000)  # a port, and how the processes of this test are told from others
    with Server(place, "--idle", "2s") as server:
        for name, port in (("a", "8099"), ("b", mark)):
            server.new(name)
            result = server.execute(name, serve.format(port))
            assert result["stdout"] == "started\n" and result["background"] == 1, result
        assert eventually(lambda: server.execute("a", fetch)["stdout"] == "hello\n\n")
        assert call(server, "run_command", command=fetch, sandbox="a")[2]["result"]["structuredContent"]["stdout"] == "hello\n\n"
        assert server.execute("a", "ps -e -o args | grep -c '[h]ttp.server'")["stdout"] == "1\n"
        assert server.ask("DELETE", "/v1/sandboxes/b")[0] == 204
        assert not any(b"http.server\0" + mark.encode() in _bytes(p) for p in Path("/proc").glob("[0-9]*/cmdline"))
        server.new("c", limits={"disk": "1M"})
        grow = "i=0; while :; do head -c 300000 /dev/zero >/big$i; i=$((i+1)); sleep 0.2; done"
        status, _, body = call(server, "run_command", command=f"({grow}) >/dev/null 2>&1 & echo on", sandbox="c")
        assert status == 200 and body["result"]["structuredContent"]["stdout"] == "on\n", body

        def rests(name):
            return not next(b["awake"] for b in server.ask("GET", "/v1/sandboxes")[2]["sandboxes"] if b["id"] == name)
        assert eventually(lambda: rests("c")), "over its quota"
        assert call(server, "run_command", command="true", sandbox="c")[0] == 507
        assert server.ask("POST", "/v1/sandboxes/c/execute", {"command": "true"})[0] == 507
        used = sum(p.stat().st_size for p in (place.top / "workspaces/one/c/files").glob("big*"))
        assert used < 10 << 20, used
        assert eventually(lambda: rests("a")), "idle"
        assert server.execute("a", fetch)["exit_code"] != 0 and server.execute("a", "cat /f")["stdout"] == "hello\n"


@test
def mcp_with_sessions(place):
    server = Server(place)
    other = server.new_token("two")
    with server:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        status, reply, body = mcp(server, "initialize", hello)
        session = reply.getheader("Mcp-Session-Id")
        assert status == 200 and session and body["result"]["protocolVersion"] == "2025-11-25", body
        tools = mcp(server, "tools/list", {}, Mcp_Session_Id=session)[2]["result"]["tools"]
        assert all("sandbox" in tool["inputSchema"]["properties"] for tool in tools), tools
        status, _, body = mcp(server, "tools/call", {"name": "run_command", "arguments": {"command": "echo x >/f; pwd"}},
                              Mcp_Session_Id=session)
        assert status == 200 and body["result"]["structuredContent"]["stdout"] == "/\n", body
        status, reply, body = mcp(server, "tools/call", {"name": "run_command", "arguments": {"command": "sleep 2.5"},
                                                         "_meta": {"progressToken": 7}}, Mcp_Session_Id=session)
        assert status == 200 and reply.getheader("Content-Type") == "text/event-stream" and b'"progressToken":7' in body, body
        assert mcp(server, "tools/list", {}, other, Mcp_Session_Id=session)[0] == 404, "another token's session"
        assert mcp(server, "tools/list", {})[0] == 400
        assert server.ask("GET", "/mcp")[0] == 405
        assert server.ask("DELETE", "/mcp", None, other, Mcp_Session_Id=session)[0] == 404
        assert server.ask("DELETE", "/mcp", Mcp_Session_Id=session)[0] == 204
        assert mcp(server, "tools/list", {}, Mcp_Session_Id=session)[0] == 404


@test
def mcp_without_sessions(place):
    server = Server(place)
    other = server.new_token("two")
    with server:
        server.new("a")
        assert call(server, "write_file", path="/f", content="mine", sandbox="a")[0] == 200
        assert server.ask("GET", "/v1/sandboxes/a/files/f")[2] == b"mine"
        body = call(server, "read_file", sandbox_header="a", path="/f")[2]
        assert body["result"]["structuredContent"]["content"] == "mine", body
        body = call(server, "run_command", command="cat /f || echo none")[2]
        assert body["result"]["structuredContent"]["stdout"] == "none\n", "the default one is another"
        assert call(server, "read_file", sandbox_header="b", path="/f", sandbox="a")[0] == 400
        assert call(server, "read_file", token=other, path="/f", sandbox="a")[0] == 404
        assert call(server, "run_command", command="true", sandbox="../one/a")[0] == 404
        assert call(server, "run_command", command="true", sandbox=7)[0] == 400
        assert mcp(server, "tools/list", {"_meta": MODERN}, MCP_Protocol_Version="2025-06-18")[0] == 400
        assert mcp(server, "nothing", {"_meta": MODERN}, MCP_Protocol_Version="2026-07-28")[0] == 404
        assert server.ask("POST", "/mcp", "{nonsense")[0] == 400 and server.ask("POST", "/mcp", "[]")[0] == 400
        body = call(server, "run_command", command="true", allow_write=["/etc"], sandbox="a")[2]
        assert body["result"]["isError"], body
        results = at_once(12, lambda i: call(server, "run_command", command=f"echo {i}; sleep 0.2", sandbox="a")[2])
        assert [r["result"]["structuredContent"]["stdout"] for r in results] == [f"{i}\n" for i in range(12)], results


def raises(kind, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")


@test
def the_python_class_of_a_remote_sandbox(place):
    with Server(place) as server:
        url = server.url.geturl()
        with Sandbox(url, server.token, "a", limits={"timeout": 20}) as box:
            assert box.write("/d/f.txt", "one\ntwo\nthree\n").action == "created"
            assert box.execute("cat d/f.txt | wc -l").stdout.strip() == "3"
            assert box.execute(["printf", "%s", "it's"]).stdout == "it's"
            part = box.read("/d/f.txt", 1, 1)
            assert (part.text, part.start_line, part.total_lines, part.next_offset) == ("two\n", 2, 3, 2), part
            assert box.edit("/d/f.txt", "two", "2").count == 1 and box.read("d/f.txt").text == "one\n2\nthree\n"
            raises(NotFoundError, box.edit, "/d/f.txt", "missing", "x")
            assert [e.path for e in box.ls("/d")] == ["/d/f.txt"] and [e.path for e in box.glob("*.txt")] == ["/d/f.txt"]
            assert [(m.path, m.line) for m in box.grep("three")] == [("/d/f.txt", 3)]
            assert box.write("/big", (b"x" * 100000 for _ in range(30))).count == 3000000
            with box.open("/big") as file:
                assert sum(len(piece) for piece in iter(lambda: file.read(65536), b"")) == 3000000
            seen = []
            result = box.execute("echo 1; sleep 0.1; echo 2", on_output=lambda stream, text: seen.append((stream, text)))
            assert result.stdout == "1\n2\n" and "".join(text for _, text in seen) == "1\n2\n", seen
            box.delete("/d")
            raises(NotFoundError, box.read, "/d/f.txt")
            raises(BlockedError, box.read, "../sandbox.json")
            raises(InvalidError, Sandbox, url, server.token, "b/c")
            again = Sandbox(url, server.token, "a")
            assert again.info()["id"] == "a" and again.execute("ls big").ok
            backend = AirlockBackend(sandbox=again)
            assert backend.execute("echo $((6*7))").output == "42\n"
            assert backend.upload_files([("/up", b"data")])[0].error is None
            assert backend.download_files(["/up"])[0].content == b"data"
            box.remove()
            raises(NotFoundError, again.info)
            assert ConflictError.code == "conflict"


if __name__ == "__main__":
    sys.exit(main())
