# SPDX-License-Identifier: LGPL-2.1-or-later
"""A part of this machine for tests that start daemons: processes, mounts, a loopback network, a host name and an ordinary user
(with subordinate ids) of its own. Everything in it ends with the test. Needs root.

    if __name__ == "__main__":
        sys.exit(own_machine.run(main, "prefix"))    # calls main(top, user) inside; top is a directory that is removed afterwards
"""
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NamedTuple

INSIDE = "AIRLOCK_TEST_OWN_MACHINE"
USER, FIRST_SUBID, SUBIDS = "airlock-tester", 2000000, 65536


class User(NamedTuple):
    name: str
    uid: int
    gid: int
    home: Path

    def __str__(self):
        return self.name


ROOT = User("root", 0, 0, Path("/root"))


def own_etc(top):
    """A copy of /etc that this machine alone sees. Mounts over single files would go when somebody outside replaces these."""
    subprocess.run(["cp", "-a", "/etc", top / "etc"], check=True)
    subprocess.run(["mount", "--bind", top / "etc", "/etc"], check=True)
    Path("/etc/hosts").write_text("127.0.0.1 localhost machine\n::1 localhost\n")


def give_user(top):
    uid = next(uid for uid in range(61000, 65000) if uid not in {entry.pw_uid for entry in pwd.getpwall()})
    user = User(USER, uid, uid, top / "home")
    for name, line in (("passwd", f"{USER}:x:{uid}:{uid}::{user.home}:/bin/sh"), ("group", f"{USER}:x:{uid}:"),
                       ("subuid", f"{USER}:{FIRST_SUBID}:{SUBIDS}"), ("subgid", f"{USER}:{FIRST_SUBID}:{SUBIDS}")):
        with Path("/etc", name).open("a") as file:
            file.write(f"{line}\n")
    user.home.mkdir(mode=0o755)
    os.chown(user.home, uid, uid)
    return user


def install(build, top):
    """Puts the programs where every user can execute them; returns the path of airlock."""
    for source, target in (("cli/airlock", "bin/airlock"), ("http/airlock-http", "libexec/airlock/airlock-http")):
        (top / target).parent.mkdir(parents=True)
        shutil.copy2(Path(build, source), top / target)
        (top / target).chmod(0o755)
    return top / "bin/airlock"


def inside(main, top):
    socket.sethostname("machine")
    own_etc(top)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # The resolver finds no address, not even a loopback one, where 127.0.0.1 is the only address of the machine.
    subprocess.run(["ip", "address", "add", "127.0.0.2/8", "dev", "lo"], check=True)
    worker = os.fork()
    if worker == 0:
        status = 1
        try:
            status = main(top, give_user(top))
        except BaseException:  # noqa: BLE001  (a fork must not return)
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)
    while True:  # we are process 1: daemons leave us their dead
        pid, status = os.wait()
        if pid == worker:
            return os.waitstatus_to_exitcode(status)


def run(main, prefix):
    if os.getuid() != 0:
        print("1..0 # skip needs: root")
        return 0
    if INSIDE in os.environ:
        return inside(main, Path(os.environ[INSIDE]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Not below /tmp: sandboxes have their own.
    top = tempfile.mkdtemp(prefix=f"{prefix}.", dir="/var/lib")
    os.chmod(top, 0o755)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            return subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
                                   "--net", "--ipc", "--uts", sys.executable, *sys.argv], check=False, env={**os.environ, INSIDE: top}).returncode
        return 130
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", top], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(top)
