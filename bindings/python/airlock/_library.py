# SPDX-License-Identifier: LGPL-2.1-or-later
"""libairlock through ctypes: the functions of airlock/airlock.h, airlock/agent.h, airlock/files.h, airlock/questions.h and
airlock/session.h that are used here."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

from .errors import AirlockError, make_error


class Error(Structure):
    _fields_ = [
        ("code", c_int),
        ("errnum", c_int),
        ("op", c_char * 32),
        ("subject", c_char * 1024),
        ("message", c_char * 1536),
        ("hint", c_char * 512),
    ]


class Content(Structure):
    _fields_ = [
        ("bytes", c_void_p),
        ("size", c_size_t),
        ("is_text", c_int),
        ("start_line", c_int64),
        ("end_line", c_int64),
        ("total_lines", c_int64),
        ("next_offset", c_int64),
        ("cut", c_int),
    ]


class PendingQuestion(Structure):
    _fields_ = [
        ("id", c_char_p),
        ("text", c_char_p),
        ("command", c_char_p),
        ("project", c_char_p),
        ("working_dir", c_char_p),
        ("session", c_char_p),
        ("asked_by", c_char_p),
        ("host", c_char_p),
        ("port", c_int),
        ("connections", c_uint),
        ("paths", POINTER(c_char_p)),
        ("reasons", POINTER(c_int)),
        ("n_reasons", c_size_t),
        ("choices", POINTER(c_int)),
        ("n_choices", c_size_t),
        ("is_optional", c_int),
        ("asked_ns", c_int64),
        ("wait_ms", c_int64),
    ]


class SessionInfo(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("project", c_char_p),
        ("state", c_int),
        ("holds", c_int),
        ("steps", c_size_t),
        ("held", c_size_t),
        ("processes", c_size_t),
        ("created_ns", c_int64),
        ("last_used_ns", c_int64),
    ]


class SessionStep(Structure):
    _fields_ = [
        ("number", c_uint64),
        ("run", c_char_p),
        ("command", c_char_p),
        ("exit_code", c_int),
        ("count", c_size_t),
        ("is_decided", c_int),
    ]


class SessionUsage(Structure):
    _fields_ = [("disk", c_int64), ("disk_limit", c_int64), ("tmp", c_int64), ("tmp_limit", c_int64)]


class SessionProcess(Structure):
    _fields_ = [("pid", c_int64), ("command", c_char_p), ("started_ns", c_int64)]


_ERR = POINTER(Error)
_OUT = POINTER(c_void_p)
_PATHS = POINTER(c_char_p)

# Name: result, arguments. Texts that are the caller's to free are c_void_p: ctypes would lose their address otherwise.
_FUNCTIONS = {
    "airlock_version": (c_char_p, []),
    "airlock_code_slug": (c_char_p, [c_int]),
    "airlock_free": (None, [c_void_p]),
    "airlock_settings_new": (c_void_p, []),
    "airlock_settings_free": (None, [c_void_p]),
    "airlock_settings_set_environ": (c_int, [c_void_p, _PATHS, _ERR]),
    "airlock_settings_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, _ERR]),
    "airlock_settings_set_argv": (c_int, [c_void_p, _PATHS, _ERR]),
    "airlock_settings_set_command": (c_int, [c_void_p, c_char_p, _ERR]),
    "airlock_job_prepare": (c_int, [c_void_p, _OUT, _ERR]),
    "airlock_job_free": (None, [c_void_p]),
    "airlock_prestart_new": (c_void_p, []),
    "airlock_prestart_free": (None, [c_void_p]),
    "airlock_prestart_begin_for": (c_int, [c_void_p, c_void_p, _ERR]),
    "airlock_job_use_prestart": (None, [c_void_p, c_void_p]),
    "airlock_job_ask": (c_int, [c_void_p, _OUT, _ERR]),
    "airlock_asking_fd": (c_int, [c_void_p]),
    "airlock_asking_poll": (c_int, [c_void_p, POINTER(c_int)]),
    "airlock_asking_free": (None, [c_void_p]),
    "airlock_questions_open": (c_int, [c_void_p, _OUT, _ERR]),
    "airlock_questions_count": (c_size_t, [c_void_p]),
    "airlock_questions_at": (POINTER(PendingQuestion), [c_void_p, c_size_t]),
    "airlock_questions_free": (None, [c_void_p]),
    "airlock_questions_watch": (c_int, [c_void_p, POINTER(c_int), _ERR]),
    "airlock_questions_answer": (c_int, [c_void_p, c_char_p, c_int, _ERR]),
    "airlock_question_reason_name": (c_char_p, [c_int]),
    "airlock_run_start": (c_int, [c_void_p, c_void_p, _OUT, _ERR]),
    "airlock_run_dispatch": (c_int, [c_void_p, c_int]),
    "airlock_run_await_result": (c_int, [c_void_p, c_int]),
    "airlock_run_free": (None, [c_void_p]),
    "airlock_run_result_json": (c_char_p, [c_void_p]),
    "airlock_changes_open": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_changes_free": (None, [c_void_p]),
    "airlock_changes_run": (c_char_p, [c_void_p]),
    "airlock_changes_json": (c_char_p, [c_void_p]),
    "airlock_changes_done_count": (c_size_t, [c_void_p]),
    "airlock_changes_diff": (c_int, [c_void_p, c_char_p, _PATHS, c_int, _OUT, _ERR]),
    "airlock_changes_apply": (c_int, [c_void_p, c_char_p, _PATHS, c_int, _OUT, _ERR]),
    "airlock_changes_apply_merged": (c_int, [c_void_p, c_char_p, _PATHS, _OUT, _ERR]),
    "airlock_changes_discard": (c_int, [c_void_p, c_char_p, _PATHS, _OUT, _ERR]),
    "airlock_changes_undo": (c_int, [c_void_p, c_char_p, _PATHS, c_int, _OUT, _ERR]),
    "airlock_session_state_name": (c_char_p, [c_int]),
    "airlock_sessions_open": (c_int, [c_void_p, c_int, _OUT, _ERR]),
    "airlock_sessions_count": (c_size_t, [c_void_p]),
    "airlock_sessions_at": (POINTER(SessionInfo), [c_void_p, c_size_t]),
    "airlock_sessions_free": (None, [c_void_p]),
    "airlock_session_open": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_session_info": (POINTER(SessionInfo), [c_void_p]),
    "airlock_session_step_count": (c_size_t, [c_void_p]),
    "airlock_session_step_at": (POINTER(SessionStep), [c_void_p, c_size_t]),
    "airlock_session_free": (None, [c_void_p]),
    "airlock_session_new": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_session_rewind": (c_int, [c_void_p, c_char_p, c_uint64, _ERR]),
    "airlock_session_fork": (c_int, [c_void_p, c_char_p, c_char_p, _ERR]),
    "airlock_session_merge": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(c_uint64), _OUT, _ERR]),
    "airlock_session_diff": (c_int, [c_void_p, c_char_p, c_char_p, c_int, _OUT, _ERR]),
    "airlock_session_usage": (POINTER(SessionUsage), [c_void_p]),
    "airlock_session_process_count": (c_size_t, [c_void_p]),
    "airlock_session_process_at": (POINTER(SessionProcess), [c_void_p, c_size_t]),
    "airlock_sessions_end_with_program": (c_int, [_ERR]),
    "airlock_session_end": (c_int, [c_void_p, c_char_p, _ERR]),
    "airlock_recipes_open": (c_int, [c_void_p, _OUT, _ERR]),
    "airlock_recipes_open_one": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_recipes_at": (c_void_p, [c_void_p, c_size_t]),
    "airlock_recipes_json": (c_char_p, [c_void_p]),
    "airlock_recipe_json": (c_void_p, [c_void_p]),
    "airlock_recipes_free": (None, [c_void_p]),
    "airlock_settings_set_agent": (c_int, [c_void_p, c_char_p, c_int, _PATHS, _ERR]),
    "airlock_session_exists": (c_int, [c_void_p, c_char_p]),
    "airlock_place_open": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_place_free": (None, [c_void_p]),
    "airlock_files_ls": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_files_read": (c_int, [c_void_p, c_char_p, c_int64, c_int64, _OUT, _ERR]),
    "airlock_files_glob": (c_int, [c_void_p, c_char_p, c_char_p, c_int64, _OUT, _ERR]),
    "airlock_files_grep": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_int64, _OUT, _ERR]),
    "airlock_files_write": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, _OUT, _ERR]),
    "airlock_files_edit": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_int, _OUT, _ERR]),
    "airlock_files_delete": (c_int, [c_void_p, c_char_p, _OUT, _ERR]),
    "airlock_files_json": (c_char_p, [c_void_p]),
    "airlock_files_content": (POINTER(Content), [c_void_p]),
    "airlock_files_free": (None, [c_void_p]),
}


def _find() -> ctypes.CDLL:
    named = os.environ.get("AIRLOCK_LIBRARY")
    candidates = [named] if named else [ctypes.util.find_library("airlock"), "libairlock.so.0"]
    reasons = []
    for name in filter(None, candidates):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError("libairlock is not installed: " + "; ".join(reasons))


lib = _find()
for _name, (_result, _arguments) in _FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _arguments


def encode(value: str | bytes | os.PathLike, what: str) -> bytes:
    """Bytes for C, where a NUL would end the text early."""
    data = os.fsencode(value)
    if b"\0" in data:
        raise make_error("invalid", f"{what} has a NUL character in it", what, "", "")
    return data


def words(values) -> ctypes.Array | None:
    """A NULL-terminated list, or None."""
    if values is None:
        return None
    data = [encode(v, "a word") for v in values]
    return (c_char_p * (len(data) + 1))(*data, None)


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def path(data: bytes) -> str:
    """As os functions take it: exact also where it is not UTF-8."""
    return os.fsdecode(data)


def call(name: str, *arguments) -> int:
    """Calls with an error struct at the end; a negative code becomes the exception for it."""
    error = Error()
    result = getattr(lib, name)(*arguments, byref(error))
    if result < 0:
        slug = text(lib.airlock_code_slug(result))
        raise make_error(slug, text(error.message), text(error.op), text(error.subject), text(error.hint))
    return result


def take_text(pointer: c_void_p) -> bytes:
    """A text that is ours: copied and freed."""
    if not pointer.value:
        return b""
    try:
        return ctypes.string_at(pointer.value)
    finally:
        lib.airlock_free(pointer)


__all__ = ["AirlockError", "byref", "call", "c_size_t", "c_uint64", "c_void_p", "encode", "lib", "take_text", "text", "words"]
