# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions: several commands as one piece of work."""

from __future__ import annotations

from dataclasses import dataclass

from . import _library as c


@dataclass(frozen=True)
class Session:
    """What is known of one session."""

    name: str
    project: str
    state: str  # open, ended
    holds: bool  # its changes, until somebody decides; else each command's are applied
    steps: int
    held: int  # changes that wait for a decision
    processes: int  # that are running
    created: float  # seconds since 1970
    last_used: float


@dataclass(frozen=True)
class Step:
    """A command of a session that changed something."""

    number: int
    run: str
    command: str
    exit_code: int
    count: int  # of changes
    is_decided: bool  # applied or thrown away, in part at least: rewind cannot take it back


@dataclass(frozen=True)
class Process:
    """A process that a command of a session left, and that still runs."""

    pid: int  # outside of the sandbox
    command: str
    started: float  # seconds since 1970


@dataclass(frozen=True)
class Usage:
    """The bytes on the disk that a session has written, and its limits."""

    disk: int  # all its layers
    disk_limit: int | None
    tmp: int  # its /tmp
    tmp_limit: int | None


def usage_of(usage: c.SessionUsage) -> Usage:
    def limit(n: int) -> int | None:
        return None if n < 0 else n

    return Usage(usage.disk, limit(usage.disk_limit), usage.tmp, limit(usage.tmp_limit))


def process_of(process: c.SessionProcess) -> Process:
    return Process(process.pid, c.text(process.command), process.started_ns / 1e9)


def session_of(info: c.SessionInfo) -> Session:
    return Session(
        name=c.text(info.name),
        project=c.path(info.project),
        state=c.text(c.lib.airlock_session_state_name(info.state)),
        holds=bool(info.holds),
        steps=info.steps,
        held=info.held,
        processes=info.processes,
        created=info.created_ns / 1e9,
        last_used=info.last_used_ns / 1e9,
    )


def step_of(step: c.SessionStep) -> Step:
    return Step(step.number, c.text(step.run), c.text(step.command), step.exit_code, step.count, bool(step.is_decided))


__all__ = ["Process", "Session", "Step", "Usage"]
