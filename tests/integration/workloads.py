#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `make workloads` compares, tested: it must find each thing that is different, and each that a report misses. Prints TAP.

    workloads.py BUILD
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
BUILD = Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests/workloads"))
from driver import counts, trees  # noqa: E402

WORKLOAD = '''"""A workload for the test of the driver."""
from driver import counts
PROGRAMS = ("sh",)
IDENTITIES = ("user", "root")
STEPS = ("echo count tests 3; mkdir new; echo $$ >new/pid; echo b >b; rm gone; mv old moved; ln -s b link; chmod 600 mode; echo x >~/.cache/x",)
COUNTS = counts.lines("count")
EXPLAINED = {EXPLAINED}

def prepare(t):
    for name in ("gone", "mode", "old"):
        t.write(name, name * 20)
    (t.home / ".cache").mkdir()
'''
# Stands for airlock, and loses one line of each report, adds one, or writes to the project behind its back.
WRAPPER = '''#!/bin/sh
if [ "$1" = changes ]; then
	{airlock} "$@" | python3 -c '{script}'
else
	{airlock} "$@"
	status=$?
	[ "$1" != run ] || {{ {after}; }}
	exit $status
fi
'''
FILTER = "import json,sys; d=json.load(sys.stdin); {change}; print(json.dumps(d))"


def expect(truth, *told):
    if not truth:
        raise AssertionError("\n".join(str(line) for line in told))


class Tree:
    """A directory with some of everything, made anew for each test."""

    def __init__(self, top):
        self.top = top / "tree"
        (self.top / "dir/below").mkdir(parents=True)
        for name in ("a", "b", "dir/c", "dir/below/d"):
            (self.top / name).write_text(f"content of {name}\n")
        (self.top / "link").symlink_to("a")
        self.before = trees.snapshot(self.top)

    def report(self, *changes):
        """Files of a report: (kind, path[, from])."""
        after = trees.snapshot(self.top)
        kinds = {path: entry.type for path, entry in {**self.before, **after}.items()}
        return [{"path": path, "root": str(self.top), "kind": kind, "type": kinds.get(path, "file"), "state": "applied",
                 "from": source[0] if source else None} for kind, path, *source in changes]

    def faults(self, files):
        return trees.faults_of_report(files, self.before, trees.snapshot(self.top), str(self.top))


# ---- reports

def true_report(top):
    """a true report has no faults, whatever happened"""
    tree = Tree(top)
    expect(tree.faults([]) == [], "nothing happened")
    (tree.top / "new").mkdir()
    (tree.top / "new/file").write_text("n")
    (tree.top / "a").write_text("other")
    (tree.top / "b").unlink()
    (tree.top / "dir").rename(tree.top / "moved")
    (tree.top / "link").unlink()
    (tree.top / "link").mkdir()
    files = tree.report(("added", "new"), ("added", "new/file"), ("modified", "a"), ("deleted", "b"), ("renamed", "moved", "dir"), ("type", "link"))
    expect(tree.faults(files) == [], tree.faults(files))
    for missing in range(len(files)):
        expect(tree.faults(files[:missing] + files[missing + 1:]), "not found to be missing:", files[missing])


def missed_paths(top):
    """a path that a report misses is found, for every kind of change"""
    for change, kind in ((lambda p: p.write_text("other"), "modified"), (Path.unlink, "deleted"), (lambda p: p.chmod(0o751), "metadata"),
                         (lambda p: os.utime(p, (1, 1)), "metadata"), (lambda p: (p.unlink(), p.symlink_to("x")), "type"),
                         (lambda p: (p.parent / "new").touch(), "added")):
        tree = Tree(Path(tempfile.mkdtemp(dir=top)))
        change(tree.top / "dir/c")
        path = "dir/new" if kind == "added" else "dir/c"
        expect(tree.faults([]) == [f"the report misses {path} ({kind})"], tree.faults([]))
        expect(tree.faults(tree.report((kind, path))) == [], kind)


