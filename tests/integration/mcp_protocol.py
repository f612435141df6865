#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock mcp`: the protocol itself, right and wrong. Prints TAP.

    mcp_protocol.py BUILD
"""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import META, Client, main, program, test  # noqa: E402

TOOLS = {"run_command", "list_changes", "diff", "apply_changes", "discard_changes", "undo", "read_file", "write_file",
         "edit_file", "list_files", "glob", "grep"}


def code_of(client, line):
    """What a line is answered with: the error's code and the id."""
    client.send_bytes(line + b"\n")
    reply = client.receive()
    assert reply["jsonrpc"] == "2.0" and "result" not in reply, reply
    return reply["error"]["code"], reply["id"]


@test
def the_handshake_of_each_2025_revision(place):
    for wanted, given in (("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
        with Client(place) as client:
            result = client.initialize(wanted)
            assert result["protocolVersion"] == given, result
            assert result["serverInfo"]["name"] == "airlock" and result["serverInfo"]["version"], result
            assert "tools" in result["capabilities"] and "resources" in result["capabilities"], result
            assert "sandbox" in result["instructions"]
            assert client.request("ping")["result"] == {}


@test
def nothing_is_served_before_the_handshake(place):
    with Client(place) as client:
        assert client.request("tools/list")["error"]["code"] == -32602
        assert client.request("ping")["result"] == {}
        client.initialize()
        assert client.request("tools/list")["result"]["tools"]
        assert client.request("initialize", {"protocolVersion": "2025-11-25"})["error"]["code"] == -32600


@test
def discovery_of_the_2026_revision(place):
    with Client(place) as client:
        result = client.modern().request("server/discover")["result"]
        assert "2026-07-28" in result["supportedVersions"], result
        assert result["resultType"] == "complete" and isinstance(result["ttlMs"], int), result
        assert result["cacheScope"] in ("public", "private"), result
        assert result["_meta"][META + "serverInfo"]["name"] == "airlock", result
        tools = client.request("tools/list")["result"]
        assert tools["resultType"] == "complete" and tools["ttlMs"] >= 0 and tools["cacheScope"], tools
        assert client.run("echo hi")["resultType"] == "complete"
        assert client.request("ping")["error"]["code"] == -32601
        assert client.request("initialize", {"protocolVersion": "2026-07-28"})["error"]["code"] == -32601


@test
def the_revision_is_decided_request_by_request(place):
    with Client(place) as client:
        client.initialize("2025-06-18")
        modern = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}
        assert "resultType" not in client.request("tools/list")["result"]
        assert client.request("tools/list", {"_meta": modern})["result"]["resultType"] == "complete"
        assert "resultType" not in client.request("tools/list")["result"]


@test
def what_is_wrong_with_the_meta_of_2026_is_said(place):
    with Client(place) as client:
        def code(**meta):
            return client.request("tools/list", {"_meta": {META + name: value for name, value in meta.items()}})["error"]
        error = code(protocolVersion="2030-01-01", clientCapabilities={})
        assert error["code"] == -32022 and error["data"]["requested"] == "2030-01-01", error
        assert "2026-07-28" in error["data"]["supported"], error
        assert code(protocolVersion="2026-07-28")["code"] == -32602
        assert code(protocolVersion=7, clientCapabilities={})["code"] == -32602
        assert code(clientCapabilities={})["code"] == -32602
        assert client.request("server/discover")["error"]["code"] == -32602


@test
def every_tool_is_described_completely(place):
    with Client(place) as client:
        client.initialize()
        tools = {tool["name"]: tool for tool in client.request("tools/list")["result"]["tools"]}
        assert set(tools) == TOOLS, set(tools) ^ TOOLS
        for name, tool in tools.items():
            assert tool["title"] and len(tool["description"]) > 40, name
            assert tool["inputSchema"]["type"] == "object", name
            assert tool["inputSchema"]["additionalProperties"] is False, name
            assert tool["outputSchema"]["type"] == "object", name
            assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= set(tool["annotations"]), name
        assert tools["run_command"]["inputSchema"]["required"] == ["command"]
        assert set(tools["run_command"]["inputSchema"]["properties"]) == {"command", "working_dir", "network", "hosts", "timeout",
                                                                          "allow_write"}
        assert "network" in tools["run_command"]["description"] and "playground" in tools["run_command"]["description"]


@test
def lines_that_are_no_requests(place):
    with Client(place) as client:
        client.initialize()
        for line, code in ((b"{", -32700), (b"nonsense", -32700), (b"\xff\xfe", -32700), (b'"\xc3"', -32700),
                           (b"\xef\xbb\xbf{}", -32700), (b"{}{}", -32700), (b'{"a":1,"a":2}', -32600), (b"7", -32600),
                           (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (b"{}", -32600),
                           (b'{"jsonrpc":"1.0","method":"ping"}', -32600), (b'{"jsonrpc":"2.0","method":1}', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', -32600)):
            assert code_of(client, line) == (code, None), (line, code)
        assert client.request("ping")["result"] == {}


@test
def errors_carry_the_id_of_their_request(place):
    with Client(place) as client:
        client.initialize()
        assert code_of(client, b'{"jsonrpc":"2.0","id":"x","method":"nothing/such"}') == (-32601, "x")
        assert code_of(client, b'{"jsonrpc":"2.0","id":70,"method":"tools/call","params":[]}') == (-32602, 70)
        assert code_of(client, b'{"jsonrpc":"2.0","id":71,"method":"tools/call","params":"x"}') == (-32600, 71)
        assert code_of(client, b'{"jsonrpc":"2.0","id":72,"method":"tools/call","params":{}}') == (-32602, 72)
        assert code_of(client, b'{"jsonrpc":"2.0","id":73,"method":"tools/call","params":{"name":"no"}}') == (-32602, 73)
        assert code_of(client, b'{"jsonrpc":"2.0","id":74,"method":"resources/read","params":{"uri":"airlock://x"}}') == (
            -32602, 74)
        assert code_of(client, b'{"jsonrpc":"2.0","id":75,"method":"tools/list","params":{"cursor":"x"}}') == (-32602, 75)


@test
def depth_and_length_have_limits(place):
    with Client(place) as client:
        client.initialize()
        deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100000 + b"]" * 100000 + b"}}"
        assert code_of(client, deep)[0] == -32600
        assert code_of(client, b"[" * 5000) == (-32600, None)
        assert code_of(client, b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (13 << 20) + b'"}')[0] == -32600
        assert code_of(client, b"y" * (17 << 20))[0] == -32600
        assert client.request("ping")["result"] == {}


@test
def notifications_and_strange_responses_are_never_answered(place):
    with Client(place) as client:
        client.initialize()
        for line in ({"jsonrpc": "2.0", "method": "notifications/nothing"}, {"jsonrpc": "2.0", "method": "tools/list"},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []},
                     {"jsonrpc": "2.0", "id": 4, "result": {}},
                     {"jsonrpc": "2.0", "id": "ask-1", "error": {"code": 1, "message": "x"}}):
            client.send(line)
        client.send_bytes(b"\n  \r\n")
        client.send({"jsonrpc": "2.0", "id": "end", "method": "ping"})
        assert client.receive() == {"jsonrpc": "2.0", "id": "end", "result": {}}


@test
def arguments_are_held_against_the_schema(place):
    wrong = ({}, {"command": 1}, {"command": ""}, {"command": "true", "x": 1}, {"command": "true", "timeout": 0},
             {"command": "true", "timeout": "1"}, {"command": "true", "network": "yes"},
             {"command": "true", "allow_write": "x"}, {"command": "true", "allow_write": [1]},
             {"command": "echo \0 x"})
    with Client(place) as client:
        client.initialize("2025-11-25")
        for arguments in wrong:
            result = client.tool("run_command", **arguments)
            assert result["isError"] and result["content"][0]["text"].startswith("ERROR: "), (arguments, result)
    with Client(place) as client:
        client.initialize("2025-06-18")
        for arguments in wrong:
            reply = client.request("tools/call", {"name": "run_command", "arguments": arguments})
            assert reply["error"]["code"] == -32602, (arguments, reply)


@test
def an_id_is_used_by_one_request_at_a_time(place):
    with Client(place) as client:
        client.initialize()
        for _ in range(2):
            client.send({"jsonrpc": "2.0", "id": "same", "method": "tools/call",
                         "params": {"name": "run_command", "arguments": {"command": "sleep 0.5; echo once"}}})
        first, second = client.receive(), client.receive()
        assert first["error"]["code"] == -32600 and "result" in second, (first, second)


@test
def only_messages_on_standard_output_and_a_prompt_end(place):
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    done = subprocess.run([program(), "mcp"], input="".join(json.dumps(line) + "\n" for line in lines), text=True,
                          cwd=place.project, env=place.env, capture_output=True, timeout=50)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [reply["id"] for reply in replies] == [1, 2] and done.stderr == "", done


@test
def end_of_input_kills_what_runs_and_holds_its_changes(place):
    with Client(place) as client:
        client.initialize()
        number = client.start("tools/call", {"name": "run_command", "arguments": {
            "command": "echo early >made; (setsid sleep 987 &) ; echo ready >&2; sleep 987"}}, progress=1)
        client.until_written("made", number)
        client.process.stdin.close()
        assert client.process.wait(50) == 0
    assert not (place.project / "made").exists()
    changes = json.loads(place.airlock("changes", "last", "--json").stdout)
    assert changes["state"] == "held" and [file["path"] for file in changes["files"]] == ["made"], changes


@test
def sigterm_ends_it_like_end_of_input(place):
    with Client(place) as client:
        client.initialize()
        number = client.start("tools/call", {"name": "run_command", "arguments": {"command": "echo early >made; sleep 987"}})
        client.until_written("made", number)
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(50) == 0
    assert json.loads(place.airlock("changes", "last", "--json").stdout)["state"] == "held"


@test
def options_that_make_no_sense_are_refused(place):
    for options in (["--json"], ["-t"], ["--nothing"], ["word"]):
        done = place.airlock("mcp", *options)
        assert done.returncode == 2 and done.stdout == "", (options, done)


if __name__ == "__main__":
    sys.exit(main())
