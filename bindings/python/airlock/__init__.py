# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run an agent's commands where they cannot hurt you, be told exactly what they changed, keep it or take it back.

    from airlock import Sandbox

    box = Sandbox(workspace="/srv/thread-7")
    box.write("/hello.py", "print('hello')")
    result = box.execute("python3 /hello.py", timeout=10)
    print(result.exit_code, result.stdout)

airlock.remote has the same on an `airlock serve` elsewhere.

Uses libairlock through ctypes and nothing but the standard library. AIRLOCK_LIBRARY names another libairlock than the
installed one.
"""

import importlib

from .agents import Recipe
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
from .results import Change, Changes, Content, ExecuteResult, FileChange, FileEntry, Match, Matches

# These need libairlock. It is loaded when one of them is used first, so that airlock.remote works where there is none.
_NEED_LIBRARY = {
    "Process": ".sessions",
    "Question": ".questions",
    "Sandbox": ".sandbox",
    "Session": ".sessions",
    "Step": ".sessions",
    "Usage": ".sessions",
    "answer": ".questions",
    "questions": ".questions",
    "watch": ".questions",
}


def __getattr__(name: str):
    if name == "__version__":
        return importlib.import_module("._library", __name__).lib.airlock_version().decode()
    if name not in _NEED_LIBRARY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = _NEED_LIBRARY[name]
    module = importlib.import_module(where, __name__)
    # All of the module's at once: importing it has put it where its function of the same name belongs.
    globals().update({other: getattr(module, other) for other, place in _NEED_LIBRARY.items() if place == where})
    return globals()[name]


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
    "Process",
    "Question",
    "Recipe",
    "Sandbox",
    "Session",
    "Step",
    "TimedOutError",
    "UnavailableError",
    "Usage",
    "UsageError",
    "answer",
    "questions",
    "watch",
]
