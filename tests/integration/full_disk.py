#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A disk without room: for airlock's state, for the project, before, while and after a command. Prints TAP.

    full_disk.py BUILD

The disks are small file systems in memory, in a mount namespace of the test's own (and a user namespace, for who is not
root). What is promised: the project is what it was or what it should be, the message names the place and the reason, what
is offered (`airlock apply RUN`) works, and with room again everything goes on.
"""
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

INSIDE = "AIRLOCK_TEST_SMALL_DISKS"
AIRLOCK = os.environ.get("AIRLOCK") or str(Path(sys.argv[1], "airlock").resolve())
DISK = 3 << 20


def enter():
    """Again, where mounting is allowed; 0 when that is not to be had."""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", "--mount", *user]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True).returncode:
        print("1..0 # skip needs: a mount namespace of our own")
        return 0
    return subprocess.run([*unshare, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}, check=False).returncode


class Place:
    """A home with a project; either, or both, on a small disk of their own."""

    def __init__(self, state_disk=False, project_disk=False):
        self.home = Path(tempfile.mkdtemp(prefix="full.", dir=os.environ.get("TMPDIR") or Path.home())).resolve()
        self.state, self.project = self.home / "state", self.home / "project"
        for folder, is_disk in ((self.state, state_disk), (self.project, project_disk)):
            folder.mkdir()
            if is_disk:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "none", folder], check=True)
        (self.project / ".git").mkdir()
        (self.project / "file").write_text("original\n")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "AIRLOCK"))}
        self.env |= {"HOME": str(self.home), "XDG_STATE_HOME": str(self.state)}

    def airlock(self, *arguments):
        return subprocess.run([AIRLOCK, *arguments], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    def look(self):
        return {str(path.relative_to(self.project)): (path.lstat().st_mode, path.lstat().st_mtime_ns,
                                                       path.read_bytes() if path.is_file() else None)
                for path in [self.project, *self.project.rglob("*")]}


def fill(folder):
    """Takes the last byte of the disk that folder is on; returns the file to remove."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    return path


def expect(truth, *told):
    if not truth:
        raise AssertionError("\n".join(str(line) for line in told))


def expect_promises_kept(place, done):
    """Every command it offers for a run finds that run."""
    for run in set(re.findall(r"airlock (?:apply|diff|discard|changes) (\d{8}-[\w.-]+)", done.stderr)):
        found = place.airlock("changes", run)
        expect(found.returncode == 0, done.stderr, f"and then: {found.stderr}")


# ---- the tests

def no_room_before():
    """without room for its state nothing is run, and the message says where and why"""
    place = Place(state_disk=True)
    before = place.look()
    filler = fill(place.state)
    done = place.airlock("run", "-c", "echo changed >file; echo ran")
    expect(done.returncode == 125, done)
    expect("ran" not in done.stdout, done)
    expect(str(place.state) in done.stderr and "No space left" in done.stderr, done.stderr)
    expect(place.look() == before, "the project was touched")
    filler.unlink()
    done = place.airlock("run", "-c", "echo changed >file")
    expect(done.returncode == 0 and (place.project / "file").read_text() == "changed\n", done)


def command_fills_the_disk():
    """a command that fills the disk leaves changes that can be found, and nothing half applied"""
    place = Place(state_disk=True)
    expect(place.airlock("run", "-c", "true").returncode == 0)
    before = place.look()
    done = place.airlock("run", "--hold", "-c", "echo changed >file; dd if=/dev/zero of=big bs=4k 2>/dev/null; echo ran")
    expect(done.stdout == "ran\n", done)
    expect(place.look() == before, "the project was touched")
    expect("airlock apply" in done.stderr, done.stderr)
    expect_promises_kept(place, done)
    diff = place.airlock("diff", "last", "file")
    expect("+changed" in diff.stdout, diff)
    done = place.airlock("discard", "last")
    expect(done.returncode == 0, done)
    place.airlock("gc")
    done = place.airlock("run", "-c", "echo again >file")
    expect(done.returncode == 0 and (place.project / "file").read_text() == "again\n", done)
    expect(place.airlock("log", "--verify").returncode == 0, "the log is damaged")


