#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every type of entry turned into every other, in the sandbox and directly on a twin: the same tree, the report exactly
the difference, undo the original, undo of that the twin again. Prints TAP.

    capture_types.py BUILD

Each pair happens in several places (at the top, below directories, in a directory that the command made anew or renamed)
and in several ways (removed and made anew, something else renamed over it, exchanged, changed in place). All pairs of one
place and way are one run: what goes wrong with one of them must not depend on being alone. Each pair is one test.
"""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from capture import trees, world  # noqa: E402
from capture.world import Failed, World  # noqa: E402

KINDS = ("nothing", "file", "empty-file", "empty-dir", "full-dir", "link-to-file", "dangling-link", "link-to-dir", "fifo")
DIRS = ("empty-dir", "full-dir")
PLACES = ("top", "below", "in-new", "in-renamed")
WAYS = ("replace", "rename-over", "exchange", "in-place")
OLD_TIME = 1_000_000_000_123_456_789
TARGETS = {"link-to-file": "to-file", "dangling-link": "to-nothing", "link-to-dir": "to-dir"}


def make(kind, path, text):
    """Operations that make such an entry where nothing is."""
    if kind in TARGETS:
        return [["symlink", path, f"{TARGETS[kind]}"]]
    return {
        "nothing": [],
        "file": [["create", path, text + "\n", 0o640], ["setxattr", path, "user.text", text]],
        "empty-file": [["create", path, "", 0o644]],
        "empty-dir": [["mkdir", path, 0o750]],
        "full-dir": [["mkdir", path, 0o755], ["create", f"{path}/{text}", text, 0o600], ["create", path + "/both", text, 0o644],
                     ["create", path + "/same", "same", 0o644], ["mkdir", path + "/sub", 0o700],
                     ["create", path + "/sub/deep", text, 0o644], ["symlink", path + "/link", text]],
        "fifo": [["mkfifo", path]],
    }[kind]


def change(kind, path):
    """Operations that make it another of its kind without removing it."""
    if kind in TARGETS:
        return [["touch", path, OLD_TIME + 5]]
    return {
        "nothing": [],
        "file": [["append", path, "more\n"], ["chmod", path, 0o600]],
        "empty-file": [["touch", path, OLD_TIME + 5]],
        "empty-dir": [["chmod", path, 0o700], ["setxattr", path, "user.new", "new"]],
        "full-dir": [["create", path + "/new", "new", 0o644], ["unlink", path + "/both"], ["write", path + "/sub/deep", "other"],
                     ["rename", path + "/old", path + "/sub/old"]],
        "fifo": [["chmod", path, 0o600]],
    }[kind]


# ---- places

def pair_name(lower, upper):
    return f"{lower}+{upper}"


def old_path(place, pair):
    """Where the entry is before; it is always called "it", in a directory for the pair."""
    return {"top": f"{pair}/it", "below": f"{pair}/a/b/it", "in-new": f"{pair}/a/it", "in-renamed": f"{pair}/a/it"}[place]


def new_path(place, pair):
    return f"{pair}/z/it" if place == "in-renamed" else old_path(place, pair)


def move_place(place, pair, lower):
    """What happens to the directory before the entry itself. True: the entry is gone by it."""
    if place == "in-new":
        return [["remove", f"{pair}/a"], ["mkdir", f"{pair}/a", 0o711]], True
    if place == "in-renamed":
        return [["rename", f"{pair}/a", f"{pair}/z"]], False
    return [], False


# ---- ways; None where the way means nothing

def replace(lower, upper, path, gone):
    clear = [] if gone or lower == "nothing" else [["remove", path]]
    return clear + make(upper, path, "new")


def rename_over(lower, upper, path, gone):
    if upper == "nothing" or (lower == "full-dir" and not gone):
        return None
    if lower != "nothing" and not gone and (lower in DIRS) != (upper in DIRS):
        return None
    return make(upper, path + "-new", "new") + [["rename", path + "-new", path]]


def exchange(lower, upper, path, gone):
    if "nothing" in (lower, upper) or gone or lower in DIRS:  # EXDEV for a directory that was there before
        return None
    return make(upper, path + "-new", "new") + [["exchange", path + "-new", path]]


def in_place(lower, upper, path, gone):
    return change(lower, path) if lower == upper and not gone and lower != "nothing" else None


def operations(place, way, lower, upper):
    pair = pair_name(lower, upper)
    before, gone = move_place(place, pair, lower)
    rest = {"replace": replace, "rename-over": rename_over, "exchange": exchange,
            "in-place": in_place}[way](lower, upper, new_path(place, pair), gone)
    return None if rest is None else before + rest


def set_up(place, lower, upper):
    pair = pair_name(lower, upper)
    path = old_path(place, pair)
    folders = [path[:i] for i, c in enumerate(path) if c == "/"]
    links_to = [["mkdir", f"{folders[-1]}/to-dir", 0o755], ["create", f"{folders[-1]}/to-file", "target\n", 0o644]]
    return [["mkdir", folder, 0o755] for folder in folders] + links_to + make(lower, path, "old")


def pairs(place, way):
    every = [(lower, upper) for lower in KINDS for upper in KINDS]
    return [pair for pair in every if operations(place, way, *pair) is not None]


# ---- one place and way: one run

def build(root, place, chosen):
    os.mkdir(os.path.join(root, ".git"))
    wanted = [operation for pair in chosen for operation in set_up(place, *pair)]
    results = world.in_child(world.carry_out_in, root, wanted)
    if set(results) != {"ok"}:
        raise Failed(f"set-up: {results}")
    for folder, folders, files in os.walk(root, topdown=False):
        for name in folders + files:
            os.utime(os.path.join(folder, name), ns=(0, OLD_TIME), follow_symlinks=False)
    os.utime(root, ns=(0, OLD_TIME))


class Story:
    """Trees and reports of one run, to be asked about each pair."""

    def __init__(self, where, place, way):
        chosen = pairs(place, way)
        for root in (where.project, where.twin):
            build(root, place, chosen)
        wanted = [operation for pair in chosen for operation in operations(place, way, *pair)]
        self.world, self.faults, self.divided = where, [], {}
        self.before = trees.look(where.project)
        self.result, inside = where.run(wanted)
        direct = where.run_twin(wanted)
        if inside != direct or set(direct) != {"ok"}:
            self.faults = [f"{what}: {x} in the sandbox, {y} directly" for what, x, y in zip(wanted, inside, direct) if x != y or x != "ok"]
        self.twin = trees.look(where.twin)
        self.files = self.result["changes"]["files"]
        self.kinds, _ = world.reported(self.files)
        self.held = [entry for entry in self.files if entry["state"] != "applied"]
        self.go_on()

    def go_on(self):
        run = self.result["run"]
        if self.held:
            self.world.airlock("apply", run)
        self.after = trees.look(self.world.project)
        self.shown = self.world.json("changes", run)
        self.world.airlock("undo", run)
        self.undone = trees.look(self.world.project)
        self.world.airlock("undo", run)
        self.redone = trees.look(self.world.project)

    def overall(self):
        faults = list(self.faults)
        if self.result["changes"]["state"] != ("partial" if self.held else "applied"):
            faults.append(f"state {self.result['changes']['state']}")
        if self.shown["state"] != "applied" or {entry["state"] for entry in self.shown["files"]} != {"applied"}:
            faults.append("not everything was applied in the end")
        for old, new in zip(self.files, self.shown["files"]):
            if any(old[key] != new[key] for key in ("path", "kind", "type", "from", "size", "mode")):
                faults.append(f"first reported {old}, later {new}")
        faults += world.report_faults(self.files, self.before, self.after, self.world.project)
        return faults + trees.differences({b"": self.before[b""]}, {b"": self.undone[b""]})

    def parts(self, tree):
        """The tree's entries by the pair they belong to, which is their first component."""
        if id(tree) not in self.divided:
            divided = self.divided[id(tree)] = {}
            for path, entry in tree.items():
                divided.setdefault(path.split(b"/")[0], {})[path] = entry
        return self.divided[id(tree)]

    def of_pair(self, lower, upper):
        def part(tree):
            return self.parts(tree).get(pair_name(lower, upper).encode(), {})
        before, after = part(self.before), part(self.after)
        wanted = trees.with_idle_times(part(self.twin), before)
        faults = ["applied: " + fault for fault in trees.differences(wanted, after, exact_times=False)]
        faults += world.kind_faults(trees.expected_changes(before, after), part(self.kinds))
        faults += ["undone: " + fault for fault in trees.differences(before, part(self.undone))]
        faults += ["redone: " + fault for fault in trees.differences(after, part(self.redone))]
        return faults + self.wrong_states([entry for entry in self.files if entry["path"].encode() in part(self.kinds)])

    def wrong_states(self, files):
        """New FIFOs wait for a person, and nothing else does but for them."""
        faults = world.held_faults(files)
        for entry in files:
            if (entry["type"] == "other" and entry["kind"] != "deleted") and (entry["state"], bool(entry["reason"])) != ("held", True):
                faults.append(f"a FIFO that was not held: {entry}")
        return faults


def test_table(tap, build_dir, backend, where_text, placements=PLACES, ways=WAYS, **places):
    for place in placements:
        for way in ways:
            chosen = pairs(place, way)
            if not chosen:
                continue
            title = f"{way} {place}, {where_text}"
            try:
                with World(build_dir, backend, **places) as where:
                    story = Story(where, place, way)
                tap.test(title, story.overall())
                for lower, upper in chosen:
                    tap.test(f"{title}: {lower} becomes {upper}", story.of_pair(lower, upper))
            except Failed as failure:
                tap.test(title, [str(failure)])


def main(build_dir):
    tap = world.Tap()
    other = world.other_place()
    for backend in world.backends():
        test_table(tap, build_dir, backend, backend)
        if not other:
            tap.skip(f"across file systems, {backend}", "a second file system")
            continue
        some = {"placements": ("top", "in-renamed"), "ways": ("replace", "in-place")}
        test_table(tap, build_dir, backend, f"{backend}, state elsewhere", **some, state_in=other)
        test_table(tap, build_dir, backend, f"{backend}, project elsewhere", **some, project_in=other)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
