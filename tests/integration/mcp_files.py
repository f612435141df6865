#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock mcp`: the tools for files. Prints TAP.

    mcp_files.py BUILD
"""
import contextlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import Client, main, test, text_of  # noqa: E402


@contextlib.contextmanager
def ready(place, *options):
    with Client(place, *options) as client:
        client.initialize()
        yield client


def failed(result, code):
    assert result["isError"] and text_of(result).startswith("ERROR: "), result
    assert result["structuredContent"]["error"]["code"] == code, result


@test
def reading_whole_and_in_parts(place):
    (place.project / "a").write_text("".join(f"line {i}\n" for i in range(10)))
    with ready(place) as client:
        for path in ("a", "./a", str(place.project / "a")):
            result = client.tool("read_file", path=path)
            assert result["structuredContent"]["content"].startswith("line 0\nline 1\n"), result
            assert "line 9\n" in text_of(result), result
        data = client.tool("read_file", path="a", offset=3, limit=2)["structuredContent"]
        assert data["content"] == "line 3\nline 4\n" and data["next_offset"] == 5 and data["total_lines"] == 10, data


@test
def writing_makes_a_run_that_can_be_undone(place):
    with ready(place) as client:
        client.tool("write_file", path="new/dir/a", content="one\n")
        assert (place.project / "new/dir/a").read_text() == "one\n"
        client.tool("write_file", path="new/dir/a", content="two\n")
        changes = client.tool("list_changes", run="last")["structuredContent"]
        assert [(file["path"], file["kind"], file["state"]) for file in changes["files"]] == [
            ("new/dir/a", "modified", "applied")], changes
        client.tool("undo")
        assert (place.project / "new/dir/a").read_text() == "one\n"


@test
def a_change_that_cannot_be_recorded_leaves_the_server_as_it_was(place):
    runs = place.home / ".local/state/airlock/runs"
    moved = runs.with_name("moved")
    with ready(place) as client:
        client.tool("write_file", path="a", content="one\n")
        runs.rename(moved)
        runs.write_text("in the way")
        for _ in range(3):
            failed(client.tool("write_file", path="a", content="two\n"), "invalid")
        runs.unlink()
        moved.rename(runs)
        client.tool("write_file", path="a", content="three\n")
        assert (place.project / "a").read_text() == "three\n"


@test
def editing_one_place_or_all(place):
    (place.project / "a").write_text("x y x\n")
    with ready(place) as client:
        failed(client.tool("edit_file", path="a", old="z", new="w"), "not_found")
        failed(client.tool("edit_file", path="a", old="x", new="w"), "invalid")
        client.tool("edit_file", path="a", old="y", new="Y")
        client.tool("edit_file", path="a", old="x", new="", all=True)
        assert (place.project / "a").read_text() == " Y \n"


@test
def looking_for_files_and_text(place):
    (place.project / "src").mkdir()
    (place.project / "src/a.c").write_text("int main(void)\n{ return needle; }\n")
    (place.project / "b.txt").write_text("needle\n")
    with ready(place) as client:
        entries = client.tool("list_files")["structuredContent"]["entries"]
        assert {(entry["path"].strip("/"), entry["is_dir"]) for entry in entries} == {("b.txt", False), ("src", True)}
        entries = client.tool("list_files", path="src")["structuredContent"]["entries"]
        assert [entry["path"] for entry in entries] == ["src/a.c"], entries
        entries = client.tool("glob", pattern="*.c")["structuredContent"]["entries"]
        assert [entry["path"] for entry in entries] == ["src/a.c"], entries
        matches = client.tool("grep", pattern="needle")["structuredContent"]["matches"]
        assert {(match["path"], match["line"]) for match in matches} == {("src/a.c", 2), ("b.txt", 1)}, matches
        matches = client.tool("grep", pattern="needle", glob="*.txt", path=".", max=1)["structuredContent"]["matches"]
        assert [match["path"] for match in matches] == ["b.txt"], matches


@test
def nothing_leads_out_of_the_project(place):
    (place.home / "secret").write_text("secret\n")
    (place.project / "link").symlink_to(place.home / "secret")
    with ready(place) as client:
        for path in ("../secret", "/etc/passwd", str(place.home / "secret"), "link", "a/../../secret"):
            for tool, more in (("read_file", {}), ("write_file", {"content": "x"}), ("edit_file", {"old": "s", "new": "x"})):
                result = client.tool(tool, path=path, **more)
                if tool == "write_file" and path == "link" and not result.get("isError"):
                    continue  # the link itself may be replaced
                assert result["isError"] and text_of(result).startswith("ERROR: "), (tool, path, result)
        assert (place.home / "secret").read_text() == "secret\n"
        failed(client.tool("read_file", path="nothing"), "not_found")


@test
def a_sensitive_file_is_held_when_it_is_written(place):
    (place.project / ".git/hooks").mkdir(parents=True)
    with ready(place) as client:
        client.tool("write_file", path=".git/hooks/pre-commit", content="x\n")
        assert not (place.project / ".git/hooks/pre-commit").exists()
        changes = client.tool("list_changes", run="last")["structuredContent"]
        assert changes["files"][0]["state"] == "held", changes
        result = client.tool("apply_changes", run="last")
        assert result["isError"] and "sensitive" in text_of(result), result


@test
def a_workspace_is_written_to_directly(place):
    workspace = place.home / "space"
    workspace.mkdir()
    with ready(place, "--workspace", str(workspace)) as client:
        client.tool("write_file", path="/a", content="x\n")
        assert (workspace / "a").read_text() == "x\n"
        assert client.tool("read_file", path="a")["structuredContent"]["content"] == "x\n"


if __name__ == "__main__":
    sys.exit(main())
