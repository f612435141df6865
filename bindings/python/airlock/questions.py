# SPDX-License-Identifier: LGPL-2.1-or-later
"""Questions of agents' runs, which a person answers elsewhere."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from . import _library as c

ANSWERS = ("deny", "allow_once", "allow_session", "allow_always", "deny_session", "deny_always")  # in the order of the enum


@dataclass(frozen=True)
class Question:
    """One question that waits for a person."""

    id: str
    text: str  # safe to print; its last line is the question itself
    command: str
    project: str
    working_dir: str
    session: str | None
    asked_by: str
    reasons: tuple[str, ...]  # network, allow-write, link, …
    host: str | None  # that a connection waits for
    port: int | None
    connections: int
    paths: tuple[str, ...]
    choices: tuple[str, ...]  # what answer() takes
    is_optional: bool  # the run goes on after a no
    asked: float  # seconds since 1970
    wait: float | None  # seconds in all; None: until somebody answers


def _optional(data: bytes | None) -> str | None:
    return None if data is None else c.text(data)


def _list(pointer) -> tuple[str, ...]:
    found = []
    while pointer[len(found)] is not None:
        found.append(os.fsdecode(pointer[len(found)]))
    return tuple(found)


def _question(q: c.PendingQuestion) -> Question:
    return Question(
        id=c.text(q.id),
        text=c.text(q.text),
        command=c.text(q.command),
        project=c.text(q.project),
        working_dir=c.text(q.working_dir),
        session=_optional(q.session),
        asked_by=c.text(q.asked_by),
        reasons=tuple(c.text(c.lib.airlock_question_reason_name(q.reasons[i])) for i in range(q.n_reasons)),
        host=_optional(q.host),
        port=q.port or None,
        connections=q.connections,
        paths=_list(q.paths),
        choices=tuple(ANSWERS[q.choices[i]] for i in range(q.n_choices)),
        is_optional=bool(q.is_optional),
        asked=q.asked_ns / 1e9,
        wait=None if q.wait_ms < 0 else q.wait_ms / 1000,
    )


@contextmanager
def _settings(environ: Mapping[str, str] | None):
    settings = c.lib.airlock_settings_new()
    if not settings:
        raise MemoryError
    try:
        variables = os.environ if environ is None else environ
        c.call("airlock_settings_set_environ", settings, c.words(f"{k}={v}" for k, v in variables.items()))
        yield settings
    finally:
        c.lib.airlock_settings_free(settings)


def questions(*, environ: Mapping[str, str] | None = None) -> list[Question]:
    """Those of all this user's runs that wait now, oldest first."""
    found = c.c_void_p()
    with _settings(environ) as settings:
        c.call("airlock_questions_open", settings, c.byref(found))
    try:
        count = c.lib.airlock_questions_count(found)
        return [_question(c.lib.airlock_questions_at(found, i).contents) for i in range(count)]
    finally:
        c.lib.airlock_questions_free(found)


def answer(question: Question | str, decision: str, *, environ: Mapping[str, str] | None = None) -> None:
    """Decides a question: one of its choices ("allow_once", "deny", …).

    NotFoundError: what asked it has ended; ConflictError: it is decided already; DeniedError: the caller is marked as an agent.
    """
    if decision not in ANSWERS:
        raise ValueError(f"unknown answer {decision!r}; expected one of: {', '.join(ANSWERS)}")
    name = question.id if isinstance(question, Question) else question
    with _settings(environ) as settings:
        c.call("airlock_questions_answer", settings, c.encode(name, "question"), ANSWERS.index(decision))


def watch(*, environ: Mapping[str, str] | None = None) -> int:
    """A descriptor that can be read when the list may have changed; what is read means nothing. The caller closes it."""
    fd = ctypes.c_int(-1)
    with _settings(environ) as settings:
        c.call("airlock_questions_watch", settings, c.byref(fd))
    return fd.value


__all__ = ["ANSWERS", "Question", "answer", "questions", "watch"]