def no_room_for_the_record(*mode):
    """changes whose record cannot be written are not offered for applying, it is told where they are, and with room they are held"""
    place = Place(state_disk=True)
    expect(place.airlock("run", "-c", "true").returncode == 0)
    before = place.look()
    (place.state / "airlock/spare").unlink()
    (place.state / "airlock/spare").mkdir()  # nothing to be had from there
    done = place.airlock("run", *mode, "-c", "echo changed >file; dd if=/dev/zero of=big bs=512 2>/dev/null; "
                                             "cat big >more; echo ran")
    expect(place.look() == before, "the project was touched")
    expect("No space left" in done.stderr and "could not be recorded: the project does not have them" in done.stderr, done.stderr)
    expect("airlock apply" not in done.stderr, done.stderr)
    upper = Path(re.search(r"what it wrote is in (\S+/upper)", done.stderr)[1], "overlay1/file")
    expect(upper.read_text() == "changed\n", upper)
    done = place.airlock("apply", upper.parent.parent.parent.name)
    is_unknown = done.returncode == 1 and str(upper.parent.parent) in done.stderr
    expect(is_unknown or (done.returncode == 125 and "No space left" in done.stderr), done)
    expect(place.look() == before, "the project was touched")
    (upper.parent / "big").unlink()
    done = place.airlock("apply", upper.parent.parent.parent.name, "file")
    expect(done.returncode == 0 and (place.project / "file").read_text() == "changed\n", done)


def no_room_for_a_step():
    """a step of a session that cannot be recorded is one once there is room, and the next command sees it"""
    place = Place(state_disk=True)
    expect(place.airlock("run", "--session", "s", "--hold", "-c", "echo one >one").returncode == 0)
    (place.state / "airlock/spare").unlink(missing_ok=True)
    (place.state / "airlock/spare").mkdir()
    done = place.airlock("run", "--session", "s", "-c", "echo changed >file; dd if=/dev/zero of=big bs=512 2>/dev/null; "
                                                         "cat big >more; echo ran")
    expect("ran" in done.stdout and "No space left" in done.stderr, done)
    expect("become a step of session s" in done.stderr or "could not be recorded" in done.stderr, done.stderr)
    done = place.airlock("session", "show", "s")
    expect("echo one" in done.stdout or "No space left" in done.stderr, done)
    for path in (place.state / "airlock/runs").glob("*/upper/overlay1/big"):
        path.unlink()
    done = place.airlock("run", "--session", "s", "-c", "cat one file; ls")
    expect(done.returncode == 0 and done.stdout == "one\nchanged\nfile\nmore\none\n", done)
    done = place.airlock("apply", "s", "file", "one")
    expect(done.returncode == 0 and (place.project / "file").read_text() == "changed\n", done)
    expect(place.airlock("session", "end", "s").returncode == 0)


def no_room_for_the_record_of_held_changes():
    """the same when they would have been held anyway"""
    no_room_for_the_record("--hold")


def no_room_for_the_history():
    """without room for the history a run is still applied, and says what is missing"""
    place = Place(state_disk=True)
    expect(place.airlock("run", "-c", "true").returncode == 0)
    done = place.airlock("run", "-c", "echo changed >file; seq 200000")
    expect(len(done.stdout.splitlines()) == 200000, "output was lost")
    expect_promises_kept(place, done)


