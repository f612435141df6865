# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP, the one language all tests of airlock speak: writing it, and reading it without being fooled."""
import re

PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*skip\S*\s*(.*))?$", re.IGNORECASE)
RESULT = re.compile(r"^(not )?ok\b(?:\s+\d+)?(?:\s+-)?\s*(.*)$")
SKIP = re.compile(r"#\s*skip\S*\s*(.*)$", re.IGNORECASE)


class Writer:
    """Prints one test per call; a test has failed when it has faults to show."""

    def __init__(self):
        self.count = self.failed = 0

    def test(self, name, faults=()):
        faults = list(faults)
        self.count += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.count} - {name}")
        for fault in faults:
            print("# " + fault.replace("\n", "\n# "))

    def finish(self):
        """Prints the plan and returns the exit status."""
        print(f"1..{self.count}", flush=True)
        return 1 if self.failed else 0


class Outcome:
    """What a suite's output proves: numbers, and why it failed beyond its own "not ok" lines."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.faults = []

    def fault(self, text):
        self.failed += 1
        self.faults.append(text)

    def skip(self, name, reason):
        """A skip hides a test, so its reason must name what the machine lacks."""
        if reason.startswith("needs: "):
            self.skipped += 1
        else:
            self.fault(f'skipped without saying "needs: ...": {name} ({reason or "no reason"})')


def read(text, status):
    """The outcome of a suite that printed `text` and ended with exit status `status` (negative: signal)."""
    outcome = Outcome()
    planned, ran = None, 0
    for line in text.splitlines():
        if plan := PLAN.match(line):
            planned = (planned or 0) + int(plan[1])
            if planned == 0 and plan[2]:
                outcome.skip("the whole suite", plan[2])
        elif result := RESULT.match(line):
            ran += 1
            skip = SKIP.search(result[2])
            if result[1]:
                outcome.failed += 1
            elif skip:
                outcome.skip(result[2][: skip.start()].strip(), skip[1].strip())
            else:
                outcome.passed += 1
    if planned is None:
        outcome.fault("no plan: the suite never said how many tests it has")
    elif planned != ran:
        outcome.fault(f"planned {planned} tests, ran {ran}")
    elif planned == 0 and not outcome.faults and not outcome.skipped:
        outcome.fault("no tests")
    if status < 0:
        outcome.fault(f"died of signal {-status}")
    elif status > 0 and not outcome.failed:
        outcome.fault(f"exit status {status} although no test failed")
    return outcome
