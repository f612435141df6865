# SPDX-License-Identifier: LGPL-2.1-or-later
"""A home with a project and its twin, airlock on the one, direct execution on the other; and TAP.

    with World(build_dir) as world:
        world.run(operations)             in the sandbox; the result object
        world.run_twin(operations)        directly
        world.airlock("undo", run)

A place on another file system can be given for the state directory or for the project with its twin.
"""
import base64
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from . import file_ops, trees

HERE = Path(__file__).resolve().parent
OTHER_PLACE = "/dev/shm"
CAPABILITY_VERSION = 0x20080522
IN_PLACE = ("landlock",)  # nothing is mounted: changes are captured by comparing with a copy
HELD_BY_ITSELF = ("special-file", "named-pipe", "link-out", "made-executable", "waits-for-parent", "waits-for-entry",
                  "waits-for-other")


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def test(self, name, faults=()):
        self.count += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.count} - {name}")
        for fault in faults:
            print("# " + str(fault).replace("\n", "\n# "))
        sys.stdout.flush()

    def skip(self, name, need):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP needs: {need}", flush=True)

    def finish(self):
        print(f"1..{self.count}", flush=True)
        return 1 if self.failed else 0


def backends():
    return os.environ.get("AIRLOCK_TEST_BACKENDS", "native").split()


def other_place():
    """A directory on another file system than that of the tests, or None."""
    here = os.environ.get("TMPDIR", os.path.expanduser("~"))
    if not os.access(OTHER_PLACE, os.W_OK | os.X_OK) or os.stat(OTHER_PLACE).st_dev == os.stat(here).st_dev:
        return None
    return OTHER_PLACE


class Failed(Exception):
    pass


class World:
    def __init__(self, build, backend, state_in=None, project_in=None):
        self.program = os.path.realpath(os.path.join(build, "airlock"))
        self.backend = backend
        self.made = []
        self.is_split = bool(state_in or project_in)
        # Not /tmp: the sandbox has its own.
        self.home = self.new_dir(os.environ.get("TMPDIR", os.path.expanduser("~")))
        top = self.new_dir(project_in) if project_in else self.home
        self.state = os.path.join(self.new_dir(state_in) if state_in else self.home, ".local/state")
        self.project, self.twin = os.path.join(top, "project"), os.path.join(top, "twin", "project")

    def __enter__(self):
        for path in (".config", ".local/share", ".cache", ".run"):
            os.makedirs(os.path.join(self.home, path), 0o700)
        os.makedirs(self.state, 0o700)
        for root in (self.project, self.twin):
            os.makedirs(root)
        return self

    def __exit__(self, *_):
        for path in reversed(self.made):
            trees.remove(path)

    def new_dir(self, where):
        self.made.append(tempfile.mkdtemp(prefix="airlock-capture.", dir=where))
        os.chmod(self.made[-1], 0o755)
        return self.made[-1]

    def environment(self):
        env = {key: value for key, value in os.environ.items() if not key.startswith("AIRLOCK") and key != "TMPDIR"}
        in_home = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache",
                   "XDG_RUNTIME_DIR": ".run"}
        return {**env, "HOME": self.home, "XDG_STATE_HOME": self.state, "AIRLOCK_BACKEND": self.backend,
                **{key: os.path.join(self.home, path) for key, path in in_home.items()}}

    def airlock(self, *arguments, statuses=(0,), program=()):
        done = subprocess.run([self.program, *arguments], cwd=self.project, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True)
        if statuses and done.returncode not in statuses:
            said = (done.stdout + done.stderr).decode("utf-8", "replace")[:2000]
            raise Failed(f"airlock {' '.join(map(repr, arguments[:4]))}… ended with {done.returncode}: {said}")
        return done

    def json(self, *arguments, statuses=(0,)):
        return json.loads(self.airlock(*arguments, "--json", statuses=statuses).stdout)

    # ---- the same operations on both

    def run(self, operations, *options):
        """Returns (result object, what came of each operation)."""
        text = (HERE / "file_ops.py").read_text()
        done = self.airlock("run", "--json", *options, "--", "python3", "-I", "-S", "-c", text, json.dumps(operations))
        result = json.loads(done.stdout)
        if result["stderr"]:
            raise Failed(result["stderr"])
        return result, json.loads(result["stdout"])

    def run_twin(self, operations):
        return in_child(carry_out_in, self.twin, operations)


