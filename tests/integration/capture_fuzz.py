#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random file operations in the sandbox and directly on a twin: the same tree, the report exactly the difference, undo
the original. Prints TAP.

    capture_fuzz.py BUILD [SEED]

FUZZ_SECONDS=N goes on with new seeds for that long; otherwise a fixed number of runs with fixed seeds. SEED: that one
only. A failure shows its seed, and the operations after all those were left out that it also happens without.

The kernel's overlay may differ from direct execution in three ways and no other: a file of several names that was there
before is split when it is changed (file_ops.Links does the same to the twin); `user.overlay.*` names are its own; and
renaming a directory that was there before is EXDEV on kernels without a seccomp listener (exchanging two is on all).
"""
import os
import random
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from capture import file_ops, trees, world  # noqa: E402
from capture.world import Failed, World  # noqa: E402

SEED, RUNS, OPERATIONS = 7, 60, 40
CONTENTS = ["", "x", "one\n", "two\ntwo\n", "\0\1\xff" * 40, "line\n" * 2000]
MODES = [0o644, 0o600, 0o640, 0o755, 0o444, 0o400, 0o000]
DIR_MODES = [0o755, 0o700, 0o755, 0o555, 0o711, 0o000, 0o1777]
NAMES = ["a", "b", "c", "dir", "file", "with space", "new\nline", "-rf", "\u00e4\u6f22".encode().decode("latin-1"),
         "\xff\xfe", "\x1b[31m", "a\\b", "\"q'", ".tmp", "L" * 255, "~"]
ATTRIBUTES = ["user.one", "user.two", "user.overlayx"]
OVERLAY_ATTRIBUTES = ["user.overlay.opaque", "user.overlay.whiteout", "user.overlay.x"]


def acl(execute):
    """The user beside the owner, in the kernel's form. execute: 1 lets them search a directory, 0 does not."""
    entries = [(1, 6, -1), (2, 6, os.getuid()), (4, 4, -1), (0x10, 6, -1), (0x20, 4, -1)]
    text = (2).to_bytes(4, "little")
    for tag, perm, id in entries:
        text += tag.to_bytes(2, "little") + (perm | execute).to_bytes(2, "little") + (id & 0xffffffff).to_bytes(4, "little")
    return text.decode("latin-1")


# ---- the tree before

