#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A tree in full, kept and compared, for tests in shell.

    tree.py save ROOT FILE                     keep what ROOT is now
    tree.py same FILE ROOT [IGNORED...]        it is exactly that: every byte, name, mode, time, link and attribute
    tree.py alike FILE ROOT [IGNORED...]       the same but for times that are new in both, and content of IGNORED

IGNORED: patterns of paths (fnmatch).
"""
import fnmatch
import os
import pickle
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from capture import trees  # noqa: E402


def without_content(tree, patterns):
    def is_ignored(path):
        return any(fnmatch.fnmatchcase(os.fsdecode(path), pattern) for pattern in patterns)
    return {path: entry._replace(content=b"", size=0) if is_ignored(path) else entry for path, entry in tree.items()}


def without_freshness(tree):
    """Git touches an object that it would write again, and whether it would depends on which second it is. The time of a
    directory alone is no change, so that it stays behind."""
    return {path: entry._replace(mtime=0)
            if entry.type == "directory" or fnmatch.fnmatchcase(os.fsdecode(path), "*.git/objects/??/*") else entry
            for path, entry in tree.items()}


def main(verb, first, second, *ignored):
    if verb == "save":
        with open(second, "wb") as file:
            pickle.dump(trees.look(first), file)
        return 0
    with open(first, "rb") as file:
        wanted = without_content(pickle.load(file), ignored)
    found = without_content(trees.look(second), ignored)
    if verb == "alike":
        wanted, found = without_freshness(wanted), without_freshness(found)
    faults = trees.differences(wanted, found, exact_times=verb == "same")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