def in_child(function, *arguments):
    """Without privileges, as in the sandbox: root there is nobody's master."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            drop_capabilities()
            with open(writer, "w") as pipe:
                json.dump(function(*arguments), pipe)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with open(reader) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def drop_capabilities():
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()) < 0:
        raise OSError(ctypes.get_errno(), "capset")


def carry_out_in(folder, operations):
    os.chdir(folder)
    return file_ops.carry_out(operations, file_ops.Links(b"."))


# ---- the report

def path_of(entry, key="path"):
    exact = entry.get(key + "_base64")
    return base64.b64decode(exact) if exact is not None else entry[key].encode()


def is_text(path):
    try:
        path.decode()
        return True
    except UnicodeDecodeError:
        return False


def reported(files):
    """({path: (kind, type)} with renames as a deletion and an addition, [(old, new, entry)] of the renames)"""
    found, renames = {}, []
    for entry in files:
        path, kind = path_of(entry), entry["kind"]
        if kind == "renamed":
            old = path_of(entry, "from")
            renames.append((old, path, entry))
            found[old] = ("deleted", entry["type"])
        found[path] = ("added" if kind == "renamed" else kind, entry["type"])
    return found, renames


def kind_faults(wanted, found):
    return [f"{trees.show(path)}: reported {found.get(path)}, should be {wanted.get(path)}"
            for path in sorted({*wanted, *found}) if wanted.get(path) != found.get(path)]


def report_faults(files, before, after, root):
    """What is wrong in a report's list of files."""
    faults = []
    for entry in files:
        if is_text(path_of(entry)) != ("path_base64" not in entry):
            faults.append(f"path_base64 is there or not, wrongly: {entry}")
        if entry["root"] != root:
            faults.append(f"wrong root: {entry}")
        if entry["kind"] != "renamed" and entry["from"] is not None:
            faults.append(f"from without a rename: {entry}")
        faults += attribute_faults(entry, path_of(entry), before, after)
    paths = [path_of(entry) for entry in files]
    if paths != sorted(set(paths), key=lambda path: path.split(b"/")):
        faults.append(f"not in order, or twice: {paths}")
    found, renames = reported(files)
    wanted = trees.expected_changes(before, after)
    return faults + kind_faults(wanted, found) + rename_faults(renames, wanted, before, after)


def attribute_faults(entry, path, before, after):
    now = (before if entry["kind"] == "deleted" else after).get(path)
    if now and (entry["size"], int(entry["mode"], 8)) != (now.size, now.mode):
        return [f"{trees.show(path)}: reported {entry['size']} bytes {entry['mode']}, is {now.size} bytes {now.mode:04o}"]
    return []


def rename_faults(renames, wanted, before, after):
    faults = []
    for old, new, entry in renames:
        was, now = before.get(old), after.get(new)
        if not was or not now or (was.type, was.content) != (now.type, now.content) or entry["type"] == "directory":
            faults.append(f"not a rename: {trees.show(old)} to {trees.show(new)}")
    moved = {path for old, new, _ in renames for path in (old, new)}
    gone = movable(before, wanted, moved, "deleted")
    come = movable(after, wanted, moved, "added")
    return faults + [f"a rename to {trees.show(come[what])} was not seen" for what in gone.keys() & come.keys()]


def movable(tree, wanted, moved, kind):
    return {(tree[path].type, tree[path].content): path for path in wanted
            if path not in moved and wanted[path][0] == kind and can_move(tree, path)}


def can_move(tree, path):
    """Files with content, and symlinks, that everybody could read."""
    if tree[path].type not in ("file", "symlink") or not tree[path].size:
        return False
    above = [b"/".join(path.split(b"/")[:n]) for n in range(path.count(b"/") + 1)]
    return tree[path].mode & 0o400 and all(tree[folder].mode & 0o500 == 0o500 for folder in above)


def link_faults(wanted, found, changed):
    """Links of what the run made or changed are kept, also those to files that it left alone; nothing else is linked."""
    faults = []
    for path, entry in found.items():
        extra = set(entry.link) - set(wanted[path].link)
        if extra:
            faults.append(f"{trees.show(path)} is linked to {sorted(extra)}")
        missing = set(wanted[path].link) - set(entry.link) - {path}
        if path in changed and missing:
            faults.append(f"{trees.show(path)} is no longer linked to {sorted(missing)}")
    return faults


def held_faults(files):
    """Only what cannot go by itself may wait."""
    return [f"{entry['path']!r} is {entry['state']}: {entry['reason']}" for entry in files
            if entry["state"] != "applied" and entry["reason_code"] not in HELD_BY_ITSELF]
