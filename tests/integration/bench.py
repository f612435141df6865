#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measuring itself: turns, ratios, targets, tables, the chart; and that the README says what was measured. Prints TAP.

    bench.py BUILD
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "bench"), str(TOP / "tools")]

import tap  # noqa: E402
from suite import chart, isolation, machine, report, targets  # noqa: E402
from suite.contenders import CAPTURED, MADE_AT_ONCE, THROWN_AWAY, Contender  # noqa: E402
from suite.measure import Failed, Series, Thing, every_for, interleave, ratio, run  # noqa: E402
from suite.results import Results, rounded  # noqa: E402
from suite.sections import own_megabytes  # noqa: E402

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def expect(what, found, wanted):
    if found != wanted:
        yield f"{what}: {found!r} instead of {wanted!r}"


def near(what, found, wanted):
    if found is None or abs(found - wanted) > 1e-9:
        yield f"{what}: {found!r} instead of {wanted!r}"


# ---- measuring

@test
def everybody_takes_turns_in_every_round():
    told = []
    things = {name: Thing(lambda name=name: told.append(name) or 1.0) for name in "abc"}
    series, failures = interleave(things, 20, order=random.Random(1))
    yield from expect("failures", failures, {})
    yield from expect("rounds of each", {len(values) for values in series.values()}, {20})
    rounds = [told[i:i + 3] for i in range(0, len(told), 3)]
    yield from expect("each once per round", {"".join(sorted(turn)) for turn in rounds}, {"abc"})
    if len({"".join(turn) for turn in rounds}) < 3:
        yield "the order is not drawn anew"


@test
def slow_ones_take_part_rarely():
    things = {"fast": Thing(lambda: 1.0), "slow": Thing(lambda: 9.0, every=4)}
    series, _ = interleave(things, 10)
    yield from expect("rounds of the slow", sorted(series["slow"]), [0, 4, 8])
    yield from near("ratio", ratio(series["slow"], series["fast"]).median, 9.0)
    yield from expect("how rarely", [every_for(10, 25), every_for(49, 25), every_for(9999, 25)], [1, 2, 10])


@test
def what_is_done_before_is_not_timed_and_comes_before():
    told = []
    thing = Thing(lambda: told.append("run"), before=lambda: told.append("before"))
    series, _ = interleave({"x": thing}, 2, is_warm=True)
    yield from expect("order", told, ["before", "run", "before", "run"])
    if not all(0 <= value < 1000 for value in series["x"].values()):
        yield f"not milliseconds: {series['x']}"


@test
def who_fails_is_left_out_and_told():
    calls = []

    def fails_later():
        calls.append(1)
        if len(calls) == 3:
            raise Failed("no more")
        return 1.0

    def fails_at_once():
        raise Failed("never")
    series, failures = interleave({"good": Thing(lambda: 1.0), "later": Thing(fails_later), "never": Thing(fails_at_once)}, 5)
    yield from expect("series", {name: len(values) for name, values in series.items()}, {"good": 5})
    yield from expect("failures", failures, {"later": "no more", "never": "never"})


@test
def time_ends_it_but_not_before_three_rounds():
    series, _ = interleave({"x": Thing(lambda: 1.0)}, 1000, seconds=1e-9)
    yield from expect("rounds", len(series["x"]), 3)


@test
def ratios_are_of_pairs():
    busy = Series({0: 10.0, 1: 100.0, 2: 20.0})  # the second round was a busy moment for both
    beside = Series({0: 5.0, 1: 50.0, 2: 10.0, 3: 1.0})
    found = ratio(busy, beside)
    yield from near("median", found.median, 2.0)
    yield from near("low", found.low, 2.0)
    yield from near("high", found.high, 2.0)
    spread = ratio(Series({0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0, 4: 5.0}), Series({i: 1.0 for i in range(5)}))
    yield from expect("quartiles", tuple(spread), (3.0, 2.0, 4.0))
    yield from expect("never met", ratio(Series({0: 1.0}), Series({1: 1.0})), None)
    yield from expect("nothing", ratio(Series({0: 1.0}), Series({0: 0.0})), None)
    yield from expect("less", busy.minus(beside), {0: 5.0, 1: 50.0, 2: 10.0})
    yield from near("p99 of few is the largest", busy.p99(), 100.0)
    yield from near("p99 of many", Series({i: float(i) for i in range(1, 201)}).p99(), 198.0)


