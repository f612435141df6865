# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sandbox of an `airlock serve`, with the methods of the local one.

    from airlock.remote import Sandbox

    box = Sandbox("https://sandboxes.example.org", token="…", id="thread-7")
    box.write("/hello.py", "print('hello')")
    print(box.execute("python3 /hello.py", timeout=10).stdout)
    box.remove()

Needs nothing but the standard library, and no libairlock. AIRLOCK_SERVER and AIRLOCK_TOKEN stand in for the first two arguments.
`AirlockBackend(sandbox=box)` of airlock.deepagents works on it as on a local one.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from .errors import AirlockError, make_error
from .results import Content, ExecuteResult, FileChange, FileEntry, Match, Matches, path_of

_REVISION = "2026-07-28"
_PIECE = 1 << 16
_CODES = {400: "invalid", 401: "denied", 403: "blocked", 404: "not_found", 409: "conflict", 413: "limit", 429: "busy", 507: "limit"}


def _quote(path: str | bytes | os.PathLike) -> str:
    return urllib.parse.quote(os.fsencode(path), safe="/")


def _failure(status: int, body: bytes) -> AirlockError:
    try:
        error = json.loads(body)["error"]
        code = error["code"] if isinstance(error["code"], str) else _CODES.get(status, "io")
    except (ValueError, KeyError, TypeError):
        error, code = {"message": f"the server answered {status}"}, _CODES.get(status, "unavailable")
    return make_error(code, error["message"], error.get("op") or "", error.get("subject") or "", error.get("hint") or "")


