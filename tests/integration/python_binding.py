#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python binding as a program would use it: a workspace, a project, threads, and the adapter for deepagents. Prints TAP.

    python_binding.py BUILD
"""
import asyncio
import os
import sys
import tempfile
import threading
import time
import traceback
import types
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
TOP = Path(__file__).resolve().parent.parent.parent
os.environ["AIRLOCK_LIBRARY"] = str(BUILD / "libairlock.so.0")
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "bindings/python"), str(TOP / "tools")]
import airlock  # noqa: E402
import tap  # noqa: E402
from airlock import Sandbox  # noqa: E402

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def raises(kind, function, *args, **options):
    try:
        function(*args, **options)
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")


@test
def the_five_checks_of_a_workspace(ws):
    """write and execute, working directory, ls, which python, network by permission"""
    box = Sandbox(workspace=ws)
    box.write("/test.py", "print('Hello from /')")
    assert "Hello from /" in box.execute("python3 /test.py").output
    assert box.execute("pwd").stdout.strip() == "/"
    assert any(f.path == "/test.py" for f in box.ls("/"))
    (ws / ".venv/bin").mkdir(parents=True)
    (ws / ".venv/bin/python").symlink_to("/usr/bin/python3")
    assert box.execute("which python").stdout.strip() == "/.venv/bin/python"
    raises(airlock.DeniedError, box.execute, "true", network=True)
    assert Sandbox(workspace=ws, yes=True).execute("true", network=True).isolation["network"] == "allowed"


@test
def files(ws):
    """read, write, edit, glob, grep, delete, with typed results"""
    box = Sandbox(workspace=ws)
    assert box.write("a/b.txt", "one\ntwo\nthree").action == "created"
    part = box.read("/a/b.txt", offset=1, limit=1)
    assert (part.text, part.start_line, part.total_lines, part.next_offset) == ("two\n", 2, 3, 2)
    assert box.edit("/a/b.txt", "two", "2").count == 1
    assert [e.path for e in box.glob("*.txt")] == ["/a/b.txt"]
    assert [(m.path, m.line, m.text) for m in box.grep("2")] == [("/a/b.txt", 2, "2")]
    box.write("/bin.dat", b"\0\xff")
    assert box.read("/bin.dat").encoding == "base64" and box.read("/bin.dat").data == b"\0\xff"
    assert box.delete("/a").count == 2
    odd = os.fsdecode(b"/odd\xff")
    box.write(odd, "x")
    assert odd in [e.path for e in box.ls("/")] and box.read(odd).text == "x"


@test
def an_agents_questions(ws):
    """an agent's run waits for a person, who answers with the same module"""
    place = Path(tempfile.mkdtemp(dir=ws))
    project, environ = place / "project", {**os.environ, "HOME": str(place), "AIRLOCK_PERMISSION_WAIT": "30s"}
    for name in [n for n in environ if n.startswith("XDG_")]:
        del environ[name]
    (project / ".git").mkdir(parents=True)
    box, results = Sandbox(project=project, agent="some", environ=environ), []

    def execute(command):
        try:
            results.append(box.execute(command, network=True))
        except airlock.AirlockError as error:
            results.append(error)

    for decision in ("allow_once", "deny"):
        watched = airlock.watch(environ=environ)
        thread = threading.Thread(target=execute, args=("echo x >made",))
        thread.start()
        until = time.monotonic() + 30
        while not (waiting := airlock.questions(environ=environ)):
            assert time.monotonic() < until, "nobody asks"
            time.sleep(0.02)
        (question,) = waiting
        assert question.command == "echo x >made" and question.reasons == ("network",) and question.host is None, question
        assert question.choices == ("allow_once", "deny") and question.asked_by == "some" and question.wait == 30, question
        assert question.project == str(project) and question.paths == () and question.port is None, question
        raises(airlock.InvalidError, airlock.answer, question, "allow_always", environ=environ)
        raises(airlock.DeniedError, airlock.answer, question, "deny", environ={**environ, "AIRLOCK_AGENT": "1"})
        raises(ValueError, airlock.answer, question, "perhaps", environ=environ)
        airlock.answer(question, decision, environ=environ)
        thread.join()
        raises(airlock.ConflictError, airlock.answer, question.id, "deny", environ=environ)
        assert os.read(watched, 4096)
        os.close(watched)
    assert results[0].exit_code == 0 and (project / "made").read_text() == "x\n", results
    assert isinstance(results[1], airlock.DeniedError), results
    raises(airlock.NotFoundError, airlock.answer, "00000000", "deny", environ=environ)
    assert airlock.questions(environ=environ) == []


