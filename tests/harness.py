#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The test runner tested: what it must not take for a success. Prints TAP."""
import contextlib
import importlib.machinery
import importlib.util
import io
import signal
import sys
import tempfile
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
import tap  # noqa: E402  (lies in tools/)

# (what, output, exit status, passed, failed, skipped)
OUTPUTS = (
    ("two successes", "1..2\nok 1 - a\nok 2 - b\n", 0, 2, 0, 0),
    ("a plan at the end", "ok 1 - a\nok 2 - b\n1..2\n", 0, 2, 0, 0),
    ("bats without dashes", "1..1\nok 1 a run\n", 0, 1, 0, 0),
    ("two groups with a plan each", "1..1\nok 1 - a\n1..1\nok 1 - b\n", 0, 2, 0, 0),
    ("a failure", "1..2\nok 1 - a\nnot ok 2 - b\n", 1, 1, 1, 0),
    ("a failure that exits 0", "1..1\nnot ok 1 - a\n", 0, 0, 1, 0),
    ("no output", "", 0, 0, 1, 0),
    ("no plan", "ok 1 - a\n", 0, 1, 1, 0),
    ("tests missing", "1..3\nok 1 - a\n", 0, 1, 1, 0),
    ("more tests than planned", "1..1\nok 1 - a\nok 2 - b\n", 0, 2, 1, 0),
    ("no tests", "1..0\n", 0, 0, 1, 0),
    ("success, then exit 3", "1..1\nok 1 - a\n", 3, 1, 1, 0),
    ("success, then a crash", "1..1\nok 1 - a\n", -11, 1, 1, 0),
    ("a crash half way", "1..2\nok 1 - a\n", -6, 1, 2, 0),
    ("a skip with a need", "1..2\nok 1 - a\nok 2 - b # skip needs: cgroup v2\n", 0, 1, 0, 1),
    ("a skip with any other reason", "1..1\nok 1 - a # SKIP later\n", 0, 0, 1, 0),
    ("a skip without a reason", "1..1\nok 1 a # skip\n", 0, 0, 1, 0),
    ("a skipped suite with a need", "1..0 # skip needs: python 3.11\n", 0, 0, 0, 1),
    ("a skipped suite with any other reason", "1..0 # SKIP not today\n", 0, 0, 1, 0),
    ("a todo that fails", "1..1\nnot ok 1 - a # TODO\n", 0, 0, 1, 0),
    ("the words in a diagnostic", "1..1\n# ok 7 - no\n#not ok\nok 1 - a\n", 0, 1, 0, 0),
)


def load_check():
    loader = importlib.machinery.SourceFileLoader("check", str(TOOLS / "check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


def reading(out):
    for what, text, status, *expected in OUTPUTS:
        outcome = tap.read(text, status)
        found = [outcome.passed, outcome.failed, outcome.skipped]
        out.test(f"read: {what}", [] if found == expected else [f"expected {expected}, found {found}: {outcome.faults}"])


def running(out):
    check = load_check()

    def run(script):
        start = time.monotonic()
        output, status, _ = check.execute(check.Suite("sample", ["sh", "-c", script]))
        return output, status, time.monotonic() - start

    output, status, _ = run("echo out; echo err >&2; exit 7")
    out.test("run: both streams and the status arrive", [] if (output, status) == ("out\nerr\n", 7) else [output])
    _, status, seconds = run("sleep 30 & exit 0")
    out.test("run: a background process holds nobody up", [] if status == 0 and seconds < 10 else [f"{seconds} s"])
    _, status, _ = run("kill -SEGV $$")
    out.test("run: death by signal is seen", [] if status == -11 else [f"status {status}"])
    builds = [check.Suite("good", ["true"], is_build=True, then=lambda: [check.Suite("after", ["sh", "-c", "echo 1..1; echo ok 1"])]),
              check.Suite("bad", ["false"], is_build=True, then=lambda: [check.Suite("never", ["true"])])]
    log = check.Log()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        failed = [suite.name for suite in log.run(builds)]
    out.test("run: after a build comes what it makes possible, and nothing after one that failed",
             [] if failed == ["bad"] and log.total.passed == 1 and "never" not in printed.getvalue() else [printed.getvalue()])
    with tempfile.TemporaryDirectory() as place:
        mark = Path(place, "tried")
        once = f'[ -e {mark} ] && echo "ok 1 - late" || echo "not ok 1 - late"; touch {mark}; echo 1..1'
        log = check.Log()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            failed = log.run([check.Suite("late", ["sh", "-c", once]),
                              check.Suite("never", ["sh", "-c", 'echo "not ok 1"; echo 1..1'])])
        told = said.getvalue()
    out.test("run: a suite that failed is run once more alone, and what failed at first is shown",
             [] if [suite.name for suite in failed] == ["never"] and log.only_alone == ["late"] and (log.total.passed, log.total.failed) == (1, 1)
             and told.count("not ok 1") == 3 else [told, failed])
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # as nohup and scripts do
    check.hear_signals()
    ignored = run("grep SigIgn /proc/self/status")[0].split()[1]
    out.test("run: no signal is ignored because the caller ignores it", [] if int(ignored, 16) & 0b111 == 0 else [ignored])
    check.SUITE_SECONDS = 0.2
    output, status, seconds = run("echo begun; sleep 30")
    out.test("run: a suite that hangs is stopped and says so",
             [] if status == -9 and seconds < 10 and "stopped after" in output else [f"{status}: {output}"])


def lists(out):
    """A file that was renamed would lose its place, or its second backend, without a word."""
    check, tests = load_check(), TOOLS.parent / "tests"
    named = [*(name.removeprefix("tests/") for name in (*check.AGAIN, *check.LANDLOCK)), *(f"*/{name}" for name in check.LONGEST)]
    out.test("lists: every file that is named exists", [f"no {name}" for name in named if not list(tests.glob(name))])


def main():
    out = tap.Writer()
    reading(out)
    lists(out)
    running(out)
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())
