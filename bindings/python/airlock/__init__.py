# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run an agent's commands where they cannot hurt you, be told exactly what they changed, keep it or take it back.

    from airlock import Sandbox

    box = Sandbox(workspace="/srv/thread-7")
    box.write("/hello.py", "print('hello')")
    result = box.execute("python3 /hello.py", timeout=10)
    print(result.exit_code, result.stdout)

Uses libairlock through ctypes and nothing but the standard library. AIRLOCK_LIBRARY names another libairlock than the
installed one.
"""

from ._library import lib as _lib
from .errors import (
    AirlockError,
    BlockedError,
    BusyError,
    ConflictError,
    CorruptError,
    DeniedError,
    InitFailedError,
    InternalError,
    InvalidError,
    IoError,
    LimitError,
    NotFoundError,
    TimedOutError,
    UnavailableError,
    UsageError,
)
from .questions import Question, answer, questions, watch
from .results import Change, Changes, Content, ExecuteResult, FileChange, FileEntry, Match, Matches
from .sandbox import Sandbox
from .sessions import Session, Step

__version__ = _lib.airlock_version().decode()
__all__ = [
    "AirlockError",
    "BlockedError",
    "BusyError",
    "Change",
    "Changes",
    "ConflictError",
    "Content",
    "CorruptError",
    "DeniedError",
    "ExecuteResult",
    "FileChange",
    "FileEntry",
    "InitFailedError",
    "InternalError",
    "InvalidError",
    "IoError",
    "LimitError",
    "Match",
    "Matches",
    "NotFoundError",
    "Question",
    "Sandbox",
    "Session",
    "Step",
    "TimedOutError",
    "UnavailableError",
    "UsageError",
    "answer",
    "questions",
    "watch",
]
