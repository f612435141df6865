# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who is measured, and how each is called so that it isolates as the others do, as far as it can.

Asked of everybody: user, mount, pid, network, ipc and uts namespaces of its own, a read-only root, a writable project, its
own /dev, /proc and /tmp, no capabilities. What each really does is looked at from inside, see isolation.py.
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from .measure import Failed

MADE_AT_ONCE, THROWN_AWAY, CAPTURED = "made at once", "thrown away", "captured"
REFERENCE = "bwrap"
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
BUNDLE_BINDS = ("/etc", "/home", "/opt", "/root", "/srv", "/usr", "/var")


class Contender:
    """`call(command, project)` gives the argv; an argument UNIQUE is to be another name with every start."""

    def __init__(self, key, name, call, changes=MADE_AT_ONCE, note="", version="", is_ours=False):
        self.key, self.name, self.call, self.changes = key, name, call, changes
        self.note, self.version, self.is_ours = note, version, is_ours
        self.starts = 0

    def argv(self, command, project):
        """With a name of its own in place of UNIQUE. A program without a directory is looked for."""
        self.starts += 1
        own = f"bench-{os.getpid()}-{self.starts}"
        return [own if word == "UNIQUE" else str(word) for word in self.words(command, project)]

    def words(self, command, project):
        program, *rest = self.call(command, project)
        found = shutil.which(program)
        if not found:
            raise Failed(f"{program} is not installed")
        return [found, *rest]


class Absent(Exception):
    """Cannot take part, and why."""


