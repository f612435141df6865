# SPDX-License-Identifier: LGPL-2.1-or-later
"""The outcome as data: what results.json holds (bench/README.md says what each field means) and how to look things up."""
import json
from pathlib import Path

from .measure import ratio

SHAPE = 1


def rounded(number):
    """Four digits are more than any of this is worth."""
    return float(f"{number:.4g}")


class Results:
    def __init__(self, data=None):
        self.data = data or {"shape": SHAPE, "contenders": {}, "absent": {}, "measures": [], "notes": [], "targets": []}

    @classmethod
    def load(cls, path):
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data.get("shape") != SHAPE:
            raise ValueError(f"{path}: not of shape {SHAPE}; measure anew with make bench")
        return cls(data)

    def save(self, path):
        Path(path).write_text(json.dumps(self.data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def add(self, section, column, contender, series, unit="ms", beside=None, reference=None):
        """`beside`: the series it is told in units of, and `reference` its name."""
        measure = {"section": section, "column": column, "contender": contender, "unit": unit, "rounds": len(series),
                   "median": rounded(series.median()), "p99": rounded(series.p99())}
        found = ratio(series, beside) if beside else None
        if found:
            measure.update(beside=reference, ratio=rounded(found.median), low=rounded(found.low), high=rounded(found.high))
        self.data["measures"].append(measure)

    def add_all(self, section, column, series, reference, unit="ms"):
        """All of one interleaved run, told in units of one of them."""
        for contender, values in series.items():
            self.add(section, column, contender, values, unit, series.get(reference), reference)

    def note(self, section, failures):
        for contender, why in failures.items():
            self.data["notes"].append({"section": section, "contender": contender, "why": why})

    def find(self, section, column, contender):
        """The measure, or None."""
        for measure in self.data["measures"]:
            if (measure["section"], measure["column"], measure["contender"]) == (section, column, contender):
                return measure
        return None

    def value(self, section, column, contender, field="ratio"):
        measure = self.find(section, column, contender)
        return measure.get(field) if measure else None

    def name_of(self, key):
        known = self.data["contenders"].get(key)
        return known["name"] if known else key
