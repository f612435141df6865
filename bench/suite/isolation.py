# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a contender does about isolation, looked at from inside instead of believed."""
import os
import subprocess
from pathlib import Path

from .contenders import CAPTURED, MADE_AT_ONCE, THROWN_AWAY

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
ASKED = NAMESPACES[:-1]
SECRET, TOKEN = "not for the sandbox", "token-not-for-the-sandbox"
SECONDS = 60
HIDES = {"~/.ssh": "hides ~/.ssh", "tokens": "hides tokens in the environment", "processes": "hides other processes"}

# $1 project, $2 home, $3 a process outside
PROBE = r"""
for name in user mnt pid net ipc uts cgroup; do echo "$name=$(readlink /proc/self/ns/$name 2>/dev/null)"; done
sed -n 's/^\(Seccomp\|CapEff\|NoNewPrivs\):[[:space:]]*/\1=/p' /proc/self/status 2>/dev/null
echo "kernel=$(uname -r)"
(echo inside >"$1/probe-project") 2>/dev/null
(echo inside >"$2/probe-home") 2>/dev/null
echo "secret=$(cat "$2/.ssh/id_ed25519" 2>/dev/null)"
echo "token=$BENCH_API_TOKEN"
kill -0 "$3" 2>/dev/null && echo "outsider=seen"
true
"""


def prepare(home):
    """What a sandbox should not show."""
    Path(home, ".ssh").mkdir(exist_ok=True)
    Path(home, ".ssh/id_ed25519").write_text(SECRET + "\n")


def look(contender, project, home, outsider):
    """The facts, by name. Raises Failed, OSError or CalledProcessError when it does not run here."""
    for path in (project / "probe-project", home / "probe-home"):
        path.unlink(missing_ok=True)
    argv = contender.argv(["/bin/sh", "-c", PROBE, "probe", str(project), str(home), str(outsider)], project)
    done = subprocess.run(argv, cwd=project, env={**os.environ, "BENCH_API_TOKEN": TOKEN}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=SECONDS)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, argv, done.stdout, done.stderr)
    outside = {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    return facts_of(done.stdout, {"kernel": os.uname().release, **outside},
                    home_written=(home / "probe-home").exists(), project_written=(project / "probe-project").exists())


def facts_of(output, outside, home_written, project_written):
    """From what the probe printed. `namespaces` is None for a kernel of its own, where they mean nothing."""
    told = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    is_ours = told.get("kernel") == outside["kernel"]
    return {
        "namespaces": [name for name in NAMESPACES if told.get(name) and told[name] != outside[name]] if is_ours else None,
        "filters system calls": told.get("Seccomp") == "2",
        "drops capabilities": told.get("CapEff", "").strip("0") == "",
        "no new privileges": told.get("NoNewPrivs") == "1",
        "home read-only": not home_written,
        "project written": project_written,
        "hides ~/.ssh": told.get("secret") != SECRET,
        "hides tokens in the environment": told.get("token") != TOKEN,
        "hides other processes": "outsider" not in told,
    }


def lacks(facts, changes):
    """What it does not do, as the end of that sentence."""
    found = {MADE_AT_ONCE: ["capture, report or undo changes"], THROWN_AWAY: ["keep changes"], CAPTURED: []}[changes].copy()
    if facts["namespaces"] is not None:
        missing = [name for name in ASKED if name not in facts["namespaces"]]
        if missing:
            found.append(f"make {' or '.join(missing)} namespaces" if len(missing) > 1 else f"make a {missing[0]} namespace")
        if not facts["filters system calls"]:
            found.append("filter system calls")
        if not facts["drops capabilities"]:
            found.append("drop capabilities")
    if not facts["home read-only"]:
        found.append("protect the home")
    shown = [what for what, name in HIDES.items() if not facts[name]]
    return found + ([f"hide {' and '.join(shown)}"] if shown else [])