class Server:
    """Connections to one `airlock serve`; each is used again. May be used by several threads."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float | None = None,
                 context: ssl.SSLContext | None = None):
        self.url = urllib.parse.urlsplit(url or os.environ["AIRLOCK_SERVER"])
        self._token = token or os.environ["AIRLOCK_TOKEN"]
        self._timeout, self._context = timeout, context
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        if self.url.scheme == "https":
            return http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=self._timeout,
                                               context=self._context), False
        return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=self._timeout), False

    @contextmanager
    def reply(self, method: str, path: str, body=None, **headers: str) -> Iterator[http.client.HTTPResponse]:
        """The reply of the server as it comes; an error is raised."""
        headers = {"Authorization": f"Bearer {self._token}", **{name.replace("_", "-"): v for name, v in headers.items()}}
        connection, was_used = self._connection()
        target = f"{self.url.path.rstrip('/')}{path}"
        try:
            try:
                connection.request(method, target, body, headers)
                response = connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                # The server closes connections that are idle. Nothing of the request was seen then: it is sent again, once.
                if not was_used or not isinstance(body, (str, bytes, type(None))):
                    raise
                connection.close()
                connection.request(method, target, body, headers)
                response = connection.getresponse()
            if response.status >= 400:
                raise _failure(response.status, response.read())
            yield response
            response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def json(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        data = None if body is None else json.dumps(body)
        with self.reply(method, path, data, Content_Type="application/json", **headers) as response:
            content = response.read()
        return json.loads(content) if content else None

    def sandboxes(self) -> list[dict[str, Any]]:
        return self.json("GET", "/v1/sandboxes")["sandboxes"]

    def close(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().close()


class Sandbox:
    """Commands and files of one sandbox of a server.

    With id, the sandbox of that id; it is made if the token has none. Without, a new one. profile, limits ({"timeout", "memory",
    "pids", "disk"}) and hosts count when it is made.
    One Sandbox may be used by several threads.
    """

    def __init__(self, url: str | None = None, token: str | None = None, id: str | None = None, *,
                 server: Server | None = None, profile: str | None = None, limits: dict[str, Any] | None = None,
                 hosts: Sequence[str] = (), timeout: float | None = None, context: ssl.SSLContext | None = None):
        self.server = server or Server(url, token, timeout=timeout, context=context)
        wish: dict[str, Any] = {} if id is None else {"id": id}
        wish.update({} if profile is None else {"profile": profile})
        wish.update({} if limits is None else {"limits": limits})
        wish.update({"hosts": list(hosts)} if hosts else {})
        try:
            self.id = self.server.json("POST", "/v1/sandboxes", wish)["id"]
        except AirlockError as error:
            if error.code != "conflict" or id is None:
                raise
            self.id = id
        self._path = f"/v1/sandboxes/{_quote(self.id)}"
        self.workspace = f"{self.server.url.geturl()}{self._path}"

    # Running

    def execute(self, command: str | Sequence[str], *, timeout: float | None = None, working_dir: str | None = None,
                on_output: Callable[[str, str], None] | None = None) -> ExecuteResult:
        """Runs a shell command line, or a program with its arguments, and waits for its end.

        on_output("stdout" or "stderr", text) is called with the output as it comes. A command that fails is a result;
        AirlockError is raised when airlock itself refused or could not.
        """
        if not isinstance(command, str):
            command = " ".join(f"'{word}'" for word in (str(w).replace("'", "'\\''") for w in command))
        body = {"command": command}
        body.update({} if timeout is None else {"timeout": timeout})
        body.update({} if working_dir is None else {"working_dir": working_dir})
        if on_output is None:
            return ExecuteResult.from_json(self.server.json("POST", f"{self._path}/execute", body))
        with self.server.reply("POST", f"{self._path}/execute", json.dumps(body), Content_Type="application/json",
                               Accept="text/event-stream") as response:
            for event, data in _events(response):
                if event == "result":
                    return ExecuteResult.from_json(json.loads(data))
                on_output(event, data)
        raise make_error("unavailable", "the connection ended before the command did", "execute", "", "")

    # Files

    def _tool(self, name: str, **arguments) -> dict[str, Any]:
        """A tool of the server that REST has no route for."""
        params = {"name": name, "arguments": {**arguments, "sandbox": self.id}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": _REVISION, "io.modelcontextprotocol/clientCapabilities": {}}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self.server.json("POST", "/mcp", message, Accept="application/json, text/event-stream",
                                  MCP_Protocol_Version=_REVISION, Mcp_Method="tools/call", Mcp_Name=name,
                                  Mcp_Param_Sandbox=self.id)
        if "error" in answer:
            raise make_error("invalid", answer["error"]["message"], name, "", "")
        result = answer["result"]
        data = result.get("structuredContent") or {}
        if result.get("isError"):
            error = data.get("error") or {"code": "invalid", "message": result["content"][0]["text"].removeprefix("ERROR: ")}
            raise make_error(error["code"], error["message"], error.get("op") or "", error.get("subject") or "",
                             error.get("hint") or "")
        return data

    def ls(self, path: str = "") -> list[FileEntry]:
        found = self.server.json("GET", f"{self._path}/list/{_quote(path).lstrip('/')}")
        return [FileEntry.from_json(entry) for entry in found["entries"]]

    def read(self, path: str, offset: int = 0, limit: int | None = None) -> Content:
        """limit lines from line offset on; 0 is the first."""
        with self.open(path) as file:
            data = file.read()
        lines = data.split(b"\n")
        lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        end = len(lines) if limit is None else min(len(lines), offset + max(limit, 0))
        some = lines[offset:end]
        is_text = b"\0" not in data
        try:
            data.decode()
        except UnicodeDecodeError:
            is_text = False
        return Content(data=b"".join(some), encoding="utf-8" if is_text else "base64",
                       start_line=offset + 1 if some else None, end_line=offset + len(some) if some else None,
                       total_lines=len(lines), next_offset=end if end < len(lines) else None, cut=False)

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """The content of a file as it comes, for files that do not fit into memory."""
        with self.server.reply("GET", self._file(path)) as response:
            yield response

    def write(self, path: str, content: str | bytes | BinaryIO | Iterable[bytes]) -> FileChange:
        """content may be a file or come in pieces: nothing is kept in memory then."""
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        count = len(data) if isinstance(data, (bytes, bytearray)) else 0
        if hasattr(data, "read"):
            data = iter(lambda file=data: file.read(_PIECE), b"")
        if not isinstance(data, (bytes, bytearray)):
            pieces, data = data, None

            def counted():
                nonlocal count
                for piece in pieces:
                    count += len(piece)
                    yield piece
            data = counted()
        with self.server.reply("PUT", self._file(path), bytes(data) if isinstance(data, bytearray) else data,
                               Content_Type="application/octet-stream") as response:
            action = "created" if response.status == 201 else "replaced"
        return self._change(path, action, count)

    def edit(self, path: str, old: str, new: str, *, all: bool = False) -> FileChange:
        return FileChange.from_json(self._tool("edit_file", path=path, old=old, new=new, all=all))

    def delete(self, path: str) -> FileChange:
        self.server.json("DELETE", self._file(path))
        return self._change(path, "deleted", 1)

    def glob(self, pattern: str, path: str = "", *, max_count: int | None = None) -> list[FileEntry]:
        more = {"max": max_count or 10000}
        return [FileEntry.from_json(e) for e in self._tool("glob", pattern=pattern, path=path or "/", **more)["entries"]]

    def grep(self, text: str, path: str = "", glob: str | None = None, *, max_count: int | None = None) -> Matches:
        """Lines that have the text in them, literally."""
        more: dict[str, Any] = {"max": max_count or 1000}
        more.update({} if glob is None else {"glob": glob})
        found = self._tool("grep", pattern=text, path=path or "/", **more)
        matches = [Match(path_of(m), m["line"], m["text"], m.get("cut", False)) for m in found["matches"]]
        return Matches(matches, found["truncated"])

    def _file(self, path: str) -> str:
        return f"{self._path}/files/{_quote(path).lstrip('/')}"

    def _change(self, path: str, action: str, count: int) -> FileChange:
        return FileChange(f"/{os.fspath(path).lstrip('/')}", action, count, None, "direct", None, None)

    # The sandbox itself

    def info(self) -> dict[str, Any]:
        return self.server.json("GET", self._path)

    def remove(self) -> None:
        """Deletes the sandbox on the server, with its files."""
        self.server.json("DELETE", self._path)

    def close(self) -> None:
        """Ends the connections; the sandbox stays."""
        self.server.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
    event, data = "", []
    for line in response:
        text = line.decode("utf-8", "replace").rstrip("\n")
        if text.startswith("event: "):
            event = text[7:]
        elif text.startswith("data: "):
            data.append(text[6:])
        elif not text and data:
            yield event, "\n".join(data)
            data = []
