#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real agents, with a model that answers from a script, behind airlock: one row for each agent and each way in.

    run.py --airlock BUILD/airlock [--cache DIR] [--agents a,b] [--ways setup,mcp,inside] [--columns x,y] [--publish] [--update]

Prints the table; --publish writes it to docs/agents.md too. Nothing leaves this machine but npm's downloads. The exit status is
1 if a row has a "no" where docs/agents.md has a "yes".
"""
import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import attacks  # noqa: E402
import columns  # noqa: E402
import programs  # noqa: E402
from ways import WAYS, Plain  # noqa: E402

TOP = Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "docs/agents.md"
TESTS = {columns.everyday: ("sandboxed", "output", "directory", "bash", "parallel", "background", "held"), columns.cancel: ("cancel",),
         columns.rules: ("rules",), columns.patch: ("patch",), columns.mcp: ("mcp",), columns.question: ("question",),
         columns.fail_closed: ("fail closed",), attacks.attacks: ("attacks",), columns.undo: ("undo",)}


class Bench:
    def __init__(self, options):
        self.airlock, self.quick = options.airlock.resolve(), options.quick
        self.programs, self.missing, self.node = programs.programs(options.cache, options.update)


def row(bench, agent, way, wanted):
    found = {}
    for test, names in TESTS.items():
        if wanted and not set(names) & set(wanted):
            continue
        start = time.time()
        try:
            found.update(test(bench, agent, way))
        except Exception as error:  # a broken test is a no, never a yes
            found.update(dict.fromkeys(names, columns.no(f"the test broke: {error!r}"[:160])))
            traceback.print_exc()
        print(f"# {agent.NAME} {way.NAME} {names[0]} … {time.time() - start:.0f} s: "
              + json.dumps({name: found.get(name) for name in names}), file=sys.stderr, flush=True)
    return found


def table(bench, rows):
    lines = ["| agent | version | way | " + " | ".join(columns.COLUMNS) + " |", "|---" * (len(columns.COLUMNS) + 3) + "|"]
    notes = []
    for (agent, way), found in rows.items():
        cells = []
        for name in columns.COLUMNS:
            value = found.get(name, "not run")
            if value.startswith("no: "):
                notes.append(f"{agent}, {way}, {name}: {value[4:]}")
                value = f"no ({len(notes)})"
            cells.append(value.replace("|", "\\|"))
        lines.append(f"| {agent} | {bench.programs[agent][1]} | {way} | " + " | ".join(cells) + " |")
    lines += [""] + [f"{i}. {note}" for i, note in enumerate(notes, 1)]
    lines += [""] + [f"Not had: {name}: {why}" for name, why in bench.missing.items()]
    return "\n".join(lines).rstrip() + "\n"


def publish(text, version):
    kernel = os.uname().release.split("-")[0]
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- results: begin -->\n", "<!-- results: end -->"
    head, rest = page.split(begin)
    PAGE.write_text(f"{head}{begin}{date.today()}, airlock {version}, Linux {kernel}, with Node 22.\n\n{text}{end}{rest.split(end)[1]}",
                    encoding="utf-8")


def published():
    """What docs/agents.md says: for each agent and way, the word of each column."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(columns.COLUMNS) + 3 and cells[2] in [way.NAME for way in WAYS]:
            rows[cells[0], cells[2]] = dict(zip(columns.COLUMNS, cells[3:]))
    return rows


def lost(rows, before):
    """What worked when the table was published and does not now."""
    return [f"{agent}, {way}, {name}: {value}" for (agent, way), found in rows.items() for name, value in found.items()
            if value.startswith("no: ") and before.get((agent, way), {}).get(name) == "yes"]


def main():
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "airlock-agents"
    parser = argparse.ArgumentParser()
    parser.add_argument("--airlock", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default)
    parser.add_argument("--agents", default="")
    parser.add_argument("--ways", default="")
    parser.add_argument("--columns", default="")
    parser.add_argument("--results", type=Path, help="keep the results here, and add to those that are there")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--update", action="store_true", help="get the newest versions")
    parser.add_argument("--quick", action="store_true", help="without what takes a minute")
    options = parser.parse_args()
    bench = Bench(options)
    wanted = [name for name in options.columns.split(",") if name]
    pairs = [(agent, way) for agent in programs.AGENTS for way in (*WAYS, Plain())
             if agent.NAME in bench.programs and way.fits(agent)
             and (not options.agents or agent.NAME in options.agents.split(","))
             and way.NAME in (options.ways.split(",") if options.ways else [way.NAME for way in WAYS])]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda pair: row(bench, *pair, wanted), pairs))
    rows = {(agent.NAME, way.NAME): result for (agent, way), result in zip(pairs, found)}
    worse = lost(rows, published())
    if options.results:
        rows = merge(options.results, rows)
    text = table(bench, rows)
    print(text)
    version = subprocess.run([bench.airlock, "--version"], capture_output=True, text=True).stdout.split()[-1]
    if options.publish:
        publish(text, version)
    for line in worse:
        print(f"worse than docs/agents.md: {line}", file=sys.stderr)
    return 1 if worse else 0


def merge(path, rows):
    old = {tuple(key.split("/")): value for key, value in json.loads(path.read_text()).items()} if path.exists() else {}
    for key, value in rows.items():
        old[key] = {**old.get(key, {}), **value}
    path.write_text(json.dumps({"/".join(key): value for key, value in old.items()}, indent=1) + "\n")
    order = [agent.NAME for agent in programs.AGENTS]
    return dict(sorted(old.items(), key=lambda item: (order.index(item[0][0]), [way.NAME for way in WAYS].index(item[0][1]))))


if __name__ == "__main__":
    sys.exit(main())
