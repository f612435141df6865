#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every case of the threat model, from inside, with every backend and profile: refused or hidden. Prints TAP.

    matrix.py BUILD

All cases of one backend and profile are tried in one sandbox (tests/hostile/probe.py) that is given something to try them on:
files, secrets, sockets, servers, a process and shared memory of the host. Each case is one test, called
"FAMILY: CASE [BACKEND/PROFILE]"; tools/check prints them as a table. What a backend or a profile does not promise is in OPEN,
with the words of SECURITY.md for it; such a case is called "… , not promised: WHY" and need not be refused.
"""
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from capture import trees  # noqa: E402
from capture.world import Tap, backends  # noqa: E402

HERE = Path(__file__).resolve().parent
PROBE = (HERE.parent / "hostile/probe.py").read_text()
PROFILES = ("strict", "moderate", "permissive")
SECRET = "the-secret\n"
IPC_CREAT, IPC_RMID = 0o1000, 0

# The cases by family; the words are what the table says.
FAMILIES = {
    "Files": {
        "write_outside": "create, write, append outside the roots", "truncate_outside": "truncate outside",
        "remove_outside": "remove outside", "chmod_outside": "chmod outside", "chown_outside": "chown outside",
        "utime_outside": "utime outside", "xattr_outside": "xattr outside", "link_across": "link across",
        "rename_across": "rename across", "secret_by_name": "secrets by direct name",
        "secret_by_hard_link": "secrets by hard link", "secret_by_symlink": "secrets by symlink",
        "secret_by_proc_root": "secrets by /proc/*/root", "secret_by_handle": "secrets by handle",
        "password_files": "password files", "hidden_that_is_missing": "hidden path that does not exist yet",
        "device_nodes": "device nodes", "fake_whiteouts": "fake whiteouts", "set_user_id": "setuid, sudo, pkexec",
        "launcher": "the launcher's binary", "first_process": "the first process", "state_directory": "state directory",
        "socket_by_path": "sockets by path", "socket_abstract": "sockets, abstract",
        "socket_by_descriptor": "sockets through descriptors", "socket_by_io_uring": "sockets through io_uring",
        "datagram_pair": "datagram pair", "proc_sys": "/proc/sys", "sysrq": "sysrq", "sys_files": "/sys",
        "control_groups": "control groups", "kallsyms": "kallsyms", "kernel_memory": "kmsg and kernel memory",
    },
    "Network": {
        "tcp": "tcp, loopback services of the host", "udp": "udp", "raw_sockets": "raw and packet", "netlink": "netlink",
        "vsock": "vsock", "mptcp": "mptcp, smc", "metadata_address": "metadata address", "names": "DNS",
    },
    "Processes": {
        "trace": "ptrace", "foreign_memory": "process_vm, mem, kcmp", "foreign_descriptors": "pidfd_getfd",
        "foreign_environment": "environment of others", "foreign_names": "names of others",
        "signal_by_number": "signals by number", "signal_group_and_all": "signals to group and all",
        "kill_supervisor": "kill of the supervisor", "orphans": "orphan daemons, late writers",
        "namespaces": "nested namespaces", "mounts": "mounts", "keyrings": "keyrings", "shared_memory": "shared memory",
        "message_queues": "message queues", "escape_calls": "bpf, perf, modules, kexec, …", "oom_score": "oom_score",
        "core_dumps": "core dumps",
    },
    "Terminal": {"push_into_terminal": "TIOCSTI, also with high bits, TIOCLINUX", "terminal_of_the_caller": "the caller's terminal"},
}

METADATA = "Landlock does not guard modes, times and attributes"
VISIBLE = "permissive shows the home"
PAIRS = "permissive has them, and no socket of the host to send to"
# (case, backend, profile), either of them *: why it is not promised there.
OPEN = {
    **{(name, "landlock", "*"): METADATA for name in ("chmod_outside", "chown_outside", "utime_outside", "xattr_outside")},
    ("foreign_names", "landlock", "*"): "without an own /proc others have names",
    **{(name, "*", "permissive"): VISIBLE for name in ("secret_by_name", "secret_by_symlink", "secret_by_proc_root")},
    ("namespaces", "*", "permissive"): "permissive has nested namespaces",
    ("datagram_pair", "native", "permissive"): PAIRS, ("datagram_pair", "bubblewrap", "permissive"): PAIRS,
}


def setting(name):
    with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
        return int(file.read())


if setting("perf_event_paranoid") <= 1 and setting("kptr_restrict") == 0:
    ADDRESSES = "this machine shows the addresses of the kernel to everybody"
    OPEN.update({("kallsyms", "landlock", "*"): ADDRESSES, ("kallsyms", "*", "permissive"): ADDRESSES})


def not_promised(case, backend, profile):
    keys = ((case, backend, profile), (case, backend, "*"), (case, "*", profile))
    return next((OPEN[key] for key in keys if key in OPEN), None)


class Host:
    """Everything there is to try things on. What has been reached is seen afterwards."""

    def __init__(self, build):
        self.program = os.path.realpath(os.path.join(build, "airlock"))
        self.top = tempfile.mkdtemp(prefix="airlock-matrix.", dir=os.environ.get("TMPDIR", os.path.expanduser("~")))
        self.outside = tempfile.mkdtemp(prefix="airlock-matrix.", dir="/tmp")
        self.home, self.run = os.path.join(self.top, "home"), os.path.join(self.outside, "run")
        self.project, self.victim = os.path.join(self.home, "project"), os.path.join(self.home, "victim")
        self.listeners, self.heard = [], os.path.join(self.top, "heard")

    def __enter__(self):
        for path in (self.project + "/.git", self.victim + "/empty", self.home + "/.ssh", self.home + "/.config/airlock",
                     self.home + "/.local/state/airlock", self.home + "/.local/share", self.run):
            os.makedirs(path, 0o700)
        for path, text in ((self.project + "/file", "x"), (self.victim + "/file", "precious"), (self.home + "/.ssh/id", SECRET),
                           (self.home + "/.netrc", SECRET), (self.home + "/.config/airlock/config.toml", "")):
            Path(path).write_text(text)
        self.sockets = [self.listen(path) for path in (self.home + "/sock", self.run + "/sock", self.outside + "/sock")]
        self.abstract = f"airlock-matrix-{os.getpid()}-{os.path.basename(self.top)}"
        self.listen("\0" + self.abstract)
        self.tcp, self.udp = self.serve(socket.SOCK_STREAM), self.serve(socket.SOCK_DGRAM)
        self.share_memory()
        self.start_victim()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for listener in self.listeners:
            listener.close()
        if self.shm_id >= 0:
            ctypes.CDLL(None).shmctl(self.shm_id, IPC_RMID, None)
        Path("/dev/shm", self.shm_name).unlink(missing_ok=True)
        ctypes.CDLL(None).mq_unlink(self.queue.encode())
        for path in (self.top, self.outside):
            trees.remove(path)
            shutil.rmtree(path, ignore_errors=True)

    def listen(self, path):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        self.listeners.append(listener)
        return path

    def serve(self, kind):
        server = socket.socket(socket.AF_INET, kind)
        server.bind(("0.0.0.0", 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.setblocking(False)
        self.listeners.append(server)
        return server.getsockname()[1]

    def share_memory(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.shm_key = 0x41000000 | os.getpid() & 0xffffff
        self.shm_id = libc.shmget(self.shm_key, 4096, IPC_CREAT | 0o600)
        self.shm_name = f"airlock-matrix-{os.getpid()}"
        Path("/dev/shm", self.shm_name).write_text(SECRET)
        self.queue = f"/airlock-matrix-{os.getpid()}"
        libc.mq_open(self.queue.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)

    def start_victim(self):
        text = ("import os, signal, sys, time\n"
                "def heard(number, frame): open(sys.argv[1], 'a').write(f'{number}\\n')\n"
                "for number in (signal.SIGURG, signal.SIGTERM): signal.signal(number, heard)\n"
                "print('ready', flush=True)\n"
                "while True: time.sleep(60)\n")
        self.process = subprocess.Popen([sys.executable, "-c", text, self.heard, "victim"], stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        self.process.stdout.readline()

    def addresses(self):
        found = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        return [address for address in found if ":" not in address][:2]

    def resolvers(self):
        lines = Path("/etc/resolv.conf").read_text().splitlines() if os.path.exists("/etc/resolv.conf") else []
        return [line.split()[1] for line in lines if line.startswith("nameserver") and ":" not in line][:1]

    def places(self):
        return [self.victim, self.home, "/etc", "/usr/lib", "/var/lib", "/opt", "/", self.home + "/.local/state/airlock"]

    def description(self):
        return {"home": self.home, "victim": self.victim, "secrets": [self.home + "/.ssh/id", self.home + "/.netrc"],
                "state": self.home + "/.local/state/airlock", "config": self.home + "/.config/airlock", "sockets": self.sockets,
                "abstract": self.abstract, "tcp": self.tcp, "udp": self.udp, "addresses": self.addresses(),
                "resolvers": self.resolvers(), "victim_pid": self.process.pid, "shm_key": self.shm_key, "shm_name": self.shm_name,
                "queue": self.queue, "airlock": self.program, "runner": os.getpid(), "session": os.getsid(0), "places": self.places()}

    def try_everything(self, backend, profile):
        env = {key: value for key, value in os.environ.items() if not key.startswith("AIRLOCK") and key != "TMPDIR"}
        env.update(HOME=self.home, XDG_CONFIG_HOME=self.home + "/.config", XDG_STATE_HOME=self.home + "/.local/state",
                   XDG_DATA_HOME=self.home + "/.local/share", XDG_RUNTIME_DIR=self.run)
        # A terminal to steal: the caller's own.
        done = subprocess.run([self.program, "run", "--backend", backend, "--profile", profile, "--discard", "--timeout", "60s", "--",
                               "python3", "-I", "-S", "-c", PROBE, json.dumps(self.description())],
                              cwd=self.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"ended with {done.returncode}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def reached(self):
        """{case: what of the host has been reached}"""
        found = {}
        if os.path.exists(self.heard):
            found["signal_group_and_all"] = "signals " + " ".join(Path(self.heard).read_text().split())
        for listener in self.listeners:
            if listener.family == socket.AF_INET and listener.type == socket.SOCK_DGRAM:
                try:
                    found["udp"] = repr(listener.recv(100))
                except BlockingIOError:
                    pass
        if self.process.poll() is not None:
            found["signal_by_number"] = "the victim is dead"
        for path in (self.home + "/.gnupg", self.home + "/.kube"):
            if os.path.lexists(path):
                found["hidden_that_is_missing"] = path
        for place in self.places():
            for name in ("airlock-hostile", "airlock-hostile-dir"):
                if os.path.lexists(os.path.join(place, name)):
                    found["write_outside"] = os.path.join(place, name)
        return found

    def orphans(self):
        late = os.path.join(self.project, "late")
        time.sleep(1.2)
        return "written late" if os.path.exists(late) else None


def snapshot(host):
    tree = trees.look(host.victim)
    return {path: entry._replace(mtime=0) if path == b"" else entry for path, entry in tree.items()}


def faults_of(case, results, reached):
    faults = [f"{attempt}: {result}" for attempt, result in results.items() if result == "done"]
    if case in reached:
        faults.append(reached[case])
    return faults


def try_one(tap, build, backend, profile):
    with Host(build) as host:
        before = snapshot(host)
        try:
            results, broken = host.try_everything(backend, profile), None
        except (RuntimeError, ValueError) as error:
            results, broken = {}, str(error)
        reached = host.reached()
        late = host.orphans()
        if late:
            reached["orphans"] = late
        if snapshot(host) != before:
            changed = trees.differences(before, snapshot(host))
            if "landlock" not in backend or any("content" in fault for fault in changed):
                reached["write_outside"] = "; ".join(changed)
    for family, cases in FAMILIES.items():
        for case, words in cases.items():
            title, why = f"{family}: {words} [{backend}/{profile}]", not_promised(case, backend, profile)
            if broken:
                tap.test(title, [broken])
            elif why:
                tap.test(f"{title}, not promised: {why}")
            else:
                faults = faults_of(case, results.get(case, {}), reached)
                tap.test(title, faults if results.get(case) else ["it was not tried"])


def main(build):
    tap = Tap()
    for backend in backends():
        if backend == "landlock" and ctypes.CDLL(None).syscall(444, None, 0, 1) < 6:
            for family, cases in FAMILIES.items():
                for words in cases.values():
                    tap.skip(f"{family}: {words} [{backend}/*]", "Landlock of Linux 6.12")
            continue
        for profile in PROFILES:
            try_one(tap, build, backend, profile)
    return tap.finish()


if __name__ == "__main__":
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    sys.exit(main(*sys.argv[1:]))
