# SPDX-License-Identifier: LGPL-2.1-or-later
"""What airlock wants to be, as ratios of one interleaved run. A target that is missed is told as missed; none is a test."""
from typing import NamedTuple

from .results import rounded


class Target(NamedTuple):
    """`field` of a measure is to be at most, or at least, `limit`."""

    text: str
    section: str
    column: str
    contender: str
    limit: float
    is_least: bool = False
    field: str = "ratio"
    unit: str = "×"


TARGETS = (
    Target("start-up, changes direct, beside bwrap", "start-up", "", "airlock-direct", 0.7),
    Target("start-up with capture, report and record, beside bwrap", "start-up", "", "airlock", 0.85),
    Target("a tool call of a running airlock mcp, beside bwrap", "start-up", "", "airlock-warm", 0.45),
    Target("the same through bubblewrap, beside bwrap", "start-up", "", "airlock-bwrap", 1.8),
    Target("start-up with capture, 99th percentile", "start-up", "", "airlock", 500.0, field="p99", unit="ms"),
    Target("10 changes in 100,000 files, beside 100 files", "scale", "100000/10", "airlock", 1.15),
    Target("1,000 changes in 10,000 files, beside the command alone", "cycle", "10000/1000", "airlock", 8.0),
    Target("1,000 changes in 100,000 files, beside the command alone", "cycle", "100000/1000", "airlock", 8.0),
    Target("the same in 10,000 files that are emptied first", "cycle", "10000/1000 truncate", "airlock", 3.0),
    Target("memory of airlock's own processes", "memory", "", "airlock", 5.0, field="median", unit="MB"),
    Target("a build, changes direct, beside without a sandbox", "build", "", "airlock-direct", 1.05),
    Target("a build, captured and applied, beside without a sandbox", "build", "", "airlock", 1.10),
    Target("untar inside, beside without a sandbox", "inside", "untar", "airlock", 2.0),
    Target("10,000 new files inside, beside without a sandbox", "inside", "10,000 new files", "airlock", 2.0),
    Target("chmod -R inside, beside without a sandbox", "inside", "chmod -R", "airlock", 4.0),
    Target("mv of a directory of 5,000 files", "inside", "mv of a directory", "airlock", 50.0, field="median", unit="ms"),
    Target("a build that is listened to, beside without a sandbox", "inside", "make -j2", "airlock --explain-denials", 1.05),
    Target("run_command true, beside airlock run less the program's start", "call", "", "run_command true", 1.5),
    Target("sandboxes per second, 8 workers, changes direct, beside bwrap", "rate", "8", "airlock-direct", 2.0, is_least=True),
    Target("sandboxes per second, 8 workers, captured, beside bwrap", "rate", "8", "airlock", 1.3, is_least=True),
    Target("first project scan of 10,000 files, beside find -ls", "scan", "", "first scan", 1.5),
    Target("project scan again, beside find -ls", "scan", "", "scan again", 1.2),
    Target("files write, times faster than running a program", "files", "", "write", 100.0, is_least=True),
    Target("a gigabyte through the network gate, time beside a direct connection", "network", "1 GB", "airlock", 1.25),
    Target("1,000 short connections through it, beside direct ones", "network", "1,000 connections", "airlock", 2.0),
    Target("start-up with hosts, beside without network", "network", "start-up", "airlock with hosts", 1.15),
    Target("a fork of a session with 10,000 held changes, beside one with 10", "sessions", "fork", "many held", 1.2),
    Target("a command 50 steps deep in a session, beside after the first step", "sessions", "depth", "50 steps", 1.2),
    Target("a command in a session, beside bwrap", "sessions", "command", "airlock --session", 0.45),
    Target("scan and record of 100,000 changes, each beside one of 1,000", "growth", "after the command", "100,000 changes", 1.2),
    Target("a command 100 steps deep, beside after the first", "growth", "depth", "100 steps", 1.2),
    Target("10 changes in 1,000,000 files, beside 100 files", "growth", "project", "1,000,000 files", 1.15),
    Target("a start with 120 entries in the home, beside an empty home", "growth", "home", "120 entries", 1.2),
    Target("sandboxes per second after 20,000 runs in a row, beside bwrap", "sustained", "end", "airlock", 1.0, is_least=True),
    Target("the same beside the first 100", "sustained", "end beside begin", "airlock", 1.0, is_least=True),
    Target("commands per second of airlock serve, 8 clients, beside bwrap", "serve", "8", "airlock serve", 1.5, is_least=True),
    Target("99th percentile of its requests, beside their median", "serve", "p99", "airlock serve", 5.0, field="median"),
    Target("files edit, times faster than running a program", "files", "", "edit", 100.0, is_least=True),
)


def judge(results, targets=TARGETS):
    """One entry per target that was measured."""
    judged = []
    for target in targets:
        value = results.value(target.section, target.column, target.contender, target.field)
        if value is not None:
            met = value >= target.limit if target.is_least else value <= target.limit
            judged.append({"target": target.text, "limit": target.limit, "is_least": target.is_least, "unit": target.unit,
                           "value": rounded(value), "met": met})
    return judged
