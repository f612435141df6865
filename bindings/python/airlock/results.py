# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the calls return."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field, fields
from typing import Any


def path_of(entry: dict[str, Any], key: str = "path") -> str:
    """The path as os functions take it: exact also where it is not UTF-8."""
    exact = entry.get(f"{key}_base64")
    return os.fsdecode(base64.b64decode(exact)) if exact else entry[key]


@dataclass(frozen=True)
class Change:
    path: str
    root: str
    kind: str  # added, modified, deleted, renamed, metadata, type
    type: str  # file, directory, symlink, other
    state: str  # applied, held, conflict, skipped, discarded
    reason: str | None = None  # a sentence for people
    reason_code: str | None = None  # the same for programs: airlock-changes(1)
    renamed_from: str | None = None
    size: int | None = None
    mode: str | None = None

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "Change":
        return cls(
            path=path_of(entry),
            root=path_of(entry, "root"),
            kind=entry["kind"],
            type=entry["type"],
            state=entry["state"],
            reason=entry.get("reason"),
            reason_code=entry.get("reason_code"),
            renamed_from=path_of(entry, "from") if entry.get("from") is not None else None,
            size=entry.get("size"),
            mode=entry.get("mode"),
        )


@dataclass(frozen=True)
class Changes:
    state: str  # applied, partial, held, discarded, direct, none
    files: list[Change] = field(default_factory=list)
    run: str | None = None
    session: str | None = None  # whose changes they are, taken together

    @classmethod
    def from_json(cls, value: dict[str, Any], run: str | None = None) -> "Changes":
        return cls(value["state"], [Change.from_json(f) for f in value["files"]], value.get("run", run),
                   value.get("session"))


@dataclass(frozen=True)
class ExecuteResult:
    run: str
    status: str  # exited, signaled, timeout, error
    exit_code: int
    signal: int | None
    stdout: str
    stderr: str
    truncated: bool
    duration_ms: float
    working_dir: str
    isolation: dict[str, Any]
    usage: dict[str, Any]
    changes: Changes
    error: dict[str, Any] | None
    network: dict[str, Any] | None = None  # the hosts it tried to reach, where connections go through the gate
    denials: list[dict[str, Any]] | None = None  # with the option explain_denials: what the sandbox refused, and why
    denials_note: str | None = None  # why there are none, where they were wanted
    notes: list[str] = field(default_factory=list)  # sentences for a person
    note_codes: list[str] = field(default_factory=list)  # what they tell, one word each: "link-split", "killed"
    session: str | None = None  # that it is a command of
    step: int | None = None  # of the session; None: it changed nothing, or stands apart
    background: int = 0  # processes of the session that are still running
    stdout_bytes: int = 0  # all that was written, also what is not in stdout
    stderr_bytes: int = 0

    @property
    def output(self) -> str:
        """stdout, then stderr."""
        between = "\n" if self.stdout and self.stderr and not self.stdout.endswith("\n") else ""
        return self.stdout + between + self.stderr

    @property
    def ok(self) -> bool:
        return self.status == "exited" and self.exit_code == 0

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ExecuteResult":
        known = {f.name: value[f.name] for f in fields(cls) if f.name in value}
        known["working_dir"] = path_of(value, "working_dir")
        known["changes"] = Changes.from_json(value["changes"], value["run"])
        return cls(**known)


@dataclass(frozen=True)
class FileEntry:
    path: str
    is_dir: bool
    size: int
    modified_at: str
    type: str

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "FileEntry":
        return cls(path_of(entry), entry["is_dir"], entry["size"], entry["modified_at"], entry["type"])


@dataclass(frozen=True)
class Match:
    path: str
    line: int  # 1 is the first
    text: str
    cut: bool = False  # the line is longer than text


@dataclass(frozen=True)
class Matches:
    matches: list[Match]
    truncated: bool

    def __iter__(self):
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)


@dataclass(frozen=True)
class Content:
    data: bytes
    encoding: str  # utf-8 or base64
    start_line: int | None
    end_line: int | None
    total_lines: int
    next_offset: int | None
    cut: bool

    @property
    def text(self) -> str:
        """The content as text; what is not UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")

    @property
    def content(self) -> str:
        """As the encoding says."""
        return self.text if self.encoding == "utf-8" else base64.b64encode(self.data).decode("ascii")


@dataclass(frozen=True)
class FileChange:
    path: str
    action: str  # created, replaced, edited, deleted, unchanged
    count: int  # bytes written, texts replaced, entries deleted
    run: str | None  # a project's
    state: str  # direct in a workspace; applied, partial, held, discarded, none in a project
    reason: str | None  # a sentence for people
    reason_code: str | None  # the same for programs: airlock-changes(1)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "FileChange":
        count = next(value[k] for k in ("bytes", "occurrences", "entries") if k in value)
        return cls(path_of(value), value["action"], count, value["run"], value["state"], value["reason"], value["reason_code"])
