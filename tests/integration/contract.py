#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What other programs rely on: the fields of every JSON answer and their types, the exit status of every outcome, and
that stdout is the answer alone. One test a kind of answer, many assertions a run. Prints TAP.

    contract.py BUILD
"""
import base64
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import main, program, test  # noqa: E402

NUMBER = (int, float)
TEXT_OR_NULL = (str, type(None))
FILE = {"path": str, "root": str, "kind": str, "type": str, "state": str, "reason": TEXT_OR_NULL,
        "reason_code": TEXT_OR_NULL, "from": TEXT_OR_NULL, "size": int, "mode": str}
ERROR = {"code": str, "message": str, "op": TEXT_OR_NULL, "subject": TEXT_OR_NULL, "hint": TEXT_OR_NULL}
RESULT = {"run": str, "status": str, "exit_code": int, "signal": (int, type(None)), "duration_ms": NUMBER,
          "stdout": str, "stderr": str, "stdout_bytes": int, "stderr_bytes": int, "truncated": bool, "working_dir": str,
          "isolation": {name: str for name in ("backend", "profile", "filesystem", "network", "processes", "syscalls",
                                               "limits")},
          "usage": {"cpu_ms": NUMBER, "max_rss_kb": int, "limit_hit": TEXT_OR_NULL},
          "notes": [str], "note_codes": [str], "changes": {"state": str, "files": [FILE]}, "error": (dict, type(None))}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def fits(value, shape, where="answer"):
    """Every field of the shape is there and of its type; more may be."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), f"{where} is no object: {value!r}"
        for name, inner in shape.items():
            assert name in value, f"{where} has no {name}: {sorted(value)}"
            fits(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), f"{where} is no list: {value!r}"
        for i, item in enumerate(value):
            fits(item, shape[0], f"{where}[{i}]")
    else:
        assert isinstance(value, shape) and not (isinstance(value, bool) and shape in (int, NUMBER)), f"{where}: {value!r}"


