# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole agents: programs that run in the sandbox themselves. A recipe says what one needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """What an agent needs beyond a project. Paths are absolute; files may have patterns."""

    name: str
    title: str
    source: str  # built-in, system, user
    file: str  # path, or "built-in recipe NAME"
    program: str  # as the recipe says it
    found: str | None  # the program that would be started; None: it is not installed
    install: str | None  # how to get it
    add_dir: str | None  # its option for one more directory, such as "--add-dir DIR"
    arguments: tuple[str, ...]
    yolo: tuple[str, ...]  # its own option that asks nothing; empty: it has none
    hosts: tuple[str, ...]
    deny: tuple[str, ...]
    private: tuple[str, ...]  # directories that it writes to, and only this session sees
    private_files: tuple[str, ...]
    state: tuple[str, ...]  # directories that it writes to in the home
    credentials: tuple[str, ...]
    files: tuple[str, ...]
    env_keep: tuple[str, ...]
    env_set: tuple[str, ...]  # NAME=VALUE

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Recipe:
        def words(where: dict[str, Any], *names: str) -> dict[str, tuple[str, ...]]:
            return {name: tuple(where[name]) for name in names}

        home, env = value["home"], value["env"]
        return cls(
            name=value["agent"],
            **{name: value[name] for name in ("title", "source", "file", "program", "found", "install", "add_dir")},
            **words(value, "arguments", "yolo", "hosts", "deny"),
            **words(home, "private", "private_files", "state", "credentials", "files"),
            env_keep=tuple(env["keep"]),
            env_set=tuple(env["set"]),
        )
