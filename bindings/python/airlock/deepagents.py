# SPDX-License-Identifier: LGPL-2.1-or-later
"""A backend for LangChain's deepagents: its 0.7 methods and result shapes, and the older ls_info, grep_raw and glob_info.

    from airlock.deepagents import AirlockBackend

    agent = create_deep_agent(backend=AirlockBackend(workspace="/srv/thread-7"))

deepagents is imported when the first backend is made. Where it is not installed the results are classes of the same shape.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .errors import AirlockError

READ_LIMIT = 2000


@dataclass
class ReadResult:
    error: str | None = None
    file_data: dict[str, str] | None = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    no_lines_requested: bool = False


@dataclass
class WriteResult:
    error: str | None = None
    path: str | None = None


@dataclass
class EditResult:
    error: str | None = None
    path: str | None = None
    occurrences: int | None = None


@dataclass
class DeleteResult:
    error: str | None = None
    path: str | None = None


@dataclass
class LsResult:
    error: str | None = None
    entries: list[dict[str, Any]] | None = None


@dataclass
class GrepResult:
    error: str | None = None
    matches: list[dict[str, Any]] | None = None
    truncated: bool = False


@dataclass
class GlobResult:
    error: str | None = None
    matches: list[dict[str, Any]] | None = None
    truncated: bool = False


@dataclass
class ExecuteResponse:
    output: str
    exit_code: int | None = None
    truncated: bool = False


@dataclass
class FileUploadResponse:
    path: str
    error: str | None = None


@dataclass
class FileDownloadResponse:
    path: str
    content: bytes | None = None
    error: str | None = None


_SHAPES = (
    ReadResult,
    WriteResult,
    EditResult,
    DeleteResult,
    LsResult,
    GrepResult,
    GlobResult,
    ExecuteResponse,
    FileUploadResponse,
    FileDownloadResponse,
)


@functools.cache
def _types() -> SimpleNamespace:
    """deepagents' own classes, ours for those it does not have."""
    try:
        protocol = importlib.import_module("deepagents.backends.protocol")
    except ImportError:
        protocol = None
    found = {shape.__name__: getattr(protocol, shape.__name__, shape) for shape in _SHAPES}
    return SimpleNamespace(base=getattr(protocol, "SandboxBackendProtocol", None), **found)


def _make(cls, **fields):
    """Older versions of a class do not have every field."""
    known = getattr(cls, "__dataclass_fields__", None)
    return cls(**(fields if known is None else {k: v for k, v in fields.items() if k in known}))


@functools.cache
def _with_base(cls: type, base: type) -> type:
    return type(cls.__name__, (cls, base), {"__doc__": cls.__doc__, "__module__": cls.__module__})


def _info(entry) -> dict[str, Any]:
    return {"path": entry.path, "is_dir": entry.is_dir, "size": entry.size, "modified_at": entry.modified_at}


_FILE_ERRORS = {"not_found": "file_not_found", "blocked": "permission_denied", "denied": "permission_denied"}


def _file_error(error: AirlockError) -> str:
    if error.code == "invalid":
        return "is_directory" if error.message.endswith("is a directory") else "invalid_path"
    return _FILE_ERRORS.get(error.code, str(error))


