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
    ("run", ("errors",), 3, r"^airlock sendmsg$"),  # the word to start: without it both sides waited
    ("auto", ("errors", "kill"), 5, r"^airlock (socketpair|memfd_create|clone|setsockopt)$"),  # while the sandbox is begun
    ("landlock", ("errors", "kill"), 5),
    ("landlock", ("errors",), 2, r"^airlock-init prctl$"),  # what it may have is taken from it, or it does not start
)


def spread(cases, count):
    return cases[len(cases) // count // 2::max(1, len(cases) // count)][:count]


def is_recorded(one, number):
    """Does memory that ends with this allocation leave a record of the changes?"""
    with one.place() as place:
        one.without_memory(place, f"{number}+")
        return any(place.state.glob("runs/*/changes"))


def first_recorded(one):
    low, high = 0, len(one.allocations()) + 1  # not with the first, but with all of them
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_recorded(one, middle) else (middle, high)
    return high


def no_memory_for_the_record(tools):
    """changes that cannot be recorded for want of memory are not offered for applying, and it is told where they are"""
    one = walk.Walk(tools, "run")
    number = first_recorded(one) - 1
    with one.place() as place:
        told = one.without_memory(place, f"{number}+").stderr.decode()
    word, finding = walk.judge(one, walk.Case("run", "allocation", f"{number}+"))
    is_true = "could not be recorded: the project does not have them" in told and "/upper" in told
    return [told] * (not is_true) + [finding] * (finding is not None), word


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
        found, word = no_memory_for_the_record(tools)
        print(f"{'not ' if found else ''}ok {len(SAMPLES) + 1} {no_memory_for_the_record.__doc__}")
        print("".join(f"# {line}\n" for text in found for line in text.splitlines()), end="")
        print(f"# {word}", flush=True)
    print(f"1..{len(SAMPLES) + 1}")


if __name__ == "__main__":
    main(sys.argv[1])