def invented_paths(top):
    """a path that did not change, another kind, another type, another root, a path named twice: all are faults"""
    tree = Tree(top)
    expect(tree.faults(tree.report(("modified", "a"))) == ["the report tells of a (modified), which did not change"])
    expect(tree.faults(tree.report(("renamed", "x", "b"))), "a rename that did not happen")
    (tree.top / "a").write_text("other")
    expect(tree.faults(tree.report(("metadata", "a"))) == ["the report calls a metadata, and it is modified"])
    good = tree.report(("modified", "a"))
    expect(tree.faults(good) == [])
    expect(tree.faults(good * 2) == ["the report names a twice"])
    expect(tree.faults([{**good[0], "type": "directory"}]) == ["the report calls a a directory, and it is a file"])
    expect(tree.faults([{**good[0], "root": "/home/u/.npm"}]), "outside")


def held_paths(top):
    """what a report says is held must not be in the tree, and what is applied must be"""
    tree = Tree(top)
    held = {**tree.report(("added", "hook"))[0], "state": "held"}
    expect(tree.faults([held]) == [], tree.faults([held]))
    (tree.top / "hook").touch()
    expect(tree.faults([held]) == ["the report misses hook (added)"], tree.faults([held]))


# ---- results

def same_results(top):
    """what differs between two direct runs is not held against airlock; everything else is"""
    first, second, inside = ({"a": trees.Entry("file", 0o644, (0, 0), text, ()), "b": trees.Entry("file", 0o644, (0, 0), "same", ())}
                             for text in ("1", "2", "3"))
    expect(trees.compare_results(first, second, inside) == {})
    for field, value in (("type", "symlink"), ("mode", 0o600), ("owner", (0, 7)), ("content", "x"), ("xattrs", (("user.a", b"1"),)), ("first_link", "a")):
        other = {**inside, "b": trees.Entry(**{**vars(inside["b"]), field: value})}
        found = trees.compare_results(first, second, other)
        expect(list(found) == ["b"], field, found)
        expect(trees.compare_results(first, second, other, ["b"]) == {})
    other = {**inside, "a": trees.Entry("file", 0o600, (0, 0), "3", ())}
    expect(list(trees.compare_results(first, second, other)) == ["a"], "the mode of a file whose content varies")
    expect(trees.compare_results(first, second, {"a": inside["a"]}) == {"b": "is missing"})
    expect(trees.compare_results(first, second, {**inside, "c": inside["b"]}) == {"c": "is there only inside"})
    expect(trees.compare_results({**first, "r1": inside["b"]}, second, inside) == {}, "a random name")


def snapshots(top):
    """a snapshot sees content, modes, links, symlinks and what is below closed directories of its owner"""
    tree = Tree(top)
    expect(tree.before["link"].content == "a" and tree.before["link"].type == "symlink")
    os.link(tree.top / "a", tree.top / "dir/hard")
    os.mkfifo(tree.top / "fifo")
    now = trees.snapshot(tree.top)
    expect(now["a"].first_link == now["dir/hard"].first_link == "a" and now["fifo"].type == "other", now)
    expect(set(now) - set(tree.before) == {"dir/hard", "fifo"})


def counting(_top):
    """counts are read from the output of each kind of test program"""
    cases = ((counts.automake, "# TOTAL: 27\n# PASS:  26\n# FAIL:  1\n", {"total": 27, "pass": 26, "fail": 1}),
             (counts.ctest, "95% tests passed, 1 tests failed out of 19", {"failed": 1, "total": 19}),
             (counts.meson, "Ok:                 9   \nFail:               0   \n", {"ok": 9, "fail": 0}),
             (counts.unittest, "test_a (test.test_os.A.test_a) ... ok\ntest_b (test.test_os.A.test_b)\nText. ... skipped 'no'\n",
              {"test.test_os.A.test_a": "ok", "test.test_os.A.test_b": "skipped"}),
             (counts.jest, "Tests:       1 failed, 5 passed, 6 total\n", {"failed": 1, "passed": 5, "total": 6}),
             (counts.go, "--- PASS: TestA (0.0s)\n    --- PASS: TestA/b (0.0s)\n--- SKIP: C\n", {"pass": 2, "skip": 1}),
             (counts.cargo, "test result: ok. 2 passed; 0 failed; 1 ignored\ntest result: ok. 3 passed; 0 failed; 0 ignored\n",
              {"passed": 5, "failed": 0, "ignored": 1}),
             (counts.tap, "ok 1 - a\n# file x\nnot ok 1 - b\nok 2 # skip x\n# file y\nnot ok 1 - c # TODO known breakage\n",
              {"1": "passed", "x 1": "failed", "x 2": "skipped", "y 1": "known breakage"}),
             (counts.lines("n"), "n keys 12\nother\n", {"keys": 12}))
    for read, text, expected in cases:
        expect(read(text) == expected, read, read(text))
        expect(read("nothing of the kind\n") == {}, read)


