# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sandbox: a workspace or a project, and what is done in it."""

from __future__ import annotations

import ctypes
import json
import os
import select
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager

from . import _library as c
from .agents import Recipe
from .errors import ConflictError
from .results import Changes, Content, ExecuteResult, FileChange, FileEntry, Match, Matches, path_of
from .sessions import Process, Session, Step, Usage, process_of, session_of, step_of, usage_of

# How long a wait in C may keep Python from looking at its own signals.
_SLICE_MS = 200


def _value(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


class Sandbox:
    """Commands and files of one workspace or project.

        box = Sandbox(workspace="/srv/thread-7")
        box.write("/hello.py", "print('hello')")
        print(box.execute("python3 /hello.py").stdout)

    With workspace, the directory is / to commands and to the file calls. Without, it is the project: the given one, or the one
    found from the current directory. Every option of `airlock run` can be given by its name, with _ for -: profile="strict",
    network=True, yes=True, changes="hold", bind_ro=["/srv/skills"], timeout="5m". With agent="name" the commands are marked as an
    agent's: what needs permission waits for a person, who answers with `airlock questions` or airlock.answer().
    With session="name" each command sees what the ones before it did; changes, diff, apply, discard and undo take the name of a
    session where they take a run.

    One Sandbox may be used by several threads: commands run at the same time, file calls one after the other.
    """

    def __init__(
        self,
        workspace: str | os.PathLike | None = None,
        project: str | os.PathLike | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        **options,
    ):
        self._options: list[tuple[str, str]] = []
        self._environ = dict(os.environ if environ is None else environ)
        self._lock = threading.Lock()
        self._place: c.c_void_p | None = None
        self._prestart: c.c_void_p | None = None
        self._prestart_lock = threading.Lock()
        self.workspace = os.fspath(workspace) if workspace is not None else None
        for name, value in {"workspace": workspace, "project": project, **options}.items():
            self._add(name, value)
        with self._settings():
            pass  # an unknown option is said at once

    def _add(self, name: str, value) -> None:
        if value is None:
            return
        several = isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike))
        for item in value if several else [value]:
            self._options.append((name.replace("_", "-"), _value(item)))

    @contextmanager
    def _settings(self, extra: Sequence[tuple[str, str]] = ()):
        settings = c.lib.airlock_settings_new()
        if not settings:
            raise MemoryError
        try:
            c.call("airlock_settings_set_environ", settings, c.words(f"{k}={v}" for k, v in self._environ.items()))
            for name, value in [*self._options, *extra]:
                c.call(
                    "airlock_settings_set", settings, c.encode(name, "option"), c.encode(value, name), f"--{name}".encode()
                )
            yield settings
        finally:
            c.lib.airlock_settings_free(settings)

    # Running

    def execute(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        network: bool | None = None,
        hosts: Sequence[str] = (),
        working_dir: str | None = None,
        changes: str | None = None,
    ) -> ExecuteResult:
        """Runs a shell command line, or a program with its arguments, and waits for its end.

        A command that fails is a result; AirlockError is raised when airlock itself refused or could not.
        """
        extra = [] if timeout is None else [("timeout", f"{timeout:f}s" if timeout else "none")]
        extra += [] if network is None else [("network", _value(network))]
        extra += [("allow-host", host) for host in hosts]
        extra += [] if working_dir is None else [("working-dir", working_dir)]
        extra += [] if changes is None else [("changes", changes)]
        with self._settings(extra) as settings:
            if isinstance(command, str):
                c.call("airlock_settings_set_command", settings, c.encode(command, "command"))
            else:
                c.call("airlock_settings_set_argv", settings, c.words(command))
            job = c.c_void_p()
            c.call("airlock_job_prepare", settings, c.byref(job))
        try:
            return self._run(job)
        finally:
            c.lib.airlock_job_free(job)

    def run_agent(
        self,
        name: str,
        arguments: Sequence[str] = (),
        *,
        yolo: bool = False,
        session: str | None = None,
        timeout: float | None = None,
        working_dir: str | None = None,
        changes: str | None = None,
    ) -> ExecuteResult:
        """Runs a whole agent in the sandbox, as one command of a session, and waits for its end. See airlock-agent(1).

        arguments come after those of its recipe. yolo: with its own option that asks nothing. Without session, and without one of
        this Sandbox, a name is made up; the result has it. The agent's changes are held unless changes says otherwise, and it has no
        time limit but timeout. There is no terminal: give it the arguments with which it does one task and ends.

            box = Sandbox(project=".")
            done = box.run_agent("claude", ["-p", "fix the failing test"], yolo=True)
            print(done.stdout, box.diff(done.session))

        NotFoundError: there is no recipe of that name, or its program is not installed.
        """
        extra = [] if timeout is None else [("timeout", f"{timeout:f}s" if timeout else "none")]
        extra += [] if working_dir is None else [("working-dir", working_dir)]
        extra += [] if changes is None else [("changes", changes)]
        is_named = "AIRLOCK_SESSION" in self._environ or any(option == "session" for option, _ in self._options)
        if session or not is_named:
            extra += [("session", session or self._free_session(name))]
        job = c.c_void_p()
        with self._settings(extra) as settings:
            c.call("airlock_settings_set_agent", settings, c.encode(name, "agent"), int(yolo), c.words(arguments))
            c.call("airlock_job_prepare", settings, c.byref(job))
        try:
            return self._run(job)
        finally:
            c.lib.airlock_job_free(job)

    def _free_session(self, agent: str) -> str:
        """"claude-1118-1": the first that the project does not have, as `airlock agent` names them."""
        with self._settings() as settings:
            for number in range(1, 10000):
                name = f"{agent[:32]}-{time.strftime('%m%d')}-{number}"
                if not c.lib.airlock_session_exists(settings, c.encode(name, "session")):
                    return name
        raise ConflictError("no name for a session could be found")

    def recipes(self) -> list[Recipe]:
        """The agents that run_agent can start, by name."""
        found = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_recipes_open", settings, c.byref(found))
        try:
            text = c.lib.airlock_recipes_json(found)
            if text is None:
                raise MemoryError
            return [Recipe.from_json(entry) for entry in json.loads(text)["agents"]]
        finally:
            c.lib.airlock_recipes_free(found)

    def recipe(self, name: str) -> Recipe:
        """NotFoundError: there is none of that name."""
        found = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_recipes_open_one", settings, c.encode(name, "agent"), c.byref(found))
        try:
            text = c.c_void_p(c.lib.airlock_recipe_json(c.lib.airlock_recipes_at(found, 0)))
            if not text:
                raise MemoryError
            return Recipe.from_json(json.loads(c.take_text(text)))
        finally:
            c.lib.airlock_recipes_free(found)

    def warm_up(self) -> bool:
        """Makes the sandbox of the next command while there is nothing else to do, and does not wait until it is there.

        It is used once, and only when a new one would be the same; then execute() is quicker. False: there is nothing to make
        (a workspace, another backend than native, warm_start = false in the configuration).
        """
        job = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_settings_set_command", settings, b":")
            c.call("airlock_job_prepare", settings, c.byref(job))
        try:
            with self._prestart_lock:
                if self._prestart is None:
                    self._prestart = c.lib.airlock_prestart_new()
                if not self._prestart:
                    raise MemoryError
                return c.call("airlock_prestart_begin_for", self._prestart, job) == 1
        finally:
            c.lib.airlock_job_free(job)

    def _ask(self, job: c.c_void_p) -> None:
        """If the run is an agent's and needs permission, waits until a person has answered elsewhere, or nobody did in time."""
        asking, answer = c.c_void_p(), ctypes.c_int()
        if c.call("airlock_job_ask", job, c.byref(asking)) != 1:
            return
        try:
            while c.lib.airlock_asking_poll(asking, c.byref(answer)) == 1:
                select.select([c.lib.airlock_asking_fd(asking)], [], [], _SLICE_MS / 1000)
        finally:
            c.lib.airlock_asking_free(asking)

    def _run(self, job: c.c_void_p) -> ExecuteResult:
        run = c.c_void_p()
        self._ask(job)
        if self._prestart is None:
            c.call("airlock_run_start", job, None, c.byref(run))
        else:
            with self._prestart_lock:
                c.lib.airlock_job_use_prestart(job, self._prestart)
                c.call("airlock_run_start", job, None, c.byref(run))
        try:
            while c.lib.airlock_run_dispatch(run, _SLICE_MS) > 0:
                pass
            return ExecuteResult.from_json(json.loads(c.lib.airlock_run_result_json(run)))
        finally:
            c.lib.airlock_run_free(run)  # also ends it, when an exception came between

    # Changes

    @contextmanager
    def _changes(self, name: str, *arguments):
        """The changes that one call gives, for as long as the block lasts."""
        out = c.c_void_p()
        with self._settings() as settings:
            c.call(name, settings, *arguments, c.byref(out))
        try:
            yield out
        finally:
            c.lib.airlock_changes_free(out)

    def changes(self, run: str = "last") -> Changes:
        """What a run changed, and what became of it."""
        with self._changes("airlock_changes_open", c.encode(run, "run")) as changes:
            text = c.lib.airlock_changes_json(changes)
            if text is None:
                raise MemoryError
            return Changes.from_json(json.loads(text))

    def diff(self, run: str = "last", paths: Sequence[str] | None = None) -> str:
        """A unified diff of what a run changed."""
        out = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_changes_diff", settings, c.encode(run, "run"), c.words(paths), 0, c.byref(out))
        return c.text(c.take_text(out))

    def apply(
        self, run: str = "last", paths: Sequence[str] | None = None, *, force: bool = False, merge: bool = False
    ) -> int:
        """Makes held changes; returns how many.

        With merge, for a session: files that somebody edited since are merged with their version, all of them or none.
        """
        if merge:
            if force:
                raise ValueError("force and merge exclude each other")
            with self._changes("airlock_changes_apply_merged", c.encode(run, "run"), c.words(paths)) as changes:
                return c.lib.airlock_changes_done_count(changes)
        arguments = c.encode(run, "run"), c.words(paths), int(force)
        with self._changes("airlock_changes_apply", *arguments) as changes:
            return c.lib.airlock_changes_done_count(changes)

    def discard(self, run: str = "last", paths: Sequence[str] | None = None) -> int:
        """Throws held changes away; returns how many."""
        with self._changes("airlock_changes_discard", c.encode(run, "run"), c.words(paths)) as changes:
            return c.lib.airlock_changes_done_count(changes)

    def undo(self, run: str | None = None, paths: Sequence[str] | None = None, *, force: bool = False) -> str:
        """Puts back what applying a run replaced, by default the last one in this project; returns which run it was."""
        name = None if run is None else c.encode(run, "run")
        with self._changes("airlock_changes_undo", name, c.words(paths), int(force)) as changes:
            return c.text(c.lib.airlock_changes_run(changes))

    # Sessions

    def sessions(self, *, all: bool = False) -> list[Session]:
        """Those of the project, or of every project."""
        found = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_sessions_open", settings, int(all), c.byref(found))
        try:
            count = c.lib.airlock_sessions_count(found)
            return [session_of(c.lib.airlock_sessions_at(found, i).contents) for i in range(count)]
        finally:
            c.lib.airlock_sessions_free(found)

    @contextmanager
    def _session(self, name: str):
        found = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_session_open", settings, c.encode(name, "session"), c.byref(found))
        try:
            yield found
        finally:
            c.lib.airlock_session_free(found)

    def session(self, name: str) -> Session:
        """NotFoundError: the project has none of that name."""
        with self._session(name) as found:
            return session_of(c.lib.airlock_session_info(found).contents)

    def steps(self, name: str) -> list[Step]:
        """The commands of a session that changed something. What they changed, taken together: changes(name)."""
        with self._session(name) as found:
            count = c.lib.airlock_session_step_count(found)
            return [step_of(c.lib.airlock_session_step_at(found, i).contents) for i in range(count)]

    def session_usage(self, name: str) -> Usage:
        """What a session has written, and may write."""
        with self._session(name) as found:
            return usage_of(c.lib.airlock_session_usage(found).contents)

    def processes(self, name: str) -> list[Process]:
        """The processes that commands of the session left, and that still run."""
        with self._session(name) as found:
            count = c.lib.airlock_session_process_count(found)
            return [process_of(c.lib.airlock_session_process_at(found, i).contents) for i in range(count)]

    def new_session(self, name: str | None = None) -> str:
        """Makes a session and returns its name; without name, one is made up. ConflictError: there is one."""
        made = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_session_new", settings, None if name is None else c.encode(name, "session"), c.byref(made))
        return c.text(c.take_text(made))

    def rewind(self, name: str, step: int) -> None:
        """Drops the held steps after this one; 0 drops all. ConflictError: one of them was decided about."""
        if step < 0:
            raise ValueError("a step is a number, or 0")
        with self._settings() as settings:
            c.call("airlock_session_rewind", settings, c.encode(name, "session"), step)

    def fork(self, name: str, new: str) -> None:
        """A second session that goes on from where this one is."""
        with self._settings() as settings:
            c.call("airlock_session_fork", settings, c.encode(name, "session"), c.encode(new, "session"))

    def merge(self, name: str, into: str) -> int | None:
        """Makes what one session changed a step of another; returns its number, None when there was nothing to merge.

        ConflictError: some paths cannot be merged, and nothing was; its attribute paths has them.
        """
        step, conflicts = ctypes.c_uint64(), c.c_void_p()
        names = c.encode(name, "session"), c.encode(into, "session")
        with self._settings() as settings:
            try:
                c.call("airlock_session_merge", settings, *names, c.byref(step), c.byref(conflicts))
            except ConflictError as error:
                error.paths = [c.path(line) for line in c.take_text(conflicts).splitlines()]
                raise
        return step.value or None

    def session_diff(self, name: str, other: str) -> str:
        """Git-style unified diff from what one session shows to what another does; "" when they show the same."""
        out = c.c_void_p()
        with self._settings() as settings:
            c.call("airlock_session_diff", settings, c.encode(name, "session"), c.encode(other, "session"), 0, c.byref(out))
        return c.text(c.take_text(out))

    def end_session(self, name: str) -> None:
        """Ends what is running in it. What it holds stays."""
        with self._settings() as settings:
            c.call("airlock_session_end", settings, c.encode(name, "session"))

    # Files

    def close(self) -> None:
        """Gives back what the file calls keep open, and what warm_up() made; the next call opens it again."""
        with self._lock:
            if self._place is not None:
                c.lib.airlock_place_free(self._place)
            self._place = None
        with self._prestart_lock:
            c.lib.airlock_prestart_free(self._prestart)
            self._prestart = None

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_place", None) is not None:
            c.lib.airlock_place_free(self._place)
        if getattr(self, "_prestart", None) is not None:
            c.lib.airlock_prestart_free(self._prestart)

    @contextmanager
    def _call(self, name: str, *arguments):
        """The result object of one call, for as long as the block lasts."""
        result = c.c_void_p()
        with self._lock:
            if self._place is None:
                place = c.c_void_p()
                with self._settings() as settings:
                    c.call("airlock_place_open", settings, None, c.byref(place))
                self._place = place
            c.call(name, self._place, *arguments, c.byref(result))
        try:
            yield result
        finally:
            c.lib.airlock_files_free(result)

    def _json(self, name: str, *arguments) -> dict:
        with self._call(name, *arguments) as result:
            return json.loads(c.lib.airlock_files_json(result))

    def ls(self, path: str = "") -> list[FileEntry]:
        return [FileEntry.from_json(e) for e in self._json("airlock_files_ls", c.encode(path, "path"))["entries"]]

    def read(self, path: str, offset: int = 0, limit: int | None = None) -> Content:
        """limit lines from line offset on; 0 is the first."""
        wanted = -1 if limit is None else limit
        with self._call("airlock_files_read", c.encode(path, "path"), offset, wanted) as result:
            f = c.lib.airlock_files_content(result).contents
            return Content(
                data=ctypes.string_at(f.bytes, f.size),
                encoding="utf-8" if f.is_text else "base64",
                start_line=f.start_line or None,
                end_line=f.end_line or None,
                total_lines=f.total_lines,
                next_offset=None if f.next_offset < 0 else f.next_offset,
                cut=bool(f.cut),
            )

    def write(self, path: str, content: str | bytes) -> FileChange:
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)
        return FileChange.from_json(self._json("airlock_files_write", c.encode(path, "path"), data, len(data)))

    def edit(self, path: str, old: str, new: str, *, all: bool = False) -> FileChange:
        return FileChange.from_json(
            self._json("airlock_files_edit", c.encode(path, "path"), c.encode(old, "old"), c.encode(new, "new"), int(all))
        )

    def delete(self, path: str) -> FileChange:
        return FileChange.from_json(self._json("airlock_files_delete", c.encode(path, "path")))

    def glob(self, pattern: str, path: str = "", *, max_count: int | None = None) -> list[FileEntry]:
        found = self._json("airlock_files_glob", c.encode(pattern, "pattern"), c.encode(path, "path"), max_count or 0)
        return [FileEntry.from_json(e) for e in found["entries"]]

    def grep(
        self, text: str, path: str = "", glob: str | None = None, *, max_count: int | None = None
    ) -> Matches:
        """Lines that have the text in them, literally."""
        pattern = None if glob is None else c.encode(glob, "glob")
        found = self._json("airlock_files_grep", c.encode(text, "text"), c.encode(path, "path"), pattern, max_count or 0)
        matches = [Match(path_of(m), m["line"], m["text"], m.get("cut", False)) for m in found["matches"]]
        return Matches(matches, found["truncated"])