@test
def a_program_that_fails_is_no_measure():
    run(["/bin/true"])
    for argv, why in ((["/bin/false"], "false ended with status 1"), (["/bin/sh", "-c", "kill -9 $$"], "sh ended with signal 9")):
        try:
            run(argv)
            yield f"{argv} passed"
        except Failed as error:
            yield from expect("why", str(error), why)


@test
def the_rate_counts_and_tells_failures():
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["cc", "-O2", "-o", f"{place}/rate", TOP / "bench/rate.c"], check=True)
        out = Path(place, "names")
        script = f'printf "%s\\n" "$1" >>{out}'
        done = subprocess.run([f"{place}/rate", "2", "0.1", "/bin/sh", "-c", script, "x", "UNIQUE"], stdout=subprocess.PIPE, text=True)
        yield from expect("status", done.returncode, 0)
        names = out.read_text().splitlines()
        if not float(done.stdout) > 0 or len(names) < 2 or len(set(names)) != len(names) or "UNIQUE" in names:
            yield f"{done.stdout!r}, {names[:4]}"
        done = subprocess.run([f"{place}/rate", "1", "0.1", "/bin/false"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        yield from expect("status when it fails", (done.returncode, done.stdout), (1, b""))


# ---- what is known of contenders

def told_inside(**changed):
    facts = {name: f"{name}:[2]" for name in isolation.NAMESPACES}
    facts.update(kernel="6", Seccomp="2", CapEff="0000000000000000", NoNewPrivs="1", secret="", token="", **changed)
    return "".join(f"{name}={value}\n" for name, value in facts.items() if value is not None)


OUTSIDE = {"kernel": "6", **{name: f"{name}:[1]" for name in isolation.NAMESPACES}}


@test
def isolation_is_read_from_what_the_probe_told():
    facts = isolation.facts_of(told_inside(), OUTSIDE, home_written=False, project_written=True)
    yield from expect("namespaces", facts["namespaces"], list(isolation.NAMESPACES))
    yield from expect("lacks", isolation.lacks(facts, CAPTURED), [])
    yield from expect("lacks capture", isolation.lacks(facts, MADE_AT_ONCE), ["capture, report or undo changes"])
    worse = told_inside(net=OUTSIDE["net"], uts=OUTSIDE["uts"], outsider="seen").replace("Seccomp=2", "Seccomp=0") \
        .replace("CapEff=0000000000000000", "CapEff=0000000000000400").replace("secret=", f"secret={isolation.SECRET}")
    facts = isolation.facts_of(worse, OUTSIDE, home_written=True, project_written=True)
    yield from expect("lacks more", isolation.lacks(facts, CAPTURED), [
        "make net or uts namespaces", "filter system calls", "drop capabilities", "protect the home", "hide ~/.ssh and processes"])
    other = told_inside().replace("kernel=6", "kernel=4").replace("Seccomp=2", "Seccomp=0")
    facts = isolation.facts_of(other, OUTSIDE, home_written=False, project_written=False)
    yield from expect("a kernel of its own", (facts["namespaces"], isolation.lacks(facts, THROWN_AWAY)), (None, ["keep changes"]))


@test
def the_probe_sees_that_there_is_no_sandbox():
    with tempfile.TemporaryDirectory() as place:
        home = Path(place, "home")
        project = home / "project"
        project.mkdir(parents=True)
        isolation.prepare(home)
        bare = Contender("alone", "alone", lambda command, project: command)
        facts = isolation.look(bare, project, home, 1)
        for name, wanted in (("namespaces", []), ("home read-only", False), ("project written", True), ("hides ~/.ssh", False),
                             ("hides tokens in the environment", False)):
            yield from expect(name, facts[name], wanted)


@test
def names_are_unique_with_every_start():
    contender = Contender("x", "x", lambda command, project: ["/bin/true", "UNIQUE", *command])
    first, second = (contender.argv(["c"], "/p") for _ in range(2))
    yield from expect("around it", (first[0], first[2]), ("/bin/true", "c"))
    if first[1] == second[1] or "UNIQUE" in first:
        yield f"{first}, {second}"


@test
def memory_is_of_those_around_the_command_or_unknown():
    yield from near("sum", own_megabytes([["airlock", 1024], ["sleep", 9999], ["airlock", 512]], "sleep"), 1.5)
    yield from expect("unknown", own_megabytes([["airlock", None], ["sleep", 1]], "sleep"), None)
    child = subprocess.Popen(["/bin/sh", "-c", "sleep 20; true"])
    try:
        names = []
        while "sleep" not in names:
            time.sleep(0.01)
            names = [name for name, _ in machine.read_tree(child.pid)]
        yield from expect("tree", names, ["sh", "sleep"])
    finally:
        subprocess.run(["pkill", "-P", str(child.pid)])
        child.wait()


@test
def what_a_killed_run_left_behind_goes():
    with tempfile.TemporaryDirectory() as place:
        ended = subprocess.Popen(["/bin/true"])
        ended.wait()
        names = {f"airlock-bench.{ended.pid}.x": False, f"airlock-bench.{os.getpid()}.x": True, "airlock-bench.other": True}
        for name in names:
            Path(place, name, "home").mkdir(parents=True)
        machine.remove_stale(Path(place))
        yield from expect("still there", {name: Path(place, name).exists() for name in names}, names)


# ---- results, tables, chart

def sample():
    results = Results()
    facts = isolation.facts_of(told_inside(), OUTSIDE, False, True)
    for key, name in (("airlock", "airlock"), ("airlock-direct", "airlock --changes direct"), ("bwrap", "bwrap & <co>")):
        results.data["contenders"][key] = {"name": name, "version": "1.0", "is_ours": key != "bwrap", "note": "", "changes": CAPTURED,
                                           "isolation": facts, "does_not": [] if key == "airlock" else ["capture"], "command": "x"}
    results.data.update(date="2026-02-03T04:05:06Z", commit="c", quick=False, seconds=1, sections=["start-up"],
                        machine={"kernel": "6.1.2-x", "cpus": 2, "file_system": "ext4", "identity": "an ordinary user"},
                        absent={"try": "in neither"})
    series = {"airlock": Series({0: 3.0}), "airlock-direct": Series({0: 1.0}), "bwrap": Series({0: 2.0})}
    results.add_all("start-up", "", series, "bwrap")
    results.add_all("rate", "8", {"airlock-direct": Series({0: 500.0}), "bwrap": Series({0: 200.0})}, "bwrap", "per second")
    for files, value in ((100, 4.0), (100_000, 4.4)):
        results.add_all("cycle", f"{files}/10", {"alone": Series({0: 1.0}), "airlock": Series({0: value}),
                                                 "git status": Series({0: files / 100})}, "alone")
    results.add_all("growth", "depth", {"1 step": Series({0: 2.0}), "70 steps": Series({0: 2.2})}, "1 step")
    results.add("scale", "100000/10", "airlock", Series({0: 4.4}), "ms", Series({0: 4.0}), "100/10")
    results.data["targets"] = targets.judge(results)
    return results


@test
def results_are_kept_and_found():
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "results.json")
        sample().save(path)
        results = Results.load(path)
        yield from near("ratio", results.value("start-up", "", "airlock"), 1.5)
        yield from near("median", results.value("rate", "8", "airlock-direct", "median"), 500.0)
        yield from expect("not measured", results.value("start-up", "", "nobody"), None)
        yield from expect("rounded", rounded(1.23456), 1.235)
        path.write_text(json.dumps({"shape": 0}))
        try:
            Results.load(path)
            yield "another shape was read"
        except ValueError:
            pass


@test
def targets_are_met_or_missed():
    judged = {target["target"]: target for target in sample().data["targets"]}
    for text, met in (("start-up, changes direct, beside bwrap", True), ("start-up with capture, report and record, beside bwrap", False),
                      ("10 changes in 100,000 files, beside 100 files", True),
                      ("sandboxes per second, 8 workers, changes direct, beside bwrap", True)):
        yield from expect(text, judged.get(text, {}).get("met"), met)
    yield from expect("what was not measured is not judged", len(judged), 5)
    known = {section for section in __import__("suite.sections", fromlist=["SECTIONS"]).SECTIONS} | {"scale"}
    yield from expect("sections of the targets", [target.section for target in targets.TARGETS if target.section not in known], [])


@test
def the_tables_have_the_numbers():
    results = sample()
    results.note("rate", {"airlock": "8 at once in one project: one of them failed"})
    yield from expect("the README's one number", re.findall(r"[\d.]+ ×", report.readme_text(results)), ["1.50 ×"])
    text = report.bench_text(results)
    for wanted in ("| airlock | 1.50 × |  |  |  | fails |", "| bwrap & <co> 1.0 | 1.00 × |", "3 February 2026", "Linux 6.1,", "try (in neither)",
                   "take 1.10 × as long", "**missed**", "| met |", "227 × as long"):
        if wanted not in text:
            yield f"lacks {wanted!r}: {text}"
    numbers = [report.number(value) for value in (0.123, 1.005, 12.34, 123.4, None)]
    yield from expect("numbers", numbers, ["0.12", "1.00", "12.3", "123", "–"])


@test
def the_chart_is_well_formed_and_true():
    root = xml.fromstring(chart.draw(sample()))
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in root.iter(f"{space}text")]
    for wanted in ("bwrap & <co>", "1.50 ×", "500", "4.40 ms", "a command after 70 steps", "1.10 ×"):
        if wanted not in texts:
            yield f"lacks {wanted!r}: {texts}"
    bars = [element for element in root.iter(f"{space}rect") if element.get("class") in ("ours", "other")]
    widths = [float(bar.get("width")) for bar in bars[:3]]
    yield from expect("start-up: the quickest first, longer bars for longer times", widths, sorted(widths))
    yield from expect("ours", [bar.get("class") for bar in bars[:3]], ["ours", "other", "ours"])
    yield from near("a rate of 200 is two fifths as long as 500", round(float(bars[4].get("width")) / float(bars[3].get("width")), 3), 0.4)
    edge = float(root.get("width"))
    beyond = [bar.attrib for bar in bars if float(bar.get("x")) + float(bar.get("width")) > edge]
    yield from expect("beyond the edge", beyond, [])


@test
def readme_and_chart_say_what_was_measured():
    done = subprocess.run([TOP / "bench/publish", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        yield done.stdout
    measured = report.number(Results.load(TOP / "bench/results.json").value("start-up", "", "airlock"))
    for file, pattern in (("README.md", r"starts a sandbox in ([\d.]+) ×"), ("bench/README.md", r"(?m)^\| airlock \| ([\d.]+) × \|")):
        told = re.search(pattern, (TOP / file).read_text(encoding="utf-8"))
        yield from expect(f"airlock's start-up in {file}", told and told[1], measured)


@test
def options_that_make_no_sense_are_refused():
    for options, wanted in ((["--sections", "nonsense", "/bin/true"], "no such section: nonsense"),
                            (["/nowhere/airlock"], "is not a program")):
        done = subprocess.run([TOP / "bench/run", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        yield from expect("status", done.returncode, 2)
        if wanted not in done.stderr:
            yield done.stderr


def main():
    out = tap.Writer()
    for function in TESTS:
        out.test(function.__name__.replace("_", " "), function())
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())
