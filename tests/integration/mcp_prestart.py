#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`airlock mcp` starts the sandbox of the next command before it comes: that it is used, used once, the same as a new one, and
never shows what a new one would not. Prints TAP.

    mcp_prestart.py BUILD
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mcp_client import PATIENCE, Client, main, test, whole  # noqa: E402

TRIES = 5  # somebody who replaces /etc/shadow, say, spoils what waits with it hidden
VIEW = (Path(__file__).resolve().parent.parent / "inside_view.py").read_text()


def waiting(client):
    """The sandboxes of this server that wait for a command."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(") ")
            if name == "airlock-ready" and rest.split()[0] != "Z" and int(rest.split()[1]) == client.process.pid:
                found.append(int(entry.name))
    return found


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.005)
    return result


def ready(client):
    return until("no sandbox was started", lambda: waiting(client))[0]


def is_gone(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    return True


def run(client, command, prestarted, **arguments):
    """One command, in a sandbox that was waiting (prestarted), in a new one because that one is of no use (not), or in either."""
    for _ in range(TRIES if prestarted else 1):
        if prestarted:
            ready(client)
        data = whole(client.run(command, **arguments))
        assert data["error"] is None, data["error"]
        if prestarted is None or data["usage"]["warm_start"] == prestarted:
            return data
    raise AssertionError(data)


def said(client, command, prestarted, **arguments):
    return run(client, command, prestarted, **arguments)["stdout"]


# Who enters a user namespace has every privilege in it until he executes something.
IN_NAMESPACES = """
import ctypes, os, sys
libc, place = ctypes.CDLL(None), os.fsencode(sys.argv[2])
for name in ("user", "mnt") if os.getuid() else ("mnt",):
    assert libc.setns(os.open(f"{sys.argv[1]}/{name}", os.O_RDONLY), 0) == 0