def version_of(*argv):
    try:
        done = subprocess.run(argv, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.\d+[\w.~+-]*", done.stdout)
    return found[0] if found else ""


def need(program):
    if not shutil.which(program):
        raise Absent(f"{program} is not installed")


# ---- ours

def ours(airlock, key, name, *options, changes=CAPTURED, note=""):
    def call(command, project):
        return [airlock, "run", *options, "--", *command]
    return Contender(key, name, call, changes, note, version_of(airlock, "--version"), is_ours=True)


def all_ours(airlock):
    native, bubblewrap, direct = ("--backend", "native"), ("--backend", "bubblewrap"), ("--changes", "direct")
    return [
        ours(airlock, "airlock", "airlock", *native),
        ours(airlock, "airlock-direct", "airlock --changes direct", *native, *direct, changes=MADE_AT_ONCE),
        ours(airlock, "airlock-bwrap", "airlock --backend bubblewrap", *bubblewrap),
        ours(airlock, "airlock-bwrap-direct", "airlock --backend bubblewrap --changes direct", *bubblewrap, *direct,
             changes=MADE_AT_ONCE),
    ]


# ---- peers of Debian

def direct():
    return Contender("alone", "without a sandbox", lambda command, project: command, note="what it costs to start anything")


def floor(program):
    def call(command, project):
        return [str(program), project, *command]
    return Contender("floor", "the kernel alone", call, note="this isolation and nothing besides (floor.c): nobody can be much faster")


def bwrap():
    need("bwrap")

    def call(command, project):
        return ["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "--bind", project, project, "--dev", "/dev",
                "--proc", "/proc", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--", *command]
    return Contender(REFERENCE, "bwrap", call, note="the reference", version=version_of("bwrap", "--version"))


def bwrap_mount(mount):
    """One of airlock's mounts in bwrap's words. bwrap has no screens: what is behind one is bound."""
    kind, source, target = mount["kind"], mount["source"], mount["target"]
    if kind in ("tmpfs", "hide-dir", "rebuild"):
        return ["--tmpfs", target]
    if kind in ("dev", "proc", "dir"):
        return [f"--{kind}", target]
    if kind == "seal":
        return ["--remount-ro", target]
    if kind == "hide-file":
        return ["--ro-bind", "/dev/null", target]
    words = {"read": "--ro-bind-try", "write": "--bind", "layer": "--bind", "symlink": "--symlink"}
    return [words[kind], source or target, target] if kind in words else []


def bwrap_as_airlock(airlock):
    need("bwrap")

    def call(command, project):
        # The first run makes the directories that caches are kept in.
        subprocess.run([airlock, "run", "--changes", "direct", "--", "true"], cwd=project, check=True, **QUIET)
        done = subprocess.run([airlock, "explain", "--json", "--changes", "direct", "--", *command], cwd=project, stdout=subprocess.PIPE)
        if done.returncode:
            raise Failed("airlock explain could not tell")
        mounts = [word for mount in json.loads(done.stdout)["mounts"] for word in bwrap_mount(mount)]
        return ["bwrap", "--unshare-all", "--unshare-user", "--cap-drop", "ALL", *mounts, "--", *command]
    return Contender("bwrap-mounts", "bwrap with airlock's mounts", call, note="every mount that airlock makes")


def firejail():
    need("firejail")

    def call(command, project):
        return ["firejail", "--quiet", "--noprofile", "--net=none", "--private-dev", "--private-tmp", "--read-only=/",
                f"--read-write={project}", "--caps.drop=all", "--ipc-namespace", "--nonewprivs", "--seccomp", *command]
    return Contender("firejail", "firejail", call, version=version_of("firejail", "--version"),
                     note="setuid root instead of a user namespace")


def write_bundle(bundle, command, project):
    """What crun runs: this machine's directories, read-only, in a root of their own (it refuses / itself)."""
    subprocess.run(["crun", "spec", *([] if os.getuid() == 0 else ["--rootless"])], cwd=bundle, check=True, **QUIET)
    config = json.loads((bundle / "config.json").read_text())
    (bundle / "rootfs").mkdir()
    for name in ("bin", "lib", "lib32", "lib64", "sbin"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), bundle / "rootfs" / name)
    binds = [{"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]}
             for path in BUNDLE_BINDS if os.path.isdir(path)]
    own = [mount for mount in config["mounts"] if not mount["destination"].startswith("/sys")]
    own.append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"})
    own.append({"destination": str(project), "type": "bind", "source": str(project), "options": ["rbind", "rw"]})
    config.update(root={"path": "rootfs", "readonly": True}, mounts=binds + own)
    config["process"].update(terminal=False, args=[str(word) for word in command], cwd=str(project),
                             capabilities={kind: [] for kind in config["process"]["capabilities"]})
    (bundle / "config.json").write_text(json.dumps(config))


def crun():
    need("crun")
    place = Path(tempfile.mkdtemp(prefix="airlock-bench-crun."))  # /tmp is not among the directories that are bound
    bundles = {}

    def call(command, project):
        asked = (tuple(map(str, command)), str(project))
        if asked not in bundles:
            bundles[asked] = place / str(len(bundles))
            bundles[asked].mkdir()
            write_bundle(bundles[asked], command, project)
        return ["crun", "--cgroup-manager=disabled", "run", "--bundle", str(bundles[asked]), "UNIQUE"]
    return Contender("crun", "crun", call, version=version_of("crun", "--version"),
                     note="an OCI bundle, without the time podman would add")


def runsc():
    need("runsc")

    def call(command, project):
        return ["runsc", "--rootless", "--network=none", "--ignore-cgroups", "do", *command]
    return Contender("runsc", "gVisor (runsc do)", call, THROWN_AWAY, version=version_of("runsc", "--version"),
                     note="a kernel of its own in user space")


# ---- peers of npm

def codex(peers):
    """The program itself, without the launcher in JavaScript that npm puts before it."""
    found = glob.glob(f"{peers}/node_modules/@openai/codex-*/vendor/*/bin/codex")
    if not found:
        raise Absent("@openai/codex is not installed")

    def call(command, project):
        return [found[0], "sandbox", "-c", "sandbox_mode=workspace-write", "--", *command]
    return Contender("codex", "codex sandbox", call, version=version_of(found[0], "--version"),
                     note="workspace-write; the whole agent's program is started")


def srt(peers, settings):
    program = Path(peers, "node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js")
    node = glob.glob(f"{peers}/node_modules/node-linux-*/bin/node")
    if not program.exists() or not node:
        raise Absent("@anthropic-ai/sandbox-runtime is not installed")
    need("rg")
    need("socat")
    settings.write_text(json.dumps({"network": {"allowedDomains": [], "deniedDomains": []},
                                    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}))

    def call(command, project):
        return [node[0], program, "--settings", settings, "-c", shlex.join(map(str, command))]
    package = json.loads((program.parent.parent / "package.json").read_text())
    return Contender("srt", "srt", call, version=package["version"], note="sandbox-runtime; bwrap, and two proxies beside it")


def peer_makers(airlock, peers, home):
    """Name and maker of each; a maker says Absent when it cannot be had."""
    return {
        "bwrap": bwrap,
        "bwrap with airlock's mounts": lambda: bwrap_as_airlock(airlock),
        "firejail": firejail,
        "crun": crun,
        "gVisor (runsc do)": runsc,
        "codex sandbox": lambda: codex(peers),
        "srt": lambda: srt(peers, Path(home, "srt-settings.json")),
    }


NEVER_HERE = {
    "try": "in neither apt nor npm",
    "nsjail": "not in Debian 12",
    "minijail": "not in Debian 12",
}