@test
def agents(ws):
    """recipes are listed and shown, and an agent runs as a session"""
    place = Path(tempfile.mkdtemp(dir=ws))
    project, environ = place / "project", {**os.environ, "HOME": str(place), "PATH": f"{place}/bin:{os.environ['PATH']}"}
    for name in [n for n in environ if n.startswith(("XDG_", "AIRLOCK_SESSION"))]:
        del environ[name]
    for directory in (project / ".git", place / ".config/airlock/agents", place / "bin"):
        directory.mkdir(parents=True)
    (place / ".config/airlock/agents/toy.toml").write_text(
        'title = "Toy"\nprogram = "toy"\narguments = ["-u"]\nyolo = ["-y"]\nhosts = ["a.test:443"]\n'
        '[home]\nprivate = ["~/.toy"]\nstate = ["~/.toy/s"]\nfiles = ["~/.toy/*.jsonl"]\n[env]\nset = { A = "1" }\n')
    (place / "bin/toy").write_text('#!/bin/sh\necho "$@" $A; echo t >~/.toy/t.jsonl; echo x >made; exit 3\n')
    (place / "bin/toy").chmod(0o755)
    box = Sandbox(project=project, environ=environ)
    every = {recipe.name: recipe for recipe in box.recipes()}
    assert every["claude"].source == "built-in" and every["codex"].yolo, every
    toy = box.recipe("toy")
    assert toy == every["toy"] and isinstance(toy, airlock.Recipe), (toy, every["toy"])
    assert (toy.title, toy.source, toy.found, toy.hosts) == ("Toy", "user", f"{place}/bin/toy", ("a.test:443",)), toy
    assert (toy.private, toy.state, toy.env_set) == ((f"{place}/.toy",), (f"{place}/.toy/s",), ("A=1",)), toy
    done = box.run_agent("toy", ["go", "on"], yolo=True)
    assert (done.exit_code, done.stdout) == (3, "-u -y go on 1\n"), done
    assert done.session.startswith("toy-") and done.changes.state == "held" and not (project / "made").exists(), done
    assert (place / ".toy/t.jsonl").read_text() == "t\n"
    assert box.apply(done.session) == 1 and (project / "made").exists()
    assert box.run_agent("toy").session != done.session
    assert box.run_agent("toy", session="mine").session == "mine"
    assert Sandbox(project=project, session="own", environ=environ).run_agent("toy").session == "own"
    raises(airlock.NotFoundError, box.recipe, "none")
    raises(airlock.NotFoundError, box.run_agent, "none")


@test
def sessions(ws):
    """commands of a session see each other's changes; rewind, fork, merge, apply and undo are calls"""
    place = Path(tempfile.mkdtemp(dir=ws))
    project, environ = place / "project", {**os.environ, "HOME": str(place)}
    for name in [n for n in environ if n.startswith(("XDG_", "AIRLOCK_SESSION"))]:
        del environ[name]
    (project / ".git").mkdir(parents=True)
    text = project / "text"
    text.write_text("".join(f"{n}\n" for n in range(20)))
    box = Sandbox(project=project, session="work", changes="hold", environ=environ)
    first = box.execute("echo 1 >a; sed -i s/^3$/three/ text")
    assert (first.session, first.step, first.background) == ("work", 1, 0), first
    second = box.execute("cat a; echo 2 >b")
    assert second.stdout == "1\n" and second.step == 2 and not (project / "a").exists(), second
    assert box.execute("true").step is None
    (info,) = box.sessions()
    assert (info.name, info.state, info.holds, info.steps, info.held) == ("work", "open", True, 2, 3), info
    again = box.session("work")
    assert (again.held, again.created) == (info.held, info.created) and info.project == str(project), again
    assert [(s.number, s.command, s.exit_code, s.count, s.is_decided) for s in box.steps("work")] == [
        (1, "echo 1 >a; sed -i s/^3$/three/ text", 0, 2, False), (2, "cat a; echo 2 >b", 0, 1, False)], box.steps("work")
    assert box.steps("work")[0].run == first.run
    whole = box.changes("work")
    assert whole.session == "work" and {f.path for f in whole.files} == {"a", "b", "text"}, whole
    assert "+three" in box.diff("work")
    box.fork("work", "other")
    raises(airlock.ConflictError, box.fork, "work", "other")
    assert box.session_diff("work", "other") == ""
    box.rewind("work", 1)
    assert "+++ b/b" in box.session_diff("work", "other") and "+2" in box.session_diff("work", "other")
    raises(airlock.NotFoundError, box.session_diff, "work", "none")
    assert box.execute("ls").stdout == "a\ntext\n"
    other = Sandbox(project=project, session="other", environ=environ)
    other.execute("echo 3 >c; sed -i s/^15$/fifteen/ text")
    assert box.merge("other", "work") == 2 and box.merge("other", "work") is None
    assert box.execute("cat b c; grep -c e text").stdout == "2\n3\n2\n"
    other.execute("echo other >a")
    box.execute("echo work >a")
    conflict = raises(airlock.ConflictError, box.merge, "other", "work")
    assert conflict.paths == ["a"], conflict.paths
    box.end_session("other")
    assert {s.name: s.state for s in box.sessions()} == {"work": "open", "other": "ended"}
    text.write_text(text.read_text().replace("9\n", "nine\n", 1))
    raises(airlock.ConflictError, box.apply, "work")
    raises(ValueError, box.apply, "work", force=True, merge=True)
    assert box.apply("work", merge=True) == 4
    assert {"three", "nine", "fifteen"} < set(text.read_text().split()) and (project / "a").read_text() == "work\n"
    assert box.steps("work")[0].is_decided
    raises(airlock.ConflictError, box.rewind, "work", 0)
    box.undo("work")
    assert not (project / "a").exists() and "nine" in text.read_text() and "three" not in text.read_text()
    usage = box.session_usage("work")
    assert 0 < usage.disk < usage.disk_limit and usage.tmp == 0 and usage.tmp_limit == usage.disk_limit
    assert box.new_session() != box.new_session() and box.new_session("more") == "more"
    raises(airlock.NotFoundError, box.session, "none")
    raises(airlock.UsageError, box.new_session, "last")
    raises(ValueError, box.rewind, "work", -1)