sys.exit(libc."""
OWN_USER = () if os.getuid() == 0 else ("--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}")


@contextlib.contextmanager
def server(place, *options, **capabilities):
    """In a mount namespace of its own: whatever somebody mounts on this machine spoils what is waiting."""
    with Client(place, *options, through=("unshare", "--mount", *OWN_USER)) as client:
        client.initialize(**capabilities)
        yield client


def configure(place, text):
    file = place.home / ".config/airlock/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


# ---- it is used, once


@test
def each_command_gets_one_that_nobody_had(place):
    with server(place) as client:
        first = ready(client)
        assert said(client, "echo $$ >/tmp/mine; echo $$ >made; ls /tmp", True) == "mine\n"
        second = ready(client)
        assert first != second and is_gone(first)
        data = run(client, "ls -A /tmp /dev/shm; nohup sleep 987 >/dev/null 2>&1 &", True)
        assert data["stdout"].startswith("/dev/shm:\n\n/tmp:\n") and data["changes"]["files"] == [], data
        ready(client)
        assert len(waiting(client)) <= 1


@test
def of_many_at_once_one_gets_it_and_all_are_served(place):
    with server(place) as client:
        for _ in range(TRIES):
            ready(client)
            numbers = [client.start("tools/call", {"name": "run_command", "arguments": {"command": f"echo {i}; sleep 0.05"}})
                       for i in range(4)]
            replies = {}
            while len(replies) < len(numbers):
                message = client.receive()
                replies[message["id"]] = whole(message["result"])
            assert [replies[number]["stdout"] for number in numbers] == [f"{i}\n" for i in range(4)], replies
            prestarted = [replies[number]["usage"]["warm_start"] for number in numbers]
            assert not any(prestarted[1:]), prestarted
            if prestarted[0]:
                return
        raise AssertionError(prestarted)


@test
def a_command_sees_in_it_what_it_sees_in_a_new_one(place):
    (place.home / "shown").mkdir()
    (place.project / "secret").mkdir()
    (place.project / ".env").write_text("secret")
    names = [option for name in sorted(os.listdir("/proc/self/ns"))
             for option in ("--env", f"HOST_{name}={os.readlink('/proc/self/ns/' + name)}")]
    paths = ("--hide", f"{place.project}/secret", "--hide", f"{place.project}/.env", "--ro", f"{place.home}/shown")
    for profile, more in (("strict", ()), ("moderate", ()), ("moderate", ("--changes", "direct")), ("permissive", paths)):
        views = []
        for switch in "true", "false":
            configure(place, f"[sandbox]\nwarm_start = {switch}\n")
            (place.project / "view.py").write_text(VIEW)
            with server(place, "--profile", profile, *names, *more) as client:
                if switch == "false":
                    assert not waiting(client)
                view = said(client, "python3 -I -S view.py", True if switch == "true" else None)
                views.append([line for line in view.splitlines() if not line.startswith("mount /etc/")])
        assert len(views[0]) > 80 and views[0] == views[1], (profile, more, set(views[0]) ^ set(views[1]))


@test
def limits_hold_in_it(place):
    with server(place, "--memory", "200M", "--pids", "20", "--fsize", "1M", "--timeout", "20s") as client:
        data = run(client, "head -c 2M /dev/zero >big", True)
        assert data["usage"]["limit_hit"] == "fsize", data
        data = run(client, "for i in $(seq 40); do sleep 1 & done; wait", True)
        assert data["usage"]["limit_hit"] == "pids", data
        data = whole(client.run("true"))  # what the shell left counts, as long as it runs
        assert data["error"] is None or data["error"]["code"] == "limit", data
        time.sleep(1.5)
        data = run(client, "python3 -c 'x = b\"x\" * 10**9; import time; time.sleep(9)'", True)
        assert data["usage"]["limit_hit"] == "memory", data
        ready(client)
        data = whole(client.run("sleep 987", timeout=0.2))
        assert data["status"] == "timeout", data


@test
def a_cancelled_command_is_killed_in_it_and_its_changes_are_held(place):
    with server(place) as client:
        ready(client)
        number = client.start("tools/call", {"name": "run_command", "arguments": {"command": "echo x >made; sleep 987"}})
        client.until_written("made", number)
        client.notify("notifications/cancelled", requestId=number)
        data = run(client, "ls", True)
        assert data["stdout"] == "" and not (place.project / "made").exists(), data
        assert client.tool("list_changes", run="last")["structuredContent"]["state"] == "none"


@test
def what_a_person_must_allow_gets_a_new_one(place):
    (place.home / "extra").mkdir()
    with server(place, elicitation={}) as client:
        client.answer = lambda message: {"action": "accept", "content": {"decision": "allow_once"}}
        ready(client)
        run(client, "true", False, network=True)
        ready(client)
        data = run(client, f"echo x >{place.home}/extra/made", False, allow_write=[f"{place.home}/extra"])
        assert data["exit_code"] == 0 and (place.home / "extra/made").exists(), data
        assert client.asked, "nobody was asked"
        run(client, "true", True)


@test
def what_fails_inside_is_told_as_ever(place):
    answers = []
    for switch in "true", "false":
        configure(place, f"[sandbox]\nwarm_start = {switch}\n")
        with server(place) as client:
            for arguments in ({"command": "nosuchprogram"}, {"command": "true", "working_dir": "/nowhere"},
                              {"command": "exit 3"}, {"command": "kill -9 $$"}):
                if switch == "true":
                    ready(client)
                data = whole(client.run(**arguments))
                answers.append([data[key] for key in ("status", "exit_code", "signal", "stderr", "error")])
    assert answers[:4] == answers[4:], answers


@test
def what_fails_while_it_is_finished_names_what_was_done(place):
    # That this machine can is remembered, and the session has a holder, which makes the same calls.
    assert place.airlock("run", "--session", "work", "--", "true").returncode == 0
    fault = ("strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pivot_root", "-e", "inject=pivot_root:error=EPERM")
    with Client(place, "--session", "work", through=fault) as client:
        client.initialize()
        for _ in range(TRIES):
            ready(client)
            data = whole(client.run("true"))
            assert data["status"] == "error" and data["exit_code"] == 125, data
            assert data["error"]["code"] == "init_failed" and data["error"]["op"] == "change the root", data
            assert "Operation not permitted" in data["error"]["message"], data
            if data["usage"]["warm_start"]:
                return
        raise AssertionError(data)


@test
def it_is_switched_off_in_the_configuration(place):
    file = configure(place, "[sandbox]\nwarm_start = false\n")
    with server(place) as client:
        assert not run(client, "true", None)["usage"]["warm_start"]
        time.sleep(0.2)
        assert not waiting(client)
        file.write_text("[sandbox]\nwarm_start = true\n")
        run(client, "true", None)
        run(client, "true", True)
        pid = ready(client)
        file.write_text("[sandbox]\nwarm_start = false\n")
        run(client, "true", None)
        until("it stays", lambda: is_gone(pid))
        time.sleep(0.2)
        assert not waiting(client)


# ---- it ends


@test
def it_ends_with_the_server_however_that_ends(place):
    for how in signal.SIGKILL, signal.SIGTERM, None:
        with server(place) as client:
            pid = ready(client)
            if how:
                client.process.send_signal(how)
            else:
                client.process.stdin.close()
            client.process.wait(PATIENCE)
            until("it outlives the server", lambda: is_gone(pid))


@test
def one_that_died_is_not_missed(place):
    with server(place) as client:
        os.kill(ready(client), signal.SIGKILL)
        assert said(client, "echo fine", None) == "fine\n"
        pid = ready(client)
        os.kill(pid, signal.SIGSTOP)
        number = client.start("tools/call", {"name": "run_command", "arguments": {"command": "echo fine"}})
        time.sleep(0.3)  # it is taken, most likely, and does nothing
        os.kill(pid, signal.SIGKILL)
        data = whole(client.wait(number)["result"])
        assert data["stdout"] == "fine\n" and data["error"] is None, data
        assert said(client, "echo fine", True) == "fine\n"


# ---- it is not stale: what was there, what is done then, the command, what it must say


def stale(place, before, change, command, *expected, options=(), prestarted=None):
    """prestarted: the change is one that every sandbox shows. Otherwise it is a new one that shows it; or, where the test was slow,
    one that was started since."""
    before()
    with server(place, *options) as client:
        assert said(client, command, True) == expected[0]
        ready(client)
        change()
        assert said(client, command, prestarted) == expected[1]
        ready(client)
        assert said(client, command, True) == expected[1]  # and the next one is made for how it is now


@test
def a_secret_that_comes_into_being_is_hidden(place):
    home = place.home
    for name in ".ssh/id", ".netrc", ".config/gh/hosts.yml", ".aws/credentials":
        file = home / name

        def change():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("secret")
        stale(place, (home / ".config").mkdir if "config" in name and not (home / ".config").exists() else lambda: None,
              change, f"cat {file} || echo hidden", "hidden\n", "hidden\n")


@test
def a_secret_that_was_replaced_stays_hidden(place):
    data = place.home / "data"
    data.mkdir()
    options = ("--hide", f"{data}/directory", "--hide", f"{data}/file")

    def before():
        shutil.rmtree(data)
        (data / "directory").mkdir(parents=True)
        (data / "directory/key").write_text("secret")
        (data / "file").write_text("secret")

    def removed():
        shutil.rmtree(data / "directory")
        (data / "file").unlink()
        (data / "directory").mkdir()
        (data / "directory/key").write_text("secret")
        (data / "file").write_text("secret")

    def moved():
        (data / "directory").rename(data / "elsewhere")
        (data / "directory").mkdir()
        (data / "directory/key").write_text("secret")
        shutil.rmtree(data / "elsewhere")

    def written_anew():
        (data / "new").write_text("secret")
        (data / "new").rename(data / "file")

    def linked_anew():
        os.link(data / "file", data / "other")
        (data / "file").unlink()
        (data / "other").rename(data / "file")

    def parent_moved():
        data.rename(place.home / "old")
        data.mkdir()
        (data / "directory").mkdir()
        (data / "directory/key").write_text("secret")
        (data / "file").write_text("secret")
        shutil.rmtree(place.home / "old")

    def parent_linked():
        data.rename(place.home / "real")
        data.symlink_to("real")

    def only_moved():  # what covers it moves with it
        (data / "directory").rename(data / "elsewhere")
        (data / "directory").mkdir()
        (data / "directory/key").write_text("secret")

    for change in removed, moved, only_moved, written_anew, linked_anew, parent_moved:
        stale(place, before, change, f"cat {data}/directory/key {data}/file || true", "", "", options=options)
    stale(place, before, parent_linked, f"cat {data}/directory/key {data}/file ~/real/*/key ~/real/file || true", "", "",
          options=options)


@test
def a_rule_that_was_added_holds(place):
    data = place.home / "data"
    data.mkdir()
    (data / "file").write_text("plain\n")
    file = configure(place, "")

    rule = f'[profiles.moderate]\nblocked_paths = ["{data}/file"]\n'
    stale(place, lambda: None, lambda: file.write_text(rule), f"cat {data}/file", "plain\n", "")
    project_file = place.project / ".airlock.toml"
    stale(place, lambda: file.write_text(""), lambda: project_file.write_text(rule), f"cat {data}/file", "plain\n", "")


@test
def files_of_the_home_are_as_they_are_now(place):
    file, directory = place.home / "file", place.home / "directory"

    def before():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / "inside").write_text("old\n")
        file.write_text("old\n")

    def replaced():
        (place.home / "new").write_text("new\n")
        (place.home / "new").rename(file)

    def directory_replaced():
        directory.rename(place.home / "gone")
        shutil.rmtree(place.home / "gone")
        directory.mkdir()
        (directory / "inside").write_text("new\n")

    read_file, read_inside = f"cat {file} 2>/dev/null", f"cat {directory}/inside 2>/dev/null"
    stale(place, before, replaced, read_file, "old\n", "new\n")
    stale(place, before, directory_replaced, read_inside, "old\n", "new\n")
    stale(place, before, file.unlink, read_file, "old\n", "")
    stale(place, lambda: None, lambda: file.write_text("new\n"), read_file, "", "new\n")
    # In place: seen through every sandbox.
    stale(place, before, lambda: file.write_text("new\n"), read_file, "old\n", "new\n", prestarted=True)
    stale(place, before, lambda: (directory / "more").write_text("new\n"), f"cat {directory}/more 2>/dev/null", "", "new\n",
          prestarted=True)


@test
def a_project_that_was_replaced_is_the_new_one(place):
    (place.project / "file").write_text("old\n")

    def change():
        place.project.rename(place.home / "moved")
        place.project.mkdir()
        (place.project / "file").write_text("new\n")
    with server(place, "--project", str(place.project), "-C", str(place.project)) as client:
        assert said(client, "cat file", True) == "old\n"
        ready(client)
        change()
        data = run(client, "cat file; echo more >made", None)
        assert data["stdout"] == "new\n" and (place.project / "made").exists(), data
        assert not (place.home / "moved/made").exists()


@test
def an_edit_of_the_project_is_seen(place):
    file = place.project / "file"
    stale(place, lambda: file.write_text("old\n"), lambda: file.write_text("new\n"), "cat file", "old\n", "new\n", prestarted=True)


@test
def a_link_that_leads_elsewhere_leads_there(place):
    first, second, link = place.home / "first", place.home / "second", place.project / "link"
    for target in first, second:
        target.mkdir()
        (target / "name").write_text(f"{target.name}\n")
    link.symlink_to(first)

    def change():
        link.unlink()
        link.symlink_to(second)
    stale(place, lambda: None, change, "cat link/name", "first\n", "second\n")


@test
def a_file_system_that_was_mounted_or_unmounted_is_noticed(place):
    data = place.home / "data"
    data.mkdir()
    (data / "below").write_text("below\n")
    with server(place) as client:
        assert said(client, f"ls {data}", True) == "below\n"
        for call, expected in (("mount(b'none', place, b'tmpfs', 0, None)", ""), ("umount2(place, 0)", "below\n")):
            pid = ready(client)
            subprocess.run(["python3", "-c", IN_NAMESPACES + call + ")", f"/proc/{client.process.pid}/ns", data], check=True)
            until("it keeps the old mounts", lambda: is_gone(pid))  # by itself: nobody has to call
            assert said(client, f"ls {data}", True) == expected  # and another one is made


if __name__ == "__main__":
    sys.exit(main())
