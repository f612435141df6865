# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results as text: tables for the terminal first, then the parts of README.md and bench/README.md."""
import textwrap

# What the one table shows: heading, section, column, field, and whether it is a ratio.
COLUMNS = (
    ("start-up × bwrap", "start-up", "", "ratio"),
    ("build × direct", "build", "", "ratio"),
    ("grep × direct", "grep", "", "ratio"),
    ("memory MB", "memory", "", "median"),
    ("per s, 1", "rate", "1", "median"),
    ("per s, 2", "rate", "2", "median"),
    ("per s, 8", "rate", "8", "median"),
)
EXTRA = {"airlock-warm": "airlock mcp, warm: run_command"}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")


def number(value, field="ratio"):
    """Two digits that mean something."""
    if value is None:
        return "–"
    if value >= 100 or field != "ratio" and value >= 20:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def day(date):
    year, month, of_month = date[:10].split("-")
    return f"{int(of_month)} {MONTHS[int(month) - 1]} {year}"


def print_table(rows, out=print):
    """The first row is the heading; the first column is on the left, the others on the right, text last on the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        out("  ".join(cells).rstrip())


def say_who(results):
    print("\nmeasured, with what each has been seen to do inside:")
    for entry in results.data["contenders"].values():
        facts = entry["isolation"]
        spaces = "a kernel of its own" if facts["namespaces"] is None else ", ".join(facts["namespaces"]) or "none"
        print(f"  {entry['name']} {entry['version']}: namespaces: {spaces}; "
              f"does not: {'; '.join(entry['does_not']) or '-'}")
        print(f"    {entry['command'][:400]}")
    for name, why in results.data["absent"].items():
        print(f"  {name}: not available here: {why}")
    print(flush=True)


def in_order(results):
    """Keys of the contenders and the warm row, the quickest start first."""
    keys = [*results.data["contenders"], *EXTRA]
    return sorted(keys, key=lambda key: results.value("start-up", "", key) or 1e9)


def row_name(results, key):
    return EXTRA.get(key) or results.name_of(key)


def main_rows(results):
    rows = [["", *(heading for heading, *_ in COLUMNS)]]
    for key in in_order(results):
        cells = [number(results.value(section, column, key, field), field) for _, section, column, field in COLUMNS]
        if any(cell != "–" for cell in cells):
            rows.append([row_name(results, key), *cells])
    return rows


def print_section(results, section):
    """Everything of one section, a table per column."""
    found = [m for m in results.data["measures"] if m["section"] == section]
    for column in dict.fromkeys(m["column"] for m in found):
        measures = [m for m in found if m["column"] == column]
        rows = [[f"{section} {column}".rstrip() + f" ({measures[0]['unit']})", "median", "p99", "rounds", "ratio", "quartiles",
                 "beside"]]
        for m in measures:
            told = [number(m["ratio"]), f"{number(m['low'])}–{number(m['high'])}", results.name_of(m["beside"])] \
                if "ratio" in m else ["", "", ""]
            rows.append([row_name(results, m["contender"]), f"{m['median']:.2f}", f"{m['p99']:.2f}", str(m["rounds"]), *told])
        print_table(rows)
        print()


def print_targets(results):
    rows = [["targets", "measured", "wanted", ""]]
    for target in results.data["targets"]:
        sign = "≥" if target["is_least"] else "≤"
        rows.append([target["target"], f"{number(target['value'])} {target['unit']}",
                     f"{sign} {target['limit']:g} {target['unit']}", "met" if target["met"] else "MISSED"])
    print_table(rows)


def print_summary(results):
    """The one table, the targets, and what is not in them."""
    print_table(main_rows(results))
    print()
    print_targets(results)
    for note in results.data["notes"]:
        print(f"not measured: {note['section']}: {results.name_of(note['contender'])}: {note['why']}")
    for name, why in results.data["absent"].items():
        print(f"not available here: {name}: {why}")
    if results.data["quick"]:
        print("a quick run: the numbers are not worth much")


# ---- README.md and bench/README.md

README_WIDTH = 120
TABLE_PEERS = ("floor", "bwrap", "bwrap-mounts", "airlock-warm", "airlock-direct", "airlock", "airlock-bwrap", "crun", "firejail",
               "codex", "runsc", "srt")
TABLE_COLUMNS = (("start-up", "start-up", "", "ratio", " ×"), ("build", "build", "", "ratio", " ×"),
                 ("grep", "grep", "", "ratio", " ×"), ("memory", "memory", "", "median", " MB"),
                 ("sandboxes/s, 8 workers", "rate", "8", "median", ""))


def cell(results, key, section, column, field, unit):
    """The number, "fails" if the contender failed in this section, or nothing if it was not measured."""
    value = results.value(section, column, key, field)
    if value is not None:
        return number(value, field) + unit
    return "fails" if any((note["section"], note["contender"]) == (section, key) for note in results.data["notes"]) else ""


def does_not(results, key):
    entry = results.data["contenders"].get(key)
    return "; ".join(entry["does_not"]) if entry else ""


def peers_table(results):
    yield "| | " + " | ".join(heading for heading, *_ in TABLE_COLUMNS) + " | does not |"
    yield "|---" * (len(TABLE_COLUMNS) + 2) + "|"
    keys = [key for key in in_order(results) if key in TABLE_PEERS]
    for key in keys:
        entry = results.data["contenders"].get(key, {})
        name = EXTRA.get(key) or " ".join(filter(None, (entry["name"], "" if entry["is_ours"] else entry["version"])))
        cells = [cell(results, key, *column) for _, *column in TABLE_COLUMNS]
        if any(cells):
            yield f"| {name} | " + " | ".join(cells) + f" | {does_not(results, key)} |"


def targets_table(results):
    yield "| target | limit | measured | |"
    yield "|---|---|---|---|"
    for target in results.data["targets"]:
        sign = "≥" if target["is_least"] else "≤"
        yield (f"| {target['target']} | {sign} {target['limit']:g} {target['unit']} | {number(target['value'])} {target['unit']} | "
               f"{'met' if target['met'] else '**missed**'} |")


def first_of(results, keys, contender, field):
    """The name and value of the first of these columns that was measured."""
    for column in keys:
        value = results.value("cycle", column, contender, field)
        if value:
            return column, value
    return None, None


def cycle_sentences(results):
    """The results of the section `cycle` as sentences."""
    scale = results.value("scale", "100000/10", "airlock")
    if scale:
        yield f"Ten changes in a project of 100,000 files take {number(scale)} × as long as in a project of 100 files."
    column, many = first_of(results, ("100000/1000", "10000/1000"), "airlock", "ratio")
    if many:
        emptied = results.value("cycle", "10000/1000 truncate", "airlock")
        yield f"A command that writes into 1,000 of {int(column.split('/')[0]):,} files takes {number(many)} × its own time when " \
              "airlock captures, checks, journals and applies its changes" + \
              (f"; {number(emptied)} × if it empties the files first, as most programs do." if emptied else ".")
    column, git = first_of(results, ("100000/10", "10000/10"), "git status", "median")
    ours = results.value("cycle", column, "airlock", "median") if git else None
    if ours:
        yield f"`git status` after ten changes in {int(column.split('/')[0]):,} files only lists their names, and takes " \
              f"{number(git / ours)} × as long as the whole cycle of airlock."


def paragraph(*sentences):
    return textwrap.fill(" ".join(filter(None, sentences)), README_WIDTH, break_long_words=False, break_on_hyphens=False)


def readme_parts(results):
    told = results.value("start-up", "", "airlock")
    yield paragraph(
        f"airlock starts a sandbox in {number(told)} × the time of `bwrap` with the same namespaces, and captures, checks and records "
        "the changes within that." if told else "",
        "[bench/README.md](bench/README.md) has the tables, the method and the targets we missed; `make bench` measures your machine.")
    yield "![Start-up, sandboxes per second and the cost of knowing what changed: airlock beside other sandboxes](docs/bench.svg)"


def bench_parts(results):
    data = results.data
    about = data["machine"]
    kernel = ".".join(about["kernel"].split(".")[:2])
    rounds = max((m["rounds"] for m in data["measures"] if m["section"] == "start-up"), default=0)
    yield paragraph(
        "This was a quick run; only the order of magnitude is worth anything." if data["quick"] else "",
        f"Measured on Linux {kernel}, {about['cpus']} cores, {about['file_system']}, as {about['identity']}, on {day(data['date'])}. "
        f"Numbers are medians of up to {rounds} interleaved rounds. Start-up is a multiple of `bwrap` with the same namespaces; build "
        "and grep are multiples of the same command without a sandbox. Memory is that of all processes around the command. The last "
        "column was tested from inside, with the command line that was measured; some of these programs can do more with other options.")
    yield "\n".join(peers_table(results))
    yield paragraph(*cycle_sentences(results))
    if data["absent"]:
        yield paragraph("Not measured, because not available here:", ", ".join(f"{name} ({why})" for name, why in data["absent"].items()) + ".")
    yield "### Targets"
    yield "\n".join(targets_table(results))


def readme_text(results):
    """The part of README.md between the marks."""
    return "\n\n".join(filter(None, readme_parts(results)))


def bench_text(results):
    """The part of bench/README.md between the marks."""
    return "\n\n".join(filter(None, bench_parts(results)))
