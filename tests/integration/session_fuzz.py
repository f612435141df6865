#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random file operations as several commands of a session, with commands taken back or cut short, forks, and applies that are undone
between them, and directly on a twin: each command sees what the ones before it did, the report of the session is exactly the difference, applied it is the twin's
tree, and undo gives the original. Prints TAP.

    session_fuzz.py BUILD [SEED]

FUZZ_SECONDS=N goes on with new seeds for that long; otherwise a fixed number of runs with fixed seeds.
"""
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import capture_fuzz  # noqa: E402
from capture_fuzz import Run, compare_results, short, without_overlays_own  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from capture import file_ops, trees, world  # noqa: E402
from capture.world import Failed, World  # noqa: E402

SEED, RUNS, STEPS, OPERATIONS = 11, 9, 5, 10


def carry_out_random(folder, rng, count):
    os.chdir(folder)
    split = file_ops.Links(b".")
    maker, operations, results = capture_fuzz.Operations(rng, True), [], []
    for _ in range(count):
        operations.append(maker.one())
        results += file_ops.carry_out(operations[-1:], split)
    return operations, results


class Session(Run):
    """A session of some commands in one world; test() returns what was wrong."""

    def __init__(self, where, seed):
        self.world, self.seed, self.name = where, seed, "s"
        self.rng = random.Random(seed)
        self.steps = 2

    def command(self, operations):
        return self.world.run(operations, "--session", self.name)

    def step(self, number):
        rng = random.Random(f"{self.seed}.{number}")
        operations, direct = world.in_child(carry_out_random, self.world.twin, rng, OPERATIONS)
        result, inside = self.command(operations)
        faults = compare_results(operations, inside, direct)
        if result["error"]:
            faults.append(f"error: {result['error']}")
        if (result["step"] is None) != (not result["changes"]["files"]):
            faults.append(f"step {result['step']} with {len(result['changes']['files'])} changes")
        return [f"step {number}: {fault}" for fault in faults]

    def detour(self):
        """A command that is taken back, or the session under another name: what comes next is the same."""
        way = self.rng.choice(("none", "rewind", "fork", "look", "undo", "cut"))
        if way == "rewind":
            steps = self.world.json("session", "show", self.name)["steps"]
            self.command([["create", "detour", "x", 0o644], ["mkdir", "detours", 0o755], ["create", "detours/x", "", 0o600]])
            self.world.airlock("session", "rewind", self.name, str(steps[-1]["step"] if steps else 0))
        elif way == "fork":
            self.world.airlock("session", "fork", self.name, self.name + "f")
            self.command([["create", "other", "x", 0o644]])  # the first one goes its own way
            self.name += "f"
        elif way == "undo" and self.world.json("changes", self.name)["files"]:
            self.world.airlock("apply", self.name, "--yes")
            self.world.airlock("undo", self.name)
            self.world.is_split = True  # an undo brings files back one by one: hard links between them are not looked at
        elif way == "cut":
            self.cut_short()
        elif way == "look":
            self.world.airlock("changes", self.name)

    def cut_short(self):
        """Kills airlock while a command runs: what it changed is a step, which is taken back."""
        steps = self.world.json("session", "show", self.name)["steps"]
        process = subprocess.Popen([self.world.program, "run", "--session", self.name, "-c", "echo x >cut; echo up; sleep 60"],
                                   cwd=self.world.project, env=self.world.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        process.kill()
        process.wait()
        after = self.world.json("session", "show", self.name)["steps"]
        if len(after) != len(steps) + 1:
            raise Failed(f"{len(after)} steps after a command was cut short, {len(steps)} before")
        self.world.airlock("session", "rewind", self.name, str(steps[-1]["step"] if steps else 0))

    def report(self):
        return self.result["changes"]["files"]

    def test(self):
        for root in (self.world.project, self.world.twin):
            capture_fuzz.Builder(self.seed, False).build(root)
        self.before = trees.look(self.world.project)
        self.world.airlock("session", "new", self.name, "--changes", "hold")
        for number in range(1, STEPS + 1):
            faults = self.step(number)
            if faults:
                return faults
            self.detour()
        self.wanted = without_overlays_own(trees.look(self.world.twin))
        faults = trees.differences(self.before, self.look())
        if faults:
            return ["held, but: " + fault for fault in faults]
        self.result = self.world.json("session", "show", self.name)
        self.result["run"] = self.name
        if not self.report():
            return []
        self.world.airlock("apply", self.name, "--yes")
        return self.applied()


def attempt(seed, build, backend, places):
    with World(build, backend, **places) as where:
        try:
            return Session(where, seed).test()
        except Failed as failure:
            return [str(failure)]


def main(build, seed=None):
    tap = world.Tap()
    seconds = int(os.environ.get("FUZZ_SECONDS", 0))
    other = world.other_place()
    layouts = {"on one file system": {}, "state elsewhere": {"state_in": other}}
    for backend in world.backends():
        if backend in world.IN_PLACE:
            continue
        for name, places in layouts.items():
            if places and not other:
                tap.skip(f"{backend}, {name}", "a second file system that can be written to")
                continue
            seeds = [int(seed)] if seed else capture_fuzz.seeds_for(seconds, SEED) if seconds else \
                range(SEED, SEED + (RUNS if not places else RUNS // 3))
            found, tried = [], 0
            for each in seeds:
                tried += 1
                found = attempt(each, build, backend, places)
                if found:
                    found = [f"seed {each}", *map(short, found[:20])]
                    break
            tap.test(f"{backend}, {name}: {tried} sessions of random commands", found)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
