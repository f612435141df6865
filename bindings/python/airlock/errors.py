# SPDX-License-Identifier: LGPL-2.1-or-later
"""One exception for each error code of libairlock."""

from __future__ import annotations


class AirlockError(Exception):
    """Something airlock refused or could not do.

    code is the word of the command line's JSON ("denied"), op and subject say what was tried on what, hint is the way out.
    """

    code = "internal"

    def __init__(self, message: str, *, op: str = "", subject: str = "", hint: str = "", code: str | None = None):
        super().__init__(message)
        self.message = message
        self.op = op
        self.subject = subject
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(AirlockError):
    code = "usage"


class InvalidError(AirlockError):
    code = "invalid"


class NotFoundError(AirlockError):
    code = "not_found"


class UnavailableError(AirlockError):
    code = "unavailable"


class InitFailedError(AirlockError):
    code = "init_failed"


class BlockedError(AirlockError):
    code = "blocked"


class DeniedError(AirlockError):
    code = "denied"


class TimedOutError(AirlockError):
    code = "timeout"


class ConflictError(AirlockError):
    code = "conflict"


class BusyError(AirlockError):
    code = "busy"


class LimitError(AirlockError):
    code = "limit"


class CorruptError(AirlockError):
    code = "corrupt"


class IoError(AirlockError):
    code = "io"


class InternalError(AirlockError):
    code = "internal"


BY_CODE = {cls.code: cls for cls in AirlockError.__subclasses__()}


def make_error(code: str, message: str, op: str, subject: str, hint: str) -> AirlockError:
    return BY_CODE.get(code, AirlockError)(message, op=op, subject=subject, hint=hint, code=code)
