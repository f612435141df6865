# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees of files as plain values: what is in one, how two differ, and whether a report of airlock tells the difference.

A snapshot maps each path below a directory to an Entry. `changes_between` is the real difference between two snapshots of one
place; `faults_of_report` holds the report of a run against it; `compare_results` holds the result of a run inside airlock against
those of two runs without it. None of them prints or changes anything.
"""
import hashlib
import os
import re
import stat
from dataclasses import dataclass

TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
NOT_APPLIED = ("held", "skipped", "conflict", "discarded")
OVERLAY = ("user.overlay.", "trusted.overlay.")


@dataclass(frozen=True)
class Entry:
    type: str
    mode: int
    owner: tuple
    content: str  # the digest of a file, the target of a symlink
    xattrs: tuple
    mtime: int = 0  # nanoseconds; 0 for directories, whose times are no change
    first_link: str = ""  # the first path of the same inode, where it has several

    def metadata(self):
        return self.mode, self.owner, self.xattrs


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _xattrs(path):
    try:
        return tuple((name, os.getxattr(path, name, follow_symlinks=False))
                     for name in sorted(os.listxattr(path, follow_symlinks=False)))
    except OSError:
        return ()


def _entry(path, st):
    kind = TYPES.get(stat.S_IFMT(st.st_mode), "other")
    content = os.readlink(path) if kind == "symlink" else _digest(path) if kind == "file" else oct(stat.S_IFMT(st.st_mode))
    return Entry(kind, stat.S_IMODE(st.st_mode), (st.st_uid, st.st_gid), os.fsdecode(content), _xattrs(path),
                 0 if kind == "directory" else st.st_mtime_ns)


def snapshot(top):
    """Every path below top (without top itself), symlinks not followed."""
    found, inodes = {}, {}
    pending = [""]
    while pending:
        below = pending.pop()
        with os.scandir(os.path.join(top, below)) as entries:
            for item in entries:
                path = os.path.join(below, item.name)
                st = os.lstat(item.path)
                found[path] = _entry(item.path, st)
                if stat.S_ISDIR(st.st_mode):
                    pending.append(path)
                elif st.st_nlink > 1:
                    inodes.setdefault((st.st_dev, st.st_ino), []).append(path)
    for paths in inodes.values():
        for path in paths if len(paths) > 1 else ():
            found[path] = Entry(**{**vars(found[path]), "first_link": min(paths)})
    return dict(sorted(found.items()))


def changes_between(before, after):
    """Path to kind, in the words of airlock's report; no renames."""
    changes = {path: "deleted" for path in before if path not in after}
    for path, new in after.items():
        old = before.get(path)
        if old is None:
            changes[path] = "added"
        elif old.type != new.type:
            changes[path] = "type"
        elif old.content != new.content:
            changes[path] = "modified"
        elif (old.metadata(), old.mtime) != (new.metadata(), new.mtime):
            changes[path] = "metadata"
    return changes


def _told(files, before):
    """What a report says, without renames: a set of kinds per path. Of a directory that was renamed its content was, too."""
    told = {}

    def tell(path, kind):
        told.setdefault(path, set()).add(kind)

    for item in files:
        if item["state"] in NOT_APPLIED:
            continue
        path = item["path"]
        if item["kind"] != "renamed":
            tell(path, item["kind"])
            continue
        moved = [old for old in before if old == item["from"] or old.startswith(item["from"] + "/")]
        for old in moved:
            tell(old, "deleted")
            tell(path + old[len(item["from"]):], "added")
    return told


def _settle(kinds, old, new):
    """The one kind that several lines about a path come to: something moved away, and something else put in its place."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if old is None or new is None:
        return "added" if old is None else "deleted"
    return "type" if old.type != new.type else "modified" if old.content != new.content else "metadata"


def faults_of_report(files, before, after, root):
    """Sentences about each path that the report of a run misses, invents or calls something else; none: the report is true."""
    faults = []
    told = _told(files, before)
    real = changes_between(before, after)
    faults += [f"the report tells of {item['root']}/{item['path']}, which is outside {root}" for item in files if item["root"] != root]
    seen = [item["path"] for item in files]
    faults += [f"the report names {path} twice" for path in sorted({path for path in seen if seen.count(path) > 1})] \
        if len(seen) != len(set(seen)) else []
    for path, kind in sorted(real.items()):
        if path not in told:
            faults.append(f"the report misses {path} ({kind})")
        elif (said := _settle(told[path], before.get(path), after.get(path))) != kind:
            faults.append(f"the report calls {path} {said}, and it is {kind}")
    for path, kinds in sorted(told.items()):
        if path not in real and not (len(kinds) > 1 and path in before and path in after):
            faults.append(f"the report tells of {path} ({', '.join(sorted(kinds))}), which did not change")
    for item in files:
        entry = after.get(item["path"])
        if item["state"] not in NOT_APPLIED and item["kind"] != "deleted" and entry and item["type"] != entry.type:
            faults.append(f"the report calls {item['path']} a {item['type']}, and it is a {entry.type}")
    return faults


def _ways_to_differ(one, other, compare_content):
    if one is None or other is None:
        return [] if one is other else ["is missing"] if other is None else ["is there only inside"]
    pairs = (("type", one.type, other.type), ("mode", oct(one.mode), oct(other.mode)), ("owner", one.owner, other.owner),
             ("xattrs", one.xattrs, other.xattrs), ("links", one.first_link, other.first_link))
    found = [f"{what} {old} became {new}" for what, old, new in pairs if old != new]
    if compare_content and one.type == other.type and one.content != other.content:
        found.append("another content")
    return found


def compare_results(first, second, inside, varies=()):
    """Path to what is different inside.

    first, second: two results without airlock. What is not the same in these differs by itself: where only the content does, the
    rest is compared; a path that only one of them has may be there or not. varies: patterns of paths that differ by chance.
    """
    patterns = [re.compile(pattern) for pattern in varies]
    differences = {}
    for path in sorted(first.keys() | second.keys() | inside.keys()):
        one, two, three = first.get(path), second.get(path), inside.get(path)
        if any(pattern.fullmatch(path) for pattern in patterns) or (one is None) != (two is None):
            continue
        stable = one is not None and one.content == two.content
        ways = _ways_to_differ(two, three, stable) and _ways_to_differ(one, three, stable)
        if ways:
            differences[path] = "; ".join(ways)
    return differences
