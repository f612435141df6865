#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock ui`: who is let in, what the page is given, and what it can do. Prints TAP. What it looks like is tried by `make pages`.

    ui.py BUILD
"""
import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ui_world import World, until  # noqa: E402

SCRIPT = "<img src=x onerror=alert(1)>"
TRICKS = "a\u202egnp.exe\u200b\u2066<script>alert(1)<\\script>"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def refuses(reply, *statuses):
    assert reply.status in (statuses or (401, 403)), (reply.status, reply.body)
    assert b"command" not in reply.body and b"runs" not in reply.body, reply.body


# ── Who is let in ──

@test
def only_the_token_lets_in_and_only_once_it_is_exchanged(world):
    world.held("echo x >a")
    with world.ui() as ui:
        assert ui.raw("GET", "/").status == 200  # the shell holds no data
        assert b"project" not in ui.raw("GET", "/").body
        for path in ("/ui/overview", "/ui/run/last", "/ui/events", "/ui/diff?run=x&path=/y", "/healthz", "/metrics", "/v1/sandboxes", "/nothing"):
            refuses(ui.raw("GET", path), 401)
            refuses(ui.raw("GET", path, {"Authorization": "Bearer " + ui.token}), 401)
        refuses(ui.login("0" * 64), 401)
        refuses(ui.login(ui.token[:-1]), 401)
        reply = ui.login()
        assert reply.status == 200
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            assert word in reply.headers["set-cookie"], reply.headers
        # Each of the two alone is worth nothing: cookies go to every port of this machine.
        refuses(ui.raw("GET", "/ui/overview", {"Cookie": ui.cookie}), 401)
        refuses(ui.raw("GET", "/ui/overview", {"Airlock-Key": ui.key}), 401)
        refuses(ui.raw("GET", "/ui/overview", {"Cookie": ui.cookie, "Airlock-Key": "0" * 64}), 401)
        assert ui.get("/ui/overview").status == 200
        assert ui.get("/nothing").status == 404


@test
def another_host_name_or_origin_is_refused_on_every_route(world):
    with world.ui() as ui:
        mine = ui.credentials()
        for path in ("/", "/page/main.js", "/ui/overview", "/ui/events"):
            for host in ("evil.test", f"evil.test:{ui.port}", f"127.0.0.1.evil.test:{ui.port}", "127.0.0.1:1", "", None):
                refuses(ui.raw("GET", path, mine | {"Host": host}), 400, 403)
            for origin in ("http://evil.test", f"http://127.0.0.1:{ui.port + 1}", f"https://127.0.0.1:{ui.port}", "null", "file://"):
                refuses(ui.raw("GET", path, mine | {"Origin": origin}), 403)
        body = json.dumps({"token": ui.token}).encode()
        refuses(ui.raw("POST", "/ui/login", {"Origin": "http://evil.test"}, body), 403)
        refuses(ui.raw("POST", "/ui/login", {"Sec-Fetch-Site": "cross-site"}, body), 401, 403)
        for site in ("cross-site", "same-site"):
            refuses(ui.raw("GET", "/ui/overview", mine | {"Sec-Fetch-Site": site}), 403)
        assert ui.raw("GET", "/ui/overview", mine | {"Sec-Fetch-Site": "same-origin", "Origin": ui.origin()}).status == 200
        assert ui.raw("GET", "/ui/overview", mine | {"Host": f"localhost:{ui.port}"}).status == 200


@test
def another_user_of_the_machine_is_refused_with_everything_in_hand(world):
    if os.geteuid() != 0:
        # Only root can be somebody else; what an ordinary user can try is that its own connection is let in.
        with world.ui() as ui:
            assert ui.get("/ui/overview").status == 200
        return
    with world.ui() as ui:
        mine = ui.credentials()

        def try_as(uid, path):
            """The status that a process of this user gets."""
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.setgroups([])
                    os.setresgid(65534, 65534, 65534)
                    os.setresuid(uid, uid, uid)
                    with socket.create_connection(("127.0.0.1", ui.port), 10) as s:
                        s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{ui.port}\r\nCookie: {mine['Cookie']}\r\nAirlock-Key: {mine['Airlock-Key']}\r\n\r\n".encode())
                        os.write(write, s.recv(12)[9:12])
                finally:
                    os._exit(0)
            os.close(write)
            os.waitpid(child, 0)
            with os.fdopen(read) as answer:
                return int(answer.read())

        assert try_as(0, "/ui/overview") == 200
        for path in ("/ui/overview", "/ui/events", "/", "/page/main.js"):
            assert try_as(65534, path) == 403, path


@test
def its_files_are_private_and_it_listens_on_loopback_only(world):
    with world.ui() as ui:
        ui.login()
        place = world.home / "state/airlock/ui"
        assert place.stat().st_mode & 0o777 == 0o700
        assert (place / "logins").stat().st_mode & 0o777 == 0o600
        assert ui.token not in (place / "logins").read_text()
        listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        own = [row[1] for row in listening if row[3] == "0A" and row[1].endswith(f":{ui.port:04X}")]
        assert own == [f"0100007F:{ui.port:04X}"], own
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0", "127.0.0.1", "127.0.0.1:99999"):
        done = subprocess.run([world.airlock, "ui", "--no-open", "--listen", address], env=world.env, cwd=world.project, timeout=20, capture_output=True, text=True)
        assert done.returncode in (2, 125) and not done.stdout, (address, done)
    with world.ui("--listen", "127.0.0.1:0") as ui:
        assert ui.get("/ui/overview").status == 200


@test
def an_agent_cannot_start_it(world):
    done = subprocess.run([world.airlock, "ui", "--no-open"], env=world.env | {"AIRLOCK_AGENT": "1"}, cwd=world.project, timeout=20, capture_output=True, text=True)
    assert done.returncode == 125 and not done.stdout, done


@test
def the_browser_is_told_to_run_and_load_nothing_else(world):
    with world.ui() as ui:
        for reply in (ui.raw("GET", "/"), ui.raw("GET", "/page/main.js"), ui.get("/ui/overview"), ui.raw("GET", "/nothing")):
            policy = reply.headers["content-security-policy"]
            for word in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "require-trusted-types-for 'script'"):
                assert word in policy, policy
            assert "unsafe" not in policy and "http" not in policy and "*" not in policy, policy
            assert reply.headers["x-content-type-options"] == "nosniff" and reply.headers["cache-control"] == "no-store"
            assert reply.headers["cross-origin-resource-policy"] == "same-origin" and "access-control-allow-origin" not in reply.headers
        page = ui.raw("GET", "/").body.decode()
        assert "<script>" not in page and " style=" not in page and " on" + "click" not in page and "//" not in page.replace("<!--", "").split("<body>")[0].replace("http-equiv", "")
        names = [part.split('"')[0] for part in page.split('"/page/')[1:]]
        assert names, page
        for name in names:
            assert ui.raw("GET", "/page/" + name).status == 200, name
        for name in ("../ui_main.c", "..%2f..%2fetc%2fpasswd", "%2e%2e/x"):
            assert ui.raw("GET", "/page/" + name).status in (400, 401, 404), name


# ── What it shows ──

@test
def it_gives_what_the_commands_print(world):
    run = world.held("mkdir d; echo x >d/a; ln -s a d/l; echo said; echo wrong >&2")
    world.call("session", "new", "work", "--changes", "hold")
    world.call("run", "--session", "work", "-c", "echo y >b")
    with world.ui() as ui:
        overview = ui.get("/ui/overview").json()
        assert overview["log"] == world.json("log", "--all"), (overview["log"], world.json("log", "--all"))
        listed = [[{k: v for k, v in s.items() if k != "last_used"} for s in l["sessions"]] for l in (overview["sessions"], world.json("session", "list", "--all"))]
        assert listed[0] == listed[1], listed
        shown = ui.get("/ui/run/" + run).json()
        assert shown["show"] == world.json("show", run) and shown["holder"] is None and shown["undone"] == []
        session = ui.get("/ui/session/work", project=str(world.project)).json()
        assert session["show"] | {"last_used": ""} == world.json("session", "show", "work") | {"last_used": ""}
        step = session["show"]["steps"][0]["run"]
        assert ui.get("/ui/run/" + step).json()["holder"] == "work"
        assert ui.get("/ui/output/" + run).body == b"said\n" and ui.get("/ui/output/" + run, stream="stderr").body == b"wrong\n"
        reply = ui.get("/ui/output/" + run, last="3")
        assert reply.body == b"id\n" and reply.headers["airlock-size"] == "5"
        diff = ui.get("/ui/diff", run=run, path=str(world.project / "d/a")).json()
        assert "+x" in diff["lines"] and diff["next"] is None and diff["total"] == len(diff["lines"])
        for wrong in ({"run": "last"}, {"run": "work"}, {"session": "work"}, {"run": run, "session": "work"}, {"session": "../x", "project": "/"}):
            assert ui.get("/ui/diff", path="/x", **wrong).status == 400, wrong
        assert ui.get("/ui/run/20200101-000000.000000-0000").status == 404
        assert ui.get("/ui/session/none", project=str(world.project)).status == 404


@test
def a_long_diff_comes_in_pieces(world):
    (world.project / "long").write_text("".join(f"{i}\n" for i in range(10000)))
    run = world.held("sed -i 's/$/ changed/' long; head -c 100000 /dev/zero | tr '\\0' x >wide")
    with world.ui() as ui:
        lines, at, pieces = [], 0, 0
        while at is not None:
            piece = ui.get("/ui/diff", run=run, path=str(world.project / "long"), **{"from": str(at)}).json()
            lines += piece["lines"]
            at, pieces = piece["next"], pieces + 1
        assert pieces > 5 and len(lines) == piece["total"] > 20000, (pieces, len(lines))
        assert lines == world.call("diff", run, "long").rstrip("\n").split("\n")
        wide = ui.get("/ui/diff", run=run, path=str(world.project / "wide")).json()["lines"]
        assert all(len(line) < 20000 for line in wide) and "bytes more" in wide[-2] + wide[-1], [len(line) for line in wide]


@test
def both_versions_of_a_file_can_be_read(world):
    (world.project / "a").write_bytes(b"\x89PNG before")
    run = world.held("printf '\\211PNG after' >a; echo new >b")
    with world.ui() as ui:
        def content(name, side):
            return ui.get("/ui/content", run=run, path=str(world.project / name), side=side)
        assert content("a", "before").body == b"\x89PNG before" and content("a", "after").body == b"\x89PNG after"
        assert content("b", "before").status == 404 and content("b", "after").body == b"new\n"
        (world.project / "b").write_text("mine\n")
        assert content("b", "project").body == b"mine\n"
        assert content("a", "after").headers["content-type"] == "application/octet-stream"
        for path in ("/etc/passwd", str(world.project / "c"), str(world.project / "../../../etc/passwd")):
            assert ui.get("/ui/content", run=run, path=path, side="project").status == 404, path
        assert ui.post("/ui/apply", run=run, paths=[str(world.project / "a")]).json()["done"] == 1
        assert content("a", "before").body == b"\x89PNG before" and content("a", "after").body == b"\x89PNG after"


@test
def names_and_texts_that_want_to_be_markup_stay_texts(world):
    (world.project / "in").write_text("x\n")
    run = world.held(f"printf '%s\\n' '{TRICKS}' >'{TRICKS}'; printf '\\033]0;owned\\007\\033[2J{SCRIPT}\\n'; printf 'x'  >'{SCRIPT}'")
    (world.project / "bytes").write_text("")
    odd = world.held("printf y >\"$(printf 'not\\377utf8')\"")
    with world.ui() as ui:
        shown = ui.get("/ui/run/" + run)
        assert shown.headers["content-type"] == "application/json"
        paths = {f["path"] for f in shown.json()["show"]["changes"]["files"]}
        assert paths == {TRICKS, SCRIPT}, paths
        output = ui.get("/ui/output/" + run)
        assert output.headers["content-type"] == "application/octet-stream" and b"\x1b[2J" in output.body
        file = ui.get("/ui/run/" + odd).json()["show"]["changes"]["files"][0]
        name = {"root": file["root"], "base64": file["path_base64"]}
        assert base64.b64decode(file["path_base64"]) == b"not\xffutf8"
        assert "+y" in ui.get("/ui/diff", run=odd, **name).json()["lines"]
        assert ui.post("/ui/apply", run=odd, paths=[name]).json()["done"] == 1
        assert os.listdir(os.fsencode(world.project)).count(b"not\xffutf8") == 1


# ── What it does ──

@test
def changes_are_applied_discarded_and_undone(world):
    run = world.held("echo 1 >a; echo 2 >b; echo 3 >c")
    with world.ui() as ui:
        def path(name):
            return str(world.project / name)
        assert ui.post("/ui/apply", run=run, paths=[]).status == 400  # an empty choice is not everything
        assert ui.post("/ui/apply", run=run, paths=["a"]).status == 400
        assert ui.post("/ui/apply", run="last").status == 400
        assert not (world.project / "a").exists()
        assert ui.post("/ui/apply", run=run, paths=[path("a")]).json() == {"done": 1, "action": "apply", "notes": []}
        assert (world.project / "a").read_text() == "1\n" and not (world.project / "b").exists()
        assert ui.post("/ui/discard", run=run, paths=[path("b")]).json()["done"] == 1
        assert ui.post("/ui/undo", run=run).json()["action"] == "undo"
        assert not (world.project / "a").exists()
        assert ui.get("/ui/run/" + run).json()["undone"] == [0]
        assert ui.post("/ui/undo", run=run).json()["action"] == "redo"
        assert (world.project / "a").exists()
        assert ui.post("/ui/apply", run=run).json()["done"] == 1
        states = {f["path"]: f["state"] for f in world.json("changes", run)["files"]}
        assert states == {"a": "applied", "b": "discarded", "c": "applied"}, states


@test
def what_other_programs_obey_is_confirmed_first(world):
    run = world.held("mkdir -p .github/workflows; echo x >.github/workflows/ci.yml; echo y >plain")
    with world.ui() as ui:
        asked = ui.post("/ui/apply", run=run)
        assert asked.status == 409 and asked.json()["error"]["code"] == "confirm", asked.body
        sensitive = asked.json()["sensitive"]
        assert [f["path"] for f in sensitive] == [".github/workflows/ci.yml"] and sensitive[0]["reason"]
        assert ui.post("/ui/apply", run=run, confirmed=["/other"]).status == 409
        assert not (world.project / "plain").exists()
        assert ui.post("/ui/apply", run=run, confirmed=[f["full"] for f in sensitive]).json()["done"] >= 2
        assert (world.project / ".github/workflows/ci.yml").exists()


@test
def a_conflict_is_told_and_resolved(world):
    (world.project / "a").write_text("old\n")
    run = world.held("echo theirs >a")
    time.sleep(0.02)
    (world.project / "a").write_text("mine\n")
    with world.ui() as ui:
        assert ui.post("/ui/apply", run=run).status == 409
        assert (world.project / "a").read_text() == "mine\n"
        assert ui.get("/ui/run/" + run).json()["show"]["changes"]["files"][0]["state"] == "conflict"
        assert "-mine" in ui.get("/ui/diff", run=run, path=str(world.project / "a")).json()["lines"]
        assert ui.post("/ui/apply", run=run, force=True).json()["done"] == 1
        assert (world.project / "a").read_text() == "theirs\n"
        assert ui.post("/ui/undo", run=run).json()["done"] == 1
        assert (world.project / "a").read_text() == "mine\n"


@test
def sessions_are_rewound_forked_merged_and_ended(world):
    for name in ("one", "two"):
        world.call("session", "new", name, "--changes", "hold")
    for command in ("echo 1 >a", "echo 2 >b"):
        world.call("run", "--session", "one", "-c", command)
    world.call("run", "--session", "two", "-c", "echo other >a")
    with world.ui() as ui:
        of = {"session": "one", "project": str(world.project)}
        assert ui.post("/ui/rewind", **of, step=1).status == 200
        assert [f["path"] for f in world.json("changes", "one")["files"]] == ["a"]
        assert ui.post("/ui/rewind", **of, step="1").status == 400
        assert ui.post("/ui/fork", **of, name="three").status == 200 and ui.post("/ui/fork", **of, name="two").status == 409
        refused = ui.post("/ui/merge", **of, into="two")
        assert refused.status == 409 and refused.json()["conflicts"] == ["a"], refused.body
        world.call("session", "new", "four", "--changes", "hold")
        assert ui.post("/ui/merge", **of, into="four").json()["step"] == 1
        assert ui.post("/ui/end", **of).status == 200 and world.json("session", "show", "one")["state"] == "ended"
        assert ui.post("/ui/apply", **of).json()["done"] == 1 and (world.project / "a").read_text() == "1\n"
        assert ui.get("/ui/session/one", project=of["project"]).json()["can_undo"] is True
        assert ui.post("/ui/undo", **of).json()["done"] == 1 and not (world.project / "a").exists()
        assert ui.post("/ui/rewind", run="x", step=0).status == 400


# ── As it happens ──

@test
def questions_come_at_once_and_go_when_anybody_answers(world):
    with world.ui() as ui, ui.events() as event, ui.events() as other:
        assert event("questions") == {"questions": []} and other("questions") == {"questions": []}
        asker = world.ask("echo allowed")
        question = event("questions")["questions"][0]
        assert question == world.json("questions")["questions"][0] and other("questions")["questions"]
        assert ui.post("/ui/answer", id=question["id"], answer="allow_always").status == 400  # not one of its choices
        assert ui.post("/ui/answer", id="none", answer="deny").status == 404
        assert ui.post("/ui/answer", id=question["id"], answer="allow_once").status == 200
        assert event("questions") == {"questions": []} and other("questions") == {"questions": []}
        assert asker.communicate(timeout=30)[0] == "allowed\n"
        assert ui.post("/ui/answer", id=question["id"], answer="deny").status == 409
        second = world.ask("echo no")
        found = event("questions")["questions"][0]["id"]
        world.call("answer", found, "deny")
        assert event("questions") == {"questions": []} and second.wait(30) == 125


@test
def output_comes_while_the_command_runs(world):
    runner = world.start("run", "--json", "-c", "echo first; while [ ! -e go ] && [ ! -e /tmp/go ]; do sleep 0.1; test $((n=n+1)) -gt 20 && break; done; echo last",
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with world.ui() as ui:
        run = until(lambda: next((r["run"] for r in ui.get("/ui/overview").json()["log"]["runs"] if r["status"] == "running"), None))
        with ui.events(run=run, stdout=0, stderr=0) as event:
            piece = event("output")
            assert piece["run"] == run and piece["stream"] == "stdout" and piece["from"] == 0, piece
            assert base64.b64decode(piece["base64"]) == b"first\n" and runner.poll() is None
            told = {}
            while told.keys() != {"output", "changed"}:  # the record may be there before the output was read
                told |= [event(("output", "changed"))]
            piece = told["output"]
            assert base64.b64decode(piece["base64"]) == b"last\n" and piece["from"] == 6, piece
        assert runner.wait(30) == 0
        until(lambda: ui.get("/ui/run/" + run).json()["show"]["status"] == "exited")


@test
def a_restarted_server_has_the_same_address_and_knows_who_was_in(world):
    with world.ui() as ui:
        mine, port, token = ui.credentials(), ui.port, ui.token
        assert ui.stop(signal.SIGKILL) == -9
    with world.ui() as ui:
        assert ui.port == port and ui.token != token
        refuses(ui.raw("POST", "/ui/login", {"Origin": ui.origin()}, json.dumps({"token": token}).encode()), 401)
        assert ui.raw("GET", "/ui/overview", mine).status == 200
        with world.ui() as second:  # both at once: the other one takes another port
            assert second.port != port
        assert ui.stop() == 0


@test
def requests_that_are_no_requests_harm_nobody(world):
    with world.ui() as ui:
        for raw in (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 200000 + b"\r\n\r\n", b"POST /ui/login HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", ui.port), 1) as s:
                try:
                    s.sendall(raw)
                    answer = s.recv(65536)
                except (ConnectionError, TimeoutError):
                    answer = b""
                assert b" 200 " not in answer.split(b"\r\n")[0], (raw[:60], answer)
        for body in (b"{", b"[]", b"\xff", b'{"token": 7}', b'{"token": "' + b"x" * 5000 + b'"}'):
            assert ui.raw("POST", "/ui/login", {"Origin": ui.origin()}, body).status in (400, 401, 413), body[:20]
        assert ui.get("/ui/overview").status == 200 and ui.process.poll() is None


def main():
    build, failed = sys.argv[1], 0
    print(f"1..{len(TESTS)}", flush=True)
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            with World(build) as world:
                function(world)
            print(f"ok {number} {name}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} {name}", flush=True)
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