@test
def errors(ws):
    """each code is an exception of its own, with the way out"""
    box = Sandbox(workspace=ws)
    assert raises(airlock.NotFoundError, box.read, "/none").code == "not_found"
    raises(airlock.BlockedError, box.read, "../../etc/passwd")
    raises(airlock.InvalidError, box.read, "/a\0b")
    box.write("/twice", "x x")
    assert "--all" in raises(airlock.InvalidError, box.edit, "/twice", "x", "y").hint
    raises(airlock.UsageError, Sandbox, workspace=ws, no_such_option=1)
    raises(airlock.NotFoundError, Sandbox(workspace=ws / "none").execute, "true")
    assert issubclass(airlock.BlockedError, airlock.AirlockError)


@test
def commands(ws):
    """exit codes, signals, timeouts, arguments, both streams, many bytes"""
    box = Sandbox(workspace=ws)
    assert box.execute("exit 7").exit_code == 7
    assert box.execute(["printf", "%s", "a b"]).stdout == "a b"
    r = box.execute("echo out; echo err >&2")
    assert (r.stdout, r.stderr, r.ok) == ("out\n", "err\n", True)
    assert box.execute("kill -9 $$").signal == 9
    started = time.monotonic()
    assert box.execute("sleep 60", timeout=0.3).status == "timeout" and time.monotonic() - started < 30
    assert box.execute("head -c 5000000 /dev/zero | tr '\\0' x").truncated


@test
def warm_up(ws):
    """the sandbox of the next command is made in advance, used once, and ended with its owner"""
    with Sandbox(project=ws) as box:
        assert not box.execute("true").usage["warm_start"]
        for _ in range(5):  # a mount that somebody makes on this machine spoils it
            assert box.warm_up()
            result = box.execute("echo x >made; echo $$")
            assert result.stdout == "2\n"
            if result.usage["warm_start"]:
                break
        assert result.usage["warm_start"], result.usage
        assert (ws / "made").read_text() == "x\n"
        assert not box.execute("true").usage["warm_start"]
        box.warm_up()
    assert not Sandbox(workspace=ws).warm_up()
    try:
        left = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        left = None
    assert left is None, left


@test
def a_project(ws):
    """changes, diff, apply, discard and undo"""
    (ws / ".git").mkdir()
    (ws / "f").write_text("old\n")
    box = Sandbox(project=ws)
    r = box.execute("echo new >f", changes="hold")
    assert r.changes.state == "held" and r.changes.files[0].path == "f" and (ws / "f").read_text() == "old\n"
    assert box.changes(r.run).files[0].kind == "modified"
    assert "+new" in box.diff(r.run)
    assert box.apply(r.run) == 1 and (ws / "f").read_text() == "new\n"
    assert box.undo() == r.run and (ws / "f").read_text() == "old\n"
    r = box.execute("touch g", changes="hold")
    assert box.discard(r.run) == 1 and not (ws / "g").exists()
    change = box.edit("f", "old", "edited")
    assert change.state == "applied" and change.run and (ws / "f").read_text() == "edited\n"
    assert box.undo(change.run) == change.run and (ws / "f").read_text() == "old\n"