class AirlockBackend:
    """A workspace of airlock as a deepagents backend. Takes what Sandbox takes, or a sandbox, local or remote."""

    def __new__(cls, *_args, **_options):
        base = _types().base
        return object.__new__(_with_base(cls, base) if base and not issubclass(cls, base) else cls)

    def __init__(self, workspace=None, *, sandbox=None, **options):
        if sandbox is None:
            from .sandbox import Sandbox  # a remote one needs no libairlock

            sandbox = Sandbox(workspace=workspace, **options)
        self.sandbox = sandbox

    @property
    def id(self) -> str:
        return f"airlock:{self.sandbox.workspace or 'project'}"

    # Commands

    def execute(self, command: str, *, timeout: int | None = None):
        shape = _types().ExecuteResponse
        try:
            r = self.sandbox.execute(command, timeout=timeout)
        except AirlockError as error:
            return _make(shape, output=f"Error: {error}", exit_code=125, truncated=False)
        output = r.output
        if r.status == "timeout":
            output += f"{'' if not output or output.endswith(chr(10)) else chr(10)}Error: the command timed out"
        return _make(shape, output=output, exit_code=r.exit_code, truncated=r.truncated)

    # Files

    def ls(self, path: str = "/"):
        try:
            return _make(_types().LsResult, entries=[_info(e) for e in self.sandbox.ls(path)])
        except AirlockError as error:
            return _make(_types().LsResult, error=str(error))

    def read(self, file_path: str, offset: int = 0, limit: int = READ_LIMIT):
        shape = _types().ReadResult
        if limit <= 0:
            return _make(shape, file_data={"content": "", "encoding": "utf-8"}, no_lines_requested=True)
        try:
            c = self.sandbox.read(file_path, max(offset, 0), limit)
        except AirlockError as error:
            return _make(shape, error=str(error))
        data = {"content": c.content, "encoding": c.encoding}
        if c.start_line is None or c.encoding != "utf-8":
            if offset > 0 and c.total_lines <= offset:
                return _make(shape, error=f"Line offset {offset} exceeds file length ({c.total_lines} lines)")
            return _make(shape, file_data=data)
        return _make(
            shape,
            file_data=data,
            total_lines=c.total_lines,
            start_line=c.start_line,
            end_line=c.end_line,
            next_offset=c.next_offset,
        )

    def write(self, file_path: str, content: str):
        try:
            return _make(_types().WriteResult, path=self.sandbox.write(file_path, content).path)
        except AirlockError as error:
            return _make(_types().WriteResult, error=str(error))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False):
        shape = _types().EditResult
        try:
            done = self.sandbox.edit(file_path, old_string, new_string, all=replace_all)
        except AirlockError as error:
            return _make(shape, error=str(error))
        return _make(shape, path=done.path, occurrences=done.count)

    def delete(self, file_path: str):
        try:
            return _make(_types().DeleteResult, path=self.sandbox.delete(file_path).path)
        except AirlockError as error:
            return _make(_types().DeleteResult, error=str(error))

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None):
        shape = _types().GrepResult
        try:
            found = self.sandbox.grep(pattern, path or "", glob, max_count=max_count)
        except AirlockError as error:
            return _make(shape, error=str(error))
        matches = [{"path": m.path, "line": m.line, "text": m.text} for m in found]
        return _make(shape, matches=matches, truncated=found.truncated)

    def glob(self, pattern: str, path: str | None = None):
        shape = _types().GlobResult
        try:
            found = self.sandbox.glob(pattern, path or "")
        except AirlockError as error:
            return _make(shape, error=str(error))
        return _make(shape, matches=[_info(e) for e in found])

    def upload_files(self, files: list[tuple[str, bytes]]):
        shape = _types().FileUploadResponse
        out = []
        for path, content in files:
            try:
                self.sandbox.write(path, content)
                out.append(_make(shape, path=path, error=None))
            except AirlockError as error:
                out.append(_make(shape, path=path, error=_file_error(error)))
        return out

    def download_files(self, paths: list[str]):
        shape = _types().FileDownloadResponse
        out = []
        for path in paths:
            try:
                out.append(_make(shape, path=path, content=self._whole(path), error=None))
            except AirlockError as error:
                out.append(_make(shape, path=path, content=None, error=_file_error(error)))
        return out

    def _whole(self, path: str) -> bytes:
        data, offset = b"", 0
        while offset is not None:
            part = self.sandbox.read(path, offset)
            if part.cut:
                raise AirlockError(f"{path} has a line that is too long to be read at once", code="limit")
            data += part.data
            offset = part.next_offset
        return data

    # The names of older versions: bare lists, errors as text.

    def ls_info(self, path: str = "/") -> list[dict[str, Any]]:
        return self.ls(path).entries or []

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[dict[str, Any]] | str:
        found = self.grep(pattern, path, glob)
        return found.error if found.error else found.matches

    def glob_info(self, pattern: str, path: str = "/") -> list[dict[str, Any]]:
        return self.glob(pattern, path).matches or []


def _asynchronous(name: str):
    async def method(self, *args, **kwargs):
        return await asyncio.to_thread(getattr(self, name), *args, **kwargs)

    method.__name__ = f"a{name}"
    return method


for _name in (
    "execute ls read write edit delete grep glob upload_files download_files ls_info grep_raw glob_info".split()
):
    setattr(AirlockBackend, f"a{_name}", _asynchronous(_name))
