# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a directory tree is, in full, and what differs between two of them.

    before = look(root)                   {path: Entry}; "" is the root itself
    differences(before, look(other))      sentences; [] when the trees are the same
    expected_changes(before, after)       what airlock has to report: {path: (kind, type)}

Everything here is independent of airlock's own ways of finding out.
"""
import ctypes
import hashlib
import os
import pickle
import stat
from typing import NamedTuple

LONG_AGO = 1_600_000_000_000_000_000  # times that tests set are before this one; what happens in a test is after it
CLONE_NEWUSER = 0x10000000
ACLS = ("system.posix_acl_access", "system.posix_acl_default")


class Entry(NamedTuple):
    type: str  # file, directory, symlink, fifo, socket, device
    mode: int
    size: int
    content: bytes  # a hash, or a symlink's target
    mtime: int  # in ns
    xattrs: tuple
    link: tuple  # every path of this inode in the tree; () when there is only one


# ---- looking

TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def content_of(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(st.st_mode):
        return b""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def xattrs_of(path, st):
    if not (stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode)):
        return ()
    names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.") or name in ACLS]
    return tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in sorted(names))


def walk(path, name, inodes, tree):
    st = os.lstat(path)
    is_dir = stat.S_ISDIR(st.st_mode)
    if not is_dir and st.st_nlink > 1:
        inodes.setdefault((st.st_dev, st.st_ino), []).append(name)
    tree[name] = Entry(TYPES[stat.S_IFMT(st.st_mode)], stat.S_IMODE(st.st_mode), 0 if is_dir else st.st_size,
                       content_of(path, st), st.st_mtime_ns, xattrs_of(path, st), (st.st_dev, st.st_ino))
    for child in sorted(os.listdir(path)) if is_dir else ():
        walk(os.path.join(path, child), os.path.join(name, child), inodes, tree)


def look_here(root):
    tree, inodes = {}, {}
    walk(os.fsencode(root), b"", inodes, tree)
    for path, entry in tree.items():
        names = inodes.get(entry.link, ())
        tree[path] = entry._replace(link=tuple(sorted(names)) if len(names) > 1 else ())
    return tree


def as_master_of_modes(function, *arguments):
    """Calls it in a process that no mode can stop: as an ordinary user, in a user namespace of its own. Nothing is
    changed by looking, which chmod would do."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if os.getuid() != 0:
                enter_user_namespace()
            with open(writer, "wb") as pipe:
                pickle.dump(function(*arguments), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with open(reader, "rb") as pipe:
        data = pipe.read()
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise RuntimeError(f"{function.__name__} failed")
    return pickle.loads(data)


def enter_user_namespace():
    uid, gid = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def look(root):
    return as_master_of_modes(look_here, root)


def remove_here(root):
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o700)
    for folder, folders, files in os.walk(root, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            path = os.path.join(folder, name)
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    os.rmdir(root)


def remove(root):
    """Whatever the modes in it are."""
    as_master_of_modes(remove_here, os.fsencode(root))


def show(path):
    return repr(path)[1:] if path else "the root"


# ---- comparing

def shown(value):
    return value.hex()[:16] if isinstance(value, bytes) and len(value) == 32 else str(value)


def loose(mtime):
    """Two commands that do the same do it at different times."""
    return mtime if mtime < LONG_AGO else "now"


def differences(wanted, found, exact_times=True, links=True):
    """Sentences, the first few. exact_times False: new times need only be new in both."""
    said = [f"{show(path)} is missing" for path in wanted if path not in found]
    said += [f"{show(path)} should not be there" for path in found if path not in wanted]
    for path in (path for path in wanted if path in found):
        for field in Entry._fields:
            if field == "link" and not links:
                continue
            x, y = getattr(wanted[path], field), getattr(found[path], field)
            if field == "mtime" and not exact_times:
                x, y = loose(x), loose(y)
            if x != y:
                said.append(f"{show(path)}: {field} is {shown(y)}, should be {shown(x)}")
    return said[:12] + ([f"and {len(said) - 12} more"] if len(said) > 12 else [])


# ---- what has to be reported

def parent_of(path):
    return path.rpartition(b"/")[0]


def kind_of(old, new):
    """None: the same. The time of a directory alone is no difference."""
    if old is None or new is None:
        return "added" if old is None else "deleted"
    if old.type != new.type:
        return "type"
    if old.content != new.content and new.type in ("file", "symlink"):
        return "modified"
    if (old.mode, old.xattrs) != (new.mode, new.xattrs):
        return "metadata"
    if old.mtime != new.mtime:
        return None if new.type == "directory" else "metadata"
    return None


def expected_changes(before, after):
    """Renames come as what they consist of, a deletion and an addition."""
    kinds = {path: kind_of(before.get(path), after.get(path)) for path in {*before, *after} if path}
    changes = {}
    for path, kind in kinds.items():
        if kind:
            entry = before[path] if kind == "deleted" else after[path]
            type = entry.type if entry.type in ("file", "directory", "symlink") else "other"
            changes[path] = (kind, type)
    return changes


def with_idle_times(wanted, before):
    """The tree as it has to be after an apply: a directory of which only the time differs keeps the one it had."""
    changed = expected_changes(before, wanted)
    active = {parent_of(path) for path in changed} | set(changed)
    return {path: entry._replace(mtime=before[path].mtime)
            if entry.type == "directory" and path in before and path not in active else entry
            for path, entry in wanted.items()}