@test
def threads(ws):
    """one sandbox, eight threads, commands and files at the same time"""
    box, faults = Sandbox(workspace=ws), []

    def work(n):
        try:
            for i in range(3):
                box.write(f"/{n}/{i}", f"{n}.{i}")
                assert box.execute(f"cat /{n}/{i}").stdout == f"{n}.{i}"
                assert box.read(f"/{n}/{i}").text == f"{n}.{i}"
        except Exception as error:  # noqa: BLE001
            faults.append(repr(error))

    running = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    assert not faults, faults
    assert sorted(p.name for p in ws.iterdir()) == [str(n) for n in range(8)]


def check_backend(backend, ws):
    assert backend.write("/d/f.py", "a\nTODO\nc\n").error is None
    assert backend.write("/d/f.py", "a\nTODO\nb\n").path == "/d/f.py"
    r = backend.read("/d/f.py", offset=1, limit=1)
    assert r.file_data == {"content": "TODO\n", "encoding": "utf-8"}
    assert (r.start_line, r.end_line, r.total_lines, r.next_offset) == (2, 2, 3, 2)
    assert backend.read("/none").error and backend.read("/d/f.py", limit=0).start_line is None
    assert backend.ls("/").entries[0]["path"] == "/d" and backend.ls("/").entries[0]["is_dir"]
    assert backend.grep("TODO", glob="*.py", max_count=5).matches == [{"path": "/d/f.py", "line": 2, "text": "TODO"}]
    assert [m["path"] for m in backend.glob("**/*.py").matches] == ["/d/f.py"]
    assert backend.edit("/d/f.py", "TODO", "done").occurrences == 1
    assert backend.edit("/d/f.py", "missing", "x").error
    e = backend.execute("cat /d/f.py; exit 3", timeout=20)
    assert (e.output, e.exit_code, e.truncated) == ("a\ndone\nb\n", 3, False)
    up = backend.upload_files([("/up.bin", b"\0\1"), ("../x", b"")])
    assert (up[0].error, up[1].error) == (None, "permission_denied")
    down = backend.download_files(["/up.bin", "/none", "/d"])
    assert [(d.content, d.error) for d in down] == [(b"\0\1", None), (None, "file_not_found"), (None, "is_directory")]
    assert backend.ls_info("/")[0]["path"] == "/d" and backend.grep_raw("done")[0]["line"] == 2
    assert backend.glob_info("*.py")[0]["path"] == "/d/f.py"
    assert asyncio.run(backend.aread("/d/f.py")).file_data["content"].startswith("a\n")
    assert asyncio.run(backend.aexecute("echo hi")).output == "hi\n"
    assert backend.delete("/d").path == "/d" and not (ws / "d").exists() and backend.delete("/d").error


@test
def adapter_alone(ws):
    """the deepagents adapter without deepagents"""
    from airlock.deepagents import AirlockBackend

    check_backend(AirlockBackend(ws), ws)


@test
def adapter_with_deepagents(ws):
    """the adapter is one of deepagents' own backends and returns its classes"""
    from airlock import deepagents as adapter

    protocol = types.ModuleType("deepagents.backends.protocol")

    class SandboxBackendProtocol:
        pass

    @dataclass
    class WriteResult:
        error: str | None = None
        path: str | None = None

    protocol.SandboxBackendProtocol, protocol.WriteResult = SandboxBackendProtocol, WriteResult
    modules = {"deepagents": types.ModuleType("deepagents"), "deepagents.backends": types.ModuleType("deepagents.backends"),
               "deepagents.backends.protocol": protocol}
    sys.modules.update(modules)
    adapter._types.cache_clear()
    try:
        backend = adapter.AirlockBackend(ws)
        assert isinstance(backend, SandboxBackendProtocol) and isinstance(backend, adapter.AirlockBackend)
        assert isinstance(backend.write("/x", ""), WriteResult)
        backend.delete("/x")
        check_backend(backend, ws)
    finally:
        for name in modules:
            del sys.modules[name]
        adapter._types.cache_clear()


def main():
    out = tap.Writer()
    with tempfile.TemporaryDirectory() as top:
        home = Path(top, "home")
        home.mkdir()
        for name in [n for n in os.environ if n.startswith(("AIRLOCK_", "XDG_")) and n != "AIRLOCK_LIBRARY"]:
            del os.environ[name]
        os.environ["HOME"] = str(home)
        for i, function in enumerate(TESTS):
            ws = Path(top, f"ws{i}")
            ws.mkdir()
            faults = []
            try:
                function(ws)
            except Exception:  # noqa: BLE001
                faults.append(traceback.format_exc())
            out.test(f"{function.__name__.replace('_', ' ')}: {function.__doc__}", faults)
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())
