#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions in numbers and after a while: fifty at once, many steps, the machine started anew, another user's. Prints TAP.

    session_many.py BUILD

AIRLOCK_TEST_STEPS=N makes that many steps (`make session-long`: 1,000); otherwise enough for the layers to be merged several times.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

AIRLOCK = os.environ.get("AIRLOCK") or str(Path(sys.argv[1], "airlock").resolve())
SESSIONS = 50
NOBODY = 65534
STEPS = int(os.environ.get("AIRLOCK_TEST_STEPS", 60))


class Place:
    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="many.", dir=os.environ.get("TMPDIR") or Path.home())).resolve()
        self.project = self.home / "project"
        (self.project / ".git").mkdir(parents=True)
        (self.project / "file").write_text("original\n")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "AIRLOCK"))}
        self.env |= {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "XDG_RUNTIME_DIR": str(self.home / "run")}
        (self.home / "run").mkdir(mode=0o700)

    def start(self, *arguments, prefix=(), **more):
        return subprocess.Popen([*prefix, AIRLOCK, *arguments], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def airlock(self, *arguments, status=0, **more):
        process = self.start(*arguments, **more)
        stdout, stderr = process.communicate(timeout=120)
        expect(status is None or process.returncode == status, f"airlock {arguments} ended with {process.returncode}: {stdout}{stderr}")
        return stdout

    def json(self, *arguments):
        return json.loads(self.airlock(*arguments, "--json"))

    def held(self, session):
        return sorted(entry["path"] for entry in self.json("changes", session)["files"])

    def step(self, session, line, **more):
        return self.airlock("run", "--session", session, "--hold", "-c", line, **more)


def expect(truth, *told):
    if not truth:
        raise AssertionError("\n".join(str(line) for line in told))


# ---- the tests

def fifty_at_once(place):
    """fifty sessions of one project at once: each has its own view, and each is applied by itself"""
    names = [f"s{number}" for number in range(SESSIONS)]
    for line in ("echo {0} >{0}; echo {0} >>shared", "cat {0} shared; echo again >>{0}"):
        running = [place.start("run", "--session", name, "--hold", "-c", line.format(name)) for name in names]
        said = [process.communicate(timeout=120) for process in running]
        expect({process.returncode for process in running} == {0}, said)
    expect([out for out, _ in said] == [f"{name}\n{name}\n" for name in names], said)
    listed = {one["session"]: (one["steps"], one["held"]) for one in place.json("session", "list")["sessions"]}
    expect(listed == {name: (2, 2) for name in names}, listed)
    for name in names:
        place.airlock("apply", name, name)
    expect(all((place.project / name).read_text() == f"{name}\nagain\n" for name in names), "not what was applied")
    place.airlock("apply", names[0])
    place.airlock("apply", names[1], status=3)  # the first one's is there


def many_steps(place):
    """many steps: each command sees the ones before it, the last as soon as the first, and all are applied as one"""
    times = []
    for number in range(STEPS):
        begun = time.monotonic()
        said = place.step("s", f"tail -n 1 log 2>/dev/null; echo {number} >>log; echo {number} >f{number % 50}; rm -f f{(number + 25) % 50}")
        times.append(time.monotonic() - begun)
        expect(said == (f"{number - 1}\n" if number else ""), said)
    steps = place.json("session", "show", "s")["steps"]
    expect([step["step"] for step in steps] == list(range(1, STEPS + 1)), len(steps))
    place.airlock("session", "rewind", "s", str(STEPS // 2))
    expect(place.step("s", "wc -l <log") == f"{STEPS // 2}\n", "rewound")
    place.airlock("apply", "s")
    expect((place.project / "log").read_text().split() == [str(number) for number in range(STEPS // 2)], "applied")
    tenth = max(STEPS // 10, 1)
    first, last = sorted(times[:tenth])[tenth // 2], sorted(times[-tenth:])[tenth // 2]
    print(f"# {STEPS} steps: {first * 1000:.1f} ms at first, {last * 1000:.1f} ms at last")


def reboot(place):
    """a machine that was started anew: the session's changes are there, and those of the command that was cut off"""
    place.step("s", "echo one >one; echo t >/tmp/t")
    process = place.start("run", "--session", "s", "-c", "echo two >two; echo up; exec sleep 60")
    expect(process.stdout.readline() == "up\n", "it did not start")
    process.send_signal(signal.SIGKILL)
    process.wait()
    shutil.rmtree(place.home / "run")  # goes with the machine
    (place.home / "run").mkdir(mode=0o700)
    prefix = ()
    if os.getuid() == 0:  # another boot has another id
        (place.home / "boot").write_text("01234567-89ab-cdef-0123-456789abcdef\n")
        prefix = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"',
                  str(place.home / "boot"))
    expect(place.step("s", "cat one two; echo three >three", prefix=prefix) == "one\ntwo\n", "what was held is gone")
    expect(place.held("s") == ["one", "three", "two"], place.held("s"))
    expect(not place.json("session", "show", "s")["processes"], "processes of before")
    place.airlock("apply", "s", prefix=prefix)
    expect((place.project / "two").read_text() == "two\n", "applied")


def another_users(place):
    """a session belongs to its user: nobody else finds it, and a state directory of somebody else is refused"""
    if os.getuid() != 0:
        return "root"
    shared = Path(tempfile.mkdtemp(prefix="many.", dir="/var/tmp"))
    try:
        os.chmod(shared, 0o755)
        place.project, home = shared / "project", shared / "home"
        (place.project / ".git").mkdir(parents=True)
        place.step("s", "echo one >one")
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for state, word in ((home / "state", "no session"), (place.home / "state", "Permission denied")):
            env = {**place.env, "HOME": str(home), "XDG_STATE_HOME": str(state), "XDG_RUNTIME_DIR": str(home)}
            done = subprocess.run([*as_nobody, AIRLOCK, "session", "show", "s"], cwd=place.project, env=env,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            expect(done.returncode != 0 and "one" not in done.stdout and word in done.stderr, done)
        expect(place.held("s") == ["one"], "it is changed")
    finally:
        shutil.rmtree(shared)
    return None


TESTS = (fifty_at_once, many_steps, reboot, another_users)


def main():
    failed = 0
    for number, test in enumerate(TESTS, 1):
        place = Place()
        try:
            need = test(place)
            print(f"ok {number} {test.__doc__}{f' # SKIP needs: {need}' if need else ''}", flush=True)
        except Exception:  # noqa: BLE001  each is told, none ends the others
            failed += 1
            print(f"not ok {number} {test.__doc__}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
        finally:
            subprocess.run(["chmod", "-R", "u+rwx", place.home], check=False)
            shutil.rmtree(place.home, ignore_errors=True)
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
