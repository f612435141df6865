# SPDX-License-Identifier: LGPL-2.1-or-later
"""What test programs say about their tests: output in, name to number (or to outcome) out.

A workload names those that fit its programs. One that finds nothing returns {}, and a workload without any count has failed:
otherwise two runs that both tested nothing would agree.
"""
import re
from collections import Counter


def automake(output):
    totals = Counter()
    for word, number in re.findall(r"^# (TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +(\d+)$", output, re.MULTILINE):
        totals[word.lower()] += int(number)
    return dict(totals)


def ctest(output):
    found = re.search(r"(\d+) tests failed out of (\d+)", output)
    return {"failed": int(found[1]), "total": int(found[2])} if found else {}


def meson(output):
    return {word.lower(): int(number) for word, number in re.findall(
        r"^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +(\d+) *$", output, re.MULTILINE)}


def unittest(output):
    """The outcome of every test of `python3 -m test -v` by its name: "test_a (test.test_os.B.test_a) ... ok"."""
    found = re.findall(r"^(\w+) \((\S+)\)[^\n]*?(?:\n[^\n]*?)? \.\.\. (ok|skipped|FAIL|ERROR|expected failure)\b", output, re.MULTILINE)
    return {where if where.endswith(name) else f"{where}.{name}": outcome for name, where, outcome in found}


def jest(output):
    found = re.search(r"^Tests: +(.*?)(\d+) total", output, re.MULTILINE)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", found[1])} if found else {}
    return {**counts, "total": int(found[2])} if found else {}


def go(output):
    return dict(Counter(word.lower() for word in re.findall(r"^ *--- (PASS|FAIL|SKIP): ", output, re.MULTILINE)))


def cargo(output):
    totals = Counter()
    for numbers in re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.MULTILINE):
        totals.update(dict(zip(("passed", "failed", "ignored"), map(int, numbers))))
    return dict(totals)


def tap(output):
    """The outcome of every test by its number, after the name of its file where "# file NAME" stands before it."""
    outcomes, file = {}, ""
    for name, failed, number, rest in re.findall(r"^(?:# file (\S+)|(not )?ok (\d+)(.*))$", output, re.MULTILINE):
        file = name or file
        if number:
            outcomes[f"{file} {number}".strip()] = \
                "skipped" if "# skip" in rest else "known breakage" if "# TODO" in rest else "failed" if failed else "passed"
    return outcomes


def lines(prefix):
    """Numbers that the workload's own script prints: "PREFIX name number"."""
    def read(output):
        return {name: int(number) for name, number in re.findall(rf"^{prefix} (\S+) (\d+)$", output, re.MULTILINE)}
    return read
