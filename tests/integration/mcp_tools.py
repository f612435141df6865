#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock mcp`: what the tools do. Prints TAP.

    mcp_tools.py BUILD
"""
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import Client, main, test, text_of, whole  # noqa: E402




def states(data):
    return {file["path"]: file["state"] for file in data["files"]}


@test
def a_command_gives_its_output_its_exit_code_and_its_changes(place):
    (place.project / "old").write_text("old\n")
    with Client(place) as client:
        client.initialize()
        result = client.run("echo out; echo err >&2; echo new >made; rm old; exit 3")
        data = whole(result)
        assert not result.get("isError"), result
        assert (data["stdout"], data["stderr"], data["exit_code"], data["status"]) == ("out\n", "err\n", 3, "exited"), data
        assert data["changes"]["state"] == "applied" and states(data["changes"]) == {"made": "applied", "old": "applied"}
        assert data["isolation"]["filesystem"] == "enforced" and data["isolation"]["network"] == "blocked", data
        assert text_of(result) == "out\nerr\nExit code: 3\nChanges:\nA  made\nD  old\n", text_of(result)
        assert (place.project / "made").read_text() == "new\n" and not (place.project / "old").exists()


@test
def a_silent_command_says_so(place):
    with Client(place) as client:
        client.initialize()
        assert text_of(client.run("true")) == "No output received from command\n"
        assert text_of(client.run("exit 7")) == "No output received from command\nExit code: 7\n"


@test
def where_a_command_runs(place):
    (place.project / "sub").mkdir()
    (place.project / "file").touch()
    with Client(place) as client:
        client.initialize()
        assert text_of(client.run("pwd")) == f"{place.project}\n"
        assert text_of(client.run("pwd", working_dir=str(place.project / "sub"))) == f"{place.project}/sub\n"
        assert text_of(client.run("pwd; echo x >kept", working_dir="playground")).startswith(f"{place.home}/playground\n")
        assert text_of(client.run("cat kept", working_dir="playground")) == "x\n"
        for path, what in (("nothing", "does not exist"), ("file", "is not a directory")):
            result = client.run("true", working_dir=f"{place.project}/{path}")
            assert result["isError"] and result["structuredContent"]["status"] == "error", result
            assert text_of(result).startswith(f"ERROR: Working directory {what}: {place.project}/{path}"), result


@test
def no_network_no_input_no_writing_outside(place):
    with Client(place) as client:
        client.initialize()
        data = whole(client.run("cat; tail -n +3 /proc/net/dev; touch /etc/x ~/x"))
        assert data["stdout"].count(":") == data["stdout"].count("lo:") and data["exit_code"] == 1, data
        assert not (place.home / "x").exists()


@test
def time_is_limited_and_cannot_be_stretched(place):
    with Client(place, "--timeout", "4s") as client:
        client.initialize()
        data = whole(client.run("echo x >made; sleep 987", timeout=3))
        assert data["status"] == "timeout" and data["exit_code"] == 124 and data["changes"]["state"] == "held", data
        assert data["duration_ms"] >= 3000 and not (place.project / "made").exists(), data
        result = client.run("sleep 987", timeout=86400)
        assert result["structuredContent"]["status"] == "timeout" and not result.get("isError"), result


@test
def many_commands_at_once(place):
    """Each waits for the one after it: in turn they would wait for ever."""
    with Client(place) as client:
        client.initialize()
        n = 8
        waits = "mkdir -p ~/playground/go; touch ~/playground/go/{0}; while [ ! -e ~/playground/go/{1} ]; do sleep 0.05; done"
        ids = [client.start("tools/call", {"name": "run_command", "arguments": {
            "command": waits.format(i, (i + 1) % n) + f"; echo {i}", "timeout": 45}}) for i in range(n)]
        replies = {}
        while len(replies) < n:
            message = client.receive()
            replies[message["id"]] = whole(message["result"])["stdout"]
        assert [replies[number] for number in ids] == [f"{i}\n" for i in range(n)], replies


@test
def a_quick_request_does_not_wait_for_a_slow_one(place):
    with Client(place) as client:
        client.initialize()
        slow = client.start("tools/call", {"name": "run_command", "arguments": {"command": "sleep 987"}})
        assert text_of(client.run("echo quick")) == "quick\n"
        client.notify("notifications/cancelled", requestId=slow)


@test
def progress_counts_the_changed_files(place):
    with Client(place) as client:
        client.initialize()
        number = client.start("tools/call", {"name": "run_command", "arguments": {
            "command": "touch a b c; sleep 4.6"}}, progress="token")
        assert "result" in client.wait(number)
        notes = [note["params"] for note in client.notes if note["method"] == "notifications/progress"]
        assert notes and all(note["progressToken"] == "token" for note in notes), client.notes
        assert all(one["progress"] < two["progress"] for one, two in zip(notes, notes[1:])), notes
        assert "3 files changed" in notes[-1]["message"], notes
        client.notes.clear()
        client.wait(client.start("tools/call", {"name": "run_command", "arguments": {"command": "sleep 2.2"}}))
        assert not client.notes, client.notes


@test
def a_cancelled_command_is_killed_and_its_changes_are_held(place):
    with Client(place) as client:
        client.initialize()
        number = client.start("tools/call", {"name": "run_command", "arguments": {
            "command": "echo x >made; sleep 987 & wait"}})
        client.until_written("made", number)
        client.notify("notifications/cancelled", requestId=number, reason="test")
        for _ in range(500):  # no answer comes, so look until it is over
            result = client.tool("list_changes", run="last")
            if not result.get("isError"):
                break
            time.sleep(0.1)
        data = result["structuredContent"]
        assert data["state"] == "held" and states(data) == {"made": "held"}, data
        assert not (place.project / "made").exists()
        assert not [note for note in client.notes if note.get("id") == number], client.notes


@test
def changes_are_listed_compared_undone_and_done_again(place):
    (place.project / "a").write_text("one\n")
    with Client(place) as client:
        client.initialize()
        run = whole(client.run("echo two >a; echo b >b"))["run"]
        for name in (run, run[:-2], "last"):
            listed = client.tool("list_changes", run=name)
            assert listed["structuredContent"]["run"] == run, listed
            assert text_of(listed) == "Changes:\nM  a\nA  b\n", listed
        diff = client.tool("diff", run=run)
        assert "-one\n+two\n" in text_of(diff) and diff["structuredContent"]["diff"] == text_of(diff), diff
        assert "+b" not in text_of(client.tool("diff", run=run, paths=["a"]))
        undone = client.tool("undo")["structuredContent"]
        assert undone["run"] == run and undone["count"] == 2, undone
        assert (place.project / "a").read_text() == "one\n" and not (place.project / "b").exists()
        client.tool("undo", run=run, paths=["b"])
        assert (place.project / "b").read_text() == "b\n" and (place.project / "a").read_text() == "one\n"


@test
def held_changes_are_applied_or_discarded(place):
    with Client(place, "--hold") as client:
        client.answer = lambda request: {"action": "accept", "content": {"decision": "allow_once"}}
        client.initialize(elicitation={})
        result = client.run("echo a >a; echo b >b; echo c >c")
        run = result["structuredContent"]["run"]
        assert result["structuredContent"]["changes"]["state"] == "held" and "apply_changes" in text_of(result), result
        applied = client.tool("apply_changes", run=run, paths=["a"])["structuredContent"]
        assert applied["count"] == 1 and states(applied) == {"a": "applied", "b": "held", "c": "held"}, applied
        client.tool("discard_changes", run=run, paths=["b"])
        client.tool("apply_changes", run=run)
        assert sorted(path.name for path in place.project.iterdir()) == ["a", "c"]


@test
def a_server_whose_session_has_written_too_much_says_so_and_names_no_setting(place):
    config = place.home / ".config/airlock/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[session]\ndisk = "2M"\n')
    with Client(place, "--hold") as client:
        client.initialize()
        assert client.run("head -c 1M /dev/zero >a; sleep 0.3; echo fine")["structuredContent"]["stdout"] == "fine\n"
        result = client.run("head -c 3M /dev/zero >b; sleep 20")
        assert whole(result)["usage"]["limit_hit"] == "disk", result
        assert any("has written more than 2 MiB" in n for n in result["structuredContent"]["notices"]), result
        refused = client.run("true")
        assert refused["isError"] and refused["structuredContent"]["error"]["code"] == "limit", refused
        assert "a person can apply or discard" in text_of(refused) and "airlock.toml" not in text_of(result) + text_of(refused)


@test
def a_newer_edit_is_a_conflict(place):
    (place.project / "a").write_text("one\n")
    with Client(place, "--hold") as client:
        client.answer = lambda request: {"action": "accept", "content": {"decision": "allow_once"}}
        client.initialize(elicitation={})
        run = whole(client.run("echo two >a"))["run"]
        (place.project / "a").write_text("mine\n")
        result = client.tool("apply_changes", run=run)
        assert result["isError"] and text_of(result).startswith("ERROR: "), result
        assert result["structuredContent"]["error"]["code"] == "conflict", result
        assert (place.project / "a").read_text() == "mine\n"


@test
def runs_that_do_not_exist_and_runs_of_others(place):
    other = place.home / "other"
    other.mkdir()
    place.airlock("run", "-p", str(other), "-c", f"cd {other}; echo secret >x; echo secret")
    with Client(place) as client:
        client.initialize()
        foreign = sorted(path.name for path in place.home.glob(".local/state/airlock/runs/*"))[-1]
        for tool in ("list_changes", "diff", "apply_changes", "discard_changes", "undo"):
            for run in ("20010101", foreign, "last"):
                result = client.tool(tool, run=run)
                assert result["isError"] and "ERROR: " in text_of(result), (tool, run, result)
                assert "secret" not in str(result), result
        reply = client.request("resources/read", {"uri": f"airlock://run/{foreign}/stdout"})
        assert reply["error"]["code"] == -32602, reply
    assert (other / "x").exists()


@test
def output_of_other_projects_is_not_shown_even_where_nothing_was_changed(place):
    other = place.home / "other"
    other.mkdir()
    place.airlock("run", "-p", str(other), "-c", "echo secret")
    place.airlock("run", "-p", str(place.project), "-c", "echo own")
    foreign, own = sorted(path.name for path in place.home.glob(".local/state/airlock/runs/*"))
    with Client(place) as client:
        client.initialize()
        for run in (foreign, foreign[:-1]):
            for what in ("stdout", "stderr", "diff"):
                reply = client.request("resources/read", {"uri": f"airlock://run/{run}/{what}"})
                assert reply["error"]["code"] == -32602, reply
            assert client.tool("list_changes", run=run)["isError"]
        reply = client.request("resources/read", {"uri": f"airlock://run/{own}/stdout"})
        assert reply["result"]["contents"][0]["text"] == "own\n", reply


@test
def a_run_that_changed_nothing_has_no_changes(place):
    with Client(place) as client:
        client.initialize()
        run = whole(client.run("true"))["run"]
        assert client.tool("list_changes", run=run)["structuredContent"] == {"run": run, "state": "none", "files": []}


@test
def long_output_is_cut_and_whole_as_a_resource(place):
    with Client(place) as client:
        client.initialize()
        result = client.run("seq 1 200000; echo short >&2")
        data = result["structuredContent"]
        assert data["truncated"] and len(data["stdout"]) <= 31000 and data["stdout_bytes"] == 1288895, data["stdout_bytes"]
        assert data["stdout"].startswith("1\n2\n") and data["stdout"].endswith("\n200000\n")
        links = [item["uri"] for item in result["content"] if item["type"] == "resource_link"]
        assert links == [f"airlock://run/{data['run']}/stdout"], links
        whole = client.request("resources/read", {"uri": links[0]})["result"]["contents"][0]
        assert whole["text"] == "".join(f"{i}\n" for i in range(1, 200001)) and whole["uri"] == links[0]
        part = client.request("resources/read", {"uri": links[0] + "?offset=1288888"})["result"]["contents"][0]
        assert part["text"] == "200000\n", part
        errors = client.request("resources/read", {"uri": f"airlock://run/{data['run']}/stderr"})["result"]["contents"]
        assert errors[0]["text"] == "short\n", errors


@test
def the_cap_on_output_is_the_persons_where_one_set_it(place):
    with Client(place, "--max-output", "50K") as client:
        client.initialize()
        assert 45000 < len(client.run("seq 1 20000")["structuredContent"]["stdout"]) < 52000
    with Client(place) as client:
        client.initialize()
        data = client.run("seq 1 20000 | head -c 30720")["structuredContent"]
        assert not data["truncated"] and len(data["stdout"]) == 30720, data["truncated"]


@test
def the_structured_result_is_small_and_complete(place):
    """Some clients show their model this instead of the text."""
    subprocess.run(["git", "init", "-q", place.project], check=True)
    (place.home / "other").mkdir()
    with Client(place) as client:
        client.initialize()
        result = client.run("i=0; while [ $i -lt 300 ]; do echo >new$i; i=$((i + 1)); done; "
                            "echo >.git/hooks/pre-commit; echo x >~/other/x; exit 1")
        data = result["structuredContent"]
        assert list(data) == ["run", "status", "exit_code", "signal", "stdout", "stderr", "stdout_bytes", "stderr_bytes",
                              "truncated", "error", "changes", "notices"], list(data)
        assert list(data["changes"]) == ["state", "count", "files"] and data["changes"]["count"] == 301, data["changes"]
        assert len(data["changes"]["files"]) == 30
        assert all(list(file) == ["path", "kind", "state", "reason"] for file in data["changes"]["files"])
        blocked, held = data["notices"]
        assert blocked.startswith("Blocked by the sandbox: write to ") and "/other/x" in blocked, blocked
        assert "not in the project yet: .git/hooks/pre-commit (runs outside the sandbox: git hook)" in held, held
        assert len(json.dumps(data)) < 5000 and len(text_of(result)) < 5000, len(text_of(result))
        assert all(notice in text_of(result) for notice in data["notices"]) and "… and 201 more" in text_of(result)
        rest = result["_meta"]["airlock/result"]
        assert rest["isolation"]["filesystem"] == "enforced" and not set(rest) & set(data), rest
        listed = client.tool("list_changes", run=data["run"])["structuredContent"]["files"]
        assert len(listed) == 301 and "mode" in listed[0], listed[0]
        refused = client.run("true", network=True)["structuredContent"]
        assert list(refused) == list(data) and refused["error"]["code"] == "denied", refused


@test
def a_server_that_listens_is_no_refused_connection(place):
    with Client(place) as client:
        client.initialize()
        result = client.run("python3 -I -S -c 'import socket; s = socket.socket(); s.bind((\"0.0.0.0\", 0)); s.listen(); "
                            "socket.create_connection((\"127.0.0.1\", s.getsockname()[1]))'")
        assert result["structuredContent"]["exit_code"] == 0 and result["structuredContent"]["notices"] == [], result


@test
def resources_are_listed(place):
    with Client(place) as client:
        client.initialize()
        run = whole(client.run("echo x >a"))["run"]
        listed = client.request("resources/list")["result"]["resources"]
        assert [item["uri"] for item in listed] == [f"airlock://run/{run}/{what}" for what in ("stdout", "stderr", "diff")]
        diff = client.request("resources/read", {"uri": listed[2]["uri"]})["result"]["contents"][0]
        assert "+x" in diff["text"] and diff["mimeType"] == "text/x-diff", diff
        templates = client.request("resources/templates/list")["result"]["resourceTemplates"]
        assert len(templates) == 3 and all("{run}" in item["uriTemplate"] for item in templates), templates


@test
def bytes_that_are_no_text(place):
    with Client(place) as client:
        client.initialize()
        data = whole(client.run(r"printf 'a\377b\n'; touch $(printf 'n\377')"))
        assert data["stdout"] == "a\ufffdb\n" and data["changes"]["files"][0]["path_base64"], data
        blob = client.request("resources/read", {"uri": f"airlock://run/{data['run']}/stdout"})["result"]["contents"][0]
        assert blob["blob"] == "Yf9iCg==", blob


@test
def nul_bytes_do_not_end_the_result(place):
    with Client(place) as client:
        client.initialize()
        result = client.run(r"printf 'a\000b\n'; printf 'c\000' >&2; echo 1 >new; exit 3")
        data = result["structuredContent"]
        assert data["stdout"] == "a\0b\n" and data["stderr"] == "c\0" and data["exit_code"] == 3, data
        text = text_of(result)
        assert text.startswith("a\ufffdb\nc\ufffd\nExit code: 3\nChanges:\n") and "new" in text, text


@test
def a_part_of_a_long_text_ends_with_a_whole_character(place):
    with Client(place) as client:
        client.initialize()
        run = whole(client.run("printf x; yes äöü | tr -d '\\n' | head -c 4200000"))["run"]
        uri = f"airlock://run/{run}/stdout"
        first = client.request("resources/read", {"uri": uri})["result"]["contents"][0]
        rest = first["_meta"]["airlock/nextOffset"]
        assert rest == (4 << 20) - 1 and first["text"].startswith("xäöü"), (rest, first.keys())
        second = client.request("resources/read", {"uri": f"{uri}?offset={rest}"})["result"]["contents"][0]
        assert len((first["text"] + second["text"]).encode()) == 4200001, second


@test
def the_history_says_which_client_asked(place):
    with Client(place) as client:
        client.initialize()
        run = whole(client.run("echo x >a"))["run"]
        assert "mcp: test" in place.airlock("show", run, "--json").stdout


@test
def the_servers_options_hold_for_every_call(place):
    with Client(place, "--profile", "strict") as client:
        client.initialize()
        data = whole(client.run("true"))
        assert data["isolation"]["profile"] == "strict", data
        result = client.run("true", network=True)
        assert result["isError"] and text_of(result).startswith("ERROR: "), result


@test
def what_was_blocked_is_explained(place):
    home = place.home.resolve()
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("key\n")
    (home / "other").mkdir()
    tries = "cat ~/.ssh/id; echo x >~/other/new; python3 -I -S -c 'import socket; socket.socket().connect((\"192.0.2.1\", 443))'"
    with Client(place) as client:
        client.initialize()
        for _ in range(2):  # the second may find its sandbox made already
            result = client.run(f"{{ {tries}; }} 2>/dev/null; true")
            assert text_of(result) == (
                "No output received from command\n"
                f"Blocked by the sandbox: open {home}/.ssh/id (hidden: built-in: moderate); "
                "to allow: only a person can\n"
                f"Blocked by the sandbox: write to {home}/other/new (read-only: built-in: moderate); "
                f"to allow: \"allow_write\": [\"{home}/other\"]\n"
                "Blocked by the sandbox: connect to 192.0.2.1:443 (network off: built-in: moderate); "
                "to allow: \"network\": true\n"), text_of(result)
            denials = whole(result)["denials"]
            assert [(d["op"], d["rule"], d["count"]) for d in denials] == [
                ("open", "hidden", 1), ("write", "read-only", 1), ("connect", "network off", 1)], denials
            # What would open the sandbox is told to the person, not to the model.
            assert [d["hint"] for d in denials] == [None] * 3 and "--" not in json.dumps(denials), denials
            shown = json.loads(place.airlock("show", result["structuredContent"]["run"], "--json").stdout)
            assert [d["hint"] for d in shown["denials"]] == [
                f"--ro {home}/.ssh/id", f"--allow-write {home}/other", "--network"], shown["denials"]
        assert whole(client.run("cat ../nothing; true"))["denials"] == []


@test
def explaining_can_be_switched_off(place):
    with Client(place, "--no-explain-denials") as client:
        client.initialize()
        result = client.run("echo x >/etc/x; true")
        assert whole(result)["denials"] is None and "Blocked" not in text_of(result), result
    config = place.home / ".config/airlock/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[sandbox]\nexplain_denials = false\n")
    with Client(place) as client:
        client.initialize()
        assert whole(client.run("echo x >/etc/x; true"))["denials"] is None


if __name__ == "__main__":
    sys.exit(main())
