#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A clock that is set back between runs and while one runs. Prints TAP.

    clock.py BUILD

Nobody may set the machine's clock for a test, so airlock's own is another (tests/faults/clock.c); the times of files stay
the kernel's.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
AIRLOCK, CLOCK = BUILD / "tests/faults/airlock-dynamic", BUILD / "tests/faults/clock.so"
DAY = 86400


class Place:
    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="clock.", dir=os.environ.get("TMPDIR") or Path.home())).resolve()
        self.project, self.offset = self.home / "project", self.home / "offset"
        (self.project / ".git").mkdir(parents=True)
        self.set_clock(0)
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "AIRLOCK"))}
        self.env |= {"HOME": str(self.home), "LD_PRELOAD": str(CLOCK), "AIRLOCK_FAULT_CLOCK": str(self.offset)}

    def set_clock(self, seconds):
        self.offset.write_text(f"{seconds}\n")

    def start(self, *arguments):
        return subprocess.Popen([AIRLOCK, *arguments], cwd=self.project, env=self.env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def airlock(self, *arguments):
        process = self.start(*arguments)
        stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, stderr


def expect(truth, *told):
    if not truth:
        raise AssertionError("\n".join(str(line) for line in told))


# ---- the tests

def last_is_the_last(place):
    """`last`, the log and undo go by the order of the runs, not by the clock"""
    file = place.project / "file"
    for offset, text in (0, "one"), (-DAY, "two"), (-2 * DAY, "three"):
        place.set_clock(offset)
        told = place.airlock("run", "-c", f"echo {text} >file")
        expect(told[0] == 0, told)
    expect("three" in place.airlock("diff", "last")[1], place.airlock("diff", "last"))
    order = [line for line in place.airlock("log")[1].splitlines() if "echo" in line]
    expect([text in line for text, line in zip(("three", "two", "one"), order)] == [True] * 3, order)
    for text in "two", "one":
        told = place.airlock("undo")
        expect(told[0] == 0 and file.read_text() == f"{text}\n", told, file.read_text())


def nothing_new_is_removed(place):
    """clean-up with a clock that is set back removes nothing"""
    expect(place.airlock("run", "--hold", "-c", "echo held >file")[0] == 0)
    expect(place.airlock("run", "-c", "echo applied >other")[0] == 0)
    place.set_clock(-400 * DAY)
    told = place.airlock("gc")
    expect(told[0] in (0, 1) and "nothing" in told[1], told)
    expect(place.airlock("undo")[0] == 0 and not (place.project / "other").exists())


def set_back_meanwhile(place):
    """what may have been edited after the clock was set back is a conflict, not overwritten"""
    (place.project / "file").write_text("original\n")
    process = place.start("run", "-c", "echo ready; read line; echo changed >file")
    expect(process.stdout.readline() == "ready\n", "it did not start")
    place.set_clock(-60)  # whatever happens to the file now would have a time before the start
    _, stderr = process.communicate("go\n", timeout=60)
    expect("conflict" in stderr and "clock was set back by" in stderr, stderr)
    expect((place.project / "file").read_text() == "original\n", "it was overwritten")
    told = place.airlock("apply", "last", "--force")
    expect(told[0] == 0 and (place.project / "file").read_text() == "changed\n", told)


def set_forward_meanwhile(place):
    """a clock that is set forward changes nothing"""
    (place.project / "file").write_text("original\n")
    process = place.start("run", "-c", "echo ready; read line; echo changed >file")
    expect(process.stdout.readline() == "ready\n", "it did not start")
    place.set_clock(DAY)
    _, stderr = process.communicate("go\n", timeout=60)
    expect(process.returncode == 0 and (place.project / "file").read_text() == "changed\n", stderr)


def set_back_between_steps(place):
    """the steps of a session go by their order, whatever the clock says, and an edit between them is a conflict"""
    (place.project / "file").write_text("original\n")
    for offset, text in (0, "one"), (-DAY, "two"), (-2 * DAY, "three"):
        place.set_clock(offset)
        told = place.airlock("run", "--session", "s", "--hold", "-c", f"cat log; echo {text} >>log; echo {text} >>file")
        expect(told[0] == 0, told)
    told = place.airlock("session", "rewind", "s", "2")
    expect(told[0] == 0, told)
    told = place.airlock("run", "--session", "s", "-c", "cat log")
    expect(told[1] == "one\ntwo\n", told)
    (place.project / "file").write_text("edited\n")
    expect(place.airlock("apply", "s")[0] == 3 and (place.project / "file").read_text() == "edited\n", "it was overwritten")
    told = place.airlock("gc")
    expect(told[0] in (0, 1), told)
    told = place.airlock("apply", "s", "log")
    expect(told[0] == 0 and (place.project / "log").read_text() == "one\ntwo\n", told)


TESTS = (last_is_the_last, nothing_new_is_removed, set_back_meanwhile, set_back_between_steps, set_forward_meanwhile)


def main():
    failed = 0
    for number, test in enumerate(TESTS, 1):
        place = Place()
        try:
            test(place)
            print(f"ok {number} {test.__doc__}", flush=True)
        except Exception:  # noqa: BLE001  each is told, none ends the others
            failed += 1
            print(f"not ok {number} {test.__doc__}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
        finally:
            shutil.rmtree(place.home, ignore_errors=True)
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
