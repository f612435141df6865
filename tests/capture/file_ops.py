# SPDX-License-Identifier: LGPL-2.1-or-later
"""Carries out a list of file operations in the current directory and tells what came of each: "ok" or the errno's name.

The same text runs inside the sandbox (`airlock run -- python3 -I -S -c TEXT LIST`) and directly on a twin. LIST is JSON;
names and contents in it are bytes written as latin-1.

`links`, for the twin only: the overlay gives a file of several names a new inode when it is first changed through one of
them (it is copied up), so the twin has to do the same. Nothing else is different between the two.
"""
import contextlib
import errno
import json
import os
import stat
import sys

SPARE, KEPT = b".git/split%d", b".git/kept%d"  # places out of the way


def raw(text):
    return text.encode("latin-1")


class Links:
    """Splits hard links as the overlay's copy-up does. Only for files that were there before."""

    def __init__(self, root):
        self.old, self.count = {}, 0
        for folder, _, names in os.walk(root):
            for name in names:
                try:
                    st = os.lstat(os.path.join(folder, name))
                except PermissionError:  # nobody changes what is in a directory that nobody may search
                    continue
                if st.st_nlink > 1:  # kept open: its number must not be given to another
                    self.old[st.st_ino] = os.open(os.path.join(folder, name), os.O_PATH | os.O_NOFOLLOW)

    def split(self, path):
        """Gives the name an inode of its own. Returns what to do afterwards, told whether the operation failed."""
        try:
            st = os.lstat(path)
        except OSError:
            return None
        if st.st_ino not in self.old or stat.S_ISDIR(st.st_mode):
            return None
        if st.st_nlink < 2:  # the only name that is left: copied up, it is none of the old ones any more
            return lambda failed: failed or self.old.pop(st.st_ino, None)
        self.count += 1
        spare, kept = SPARE % self.count, KEPT % self.count
        with same_times(path), same_times(spare):
            copy(path, spare, st)
            os.link(path, kept, follow_symlinks=False)
            os.rename(spare, path)

        def settle(failed):
            with same_times(path if failed else kept), same_times(kept):
                os.rename(kept, path) if failed else os.unlink(kept)
        return settle

    def split_all(self, name, path):
        """What copy-up would split in that operation on the path: a directory is renamed entry by entry."""
        paths = [path]
        if name == "rename" and os.path.isdir(path) and not os.path.islink(path):
            paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        return [settle for settle in map(self.split, paths) if settle]


@contextlib.contextmanager
def same_times(path):
    """The directory that path is in keeps its times."""
    parent = os.path.dirname(path) or b"."
    times = os.stat(parent)
    yield
    os.utime(parent, ns=(times.st_atime_ns, times.st_mtime_ns))


def copy(path, spare, st):
    if stat.S_ISLNK(st.st_mode):
        os.symlink(os.readlink(path), spare)
    elif stat.S_ISFIFO(st.st_mode):
        os.mkfifo(spare)
        os.chmod(spare, stat.S_IMODE(st.st_mode))
    else:
        os.chmod(path, 0o600)  # it may be unreadable; what changes is the name that is about to go
        with open(path, "rb") as old, open(spare, "wb") as new:
            new.write(old.read())
        for name in os.listxattr(path):
            os.setxattr(spare, name, os.getxattr(path, name))
        for one in (path, spare):
            os.chmod(one, stat.S_IMODE(st.st_mode))
    os.utime(spare, ns=(st.st_atime_ns, st.st_mtime_ns), follow_symlinks=False)


def put(path, content, flags, mode=0o644):
    fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags, mode)
    try:
        if content:
            os.write(fd, content)
    finally:
        os.close(fd)


def no_link(path):
    """These are about the entry itself, wherever a symlink leads."""
    if stat.S_ISLNK(os.lstat(path).st_mode):
        raise OSError(errno.ELOOP, "symlink")


def create(path, content, mode):
    put(path, raw(content), os.O_CREAT | os.O_EXCL, mode)


def write(path, content):
    put(path, raw(content), os.O_TRUNC)


def append(path, content):
    put(path, raw(content), os.O_APPEND)


def write_at(path, offset, content):
    fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.pwrite(fd, raw(content), offset)
    finally:
        os.close(fd)


def truncate(path, size):
    fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


def save(path, content):
    """As an editor saves: a new file beside the old one, then renamed over it."""
    spare = path + b"~" if len(os.path.basename(path)) < 255 else os.path.join(os.path.dirname(path), b"spare~")
    put(spare, raw(content), os.O_CREAT | os.O_TRUNC)
    os.rename(spare, path)


def backup(path, content):
    """As an editor with backups saves: the old one is moved away, a new one written."""
    os.rename(path, os.path.join(os.path.dirname(path), b"backup~"))
    put(path, raw(content), os.O_CREAT | os.O_EXCL)


def remove(path):
    if stat.S_ISDIR(os.lstat(path).st_mode):
        for name in sorted(os.listdir(path)):
            remove(os.path.join(path, name))
        os.rmdir(path)
    else:
        os.unlink(path)


def replace_by_dir(path, name, content):
    remove(path)
    os.mkdir(path, 0o755)
    put(os.path.join(path, raw(name)), raw(content), os.O_CREAT | os.O_EXCL)


def replace_by_file(path, content):
    remove(path)
    put(path, raw(content), os.O_CREAT | os.O_EXCL)


def replace_by_link(path, target):
    remove(path)
    os.symlink(raw(target), path)


def make_link(path, target):
    os.symlink(raw(target), path)


def exchange(path, other):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, path, -100, other, 2) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def chmod(path, mode):
    no_link(path)
    os.chmod(path, mode)


def touch(path, ns):
    os.utime(path, ns=(ns, ns), follow_symlinks=False)


def set_attribute(path, name, value):
    no_link(path)
    os.setxattr(path, name, raw(value))


def remove_attribute(path, name):
    no_link(path)
    os.removexattr(path, name)


CALLS = {
    "create": create, "write": write, "append": append, "write_at": write_at, "truncate": truncate, "save": save,
    "backup": backup, "unlink": os.unlink, "mkdir": os.mkdir, "rmdir": os.rmdir, "remove": remove, "rename": os.rename,
    "exchange": exchange, "link": lambda path, other: os.link(path, other, follow_symlinks=False), "symlink": make_link,
    "mkfifo": os.mkfifo, "chmod": chmod, "touch": touch, "setxattr": set_attribute, "removexattr": remove_attribute,
    "replace_by_dir": replace_by_dir, "replace_by_file": replace_by_file, "replace_by_link": replace_by_link,
}
TWO_PATHS = {"rename", "exchange", "link"}  # their second argument is a path too
COPIES_UP = {"write", "append", "write_at", "truncate", "backup", "rename", "exchange", "link", "chmod", "touch",
             "setxattr", "removexattr"}


def one(operation, links):
    name, path, *rest = operation
    path = raw(path)
    if name in TWO_PATHS:
        rest[0] = raw(rest[0])
    copied = [path] if links and name in COPIES_UP and rest[:1] != [path] else []
    copied += [rest[0]] if copied and name == "exchange" else []
    settle, result = [], "ok"
    try:
        for each in copied:
            settle += links.split_all(name, each)
        CALLS[name](path, *rest)
    except OSError as error:
        result = errno.errorcode.get(error.errno, str(error.errno))
    for each in settle:
        each(result != "ok")
    return result


def carry_out(operations, links=None):
    os.umask(0o022)
    return [one(operation, links) for operation in operations]


if __name__ == "__main__":
    print(json.dumps(carry_out(json.loads(sys.argv[1]))))
