#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes every system call and every allocation of airlock fail, one at a time, and looks at what is left.

    walk.py BUILD [--scenario NAME]… [--only errors|kill|short|allocations]… [--calls REGEX] [--every N]
                  [--skip N] [--each-time] [--log FILE] [--case CASE] [--keep]

Each case is one run of airlock in a home and a project of its own, with one fault in it: an error of a call (which ones:
ERRORS), everything killed before it, a read or write cut short (inject.c), an allocation that fails (alloc.c). Then:

  - it ended by itself, in time, by exit status 0 or with a message of its own;
  - a command that ran saw exactly what it sees without a fault: the same mounts, privileges, descriptors, no secret (I9);
  - the project is what it was, to the time stamp, or has all the changes (I3, I4); what is said to be held can be applied;
  - no process, mount or control group is left; after the next run and a clean-up no directory and no journal either;
  - the next run works, and so do the log and its check.

A place in the program that makes a call again and again is struck the first and the last time only, and not again in a later
scenario (which needs a build with frame pointers, as `make faults` has), unless --each-time is given. --every N takes each N-th
case. --log writes down what came of each case, and leaves out those already in the file: a walk that was ended goes on, and
several can share the cases by one file. --case repeats one, as it was printed, and --keep leaves its place for a look.
"""
import argparse
import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

REFUSED = 120  # inject: tracing is not to be had
SECRET = "the secret key"
PROGRESS = 20  # cases
PATIENCE = 30  # seconds; a run takes a small part of one
KINDS = ("errors", "kill", "short", "allocations")
PAYLOAD = "sh"  # what the command is called: its own calls are not airlock's

# Changes of every kind, then a look around.
SCRIPT = r"""
echo more >>a && rm gone && echo new >dir/new && ln -sfn elsewhere link && chmod 0600 mode && mv from to &&
mkdir made && echo x >made/x || exit 9
cat ~/.ssh/id ~/.netrc 2>/dev/null
grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status
cut -d' ' -f5,6 /proc/self/mountinfo
wc -l </proc/net/dev
ls /proc/self/fd
touch /usr/written 2>/dev/null && echo written
ulimit -c
"""
OWN_ERROR = 9  # the command's: a rename is made for it by the first process
# And SIGPIPE: output that cannot be read any more.
STATUSES = (125, 126, 127, OWN_ERROR, 141)
NEXT = "echo next >next"

# ---- what can go wrong with a call

NEW_FD = "openat open openat2 open_tree fsopen fsmount pipe2 socket socketpair memfd_create epoll_create1 timerfd_create " \
         "signalfd4 pidfd_open dup dup2 dup3 inotify_init1 accept4 eventfd2 landlock_create_ruleset userfaultfd"
MAKES = "mkdir mkdirat mknodat symlinkat linkat renameat renameat2 rename ftruncate fsync fdatasync syncfs setxattr lsetxattr " \
        "fsetxattr fallocate copy_file_range sendfile ioctl fsconfig unlink unlinkat rmdir removexattr utimensat"
ERRORS = {name: codes for names, codes in {
    NEW_FD: "EMFILE ENOMEM EINTR EIO",
    MAKES: "ENOSPC EIO EACCES",
    "read pread64 readv recvmsg recvfrom": "EIO EINTR EAGAIN",
    "write pwrite64 writev sendmsg sendto pwritev": "ENOSPC EIO EINTR EAGAIN",
    "newfstatat statx fstat lstat stat readlink readlinkat access faccessat faccessat2 getcwd": "EIO ENOMEM",
    "getdents64 listxattr llistxattr flistxattr getxattr lgetxattr fgetxattr statfs fstatfs": "EIO ENOMEM",
    "poll ppoll epoll_wait epoll_pwait flock": "EINTR ENOMEM",
    "wait4 waitid": "EINTR",
    "clone clone3 fork vfork": "EAGAIN ENOMEM ENOSPC",
    "mmap mprotect": "ENOMEM",
    "close": "EINTR EIO",
    "fcntl": "EINTR EAGAIN",
    "execve execveat": "EIO ENOMEM EMFILE",
    # They have no errors; kill none for a child of ours that nobody has waited for.
    "kill getpid getppid gettid getuid geteuid getgid getegid capget umask exit exit_group rt_sigreturn sched_yield restart_syscall": "",
    # Before main: the loader's own, and what libc sets up for itself.
    "arch_prctl set_tid_address set_robust_list rseq rt_sigaction rt_sigprocmask rt_sigpending munmap brk prlimit64 "
    "getrusage": "",
}.items() for name in names.split()}
OTHER_ERRORS = "EIO ENOMEM EINTR"
CREATES = {"openat": "ENOSPC EACCES", "openat2": "ENOSPC EACCES"}  # when the flags say so
SHORTENED = ("read", "pread64", "write", "pwrite64")
FIRST_PROCESS = ("memfd:airlock-i", "5")  # the second in bubblewrap's hands
KILLED_BEFORE = set(MAKES.split()) | {"write", "pwrite64", "clone", "execve", "execveat", "close", "openat", "flock", "mount",
                                      "move_mount", "sendmsg", "sendto", "exit_group"}


def call_names():
    """The numbers of the calls on this machine."""
    text = subprocess.run(["cc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", "/dev/null"], check=True,
                          capture_output=True, text=True).stdout
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)$", text, re.M)}


class Call(NamedTuple):
    key: str  # as inject knows it
    program: str
    name: str
    second: int
    third: int
    site: str  # where in the program it is made


class Case(NamedTuple):
    scenario: str
    call: str  # key of a call, or "allocation"
    what: str  # an error's name, "kill", "short"; of an allocation its number, with a "+" when all later ones fail too
    told: str = ""  # for people
    site: tuple = ()

    def __str__(self):
        return f"{self.scenario}:{self.call}:{self.what}"


def faults_of(call, kinds):
    codes = ERRORS.get(call.name, OTHER_ERRORS).split()
    if call.name == "openat" and call.third & os.O_CREAT:
        codes += CREATES["openat"].split()
    if call.name == "fcntl" and call.second in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC):
        codes = ["EMFILE"]
    if call.name == "fcntl" and call.second == fcntl.F_SETLK:
        codes = []  # most give a lock back, which cannot fail
    # Bubblewrap's words to its own processes: an eventfd has room, and it does not wait where it is told of an end.
    is_signal = call.program == "bwrap" and (call.name == "wait4" or (call.name == "write" and call.third == 8))
    if is_signal:
        codes = []
    if "errors" in kinds:
        yield from codes
    if "kill" in kinds and (call.name in KILLED_BEFORE):
        yield "kill"
    if "short" in kinds and call.name in SHORTENED and call.third > 1 and call.program not in FIRST_PROCESS and not is_signal:
        yield "short"  # the first process writes messages and settings of the kernel: whole or not at all


# ---- a place, and what is in it

def look(root):
    """{path: (type and mode, content, time)} of a tree."""
    found = {}

    def add(path, name):
        info = os.lstat(path)
        content = os.readlink(path) if stat.S_ISLNK(info.st_mode) else \
            Path(path).read_bytes() if stat.S_ISREG(info.st_mode) else None
        found[name] = (info.st_mode, content, info.st_mtime_ns)
    add(root, ".")
    for folder, dirs, files in os.walk(root):
        for name in dirs + files:
            path = os.path.join(folder, name)
            add(path, os.path.relpath(path, root))
    return found


def without_times(tree):
    return {path: entry[:2] for path, entry in tree.items()}


def difference(one, other):
    return "; ".join(f"{path}: {one.get(path)} → {other.get(path)}" for path in sorted(one.keys() | other.keys())
                     if one.get(path) != other.get(path))


class Place:
    """A home, a project and a state directory that nobody else has."""

    def __init__(self, tools, template=None):
        self.tools = tools
        # Always the same path: what airlock remembers of a project is then known in every case.
        self.top = tools.top / ("now" if template else "template")
        self.home, self.state = self.top / "home", self.top / "home/.local/state/airlock"
        self.project = self.home / "project"
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.home), "LANG": "C.UTF-8"}
        self.remove()
        self.top.mkdir()
        if template:
            subprocess.run(["cp", "-a", f"{template.home}", f"{self.top}/"], check=True)
        else:
            self.fill()

    def fill(self):
        for path in (".ssh", "project/dir", "project/.git", ".local/state"):
            (self.home / path).mkdir(parents=True)
        for path, text in {".ssh/id": SECRET, ".netrc": SECRET, "project/a": "old\n", "project/gone": "x\n", "project/from":
                           "text that moves and is long enough\n" * 4, "project/mode": "m\n", "project/keep": "k\n"}.items():
            (self.home / path).write_text(text)
        os.symlink("keep", self.project / "link")

    def argv(self, *arguments):
        return [self.tools.airlock, *arguments]

    def airlock(self, *arguments):
        return subprocess.run(self.argv(*arguments), cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE, check=False)

    def remove(self):
        if self.top.exists():
            remove_tree(self.top)


def remove_tree(top):
    subprocess.run(["chmod", "-R", "u+rwx", top], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(top, ignore_errors=True)


class Tools:
    """The programs of a build, and a directory to work in."""

    def __init__(self, build):
        self.airlock = str(Path(build, "airlock").resolve())
        self.inject = str(Path(build, "tests/faults/inject").resolve())
        self.dynamic = str(Path(build, "tests/faults/airlock-dynamic").resolve())
        self.alloc = str(Path(build, "tests/faults/alloc.so").resolve())
        # Not in /tmp: a sandbox has its own.
        base = os.environ.get("TMPDIR") or ("/var/lib" if os.getuid() == 0 else str(Path.home()))
        self.top = Path(tempfile.mkdtemp(prefix="faults.", dir=base)).resolve()
        self.names = call_names()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        remove_tree(self.top)


# ---- the scenarios

class Scenario(NamedTuple):
    """What is done before, the arguments that are struck, what that makes of the project when it succeeds."""

    before: list
    struck: list
    ends: str  # "new", "old": how the project is afterwards
    starts: str = "old"
    prints: bool = True  # the command's look around
    fresh: bool = False  # no state of an earlier run


# By name: a fault while looking for the best backend is a reason to take the next one, which shows the mounts otherwise (all of
# them are right for "auto").
NATIVE = ["run", "--backend", "native", "-c", SCRIPT]
OTHER_BACKENDS = ("bubblewrap", "landlock")
SCENARIOS = {
    "run": Scenario([], NATIVE, "new"),
    "auto": Scenario([], ["run", "-c", SCRIPT], "new"),  # begins its sandbox before libc
    "hold": Scenario([], [*NATIVE, "--hold"], "old"),
    "json": Scenario([], [*NATIVE, "--json", "--discard"], "old", prints=False),
    "first": Scenario([], NATIVE, "new", fresh=True),
    "records": Scenario([["project", "add"]], NATIVE, "new"),
    "bubblewrap": Scenario([], ["run", "--backend", "bubblewrap", "-c", SCRIPT], "new"),
    "landlock": Scenario([], ["run", "--backend", "landlock", "-c", SCRIPT], "new"),
    "apply": Scenario([["run", "--hold", "-c", SCRIPT]], ["apply", "last"], "new", prints=False),
    "discard": Scenario([["run", "--hold", "-c", SCRIPT]], ["discard", "last"], "old", prints=False),
    "undo": Scenario([["run", "-c", SCRIPT]], ["undo"], "old", starts="new", prints=False),
    "gc": Scenario([["run", "-c", SCRIPT]], ["gc"], "new", starts="new", prints=False),
}


class Finding(Exception):
    pass


def expect(truth, what):
    if not truth:
        raise Finding(what)


class Outcome(NamedTuple):
    pid: int
    status: int  # exit status; negative: the signal that ended it
    stdout: bytes
    stderr: bytes
    hit: bool
    left: list
    hang: bool


def mount_points():
    """Of this machine: others may mount something meanwhile, which a command then sees."""
    return {line.split()[4].encode() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()}


def mounts(place):
    return [line for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines() if str(place.top) in line]


def control_groups(pid):
    """Those a run makes are named by its process, below the one it was started in."""
    found = []
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        folder = Path("/sys/fs/cgroup", controllers, path.strip("/"))
        found += [str(group) for group in folder.glob(f"airlock-{pid}-*")]
    return found


class Walk:
    def __init__(self, tools, name):
        self.tools, self.name, self.scenario = tools, name, SCENARIOS[name]
        self.template = Place(tools)
        self.trees = {"old": look(self.template.project)}
        self.prime()

    def prime(self):
        """One run without a fault: what the machine can do is known then, and how everything should look."""
        with self.place() as place:
            done = place.airlock(*NATIVE)
            if done.returncode != 0:
                sys.exit(f"walk: without a fault: {done.stderr.decode()}")
            self.trees["new"] = look(place.project)
            if not self.scenario.fresh:
                subprocess.run(["cp", "-a", place.home / ".local", self.template.home], check=True)
                subprocess.run(["rm", "-rf", self.template.state / "runs"], check=True)
            self.stdout, self.stderr, self.mount_points = done.stdout, done.stderr, mount_points()
            if done.stdout.count(b"\n") < 20 or SECRET.encode() in done.stdout:
                sys.exit(f"walk: the command did not look around: {done.stdout}")
        if self.name in OTHER_BACKENDS:
            self.stdout = self.seen_with(self.name)
        self.fallbacks = [self.seen_with(name) for name in OTHER_BACKENDS] if self.name == "auto" else []

    def seen_with(self, backend):
        with self.place() as place:
            return place.airlock("run", "--backend", backend, "-c", SCRIPT).stdout

    @contextlib.contextmanager
    def place(self, keep=False):
        place = Place(self.tools, self.template)
        try:
            yield place
        finally:
            if not keep:
                place.remove()

    def prepare(self, place):
        for arguments in self.scenario.before:
            done = place.airlock(*arguments)
            if done.returncode != 0:
                sys.exit(f"walk: {arguments[0]} without a fault: {done.stderr.decode()}")

    # -- striking

    def traced(self, place, *options):
        report = place.top / "report"
        done = subprocess.run([self.tools.inject, "--report", report, "--pass", PAYLOAD, "--seconds", str(PATIENCE), *options,
                               "--", *place.argv(*self.scenario.struck)], cwd=place.project, env=place.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=4 * PATIENCE, check=False)
        if done.returncode == REFUSED:
            raise PermissionError(done.stderr.decode())
        expect(done.returncode == 0, f"inject ended with {done.returncode}: {done.stderr}")
        lines = [line.split() for line in report.read_text().splitlines()]
        report.unlink()
        told = {line[0]: line[1:] for line in lines}
        status = int(told["exited"][0]) if "exited" in told else -int(told["signaled"][0]) if "signaled" in told else -999
        left = [line for line in lines if line[0] == "left"]
        return Outcome(int(told["pid"][0]), status, done.stdout, done.stderr, told["hit"] == ["1"], left, "hang" in told)

    def calls(self):
        with self.place() as place:
            self.prepare(place)
            path = place.top / "list"
            self.traced(place, "--list", path)
            loaded = {}
            for line in path.read_text().splitlines():
                key, program, second, third, site = line.rsplit(" ", 4)
                process, execs, number, _ = key.split(".")
                name = self.tools.names.get(int(number), number)
                # Before main nobody can help it. The first call there, or the loader's last one; but airlock may begin a
                # sandbox before libc begins itself.
                if {"airlock": "fcntl", "bwrap": "munmap"}.get(program) == name:
                    loaded[process, execs] = True
                if name == "arch_prctl":
                    loaded[process, execs] = False
                is_loading = program in ("airlock", "bwrap") and execs != "0" and not loaded.get((process, execs))
                if not is_loading and (process, execs) != ("0", "0"):  # that is inject, on its way to exec
                    yield Call(key, program, name, int(second, 16), int(third, 16), f"{program} {name} {site}")

    def allocations(self):
        """The places they are made at, in their order."""
        with self.place() as place:
            self.prepare(place)
            sites = place.top / "sites"
            self.without_memory(place, "0", ("setarch", "-R"), f"AIRLOCK_FAULT_SITES={sites}")
            return sites.read_text().split()

    def without_memory(self, place, number, through=(), *variables):
        process = subprocess.Popen([*through, "env", f"LD_PRELOAD={self.tools.alloc}", f"AIRLOCK_FAULT_ALLOCATION={number}",
                                    *variables, self.tools.dynamic, *self.scenario.struck], cwd=place.project, env=place.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        hang = False
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            hang = True
        return Outcome(process.pid, process.returncode, stdout, stderr, True, [], hang)

    def strike(self, place, case):
        if case.call == "allocation":
            return self.without_memory(place, case.what)
        what = str(getattr(errno, case.what)) if case.what.startswith("E") else case.what
        return self.traced(place, "--strike", case.call, "--with", what)

    # -- what must hold

    def check(self, case, keep=False):
        """What became of it in a word, or Finding."""
        with self.place(keep) as place:
            if keep:
                print(f"in {place.top}")
            self.prepare(place)
            before = look(place.project)
            outcome = self.strike(place, case)
            if keep:
                print(f"{outcome.status}\n{outcome.stderr.decode()}\n{outcome.stdout.decode()}")
            after = look(place.project)
            self.check_end(case, outcome)
            word = self.check_project(case, outcome, before, after)
            self.check_left(place, case, outcome)
            if outcome.status == 0 and outcome.stderr == self.stderr:
                self.check_quietly(place)
            else:
                self.check_next(place, word, outcome)
            return word if outcome.hit else "not reached"

    def check_end(self, case, outcome):
        told = f"status {outcome.status}: {outcome.stderr.decode('utf-8', 'replace').strip()}"
        expect(not outcome.hang, f"hangs; {told}")
        if case.what == "kill":
            return
        expect(outcome.status >= 0, f"killed by a signal; {told}")
        if outcome.status != 0:
            allowed = STATUSES if self.scenario.prints else (*STATUSES, 1)
            expect(outcome.status in allowed, f"unexpected {told}")
            if outcome.status == OWN_ERROR:
                return
            words = outcome.stderr + (outcome.stdout if self.name == "json" else b"")
            expect(b"airlock" in words or b'"message"' in words, f"no message; {told}")
        expect(SECRET.encode() not in outcome.stdout, "the secret was seen")
        is_told = b" is not shown: " in outcome.stderr or b"could reach sockets of the host in " in outcome.stderr
        if self.scenario.prints and not is_told:
            stdout = self.settled(outcome.stdout)
            wanted = [self.settled(seen) for seen in (self.stdout, *self.fallbacks)]
            same = stdout in wanted if outcome.status == 0 else any(stdout <= seen for seen in wanted)
            expect(same, f"the command saw something else: {self.odd_lines(outcome.stdout)}; {told}")

    def settled(self, stdout):
        """How often each line is there; a sandbox made ahead has the same mounts in another order. Without what others may do
        meanwhile: mount something, replace a file, which takes the mount on it along."""
        others = self.mount_points ^ mount_points() | {b"/etc/shadow", b"/etc/gshadow", b"/etc/shadow-", b"/etc/gshadow-"}
        return Counter(line for line in stdout.splitlines()
                       if line.partition(b" ")[0] not in others and b"/airlock-check." not in line)

    def odd_lines(self, stdout):
        wanted, found = self.stdout.splitlines(), stdout.splitlines()
        more, fewer = [line for line in found if line not in wanted], [line for line in wanted if line not in found]
        return [b"+" + line for line in more[:5]] + [b"-" + line for line in fewer[:5]]

    def check_project(self, case, outcome, before, after):
        told = f"status {outcome.status}: {outcome.stderr.decode('utf-8', 'replace').strip()}"
        if outcome.status == OWN_ERROR and self.is_mixed(after):
            return "partly done"  # as far as the command came
        if after == before:
            word = "unchanged"
        elif without_times(after) == without_times(self.trees[self.scenario.ends]):
            word = "done"
        elif case.what == "kill":
            return "killed within"
        elif b"the next start of airlock finishes or reverts it" in outcome.stderr:
            return "left to the next start"
        elif b"held for you" in outcome.stderr and self.is_mixed(after):
            return "partly held"  # what cannot be judged waits for a person
        elif without_times(after) == without_times(before):
            raise Finding(f"times changed: {difference(before, after)}; {told}")
        else:
            raise Finding(f"the project is neither old nor new: {difference(before, after)}; {told}")
        if outcome.status == 0 and self.scenario.ends != self.scenario.starts:
            told_why = any(words in outcome.stderr for words in (b"held", b"nothing is applied", b"out of memory"))
            expect(word == "done" or told_why, f"success, but nothing happened; {told}")
        return word if outcome.status == 0 or case.what == "kill" else f"error, {word}"

    def is_mixed(self, tree):
        return all(entry[:2] in (self.trees["old"].get(path, ())[:2], self.trees["new"].get(path, ())[:2])
                   for path, entry in tree.items())

    def check_left(self, place, case, outcome):
        expect(not outcome.left, f"left behind: {outcome.left}")
        expect(not mounts(place), f"a mount is left: {mounts(place)}")
        if case.what != "kill":  # then the next run that makes one removes it
            expect(not control_groups(outcome.pid), f"a control group is left: {control_groups(outcome.pid)}")

    def check_next(self, place, word, outcome):
        done = place.airlock("run", "-c", NEXT)
        expect(done.returncode == 0 and (place.project / "next").exists(),
               f"the next run: {done.returncode} {done.stderr.decode()}; after: {outcome.stderr.decode()}")
        (place.project / "next").unlink()
        now = without_times(look(place.project))
        expect(word.startswith("partly") or now in (without_times(self.trees["old"]), without_times(self.trees["new"])),
               f"after the next start: {difference(without_times(self.trees['old']), now)}")
        self.pass_time(place)
        done = place.airlock("gc")
        expect(done.returncode in (0, 1), f"gc: {done.stderr.decode()}")
        self.check_state(place)
        self.check_promise(place, outcome)

    @staticmethod
    def pass_time(place):
        """What was never finished is removed when nobody can be writing it any more."""
        for path in place.state.glob("**/.airlock-*"):
            os.utime(path, (0, 0), follow_symlinks=False)

    @staticmethod
    def check_files(place):
        left = [str(path) for pattern in ("**/.airlock-*", "journal/*", "**/*.tmp", "runs/*/work/*")
                for path in place.state.glob(pattern)]
        expect(not left, f"left in the state directory: {left}")

    def check_quietly(self, place):
        """It went as without a fault, so the rest would, too; what could not be removed is for the clean-up."""
        try:
            self.check_files(place)
        except Finding:
            self.pass_time(place)
            place.airlock("gc")
            self.check_files(place)

    def check_state(self, place):
        self.check_files(place)
        there = {path.name for path in (place.state / "runs").iterdir() if path.is_dir()}
        done = place.airlock("log", "--all", "--json", "-n", "100")
        listed = {run["run"] for run in json.loads(done.stdout)["runs"]} if done.returncode == 0 else done.stderr
        expect(there <= listed, f"runs that the log does not know: {there - listed} of {listed}")
        done = place.airlock("log", "--verify")
        expect(done.returncode == 0, f"log --verify: {done.stderr.decode()}")

    def check_promise(self, place, outcome):
        """What it says that can be done can be done."""
        for verb, run in re.findall(r"airlock (apply|discard|diff|show|changes) (\d{8}-[\w.-]+|last)\b",
                                    (outcome.stderr + outcome.stdout).decode("utf-8", "replace")):
            if run == "last":
                continue
            done = place.airlock("changes", run)
            expect(done.returncode == 0, f"it says `airlock {verb} {run}`, and: {done.stderr.decode()}")


# ---- walking

def cases_of(walk, kinds, calls_like=None):
    if set(kinds) & {"errors", "kill", "short"}:
        for call in walk.calls():
            if calls_like and not calls_like.search(f"{call.program} {call.name}"):
                continue
            for what in faults_of(call, kinds):
                yield Case(walk.name, call.key, what, f"{call.program} {call.name}", (call.site, what))
    if "allocations" in kinds:
        for number, site in enumerate(walk.allocations(), 1):
            for form in ("", "+"):
                yield Case(walk.name, "allocation", f"{number}{form}", "allocation", (site, form))


def first_and_last(cases):
    """Of those from one place in the program."""
    first, last = {}, {case.site: case for case in cases}
    for case in cases:
        first.setdefault(case.site, case)
    return [case for case in cases if case in (first[case.site], last[case.site])]


class Log:
    """What came of which case, in a file that several walks may write, or nowhere."""

    def __init__(self, path):
        self.path = Path(path) if path else None

    def lines(self):
        text = self.path.read_text(encoding="utf-8") if self.path and self.path.exists() else ""
        return [line.split("\t") for line in text.splitlines()]

    def cases(self):
        return {line[0] for line in self.lines()}

    def sites(self, but_of):
        """Places that were struck in other scenarios."""
        return {line[2] for line in self.lines() if line[0].partition(":")[0] != but_of}

    def add(self, case, word):
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{case}\t{word}\t{site_name(case)}\n")


def site_name(case):
    return " ".join(case.site)


def judge(walk, case, again=True):
    """What is found must be found twice: somebody else may have changed the machine meanwhile."""
    word, finding = judge_once(walk, case)
    return judge(walk, case, False) if finding and again else (word, finding)


def judge_once(walk, case):
    try:
        return walk.check(case), None
    except Finding as finding:
        return "FOUND", str(finding)
    except subprocess.TimeoutExpired as late:
        return "FOUND", f"hangs: {late}"


def walk_cases(walk, cases, told, log=Log(None)):
    """Tries them all; returns how many came to what, and tells the findings."""
    words = Counter()
    for number, case in enumerate(cases):
        if str(case) in log.cases():
            continue
        log.add(case, "begun")
        if number % PROGRESS == 0 and len(cases) > PROGRESS * 5:
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"{walk.name}: {number} of {len(cases)}", end=end, file=sys.stderr, flush=True)
        word, finding = judge(walk, case)
        words[word] += 1
        log.add(case, word)
        if finding:
            told(f"FOUND {case} ({case.told}): {finding}")
    return words


def repeat(tools, text, keep):
    name, call, what = text.split(":")
    try:
        print(Walk(tools, name).check(Case(name, call, what), keep))
    except Finding as finding:
        print(f"FOUND {finding}")
        return 1
    return 0


def walk_scenarios(tools, options):
    found, struck, log = 0, set(), Log(options.log)
    for name in options.scenario or SCENARIOS:
        walk = Walk(tools, name)
        cases = list(cases_of(walk, options.only or KINDS, options.calls))
        print(f"{name}: {len(cases)} cases", flush=True)
        if not options.each_time:
            elsewhere = struck | log.sites(name)
            cases = [case for case in first_and_last(cases) if site_name(case) not in elsewhere]
            struck |= {site_name(case) for case in cases}
        cases = cases[options.skip::options.every]
        words = walk_cases(walk, cases, lambda text: print(text, flush=True), log)
        found += words["FOUND"]
        print(f"{name}: {len(cases)} of them tried: " + ", ".join(f"{count} {word}" for word, count in words.most_common()), flush=True)
    print(f"{found} findings")
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS)
    parser.add_argument("--only", action="append", choices=KINDS)
    parser.add_argument("--calls", type=re.compile)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--each-time", action="store_true")
    parser.add_argument("--log")
    parser.add_argument("--case")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    tools = Tools(options.build)
    try:
        return repeat(tools, options.case, options.keep) if options.case else walk_scenarios(tools, options)
    finally:
        if not options.keep:
            remove_tree(tools.top)


if __name__ == "__main__":
    sys.exit(main())
