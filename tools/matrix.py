#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which case of the threat model was tried with which backend, identity and profile, and what came of it.

    tools/matrix.py        TAP: every case of tests/security/cases.txt has its test

tools/check hands every suite's output to Matrix.add and prints Matrix.table at the end. A row comes from a test of
tests/security/matrix.py, whose name says everything, or from one that tests/security/cases.txt names.
"""
import re
import sys
from pathlib import Path

import tap

TOP = Path(__file__).resolve().parent.parent
CASES = TOP / "tests/security/cases.txt"
TITLE = re.compile(r"(?P<family>[^:]+): (?P<case>.+) \[(?P<backend>\w+)/(?P<profile>\S+)\](?P<rest>.*)$")
SUITE = re.compile(r"(?:unit (?P<unit>\w+)|(?P<file>\S+\.(?:bats|py)) \((?P<identity>\w+)(?:, (?P<backends>[\w ]+))?\))$")
BACKENDS, PROFILES = ("native", "bubblewrap", "landlock"), ("strict", "moderate", "permissive")
REFUSED, NOT_PROMISED, FAILED, SKIPPED, NOT_TRIED = "+", "o", "!", "-", "."
LEGEND = (f"{REFUSED} refused or hidden, as promised   {NOT_PROMISED} not promised there, and said so   {SKIPPED} skipped: the "
          f"machine lacks something   {NOT_TRIED} not tried there   {FAILED} FAILED")


def read_cases():
    """[(family, case, file, beginning of the test's name)]"""
    lines = (line for line in CASES.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return [tuple(part.strip() for part in line.split("|")) for line in lines]


def mark_of(failed, name):
    if failed:
        return FAILED
    if tap.SKIP.search(name):
        return SKIPPED
    return NOT_PROMISED if ", not promised: " in name else REFUSED


class Matrix:
    def __init__(self):
        self.rows = {}  # (family, case): {(identity, backend, profile): mark}
        self.by_file = {}
        for family, case, file, start in read_cases():
            self.by_file.setdefault(file, []).append((start, (family, case)))

    def put(self, row, identities, backends, profiles, mark):
        cells = self.rows.setdefault(row, {})
        for identity in identities:
            for backend in backends:
                for profile in profiles:
                    old = cells.get((identity, backend, profile))
                    cells[identity, backend, profile] = FAILED if FAILED in (old, mark) else mark

    def add(self, suite, output):
        found = SUITE.match(suite)
        if not found:
            return
        file = f"unit/test_{found['unit']}.c" if found["unit"] else found["file"]
        identities = [found["identity"]] if found["identity"] else ["root", "user"]
        backends = (found["backends"] or "native").split() if not found["unit"] else BACKENDS
        for result in filter(None, map(tap.RESULT.match, output.splitlines())):
            mark, title = mark_of(result[1], result[2]), TITLE.match(result[2])
            if title:
                profiles = PROFILES if title["profile"] == "*" else [title["profile"]]
                self.put((title["family"], title["case"]), identities, [title["backend"]], profiles, mark)
            for start, row in self.by_file.get(file, ()):
                if result[2].startswith(start):
                    self.put(row, identities, backends, ["moderate"], mark)

    def table(self):
        """The lines to print; none when nothing of it was run."""
        if not any(mark for cells in self.rows.values() for mark in cells.values()):
            return
        columns = [(identity, backend) for identity in ("root", "user") for backend in BACKENDS
                   if any((identity, backend, profile) in cells for cells in self.rows.values() for profile in PROFILES)]
        yield "The threat model, case by case; three marks each: strict, moderate, permissive"
        yield f"{'':44}" + "".join(f"{identity + ' ' + backend[:8]:15}" for identity, backend in columns)
        families = list(dict.fromkeys(family for family, _ in self.rows))
        for family in families:
            yield family
            for (_, case), cells in (item for item in self.rows.items() if item[0][0] == family):
                marks = ("".join(cells.get((*column, profile), NOT_TRIED) for profile in PROFILES) for column in columns)
                yield (f"  {case[:40]:42}" + "".join(f"{mark:15}" for mark in marks)).rstrip()
        yield LEGEND


def tests_of(file):
    text = (TOP / "tests" / file).read_text(encoding="utf-8") if (TOP / "tests" / file).exists() else ""
    if file.endswith(".bats"):
        return re.findall(r'^@test "(.*)" \{$', text, re.MULTILINE)
    return re.findall(r"^static void (\w+)\(void \*\*state\)", text, re.MULTILINE)


def main():
    writer = tap.Writer()
    for family, case, file, start in read_cases():
        found = any(name.startswith(start) for name in tests_of(file))
        writer.test(f"{family}: {case}", [] if found else [f"{file} has no test that begins with: {start}"])
    return writer.finish()


if __name__ == "__main__":
    sys.exit(main())