class Builder:
    """The same tree wherever it is built."""

    def __init__(self, seed, links):
        self.rng = random.Random(seed)
        self.links = links
        self.files, self.folders = [], []

    def build(self, root):
        self.folder(os.fsencode(root), 0)
        if self.links:
            for _ in range(4):
                self.hard_link()
        for folder in reversed(self.folders):
            os.utime(folder, ns=(0, self.old_time()))
        os.makedirs(os.path.join(os.fsencode(root), b".git"))
        os.utime(os.path.join(os.fsencode(root), b".git"), ns=(0, self.old_time()))
        os.utime(root, ns=(0, self.old_time()))

    def old_time(self):
        return self.rng.randrange(1, trees.LONG_AGO // 2)

    def folder(self, path, depth):
        for name in self.rng.sample(NAMES, self.rng.randrange(2, 6)):
            child = os.path.join(path, name.encode("latin-1"))
            what = self.rng.choice(("file", "file", "file", "dir", "dir", "symlink", "fifo"))
            if what == "dir" and depth < 3:
                os.mkdir(child, 0o755)
                self.folders.append(child)
                self.folder(child, depth + 1)
                self.attributes(child, 1)
            elif what == "symlink":
                os.symlink(self.rng.choice(NAMES).encode("latin-1"), child)
                os.utime(child, ns=(0, self.old_time()), follow_symlinks=False)
            else:
                self.file(child, what)

    def file(self, path, what):
        if what == "fifo":
            os.mkfifo(path, 0o644)
        else:
            with open(path, "wb") as file:
                file.write(self.rng.choice(CONTENTS).encode("latin-1") + str(self.rng.randrange(4)).encode())
            self.attributes(path, 0)
            os.chmod(path, self.rng.choice(MODES[:5]))
            self.files.append(path)
        os.utime(path, ns=(0, self.old_time()))

    def attributes(self, path, execute):
        if self.rng.random() < 0.2:
            os.setxattr(path, self.rng.choice(ATTRIBUTES), b"old")
        if self.rng.random() < 0.1:
            os.setxattr(path, "system.posix_acl_access", acl(execute).encode("latin-1"))

    def hard_link(self):
        if self.files:
            name = os.path.join(os.path.dirname(self.rng.choice(self.files)), b"link%d" % self.rng.randrange(99))
            try:
                os.link(self.rng.choice(self.files), name)
            except FileExistsError:
                pass


# ---- the operations

def entries(folder=b""):
    """(path, is a directory) of everything in the current directory but .git."""
    found = []
    try:
        names = sorted(os.listdir(folder or b"."))
    except OSError:
        return found
    for name in names:
        path = os.path.join(folder, name)
        is_dir = os.path.isdir(path) and not os.path.islink(path)
        if path != b".git":
            found.append((path.decode("latin-1"), is_dir))
            found += entries(path) if is_dir else []
    return found


def is_plain(path):
    path = path.encode("latin-1")
    return os.path.isfile(path) and not os.path.islink(path)


class Operations:
    """Random operations on the current directory, mostly such that succeed: each looks at what is there just then."""

    def __init__(self, rng, links):
        self.rng = rng
        self.links = links  # no modes then that would hinder splitting them on the twin
        self.there = []

    def some(self, wanted):
        """A path of that kind: "file" is all but directories, "new" not there. Now and then of any kind."""
        rng = self.rng
        if rng.random() < 0.08:
            wanted = rng.choice(("file", "dir", "new", "none"))
        paths = [path for path, is_dir in self.there if is_dir == (wanted == "dir")]
        if wanted in ("file", "dir") and paths:
            return rng.choice(paths)
        folders = [path + "/" for path, is_dir in self.there if is_dir or wanted == "none"]
        return (rng.choice(folders) if folders and rng.random() < 0.7 else "") + rng.choice(NAMES)

    def either(self):
        return self.some(self.rng.choice(("file", "dir")))

    def target(self):
        return self.rng.choice(("", "", "../")) + self.rng.choice(NAMES)

    def content(self):
        return self.rng.choice(CONTENTS) + str(self.rng.randrange(1000))

    def acl(self):
        return acl(1 if self.links else self.rng.randrange(2))

    def mode(self):
        return self.rng.choice(MODES[:4] if self.links else MODES)

    def dir_mode(self):
        return self.rng.choice(DIR_MODES[:3] if self.links else DIR_MODES)

    def on_file(self, path):
        rng = self.rng
        return rng.choice((
            ["write", path, self.content()], ["append", path, self.content()], ["write_at", path, rng.randrange(20000), "middle"],
            ["truncate", path, rng.choice((0, 0, 1, 3, 70000))], ["save", path, self.content()], ["backup", path, self.content()],
            ["unlink", path], ["chmod", path, self.mode()], ["link", path, self.some("new")],
            ["rename", path, self.some("new")], ["rename", path, self.some("file")],
        ))

    def on_dir(self, path):
        return self.rng.choice((
            ["rmdir", path], ["remove", path], ["chmod", path, self.dir_mode()], ["rename", path, self.some("new")],
            ["rename", path, self.some("new")], ["rename", path, self.some("dir")],
            ["setxattr", path, "system.posix_acl_default", self.acl()],
        ))

    def on_new(self, path):
        return self.rng.choice((
            ["create", path, self.content(), self.mode()], ["create", path, "", 0o644], ["mkdir", path, self.dir_mode()],
            ["mkdir", path, 0o755], ["symlink", path, self.target()], ["mkfifo", path],
        ))

    def on_any(self, path):
        rng = self.rng
        return rng.choice((
            ["touch", path, rng.randrange(1, trees.LONG_AGO // 2)], ["setxattr", path, rng.choice(ATTRIBUTES), self.content()[:100]],
            ["removexattr", path, rng.choice(ATTRIBUTES)], ["setxattr", path, "system.posix_acl_access", self.acl()],
            ["setxattr", path, rng.choice(OVERLAY_ATTRIBUTES), "y"], ["exchange", path, self.either()],
            ["replace_by_dir", path, rng.choice(NAMES), self.content()], ["replace_by_file", path, self.content()],
            ["replace_by_link", path, self.target()],
        ))

    def one(self):
        self.there = entries()
        kind = self.rng.choice(("file", "file", "file", "dir", "dir", "new", "new", "any"))
        path = self.either() if kind == "any" else self.some(kind)
        operation = getattr(self, "on_" + kind)(path)
        if operation[0] == "exchange" and {(each, True) for each in operation[1:]} & set(self.there):
            operation[0] = "rename"  # exchanging directories that were there before is left to the kernel, which cannot
        if operation[0] == "link" and not is_plain(path):
            operation[0] = "rename"  # names of one FIFO or symlink: the overlay takes them for different ones
        return operation


def carry_out_random(folder, rng, links):
    """Makes the operations up while it carries them out. Returns both: the operations, and what came of them."""
    os.chdir(folder)
    split = file_ops.Links(b".")
    maker, operations, results = Operations(rng, links), [], []
    for _ in range(OPERATIONS):
        operations.append(maker.one())
        results += file_ops.carry_out(operations[-1:], split)
    return operations, results


# ---- one run

class Case:
    """A tree and operations on it, from a seed. The operations come with the first run, and are there for later ones."""

    def __init__(self, seed, links=True):
        rng = random.Random(seed)
        self.seed = seed
        self.links = rng.random() < 0.2 and links
        self.way = rng.choice(("apply", "apply", "apply", "parts", "discard"))
        self.tree_seed, self.order_seed, self.operations_seed = rng.random(), rng.random(), rng.random()
        self.operations = None

    def build(self, root):
        Builder(self.tree_seed, self.links).build(root)

    def run_twin(self, where):
        if self.operations is not None:
            return where.run_twin(self.operations)
        rng = random.Random(self.operations_seed)
        self.operations, results = world.in_child(carry_out_random, where.twin, rng, self.links)
        return results


def is_overlays_own(operation):
    return operation[0] == "setxattr" and operation[2] in OVERLAY_ATTRIBUTES


def compare_results(operations, inside, direct):
    return [f"{operation}: {x} in the sandbox, {y} directly" for operation, x, y in zip(operations, inside, direct)
            if x != y and not is_overlays_own(operation)]


def without_overlays_own(tree):
    """The twin's tree without attributes that the overlay keeps for itself."""
    return {path: entry._replace(xattrs=tuple(x for x in entry.xattrs if not x[0].startswith("user.overlay.")))
            for path, entry in tree.items()}


class Run:
    """One case in one world; test() returns what was wrong."""

    def __init__(self, where, case):
        self.world, self.case = where, case

    def test(self):
        for root in (self.world.project, self.world.twin):
            self.case.build(root)
        self.before = trees.look(self.world.project)
        direct = self.case.run_twin(self.world)
        options = {"apply": (), "parts": ("--hold",), "discard": ("--discard",)}[self.case.way]
        self.result, inside = self.world.run(self.case.operations, *options)
        self.wanted = without_overlays_own(trees.look(self.world.twin))
        faults = compare_results(self.case.operations, inside, direct)
        if self.result["error"]:
            faults.append(f"error: {self.result['error']}")
        return faults or getattr(self, self.case.way)()

    def report(self):
        """The report against the tree as it has to be; exact times are those of the layer, seen once applied."""
        return self.result["changes"]["files"]

    def look(self):
        tree = trees.look(self.world.project)
        return without_overlays_own(tree) if self.world.backend in world.IN_PLACE else tree

    def wrong_after(self, after):
        changed = set(trees.expected_changes(self.before, after))
        wanted = trees.with_idle_times(self.wanted, self.before)
        if not {path for path in changed if b"/" not in path}:  # the root is never a change; its time follows from others
            wanted[b""] = wanted[b""]._replace(mtime=after[b""].mtime)
        faults = trees.differences(wanted, after, exact_times=False, links=False)
        if self.steps == 1 or not self.world.is_split:  # across file systems links are kept in what is applied at once
            faults += world.link_faults(self.wanted, after, changed)
        return faults

    def apply(self):
        files = self.report()
        state, waits = self.result["changes"]["state"], [entry for entry in files if entry["state"] != "applied"]
        faults = world.held_faults(files)
        if state != ("none" if not files else "applied" if not waits else "partial" if len(waits) < len(files) else "held"):
            faults.append(f"the state is {state}, {len(waits)} of {len(files)} wait")
        if faults:
            return faults
        if waits:
            self.world.airlock("apply", self.result["run"])
        self.steps = 2 if waits else 1
        return self.applied()

    def applied(self):
        after = self.look()
        faults = self.wrong_after(after) + world.report_faults(self.report(), self.before, after, self.world.project)
        return faults or (self.back_and_forth(after) if self.report() else [])

    def back_and_forth(self, after):
        links = not self.world.is_split  # across file systems what comes back is a copy
        self.world.airlock("undo", self.result["run"])
        faults = ["after undo: " + fault for fault in trees.differences(self.before, self.look(), links=links)]
        if not faults:
            self.world.airlock("undo", self.result["run"])
            faults = ["after redo: " + fault for fault in trees.differences(after, self.look(), links=links)]
        return faults

    def parts(self):
        """Held, then applied in some order path by path, then the rest."""
        faults = trees.differences(self.before, self.look())
        if faults:
            return ["held, but: " + fault for fault in faults]
        rng = random.Random(self.case.order_seed)
        files = self.report()
        for entry in rng.sample(files, min(len(files), 4)):
            # Conflict: the rest that it needs was left out, which is for the person to say.
            self.world.airlock("apply", self.result["run"], "--", world.path_of(entry), statuses=(0, 1, 3))
        self.world.airlock("apply", self.result["run"], statuses=(0, 1))
        self.steps = 5
        return self.applied()

    def discard(self):
        faults = trees.differences(self.before, self.look())
        if self.result["changes"]["state"] != ("discarded" if self.report() else "none"):
            faults.append(f"the state is {self.result['changes']['state']}")
        return faults


def attempt(case, build, backend, places):
    with World(build, backend, **places) as where:
        try:
            return Run(where, case).test()
        except Failed as failure:
            return [str(failure)]


# ---- failures, made small

def sort_of(faults):
    """The first one, without the names and numbers in it."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[0-9a-f]{8,}|[-0-9]+", "", faults[0])[:60] if faults else None


def smaller(case, build, backend, places, faults, seconds=60):
    """Leaves out operations, ever smaller pieces of the list, as long as the same sort of thing is wrong."""
    end = time.monotonic() + seconds
    piece = len(case.operations) // 2
    while piece and time.monotonic() < end:
        at = 0
        while at < len(case.operations) and time.monotonic() < end:
            whole = case.operations
            case.operations = whole[:at] + whole[at + piece:]
            if not case.operations or sort_of(attempt(case, build, backend, places)) != sort_of(faults):
                case.operations = whole
                at += piece
        piece //= 2
    return attempt(case, build, backend, places)


def story(case, build, backend, places, faults):
    yield f"seed {case.seed}, tree {case.tree_seed}, {case.way}, {places or 'one file system'}"
    yield from faults
    count = len(case.operations or ())
    few = smaller(case, build, backend, places, faults) if count else []
    yield f"of {count} operations these are enough:"
    yield from (f"    {operation!r}" for operation in case.operations or ())
    yield from few


def short(text):
    return re.sub(r"(.{1,8}?)\1{9,}", r"\1\1…", text)[:400]


def fuzz(seeds, build, backend, places):
    """Faults of the first seed that fails, and how many were tried."""
    tried = 0
    for seed in seeds:
        tried += 1
        case = Case(seed, backend not in world.IN_PLACE)
        faults = attempt(case, build, backend, places)
        if faults:
            return [short(line) for line in story(case, build, backend, places, faults)], tried
    return [], tried


def seeds_for(seconds, first):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield first
        first += 1


def main(build, seed=None):
    tap = world.Tap()
    seconds = int(os.environ.get("FUZZ_SECONDS", 0))
    other = world.other_place()
    layouts = {"on one file system": {}, "state elsewhere": {"state_in": other}, "project elsewhere": {"project_in": other}}
    for backend in world.backends():
        for name, places in layouts.items():
            share = (2 if not places else 4) * (2 if backend in world.IN_PLACE else 1)
            first = int(seed) if seed else random.randrange(10**6, 10**9) if seconds else SEED * 1000 + share * 100
            seeds = [first] if seed else seeds_for(seconds / share, first) if seconds else range(first, first + RUNS // share)
            title = f"random operations, {name}, with {backend}"
            if places and not other:
                tap.skip(title, "a second file system")
                continue
            faults, tried = fuzz(seeds, build, backend, places)
            tap.test(f"{title}: {tried} runs from seed {first}", faults)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
