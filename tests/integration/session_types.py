#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every type of entry turned into every other and then into a third by two commands of a session, and directly on a twin: each command
sees what it would see there, the report of the session is exactly the difference, applied it is the twin's tree, undone the original.
Prints TAP.

    session_types.py BUILD

So there is a whiteout over a whiteout, an opaque directory over an opaque one, a file over a removed directory, and so on. All are one
session: what goes wrong with one of them must not depend on being alone. Each is one test.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import capture_types  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from capture import trees, world  # noqa: E402
from capture.world import Failed, World  # noqa: E402

KINDS = ("nothing", "file", "empty-dir", "full-dir", "link-to-file", "fifo")
# Replaced both times; the second command changes in place what the first has made, or what both have only looked at.
WAYS = ("replace", "in-place")


def name_of(first, middle, last, way):
    return f"{first}-{middle}-{last}-{way}"


def turn(old, new, path, text):
    """Removed and made anew. Where nothing is and nothing shall be, something is made and removed: that leaves a whiteout."""
    if (old, new) == ("nothing", "nothing"):
        return [["create", path, "for a moment", 0o644], ["unlink", path]]
    return ([] if old == "nothing" else [["remove", path]]) + capture_types.make(new, path, text)


def all_triples():
    for way in WAYS:
        for first in KINDS:
            for middle in KINDS:
                for last in KINDS if way == "replace" else (middle,):
                    if way == "replace" or middle != "nothing":
                        yield first, middle, last, way


def commands_of(triple):
    first, middle, last, way = triple
    path = name_of(*triple) + "/x"
    one = turn(first, middle, path, "old" if way == "in-place" else "mid")
    return one, turn(middle, last, path, "new") if way == "replace" else capture_types.change(middle, path)


def set_up(triple):
    folder = name_of(*triple)
    return [["mkdir", folder, 0o755], ["mkdir", f"{folder}/to-dir", 0o755], ["create", f"{folder}/to-file", "target\n", 0o644],
            *capture_types.make(triple[0], f"{folder}/x", "old")]


def build(root, triples):
    results = world.in_child(world.carry_out_in, root, [operation for triple in triples for operation in set_up(triple)])
    if set(results) != {"ok"}:
        raise Failed(f"set-up: {results}")


class Story:
    """Trees and reports of the session, to be asked about each triple."""

    def __init__(self, where):
        self.triples = list(all_triples())
        for root in (where.project, where.twin):
            build(root, self.triples)
        self.faults, self.divided = [], {}
        self.before = trees.look(where.project)
        for number in (0, 1):
            wanted = [operation for triple in self.triples for operation in commands_of(triple)[number]]
            result, inside = where.run(wanted, "--session", "s", "--hold")
            direct = where.run_twin(wanted)
            self.faults += [f"{what}: {x} in the sandbox, {y} directly" for what, x, y in zip(wanted, inside, direct) if x != y or x != "ok"]
            if result["step"] != number + 1:
                self.faults.append(f"step {result['step']}")
        self.twin = trees.look(where.twin)
        self.held = trees.look(where.project)
        self.files = where.json("changes", "s")["files"]
        self.kinds, _ = world.reported(self.files)
        where.airlock("apply", "s")
        self.after = trees.look(where.project)
        where.airlock("undo", "s")
        self.undone = trees.look(where.project)

    def overall(self):
        faults = self.faults + ["held, but: " + fault for fault in trees.differences(self.before, self.held)]
        return faults + trees.differences({b"": self.before[b""]}, {b"": self.undone[b""]})

    def part(self, tree, triple):
        if id(tree) not in self.divided:
            divided = self.divided[id(tree)] = {}
            for path, entry in tree.items():
                divided.setdefault(path.split(b"/")[0], {})[path] = entry
        return self.divided[id(tree)].get(name_of(*triple).encode(), {})

    def of(self, triple):
        before, after = self.part(self.before, triple), self.part(self.after, triple)
        wanted = trees.with_idle_times(self.part(self.twin, triple), before)
        faults = ["applied: " + fault for fault in trees.differences(wanted, after, exact_times=False)]
        faults += world.kind_faults(trees.expected_changes(before, after), self.part(self.kinds, triple))
        return faults + ["undone: " + fault for fault in trees.differences(before, self.part(self.undone, triple))]


def main(build_dir):
    tap = world.Tap()
    for backend in world.backends():
        if backend in world.IN_PLACE:
            continue
        try:
            with World(build_dir, backend) as where:
                story = Story(where)
            tap.test(f"two steps, {backend}", story.overall())
            for triple in story.triples:
                tap.test(f"{backend}: {triple[0]} becomes {triple[1]}, then {triple[2]} ({triple[3]})", story.of(triple))
        except Failed as failure:
            tap.test(f"two steps, {backend}", [str(failure)])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