# ---- the driver, with airlock

def drive(top, airlock, explained="{}", workload=WORKLOAD):
    folder, place = top / "workloads", top / "place"
    shutil.rmtree(place, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    (folder / "tiny.py").write_text(workload.replace("{EXPLAINED}", explained))
    told = subprocess.run([TOP / "tools/workloads", "--from", folder, "--dir", place, "--airlock", airlock, "--json", top / "json",
                           "--as", "root" if os.getuid() == 0 else "user"], capture_output=True, text=True, timeout=300, check=False)
    return told, json.loads((top / "json").read_text())["results"][0]


def wrapper(top, change="pass", after=":"):
    file = top / "wrapper"
    file.write_text(WRAPPER.format(airlock=BUILD / "airlock", script=FILTER.format(change=change), after=after))
    file.chmod(0o755)
    return file


def whole_driver(top):
    """a workload passes with airlock, its caches stay out of the report and the home"""
    told, result = drive(top, BUILD / "airlock")
    expect(told.returncode == 0 and told.stdout.endswith("\n1 passed, 0 failed\n"), told)
    expect(result["tests"] == "3 tests" and result["changes"] == 7, result)
    again = subprocess.run([TOP / "tools/workloads", "--results", top / "json", "--results", top / "json"], capture_output=True, text=True, check=False)
    expect(again.returncode == 0 and again.stdout == "2 passed, 0 failed\n", "results of runs before", again)


def driver_refuses(top):
    """it fails when a report misses a path or invents one, and when a result is another"""
    for change, after, fault in (("d[\"files\"].pop()", ":", "the report misses"),
                                 ("d[\"files\"].append(dict(d[\"files\"][0], path=\"zz\"))", ":", "tells of zz"),
                                 ("pass", "echo y >>\"$PWD/b\"", "path b: another content"),
                                 ("pass", "touch ~/.cache/leak", "home: .cache/leak was added"),
                                 ("pass", "status=4", "exit status: [0] directly, [4] inside")):
        told, result = drive(top, wrapper(top, change, after))
        expect(told.returncode == 1 and told.stdout.endswith("\n0 passed, 1 failed\n"), told)
        expect(any(fault in difference for difference in result["differences"]), fault, result)
    told, result = drive(top, wrapper(top, after="status=4"), explained='{"exit status": "a reason"}')
    expect(told.returncode == 0 and result["explained"] == {"a reason": 1}, told)


def not_run(top):
    """a workload that cannot be had is named, and the whole has not succeeded"""
    told, result = drive(top, BUILD / "airlock", workload=WORKLOAD.replace('"sh"', '"no-such-program"'))
    expect(told.returncode == 1 and result["status"] == "not run", told)
    expect("not run: tiny" in told.stdout and told.stdout.endswith("\n0 passed, 0 failed\n"), told)
    told, result = drive(top, BUILD / "airlock", workload=WORKLOAD.replace("count tests 3", "nothing"))
    expect(told.returncode == 1 and "no test was counted" in told.stdout, told)


TESTS = (true_report, missed_paths, invented_paths, held_paths, same_results, snapshots, counting, whole_driver, driver_refuses, not_run)


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        top = Path(tempfile.mkdtemp(prefix="workloads.", dir=Path.home())).resolve()
        try:
            test(top)
            print(f"ok {number} - {test.__doc__}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {test.__doc__}\n# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
        finally:
            shutil.rmtree(top, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
