# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where and as whom it is measured.

As root, a user is made for the time of the measuring, for that is whom sandboxes are for; root stays behind only to read how
much memory processes have that nobody else may look into. All of it in a mount namespace of its own: firejail leaves mounts
behind, and crun refuses a machine that has controllers in both kinds of cgroups.
"""
import contextlib
import ctypes
import json
import os
import platform
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 1 << 18, 2
PR_SET_DUMPABLE = 4
USER_PREFIX = "airlock-bench-"
HYBRID = "/sys/fs/cgroup/unified"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def first_line(path, start):
    with contextlib.suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(start):
                return line.partition(":")[2].strip()
    return ""


def file_system(path):
    done = subprocess.run(["findmnt", "-no", "FSTYPE", "-T", path], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() or "an unknown file system"


def describe(place):
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": first_line("/proc/cpuinfo", "model name"),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "file_system": file_system(place),
        "identity": "root" if os.getuid() == 0 else "an ordinary user",
        "load_before": round(os.getloadavg()[0], 2),
    }


# ---- memory

def read_tree(pid):
    """[name, kilobytes by share] of a process and all its children; kilobytes None where we may not look."""
    found, waiting = [], [pid]
    while waiting:
        current = waiting.pop()
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{current}/task/{current}/children").read_text().split()
            name = Path(f"/proc/{current}/comm").read_text().strip()
            found.append([name, pss_of(current)])
            waiting.extend(map(int, children))
    return found


def pss_of(pid):
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))


class Onlooker:
    """Asks who stayed root; without one, looks itself."""

    def __init__(self, connection=None):
        self.connection = connection

    def tree(self, pid):
        if not self.connection:
            return read_tree(pid)
        self.connection.sendall(f"{pid}\n".encode())
        return json.loads(self.connection.makefile().readline())


def serve(connection):
    """Answers until the other side goes."""
    for line in connection.makefile():
        connection.sendall((json.dumps(read_tree(int(line))) + "\n").encode())


# ---- identity

def leave_the_mounts_of_others():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "cannot make a mount namespace")
    controllers = Path(HYBRID, "cgroup.controllers")
    if controllers.exists() and controllers.read_text().strip():
        libc.umount2(HYBRID.encode(), MNT_DETACH)


def end_all_of(uid):
    """What still runs when we are told to stop, and what a peer left behind."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == uid:
                os.kill(int(entry.name), signal.SIGKILL)


@contextlib.contextmanager
def user_for_it(top):
    name = f"{USER_PREFIX}{os.getpid()}"
    home = top / "home"
    subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", home, "--shell", "/bin/sh", name],
                   check=True)
    user = pwd.getpwnam(name)
    try:
        os.chown(home, user.pw_uid, user.pw_gid)
        yield user
    finally:
        end_all_of(user.pw_uid)
        subprocess.run(["userdel", "--force", name], stderr=subprocess.DEVNULL)
        for entry in Path("/tmp").iterdir():  # what peers keep there for each user
            with contextlib.suppress(OSError):
                if entry.lstat().st_uid == user.pw_uid:
                    shutil.rmtree(entry, ignore_errors=True)


def become(user):
    """Dumpable again afterwards, without which /proc/self would stay root's, and we could not make a user namespace."""
    os.setgroups([])
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def clean_environment(home):
    """Nothing of the caller's has a say, and nobody finds settings."""
    os.environ.clear()
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    os.environ.update(PATH=PATH, LANG="C.UTF-8", HOME=str(home), XDG_RUNTIME_DIR=str(runtime))


def as_user(work, top):
    """Calls work(onlooker) as an ordinary user in a process of its own when we are root, else right here. Returns its exit
    status. `top` has a directory home."""
    if os.getuid() != 0:
        clean_environment(top / "home")
        return work(Onlooker())
    leave_the_mounts_of_others()
    with user_for_it(top) as user:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                ours.close()
                become(user)
                clean_environment(top / "home")
                status = work(Onlooker(theirs))
            except BaseException:  # the child of a fork must not return to the caller's code
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        theirs.close()
        serve(ours)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def remove_stale(parent):
    """Directories and users of runs that were killed before they could clean up. Both have the process in their names."""
    for path in parent.glob("airlock-bench.*"):
        owner = path.name.split(".")[1]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(path, ignore_errors=True)
    for user in pwd.getpwall() if os.getuid() == 0 else ():
        owner = user.pw_name.removeprefix(USER_PREFIX)
        if owner != user.pw_name and not Path("/proc", owner).exists():
            subprocess.run(["userdel", "--force", user.pw_name], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def stage(airlock):
    """A directory that every user can read, with a copy of what was built. Not in /tmp: sandboxes have their own."""
    parent = Path("/var/lib" if os.getuid() == 0 else Path.home())
    remove_stale(parent)
    top = Path(tempfile.mkdtemp(prefix=f"airlock-bench.{os.getpid()}.", dir=parent))
    try:
        top.chmod(0o755)
        (top / "home").mkdir(mode=0o700)
        shutil.copy2(os.path.realpath(airlock), top / "airlock")
        server = Path(airlock).absolute().parent / "http/airlock-http"
        if server.exists():
            shutil.copy2(server, top / "airlock-http")
        for library in Path(airlock).absolute().parent.glob("libairlock.so.?"):
            shutil.copy2(library.resolve(), top / library.name)
        yield top
    finally:
        shutil.rmtree(top, ignore_errors=True)