def no_room_to_look():
    """the history can be looked at, and old things removed, without room to bring the database up to date"""
    place = Place(state_disk=True)
    expect(place.airlock("run", "--network", "-c", "first").returncode == 125)  # refused: only the history knows of it
    filler = fill(place.state)
    for _ in range(2):
        done = place.airlock("log")
        expect(done.returncode == 0 and "first" in done.stdout, done)
        expect(place.airlock("gc").returncode == 0, "gc")
    filler.unlink()
    expect("first" in place.airlock("log").stdout, "with room again")
    expect(place.airlock("run", "--network", "-c", "second").returncode == 125)
    filler = fill(place.state)
    done = place.airlock("log")
    expect(done.returncode == 0 and "first" in done.stdout and "second" in done.stdout, done)
    filler.unlink()
    expect("second" in place.airlock("log").stdout, "with room again")
    expect(place.airlock("log", "--verify").returncode == 0, "the log is damaged")


def read_only_state():
    """whoever may only read sees all of the history, and that a line of the audit file is missing"""
    place = Place(state_disk=True)
    remount = [("mount", "-o", f"remount,bind,{mode}", place.state) for mode in ("ro", "rw")]
    audit = place.state / "airlock/audit/audit.jsonl"
    for command, with_database in (("first", False), ("second", True)):
        expect(place.airlock("run", "--network", "-c", command).returncode == 125)
        subprocess.run(remount[0], check=True)
        expect((place.state / "airlock/airlock.db").exists() == with_database, "not what is to be tried")
        done = place.airlock("log")
        expect(done.returncode == 0 and command in done.stdout and "first" in done.stdout, done)
        expect(place.airlock("log", "--verify").returncode == 0, "the log is damaged")
        subprocess.run(remount[1], check=True)
        whole = audit.read_bytes()
        audit.write_bytes(b"".join(whole.splitlines(True)[:-1]))
        subprocess.run(remount[0], check=True)
        expect(place.airlock("log", "--verify").returncode == 125, "a missing line is not noticed")
        subprocess.run(remount[1], check=True)
        audit.write_bytes(whole)
        expect(place.airlock("log").returncode == 0, "written again")


def no_room_in_the_project():
    """a project without room keeps every byte, and takes the changes when there is some"""
    place = Place(project_disk=True)
    done = place.airlock("run", "--hold", "-c", "rm -f filler; echo changed >file; head -c 600000 /dev/zero >large")
    expect(done.returncode == 0 and "held" in done.stderr, done)
    filler = fill(place.project)
    before = place.look()
    done = place.airlock("apply", "last")
    expect(done.returncode == 125 and "No space left" in done.stderr, done)
    expect(place.look() == before, "the project was touched")
    filler.unlink()
    done = place.airlock("apply", "last")
    expect(done.returncode == 0 and (place.project / "large").stat().st_size == 600000, done)
    expect(place.airlock("undo").returncode == 0 and (place.project / "file").read_text() == "original\n", "undo")
    expect(not (place.project / "large").exists(), "undo left a file")


def no_room_to_undo():
    """undoing without room takes nothing away, and works when there is some"""
    place = Place(project_disk=True)
    (place.project / "large").write_bytes(b"l" * 600000)
    done = place.airlock("run", "-c", "rm large; echo changed >file")
    expect(done.returncode == 0 and not (place.project / "large").exists(), done)
    filler = fill(place.project)
    before = place.look()
    done = place.airlock("undo")
    expect(done.returncode == 125 and "No space left" in done.stderr, done)
    expect(place.look() == before, "the project was touched")
    filler.unlink()
    done = place.airlock("undo")
    expect(done.returncode == 0 and (place.project / "large").read_bytes() == b"l" * 600000, done)
    expect((place.project / "file").read_text() == "original\n", "undo")


TESTS = (no_room_before, command_fills_the_disk, no_room_for_the_record, no_room_for_the_record_of_held_changes,
         no_room_for_a_step, no_room_for_the_history, no_room_to_look, read_only_state, no_room_in_the_project, no_room_to_undo)


def main():
    if INSIDE not in os.environ:
        return enter()
    failed = 0
    for number, test in enumerate(TESTS, 1):
        try:
            test()
            print(f"ok {number} {test.__doc__}", flush=True)
        except Exception:  # noqa: BLE001  each is told, none ends the others
            failed += 1
            print(f"not ok {number} {test.__doc__}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