def call(place, *words, status=0, stdin=b"", **environment):
    done = subprocess.run([program(), *words], cwd=place.project, input=stdin, capture_output=True,
                          env={**place.env, **environment}, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    for line in done.stderr.splitlines():
        assert line.startswith(b"airlock: "), (words, line)
    return done


def ask(place, *words, shape=None, **options):
    """The one object on stdout, and nothing on stderr."""
    done = call(place, *words, **options)
    assert done.stderr == b"", (words, done.stderr)
    answer = json.loads(done.stdout.decode())
    fits(answer, shape or {})
    return answer


def run(place, command, *options, **more):
    return ask(place, "run", "--json", *options, "-c", command, shape=RESULT, **more)


def files(answer):
    return {file["path"]: file for file in answer["changes"]["files"]}


def refuse(place, code, status, *words, **options):
    answer = ask(place, *words, status=status, shape={"error": ERROR}, **options)
    assert answer["error"]["code"] == code, answer
    return answer


@test
def the_result_of_a_run_and_of_changes_log_and_show(place):
    (place.project / "old").write_text("a line that is long enough\n")
    (place.project / "mode").write_text("x\n")
    result = run(place, r'echo out; printf "\377" >&2; mv old new; chmod 755 mode; ln -s new link; mkdir dir; '
                        r'echo x >"$(printf "b\377d")"; echo x >.envrc; echo x >su; chmod 4755 su; exit 3', status=3)
    assert re.fullmatch(r"\d{8}-\d{6}\.\d{6}-[0-9a-f]{4}", result["run"]), result["run"]
    assert (result["status"], result["exit_code"], result["signal"]) == ("exited", 3, None), result
    assert (result["stdout"], result["stderr"], result["stderr_bytes"]) == ("out\n", "\ufffd", 1), result
    assert result["working_dir"] == str(place.project) and result["error"] is None, result
    assert result["usage"]["limit_hit"] is None and result["changes"]["state"] == "partial", result
    found = files(result)
    assert list(found) == [".envrc", "b\ufffdd", "dir", "link", "mode", "new", "su"], list(found)
    assert base64.b64decode(found["b\ufffdd"]["path_base64"]) == b"b\xffd" and "path_base64" not in found["new"], found
    assert (found["new"]["kind"], found["new"]["from"]) == ("renamed", "old"), found
    assert (found["mode"]["kind"], found["mode"]["state"], found["mode"]["mode"]) == ("metadata", "applied", "0755"), found
    assert (found["su"]["state"], found["su"]["mode"]) == ("applied", "0755") and "setuid" in found["su"]["reason"], found
    assert (found["link"]["type"], found["dir"]["type"], found["dir"]["kind"]) == ("symlink", "directory", "added"), found
    assert (found[".envrc"]["state"], found[".envrc"]["reason"], found[".envrc"]["reason_code"]) == \
        ("held", "runs outside the sandbox: direnv", "runs"), found
    name = result["run"]
    changes = ask(place, "changes", name[:-1], "--json", shape={"run": str, "state": str, "files": [FILE]})
    assert changes["run"] == name and changes["files"] == result["changes"]["files"], changes
    log = ask(place, "log", "--json", shape={"runs": [{"run": str, "command": str, "project": str, "started": str,
                                                      "status": str, "exit_code": int,
                                                      "changes": {"state": str, "count": int}}]})["runs"]
    assert log[0]["run"] == name and log[0]["changes"] == {"state": "partial", "count": 7}, log
    assert TIME.fullmatch(log[0]["started"]) and log[0]["project"] == str(place.project), log
    shown = ask(place, "show", name, "--json", shape={**RESULT, "command": str, "started": str, "policy": dict})
    for key in RESULT:
        assert shown[key] == result[key], (key, shown[key], result[key])


@test
def what_else_is_to_be_said_is_in_the_notes(place):
    (place.project / "one").write_text("x\n")
    (place.project / "two").hardlink_to(place.project / "one")
    split = run(place, "echo y >>one")
    assert split["notes"] == ["hard link split: the other names of one keep the old content"], split["notes"]
    assert split["note_codes"] == ["link-split"], split["note_codes"]
    assert (place.project / "two").read_text() == "x\n"
    assert run(place, "true")["notes"] == []
    assert run(place, "true", "--no-sandbox", "--yes")["notes"][0].startswith("NOT IN SANDBOX")
    killed = run(place, "kill -TERM $$", status=143)
    assert killed["signal"] == 15 and killed["notes"] == ["the command was killed by signal 15 (SIGTERM)"], killed
    # People who press Ctrl-C know what they did.
    assert run(place, "kill -INT $$", status=130)["notes"] == []


@test
def states_of_changes_and_what_decides_them(place):
    def state(*options, status=0, command="echo x >>file"):
        result = run(place, command, *options, status=status)
        return result["changes"]["state"], [file["state"] for file in result["changes"]["files"]]
    (place.project / "file").write_text("0\n")
    assert state() == ("applied", ["applied"])
    assert state(command="true") == ("none", [])
    assert state("--hold") == ("held", ["held"]) and state("--changes", "ask") == ("held", ["held"])
    assert state("--discard") == ("discarded", ["discarded"])
    assert state("--changes", "direct") == ("direct", [])
    assert state("--timeout", "3s", command="echo x >>file; sleep 60", status=124) == ("held", ["held"])
    assert state(command="echo x >>file; kill -9 $$", status=137) == ("held", ["held"])
    assert state(status=1, command="echo x >>file; false") == ("applied", ["applied"])


@test
def deciding_later(place):
    name = run(place, "echo 1 >one; echo 2 >two; echo 3 >three; mkdir d; echo 4 >d/four", "--hold")["run"]
    shape = {"run": str, "state": str, "files": [FILE]}

    def decide(*words, status=0):
        answer = ask(place, *words, "--json", status=status, shape=shape)
        return answer["state"], {file["path"]: file["state"] for file in answer["files"]}
    assert decide("apply", name, "one")[1]["one"] == "applied" and not (place.project / "two").exists()
    assert decide("discard", name, "two")[1]["two"] == "discarded"
    assert decide("apply", name, "one", status=1)[0] == "partial"
    refuse(place, "not_found", 1, "apply", name, "nothing-here", "--json")
    assert decide("apply", name, "d/four")[1]["d"] == "applied"  # with the directory it needs
    (place.project / "three").write_text("theirs\n")
    assert refuse(place, "conflict", 3, "apply", name, "--json")["error"]["subject"] == "three"
    assert decide("apply", name, "--force")[1]["three"] == "applied"
    assert (place.project / "three").read_text() == "3\n"
    assert decide("undo", name, "three")[1]["three"] == "held" and (place.project / "three").read_text() == "theirs\n"
    assert decide("undo")[0] == "held" and not (place.project / "one").exists()
    assert name in refuse(place, "not_found", 1, "undo", "--json")["error"]["hint"]
    assert decide("undo", name)[0] == "applied" and (place.project / "d/four").exists()  # undoing an undo is redo
    text = call(place, "changes", name).stdout.decode()
    assert "A  two  (discarded)\n" in text and "A  one\n" in text, text
    assert call(place, "undo", name, "one").stdout.decode() == f"D  one\nundid 1 change of run {name}\n"


@test
def names_of_runs(place):
    for words in (["changes"], ["diff"], ["apply"], ["discard"], ["show"], ["output"]):
        refuse(place, "not_found", 1, *words, "last", "--json")
        refuse(place, "usage", 2, *words, "--json")
        assert call(place, *words, "nonesuch", status=1).stdout == b""
    refuse(place, "not_found", 1, "undo", "--json")
    first, second = run(place, "true")["run"], run(place, "true")["run"]
    assert refuse(place, "usage", 2, "show", first[:2], "--json")["error"]["subject"] == first[:2]
    assert ask(place, "show", "last", "--json")["run"] == second
    refuse(place, "not_found", 1, "show", first + "0", "--json")


@test
def what_becomes_of_wrong_and_impossible_runs(place):
    (place.project / "file").write_text("x\n")
    shape = {**RESULT, "run": TEXT_OR_NULL, "working_dir": TEXT_OR_NULL, "isolation": (dict, type(None)),
             "usage": (dict, type(None)), "error": ERROR}
    for words, status, code in (
            (["--bogus"], 2, "usage"), ([], 2, "usage"), (["--pids", "0", "--", "true"], 2, "usage"),
            (["--network", "--", "true"], 125, "denied"), (["--no-sandbox", "--", "true"], 125, "denied"),
            (["--allow-write", "/opt", "--", "true"], 125, "denied"),
            (["--network", "--yes", "--profile", "strict", "--", "true"], 125, "blocked"),
            (["-C", "/nonesuch", "--", "true"], 125, "not_found"), (["-C", "file", "--", "true"], 125, "invalid"),
            (["--config", "/nonesuch", "--", "true"], 125, "not_found"), (["--workspace", "/nonesuch", "--", "true"], 125, "not_found"),
            (["--", "/nonesuch"], 127, "not_found"), (["--", "nonesuch-program"], 127, "not_found"),
            (["--", "/etc/passwd"], 126, "invalid"), (["--timeout", "200ms", "--", "sleep", "30"], 124, "timeout")):
        answer = ask(place, "run", "--json", *words, status=status, shape=shape)
        assert answer["error"]["code"] == code and answer["exit_code"] == status, (words, answer)
        assert answer["status"] == ("timeout" if status == 124 else "error"), answer
        silent = call(place, "run", *words, status=status)
        assert silent.stdout == b"" and silent.stderr.startswith(b"airlock: "), (words, silent)


@test
def every_option_has_a_variable_and_overrules_it(place):
    def value(key, *words, **environment):
        values = ask(place, "config", "show", "--json", *words, **environment,
                     shape={"values": [{"key": str, "source": str}]})["values"]
        return next((entry["value"], entry["source"]) for entry in values if entry["key"] == key and not entry["ignored"])
    (place.home / ".config/airlock").mkdir(parents=True)
    config = place.home / ".config/airlock/config.toml"
    config.write_text("[profiles.moderate]\npids = 100\n")
    key = "profiles.moderate.pids"
    assert value("profiles.moderate.timeout") == ("10m", "built-in")
    assert value(key) == (100, f"{config}:2")
    (place.project / ".airlock.toml").write_text("[profiles.moderate]\npids = 200\n")
    assert value(key)[0] == 100  # looser, and not trusted
    call(place, "trust")
    assert value(key) == (200, f"{place.project}/.airlock.toml:2")
    assert value(key, AIRLOCK_PIDS="300") == (300, "AIRLOCK_PIDS")
    assert value(key, "--pids", "400", AIRLOCK_PIDS="300") == (400, "--pids")
    everything = {"AIRLOCK_TIMEOUT": "9s", "AIRLOCK_WORKING_DIR": "/usr", "AIRLOCK_JSON": "1", "AIRLOCK_HOLD": "1",
                  "AIRLOCK_ENV": "A=1\nB=2", "AIRLOCK_CLEAR_ENV": "1", "AIRLOCK_PROFILE": "permissive", "AIRLOCK_SHELL": "bash",
                  "AIRLOCK_MAX_OUTPUT": "1K", "AIRLOCK_HIDE": "/opt:/srv", "AIRLOCK_FSIZE": "4K"}
    script = f'pwd; echo $A$B; echo x >{place.project}/made; ls /opt /srv; [[ x == x ]] && echo bash; ulimit -f; seq 9999'
    result = json.loads(call(place, "run", "-c", script, **everything).stdout)
    assert result["stdout"].startswith("/usr\n12\n/opt:\n\n/srv:\nbash\n") and result["truncated"], result
    assert result["isolation"]["profile"] == "permissive" and result["changes"]["state"] == "held", result


@test
def records_backups_and_restoring(place):
    place.project.joinpath("kept").write_text("before\n")
    place.project.joinpath("gone").write_text("gone\n")
    ask(place, "project", "add", "--json", shape={"id": int, "path": str, "files": int})
    listed = ask(place, "project", "list", "--json", shape={"projects": [{"id": int, "path": str, "files": int}]})
    assert [project["path"] for project in listed["projects"]] == [str(place.project)], listed
    run(place, "echo after >kept; rm gone; echo new >made")
    shape = {"files": [{"id": int, "path": str, "type": str, "size": int, "mtime": str, "is_text": bool,
                        "is_ignored": bool, "is_deleted": bool, "last_approved_copy_path": str}]}
    records = {file["path"]: file for file in ask(place, "files", "--json", shape=shape)["files"]}
    assert list(records) == sorted(records) and records["made"]["last_approved_copy_path"] == "", records
    assert records["gone"]["is_deleted"] and not records["kept"]["is_deleted"], records
    assert [file["path"] for file in ask(place, "files", "--deleted", "--json", shape=shape)["files"]] == ["gone"]
    backups = ask(place, "backups", "--json", shape={"backups": [{"id": int, "path": str, "date": str, "backup": str}]})
    kept = next(entry for entry in backups["backups"] if entry["path"] == "kept")
    assert kept["id"] == records["kept"]["id"] and kept["backup"] == records["kept"]["last_approved_copy_path"], backups
    assert Path(kept["backup"]).name == f"{kept['id']}-{kept['date']}-kept", kept
    assert Path(kept["backup"]).read_text() == "before\n" and re.fullmatch(r"\d\d-\d\d-\d\d", kept["date"]), kept
    ask(place, "restore", "kept", "--date", kept["date"], "--json")
    ask(place, "restore", "gone", "--json")
    assert (place.project / "kept").read_text() == "before\n" and (place.project / "gone").read_text() == "gone\n"
    refuse(place, "not_found", 1, "restore", "made", "--json")
    refuse(place, "usage", 2, "restore", "kept", "--date", "yesterday", "--json")
    assert call(place, "project", "remove").stdout == b""
    refuse(place, "not_found", 1, "files", "--json")


@test
def plans_probes_and_answers(place):
    plan = ask(place, "explain", "--json", "--", "make", shape={
        "backend": str, "profile": str, "roots": [str], "mounts": [{"kind": str, "source": TEXT_OR_NULL, "target": str,
                                                                    "because": str}],
        "environment": {"kept": [str], "removed": [str]}, "limits": dict, "namespaces": [str], "argv": [str]})
    assert plan["roots"] == [str(place.project)] and plan["argv"][-1] == "make", plan
    probes = ask(place, "doctor", "--json", shape={"ok": bool, "checks": [{"name": str, "status": str, "detail": str,
                                                                         "consequence": str, "fix": str}]})
    assert {row["status"] for row in probes["checks"]} <= {"ok", "degraded", "failed"} and probes["ok"], probes
    assert ask(place, "permissions", "list", "--json") == {"permissions": []}
    assert ask(place, "questions", "--json") == {"questions": []}
    refuse(place, "not_found", 1, "answer", "00000000", "allow", "--json")
    refuse(place, "usage", 2, "answer", "00000000", "maybe", "--json")
    refuse(place, "not_found", 1, "permissions", "revoke", "7", "--json")
    assert ask(place, "playground", "size", "--json", shape={"bytes": int, "entries": int})["entries"] == 0
    refuse(place, "not_found", 1, "config", "check", "/nonesuch", "--json")


@test
def the_file_api(place):
    def fs(*words, **options):
        return ask(place, "fs", "--workspace", str(place.project), *words, "--json", **options)
    entry = {"entries": [{"path": str, "is_dir": bool, "size": int, "modified_at": str}]}
    page = {"content": str, "encoding": str, "start_line": (int, type(None)), "end_line": (int, type(None)),
            "total_lines": (int, type(None)), "next_offset": (int, type(None))}
    for name in ("/d/one", "d/two", "./d/three"):
        assert fs("write", name, stdin=b"1\n2\n3\n", shape={"path": str})["path"] == "/d/" + Path(name).name
    assert [item["path"] for item in fs("ls", "/d", shape=entry)["entries"]] == ["/d/one", "/d/three", "/d/two"]
    part = fs("read", "d/one", "--offset", "1", "--limit", "1", shape=page)
    assert (part["content"], part["start_line"], part["end_line"], part["total_lines"], part["next_offset"]) == ("2\n", 2, 2, 3, 2)
    assert fs("read", "/d/one", shape=page)["next_offset"] is None
    fs("edit", "/d/one", "--old", "2", "--new", "two", shape={"path": str})
    refuse(place, "invalid", 125, "fs", "--workspace", ".", "edit", "d/two", "--old", "\n", "--new", "", "--json")
    assert (place.project / "d/one").read_text() == "1\ntwo\n3\n"
    assert [item["path"] for item in fs("glob", "o*", shape=entry)["entries"]] == ["/d/one"]
    found = fs("grep", "two", "/d", shape={"matches": [{"path": str, "line": int, "text": str}], "truncated": bool})
    assert found["matches"] == [{"path": "/d/one", "line": 2, "text": "two"}] and not found["truncated"], found
    (place.project / "raw").write_bytes(b"\xff\0")
    raw = fs("read", "raw", shape=page)
    assert raw["encoding"] == "base64" and base64.b64decode(raw["content"]) == b"\xff\0", raw
    (place.project / "out").symlink_to("/etc/passwd")
    for name in ("out", "../x", "/../x"):
        refuse(place, "blocked", 125, "fs", "--workspace", ".", "read", name, "--json")
    refuse(place, "not_found", 1, "fs", "--workspace", ".", "read", "nonesuch", "--json")
    for where in (["--workspace", "."], []):
        said = refuse(place, "invalid", 125, "fs", *where, "write", "d/" + "x" * 300, "--json", stdin=b"x")["error"]["message"]
        assert "File name too long" in said, said
        said = refuse(place, "invalid", 125, "fs", *where, "write", "", "--json", stdin=b"x")["error"]["message"]
        assert said == "the path is empty", said
    refuse(place, "usage", 2, "fs", "--workspace", ".", "grep", "two", "--max", "0", "--json")
    fs("delete", "/d", shape={"path": str})
    assert not (place.project / "d").exists()
    refuse(place, "not_found", 1, "fs", "--workspace", ".", "delete", "d", "--json")
    result = run(place, "cat /raw | wc -c; echo x >/made; pwd; echo $HOME; echo $PATH", "--workspace", ".")
    assert result["stdout"] == "2\n/\n/\n/.venv/bin:/node_modules/.bin:/usr/bin:/bin\n", result
    assert result["changes"]["state"] == "direct" and (place.project / "made").exists(), result


def memory_around(process):
    """What airlock and its helpers hold while the command, which is the last of them, runs: kB of their own."""
    total, waiting = 0, [process]
    while waiting:
        parent = waiting.pop()
        children = [int(word) for task in Path(f"/proc/{parent}/task").iterdir()
                    for word in (task / "children").read_text().split()]
        waiting += children
        if children:
            rollup = Path(f"/proc/{parent}/smaps_rollup").read_text()
            total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_"))
    return total


@test
def a_sandbox_costs_less_than_ten_megabytes(place):
    with subprocess.Popen([program(), "run", "--", "sh", "-c", "echo ready; read x"], cwd=place.project, env=place.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        try:
            held = memory_around(process.pid)
        except PermissionError:  # the first process inside cannot be looked into by anybody
            held = int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())[1])
        process.stdin.close()
        assert process.wait() == 1 and 0 < held < 10 * 1024, held


if __name__ == "__main__":
    sys.exit(main())
