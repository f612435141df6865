#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock mcp`: what needs a person, and how a client is asked. Prints TAP.

    mcp_asking.py BUILD
"""
import contextlib
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import Client, main, program, test, text_of, whole  # noqa: E402

INTERFACES = "tail -n +3 /proc/net/dev | wc -l"
ALLOW = {"action": "accept", "content": {"decision": "allow_once"}}
HOOK = "mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; echo y >plain"


def call(tool, **arguments):
    return {"name": tool, "arguments": arguments}


# What a client says that accepts by itself, or that makes up a word.
ACCEPTED_WITHOUT_A_DECISION = (
    {"action": "accept"}, {"action": "accept", "content": {}}, {"action": "accept", "content": None},
    {"action": "accept", "content": {"decision": None}}, {"action": "accept", "content": {"decision": True}},
    {"action": "accept", "content": {"decision": ""}}, {"action": "accept", "content": {"decision": "allow"}},
    {"action": "accept", "content": {"decision": "ALLOW_ONCE"}}, {"action": "accept", "content": {"decision": "deny"}},
    {"action": "accept", "content": {"decision": ["allow_once"]}}, {"action": "accept", "content": ["allow_once"]},
    {"action": "accept", "content": {"answer": "allow_once"}}, {"action": "accept", "decision": "allow_once"},
    # Right words, but not among the choices of a question that is asked each time.
    {"action": "accept", "content": {"decision": "allow_always"}},
    {"action": "decline", "content": {"decision": "allow_once"}},
)


def check_schema(schema, choices):
    assert schema["type"] == "object" and schema["required"] == ["decision"], schema
    field = schema["properties"]["decision"]
    assert field["type"] == "string" and field["enum"] == choices and "default" not in field, schema


def names_no_grant(result):
    """Nothing in what the model reads is a command line, or an option of one, that would grant it."""
    whole = str(result)
    for word in ("airlock run", "airlock apply", "airlock undo", "--yes", "--network", "--allow-write", "--no-sandbox"):
        assert word not in whole, (word, result)


@contextlib.contextmanager
def asking(place, answer, revision="2025-11-25"):
    """A client that answers every question with this."""
    with Client(place) as client:
        client.answer = lambda request: answer
        client.initialize(revision, elicitation={})
        yield client


def denied(result, reason):
    assert result["isError"] and text_of(result).startswith("ERROR: permission "), result
    assert result["structuredContent"]["error"]["code"] == "denied", result
    assert reason in text_of(result), result
    return True


@test
def accepting_gives_the_network_for_this_once(place):
    for revision in ("2025-06-18", "2025-11-25"):
        with asking(place, ALLOW, revision) as client:
            for _ in range(2):  # asked each time
                data = whole(client.run("echo 'a b'", network=True))
                assert data["stdout"] == "a b\n" and data["isolation"]["network"] == "allowed", data
            assert whole(client.run("true"))["isolation"]["network"] == "blocked"
            assert len(client.asked) == 2, client.asked
            request = client.asked[0]
            assert request["method"] == "elicitation/create" and isinstance(request["id"], (str, int)), request
            assert request["params"]["message"].endswith("Run command with network access: echo 'a b'?"), request
            check_schema(request["params"]["requestedSchema"], ["allow_once", "deny"])
            assert ("mode" in request["params"]) == (revision != "2025-06-18"), request


@test
def declining_cancelling_and_failing_are_a_no(place):
    for answer in ({"action": "decline"}, {"action": "cancel"}, {"action": "maybe"}, {}, [], None):
        with asking(place, answer) as client:
            denied(client.run("echo x >made", network=True), "network")
    assert not (place.project / "made").exists()


@test
def accepting_without_a_decision_is_a_no(place):
    for revision in ("2025-06-18", "2025-11-25"):
        with asking(place, ALLOW, revision) as client:
            for answer in ACCEPTED_WITHOUT_A_DECISION:
                client.answer = lambda request, answer=answer: answer
                denied(client.run("echo x >made", network=True), "network")
            assert not (place.project / "made").exists()
            client.answer = lambda request: ALLOW
            assert whole(client.run("echo x >made", network=True))["exit_code"] == 0
            (place.project / "made").unlink()


@test
def a_client_that_answers_with_an_error_said_no(place):
    with Client(place) as client:
        client.initialize(elicitation={})
        number = client.start("tools/call", call("run_command", command="true", network=True))
        request = client.receive()
        client.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": "no"}})
        denied(client.wait(number)["result"], "network")


@test
def without_elicitation_it_is_denied_and_only_the_person_is_told_how_to_grant_it(place):
    for capabilities in ({}, {"elicitation": {"url": {}}}, {"elicitation": None}):
        with Client(place) as client:
            client.initialize(**capabilities)
            result = client.run("echo 'it''s' $HOME >made", network=True)
            denied(result, "network")
            names_no_grant(result)
            assert not (place.project / "made").exists()
        run = json.loads(place.airlock("log", "--json").stdout)["runs"][0]["run"]
        shown = json.loads(place.airlock("show", run, "--json").stdout)
        (question,) = shown["questions"]
        assert question["answer"] == "deny" and "--network" in question["grant"], question
        assert "echo" in question["grant"] and str(place.project) in question["grant"], question
        assert shown["asked_by"].startswith("mcp: "), shown
        assert "to allow" in place.airlock("show", run).stdout


@test
def yes_on_the_servers_command_line_asks_nobody(place):
    with Client(place, "--yes") as client:
        client.initialize()
        assert whole(client.run("true", network=True))["isolation"]["network"] == "allowed"


@test
def more_writable_directories_are_asked_for(place):
    extra = place.home / "extra"
    extra.mkdir()
    with asking(place, ALLOW) as client:
        data = whole(client.run("echo x >../extra/made", allow_write=[str(extra)], network=True))
        assert data["exit_code"] == 0 and (extra / "made").exists(), data
        message = client.asked[0]["params"]["message"]
        assert len(client.asked) == 1 and str(extra) in message and "network" in message, message
        result = client.run("true", allow_write=[str(place.home / "nothing")])  # checked before anybody is asked
        assert result["isError"] and len(client.asked) == 1, result


@test
def what_is_shown_is_inert(place):
    with asking(place, {"action": "decline"}) as client:
        client.run("echo a\nAllowed?\x1b[2J \u202e", network=True)
        message = client.asked[0]["params"]["message"]
        assert "\x1b" not in message and "\u202e" not in message and "\nAllowed?" not in message, message


@test
def sensitive_changes_need_a_person_too(place):
    with Client(place) as client:
        client.initialize()
        data = whole(client.run(HOOK))
        assert data["changes"]["state"] == "partial", data
        result = client.tool("apply_changes", run=data["run"])
        denied(result, "sensitive-changes")
        names_no_grant(result)
    with asking(place, {"action": "decline"}) as client:
        denied(client.tool("apply_changes", run=data["run"]), "sensitive-changes")
        assert "pre-commit" in client.asked[0]["params"]["message"], client.asked
    assert not (place.project / ".git/hooks/pre-commit").exists()
    with asking(place, ALLOW) as client:
        assert client.tool("apply_changes", run=data["run"])["structuredContent"]["count"] >= 1
        assert (place.project / ".git/hooks/pre-commit").read_text() == "x\n"
        client.tool("undo", run=data["run"])
        assert not (place.project / ".git/hooks/pre-commit").exists()
        result = client.tool("undo", run=data["run"])  # again: that would bring the hook back
        assert result["isError"] and "a person decides" in text_of(result), result
        names_no_grant(result)
        assert not (place.project / ".git/hooks/pre-commit").exists()


@test
def others_are_served_while_a_question_waits(place):
    with Client(place) as client:
        client.initialize(elicitation={})
        first = client.start("tools/call", call("run_command", command="echo one", network=True))
        second = client.start("tools/call", call("run_command", command="echo two", network=True))
        questions = {}
        for _ in range(2):
            request = client.receive()
            questions["one" if "echo one" in request["params"]["message"] else "two"] = request["id"]
        assert text_of(client.run("echo three")) == "three\n"
        client.send({"jsonrpc": "2.0", "id": questions["two"], "result": ALLOW})
        assert text_of(client.wait(second)["result"]) == "two\n"
        client.notify("notifications/cancelled", requestId=first)
        note = client.receive()
        assert note["method"] == "notifications/cancelled" and note["params"]["requestId"] == questions["one"], note
        client.send({"jsonrpc": "2.0", "id": questions["one"], "result": ALLOW})
        assert client.request("ping")["result"] == {}


def pending(place, count=1):
    """The questions that wait for a person, once there are so many."""
    end = time.monotonic() + 50
    while True:
        found = json.loads(place.airlock("questions", "--json").stdout)["questions"]
        if len(found) == count:
            return found
        assert time.monotonic() < end, (count, found)
        time.sleep(0.02)


def answer(place, question, word, status=0):
    assert place.airlock("answer", question["id"], word).returncode == status


@test
def without_elicitation_a_person_answers_elsewhere(place):
    place.env["AIRLOCK_PERMISSION_WAIT"] = "40s"
    for modern in (False, True):
        with Client(place) as client:
            client.modern() if modern else client.initialize()
            for word in ("allow", "deny"):
                number = client.start("tools/call", call("run_command", command="echo x >made", network=True), progress=7)
                (question,) = pending(place)
                assert question["reasons"] == ["network"] and question["command"] == "echo x >made", question
                assert question["project"] == str(place.project) and question["asked_by"] == "mcp: test", question
                # The server serves others meanwhile, and none of them can answer.
                assert text_of(client.run("echo three")) == "three\n"
                inside = client.run(f"unset AIRLOCK_AGENT; {program()} answer {question['id']} allow")
                assert inside["structuredContent"]["exit_code"] != 0, inside
                assert not (place.project / "made").exists()
                answer(place, question, word)
                result = client.wait(number)["result"]
                if word == "allow":
                    assert result["structuredContent"]["exit_code"] == 0, result
                    (place.project / "made").unlink()
                else:
                    denied(result, "network")
                    names_no_grant(result)
                    assert not (place.project / "made").exists()
                answer(place, question, "allow", 3)


@test
def a_call_that_is_cancelled_withdraws_its_question(place):
    place.env["AIRLOCK_PERMISSION_WAIT"] = "40s"
    with Client(place) as client:
        client.initialize()
        number = client.start("tools/call", call("run_command", command="echo x >made", network=True))
        (question,) = pending(place)
        client.notify("notifications/cancelled", requestId=number)
        pending(place, 0)
        answer(place, question, "allow", 3)
        # A server that ends leaves none behind either.
        client.start("tools/call", call("run_command", command="echo x >made", network=True))
        (question,) = pending(place)
    pending(place, 0)
    assert place.airlock("answer", question["id"], "allow").returncode in (1, 3)
    assert not (place.project / "made").exists()


@test
def nobody_answers_and_progress_tells_of_the_waiting(place):
    place.env["AIRLOCK_PERMISSION_WAIT"] = "2500ms"
    with Client(place) as client:
        client.initialize()
        number = client.start("tools/call", call("run_command", command="echo x >made", network=True), progress="token")
        result = client.wait(number)["result"]
        denied(result, "network")
        assert "nobody answered in time" in text_of(result), result
        names_no_grant(result)
        notes = [note["params"] for note in client.notes if note["method"] == "notifications/progress"]
        assert notes and "waiting for a person" in notes[0]["message"], client.notes
    assert not (place.project / "made").exists()


@test
def what_the_mode_held_waits_for_a_person_elsewhere(place):
    place.env["AIRLOCK_PERMISSION_WAIT"] = "40s"
    with Client(place, "--hold") as client:
        client.initialize()
        run = whole(client.run("echo x >made"))["run"]
        for word in ("deny", "allow"):
            number = client.start("tools/call", call("apply_changes", run=run))
            (question,) = pending(place)
            assert question["reasons"] == ["held-changes"] and "made" in question["question"], question
            assert not (place.project / "made").exists()
            answer(place, question, word)
            result = client.wait(number)["result"]
            assert bool(result.get("isError")) == (word == "deny"), result
        assert (place.project / "made").read_text() == "x\n"


@test
def what_the_mode_held_is_applied_by_a_person_only(place):
    with Client(place, "--hold") as client:
        client.initialize()
        run = whole(client.run("echo x >made; mkdir d; echo y >d/other"))["run"]
        result = client.tool("apply_changes", run=run)
        denied(result, "held-changes")
        names_no_grant(result)
        killed = whole(client.run("echo x >late; sleep 60", timeout=3))
        assert killed["status"] == "timeout", killed
        denied(client.tool("apply_changes", run=killed["run"]), "held-changes")
    with asking(place, {"action": "accept"}) as client:
        denied(client.tool("apply_changes", run=run), "held-changes")
        assert "made" in client.asked[0]["params"]["message"], client.asked
        check_schema(client.asked[0]["params"]["requestedSchema"], ["allow_once", "deny"])
        client.answer = lambda request: ALLOW
        assert not (place.project / "made").exists()
        assert client.tool("apply_changes", run=run, paths=["d"])["structuredContent"]["count"] == 2
        assert (place.project / "d/other").exists() and not (place.project / "made").exists()
        assert client.tool("apply_changes", run=run)["structuredContent"]["count"] == 2  # also of the later step
        client.tool("undo", run=run)
        asked = len(client.asked)
        result = client.tool("undo", run=run)  # would apply again what the person may have rejected
        assert result["isError"] and "a person decides" in text_of(result), result
        assert not (place.project / "made").exists() and len(client.asked) == asked


@test
def what_a_timeout_held_in_apply_mode_needs_nobody(place):
    with Client(place) as client:
        client.initialize()
        data = whole(client.run("echo x >made; sleep 60", timeout=3))
        assert data["status"] == "timeout" and not (place.project / "made").exists(), data
        assert client.tool("apply_changes", run=data["run"])["structuredContent"]["count"] == 1
        assert (place.project / "made").exists()


# ---- 2026-07-28



def first_round(client, params):
    result = client.request("tools/call", params)["result"]
    assert result["resultType"] == "input_required", result
    assert len(result["inputRequests"]) == 1 and len(result["requestState"]) >= 32, result
    (key, request), = result["inputRequests"].items()
    assert request["method"] == "elicitation/create", request
    return key, request["params"], result["requestState"]


@test
def in_2026_the_request_comes_again_with_the_answer(place):
    params = call("run_command", command="echo hi", network=True)
    with Client(place) as client:
        client.modern(elicitation={"form": {}})
        for answer, allowed in ((ALLOW, True), ({"action": "decline"}, False), ({"action": "cancel"}, False),
                                *((no_answer, False) for no_answer in ACCEPTED_WITHOUT_A_DECISION)):
            key, question, state = first_round(client, params)
            assert question["message"].endswith("Run command with network access: echo hi?"), question
            result = client.request("tools/call", {**params, "requestState": state,
                                                   "inputResponses": {key: answer}})["result"]
            assert result["resultType"] == "complete", result
            if allowed:
                assert text_of(result) == "hi\n" and whole(result)["isolation"]["network"] == "allowed"
            else:
                denied(result, "network")
        assert not client.asked, "a server of 2026-07-28 sends no requests"


@test
def a_request_state_is_good_for_one_use_of_one_request(place):
    params = call("run_command", command="echo x >made", network=True)
    with Client(place) as client:
        client.modern(elicitation={})

        def again(state, **changed):
            whole = {**params, **changed, "requestState": state, "inputResponses": {key: ALLOW}}
            return client.request("tools/call", whole)

        key, _, state = first_round(client, params)
        other = call("run_command", command="echo y >made", network=True)
        assert again(state, **other)["error"]["code"] == -32602  # another command
        assert again(state)["error"]["code"] == -32602  # and used up by that
        key, _, state = first_round(client, params)
        assert again(state[:-1] + ("0" if state[-1] != "0" else "1"))["error"]["code"] == -32602
        assert again("")["error"]["code"] == -32602
        assert again(7)["error"]["code"] == -32602
        assert not (place.project / "made").exists()
        assert again(state)["result"]["structuredContent"]["exit_code"] == 0
        assert again(state)["error"]["code"] == -32602  # once
        _, _, one = first_round(client, params)
        _, _, two = first_round(client, params)
        assert one != two
    with Client(place) as client:
        client.modern(elicitation={})
        assert again(two)["error"]["code"] == -32602  # another server


@test
def answers_without_a_question_count_for_nothing(place):
    params = call("run_command", command="echo x >made", network=True)
    with Client(place) as client:
        client.modern(elicitation={})
        result = client.request("tools/call", {**params, "inputResponses": {"permission": ALLOW}})["result"]
        assert result["resultType"] == "input_required", result
        key, _, state = first_round(client, params)
        result = client.request("tools/call", {**params, "requestState": state, "inputResponses": {
            "other": ALLOW}})["result"]
        assert result["resultType"] == "input_required" and result["requestState"] != state, result
        reply = client.request("tools/call", {**params, "requestState": result["requestState"], "inputResponses": [1]})
        assert reply["error"]["code"] == -32602, reply
    assert not (place.project / "made").exists()


@test
def without_elicitation_2026_denies_as_well(place):
    with Client(place) as client:
        client.modern()
        denied(client.run("true", network=True), "network")


@test
def sensitive_changes_in_2026(place):
    with Client(place) as client:
        client.modern(elicitation={})
        run = whole(client.run(HOOK))["run"]
        params = call("apply_changes", run=run)
        key, question, state = first_round(client, params)
        assert "pre-commit" in question["message"], question
        result = client.request("tools/call", {**params, "requestState": state,
                                               "inputResponses": {key: ALLOW}})["result"]
        assert (place.project / ".git/hooks/pre-commit").exists(), result


@test
def what_the_mode_held_in_2026(place):
    with Client(place, "--hold") as client:
        client.modern(elicitation={})
        run = whole(client.run("echo x >made"))["run"]
        params = call("apply_changes", run=run)
        for answer, applied in (({"action": "accept"}, False), (ALLOW, True)):
            key, question, state = first_round(client, params)
            check_schema(question["requestedSchema"], ["allow_once", "deny"])
            client.request("tools/call", {**params, "requestState": state, "inputResponses": {key: answer}})
            assert (place.project / "made").exists() == applied

def link_out(place, name):
    """A symlink of the project that leads to a directory in the home."""
    target = place.project.parent / ("outside-" + name)
    target.mkdir()
    (place.project / name).symlink_to(target)
    return target


@test
def a_link_is_asked_about_and_only_a_decision_opens_it(place):
    for revision in ("2025-11-25",):  # links are searched for once, so there is one for all
        target = link_out(place, "link-" + revision)
        write = f"echo ran >made; echo 1 >link-{revision}/new"
        noes = ({"action": "accept"}, {"action": "accept", "content": {}}, {"action": "accept", "content": {"decision": "allow"}},
                {"action": "cancel"}, {"action": "decline"})
        for answer in noes:
            with asking(place, answer, revision) as client:
                result = client.run(write)
                assert len(client.asked) == 1, (answer, client.asked)
                check_schema(client.asked[0]["params"]["requestedSchema"], ["allow_once", "deny", "allow_always", "deny_always"])
                assert str(target) in client.asked[0]["params"]["message"], client.asked
                # The command ran, only the target stayed read-only, and the model is told no line that opens it.
                assert (place.project / "made").exists() and not (target / "new").exists(), (answer, result)
                assert "read-only" in str(result), result
                names_no_grant(result)
                assert "project link" not in str(result), result
            (place.project / "made").unlink()
        with asking(place, ALLOW, revision) as client:
            assert whole(client.run(write))["exit_code"] == 0
            assert (target / "new").read_text() == "1\n"
        with asking(place, {"action": "accept", "content": {"decision": "deny_always"}}, revision) as client:
            client.run(f"echo 2 >link-{revision}/new")
            client.run(f"echo 2 >link-{revision}/new")
            assert (target / "new").read_text() == "1\n" and len(client.asked) == 1, client.asked  # a no is remembered


@test
def a_link_that_a_command_made_is_applied_by_a_person_only(place):
    target = place.project.parent / "outside-made"
    target.mkdir()
    with asking(place, {"action": "accept"}) as client:
        data = whole(client.run(f"ln -s {target} made; ln -s . inside"))
        assert (place.project / "inside").is_symlink() and not (place.project / "made").is_symlink(), data
        for answer in ({"action": "accept"}, {"action": "decline"}, {"action": "cancel"}):
            client.answer = lambda request, answer=answer: answer
            denied(client.tool("apply_changes", run=data["run"]), "sensitive-changes")
            assert not (place.project / "made").is_symlink()
        assert "leads out of the project" in client.asked[0]["params"]["message"], client.asked
        client.answer = lambda request: ALLOW
        assert client.tool("apply_changes", run=data["run"])["structuredContent"]["count"] == 1
        assert (place.project / "made").is_symlink()
        # Applied, it is a link like others: what it leads to is still a question of its own.
        client.answer = lambda request: {"action": "decline"}
        client.run("echo x >made/new")
        assert not (target / "new").exists()


if __name__ == "__main__":
    sys.exit(main())
