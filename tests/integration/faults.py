#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Some of the faults of tests/faults/walk.py, spread over everything a run, an apply and an undo do. Prints TAP.

    faults.py BUILD

`make faults` tries them all, which takes hours.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))
import walk  # noqa: E402

# Scenario, what goes wrong, how many cases of it, which calls.
SAMPLES = (
    ("run", ("errors",), 20),
    ("run", ("kill", "short"), 6),
    ("run", ("allocations",), 8),
    ("apply", ("errors", "kill"), 6),
    ("undo", ("errors", "kill"), 6),
    ("run", ("errors",), 3, r"^airlock sendto$"),  # the word to start: without it both sides waited
)


def spread(cases, count):
    return cases[len(cases) // count // 2::max(1, len(cases) // count)][:count]


def main(build):
    with walk.Tools(build) as tools:
        for number, (name, kinds, count, *calls) in enumerate(SAMPLES, 1):
            title = f"{number} {name}, {' and '.join(kinds + tuple(calls))}: an error is told, nothing is left, the next run works"
            found = []
            try:
                one = walk.Walk(tools, name)
                words = walk.walk_cases(one, spread(list(walk.cases_of(one, kinds, *map(re.compile, calls))), count), found.append)
            except PermissionError:
                print(f"ok {title} # skip needs: ptrace")
                continue
            enough = sum(words.values()) == count
            print(f"{'not ' if found or not enough else ''}ok {title}")
            print("".join(f"# {line}\n" for text in found for line in text.splitlines()), end="")
            print(f"# {dict(words)}", flush=True)
    print(f"1..{len(SAMPLES)}")


if __name__ == "__main__":
    main(sys.argv[1])
