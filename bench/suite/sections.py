# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is measured. Each section takes the bench (who, where, how long) and puts its measures into the results."""
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from . import worlds
from .calls import Server
from .contenders import REFERENCE
from .measure import Failed, Series, Thing, every_for, interleave, once, run
from .served import Served

ALONE = "alone"
WORKERS = (1, 2, 8)
SIZES = ((100, 10, ""), (10_000, 10, ""), (100_000, 10, ""), (10_000, 1000, ""), (100_000, 1000, ""), (10_000, 1000, "truncate"))
QUICK_SIZES = ((100, 10, ""), (10_000, 10, ""), (10_000, 1000, ""), (10_000, 1000, "truncate"))
CALLS_AT_ONCE = 8
WARM_UP_MS = 500  # who takes longer is not made faster by warm caches
SLEEP_SECONDS, START_SECONDS, SETTLE_SECONDS = "2", 1.2, 0.2


def things_for(command, project, contenders, reference, fast, before=None):
    """One thing per contender that manages the command here; those that take more than `fast` times what the reference takes
    come the rarer, the slower they are."""
    found, failures, took = {}, {}, {}
    for contender in contenders:
        thing = Thing(lambda contender=contender: run(contender.argv(command, project)), before)
        try:
            took[contender.key] = once(thing)
            if took[contender.key] < WARM_UP_MS:
                took[contender.key] = once(thing)
            found[contender.key] = thing
        except (Failed, OSError) as error:
            failures[contender.key] = str(error)
    limit = fast * took.get(reference, min(took.values(), default=1.0))
    return {key: thing._replace(every=every_for(took[key], limit)) for key, thing in found.items()}, failures


def measure(bench, section, things, failures, rounds, seconds, reference, column=""):
    series, more = interleave(things, bench.rounds(rounds), bench.seconds(seconds), is_warm=True)
    bench.results.add_all(section, column, series, reference)
    bench.results.note(section, {**failures, **more})
    return series


# ---- start-up, rate, memory: a sandbox around next to nothing

def start_up(bench):
    """/bin/true in a new sandbox, from a new process (cold) and asked of a server that made it in advance (warm)."""
    project = bench.project("small")
    os.chdir(project)
    things, failures = things_for(["/bin/true"], project, bench.contenders, REFERENCE, 5)
    server = Server(bench.airlock, project)
    try:
        server.call()
        things["airlock-warm"] = Thing(server.call_warm)
        measure(bench, "start-up", things, failures, 200, 60, REFERENCE)
    finally:
        server.end()


def rate_of(bench, contender, project, workers, seconds):
    argv = [str(bench.tool("rate")), str(workers), str(seconds), *map(str, contender.words(["/bin/true"], project))]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed("one of them failed" if done.returncode == 1 else f"rate ended with {done.returncode}")
    return float(done.stdout)


def rate(bench):
    """Sandboxes per second: /bin/true again and again by 1, 2 and 8 workers."""
    project = bench.project("small")
    os.chdir(project)
    quick, failures = things_for(["/bin/true"], project, bench.contenders, REFERENCE, 5)
    for workers in WORKERS:
        things = {}
        for contender in (one for one in bench.contenders if one.key in quick):
            is_slow = quick[contender.key].every > 1
            things[contender.key] = Thing(
                lambda contender=contender, seconds=1.2 if is_slow else 0.5, workers=workers:
                rate_of(bench, contender, project, workers, bench.seconds(seconds, least=0.2)), every=5 if is_slow else 1)
        series, more = interleave(things, bench.rounds(4, least=1), is_warm=True)
        bench.results.add_all("rate", str(workers), series, REFERENCE, "per second")
        bench.results.note("rate", {**failures, **{key: f"{workers} at once in one project: {why}" for key, why in more.items()}})


def own_megabytes(tree, payload):
    """Of the processes that are not the command itself; None when one may not be looked into."""
    own = [kilobytes for name, kilobytes in tree if name != payload]
    return None if None in own else sum(own) / 1024


def settled_tree(onlooker, pid, payload):
    """As soon as the command is there, or after the time that those get whose command is no process of this kernel."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and payload not in [name for name, _ in onlooker.tree(pid)]:
        time.sleep(0.05)
    time.sleep(SETTLE_SECONDS)
    return onlooker.tree(pid)


def memory(bench):
    """While a command sleeps, the memory of everything around it: sum of PSS, megabytes."""
    project = bench.project("small")
    os.chdir(project)
    command = ["/bin/sleep", SLEEP_SECONDS]
    for contender in bench.contenders:
        if contender.key == ALONE:
            continue
        try:
            process = subprocess.Popen(contender.argv(command, project), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except Failed as error:
            bench.results.note("memory", {contender.key: str(error)})
            continue
        megabytes = own_megabytes(settled_tree(bench.onlooker, process.pid, "sleep"), "sleep")
        if process.wait():
            bench.results.note("memory", {contender.key: f"ended with {process.returncode}"})
        elif megabytes is None:
            bench.results.note("memory", {contender.key: "only root may look into its processes"})
        else:
            bench.results.add("memory", "", contender.key, Series({0: megabytes}), "MB")


# ---- the cycle: a command writes files, and we want to know which

def cycle_things(bench, project, changes, manner):
    """The command alone, ours, and what else tells what it changed."""
    rewrite = [str(bench.tool("rewrite")), str(changes), *filter(None, [manner])]
    ours = {one.key: one for one in bench.contenders if one.key in ("airlock", "airlock-direct", "airlock-bwrap")}
    argvs = {ALONE: rewrite, **{key: one.argv(rewrite, project) for key, one in ours.items()}}
    argvs["airlock run --hold"] = [str(bench.airlock), "run", "--backend", "native", "--hold", "--", *rewrite]
    things = {key: Thing(lambda argv=argv: in_place(project, argv)) for key, argv in argvs.items()}
    status = ["/usr/bin/git", f"--git-dir={bench.git_dir(project)}", f"--work-tree={project}", "status", "--porcelain"]
    things["find -newer"] = Thing(lambda: in_place(project, rewrite, worlds.NEWER), every=3)
    things["git status"] = Thing(lambda: in_place(project, rewrite, status), every=3)
    if tried := shutil.which("try"):
        things["try -y"] = Thing(lambda: in_place(project, [tried, "-y", " ".join(rewrite)]), every=3)
    return things


def in_place(project, *argvs):
    os.chdir(project)
    for argv in argvs:
        run(argv)


def cycle(bench):
    """The command alone beside the whole cycle: sandbox, layer, scan, gate, journal, apply, record, report. All sizes take
    turns with each other too, so that a large project can be held against a small one."""
    sizes = QUICK_SIZES if bench.is_quick else SIZES
    columns = {f"{files}/{changes} {manner}".strip(): (files, changes, manner) for files, changes, manner in sizes}
    projects = {files: bench.project(f"files-{files}", lambda path, files=files: worlds.make_files(path, files))
                for files in sorted({files for files, _, _ in sizes})}
    for project in projects.values():
        worlds.make_git_dir(bench.git_dir(project), project)
    things = {(column, key): thing for column, (files, changes, manner) in columns.items()
              for key, thing in cycle_things(bench, projects[files], changes, manner).items()}
    series, failures = interleave(things, bench.rounds(40), bench.seconds(80))
    for column in columns:
        bench.results.add_all("cycle", column, {key: values for (at, key), values in series.items() if at == column}, ALONE)
    small = series.get(("100/10", "airlock"))
    for column, (files, changes, _) in columns.items():
        if changes == 10 and files > 100 and small and (column, "airlock") in series:
            bench.results.add("scale", column, "airlock", series[column, "airlock"], "ms", small, "100/10")
    bench.results.note("cycle", {f"{key} ({column})": why for (column, key), why in failures.items()})
    for project in projects.values():
        shutil.rmtree(project)


# ---- what runs inside

def build(bench):
    """make -j2 of 50 C files, from nothing, beside the same without a sandbox."""
    project = bench.project("build", lambda path: worlds.make_c_files(path, 10 if bench.is_quick else worlds.C_FILES))
    os.chdir(project)

    def clean():
        shutil.rmtree(project / "out", ignore_errors=True)
    command = ["/usr/bin/make", "-s", "-j2"]
    chosen = [one for one in bench.contenders if one.key not in ("floor", "bwrap-mounts", "airlock-bwrap-direct")]
    things, failures = things_for(command, project, chosen, ALONE, 1.6, clean)
    for key in things:
        if key not in (ALONE, REFERENCE) and not key.startswith("airlock"):
            things[key] = things[key]._replace(every=max(4, things[key].every))
    measure(bench, "build", things, failures, 9, 75, ALONE)


def grep(bench):
    """grep -r over 10,000 files, beside the same without a sandbox."""
    files = 10_000 if not bench.is_quick else 1_000
    project = bench.project("grep", lambda path: worlds.make_files(path, files))
    os.chdir(project)
    command = ["/bin/grep", "-rlF", "--include=f*", "last line", "."]
    things, failures = things_for(command, project, [one for one in bench.contenders if one.key != "floor"], ALONE, 4)
    measure(bench, "grep", things, failures, 40, 40, ALONE)


# ---- many files: what the command itself takes, without the start of the sandbox and what is done with the changes

OVERLAY = "the kernel's overlay"
MOUNT_OVERLAY = ('mkdir "$1" "$1/upper" "$1/work" "$1/view" && '
                 'mount -t overlay overlay -o "userxattr,volatile,lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/view" && '
                 'cd "$1/view" && exec /bin/sh -c "$3"')


def inside_things(bench, project, line):
    """On a copy of the project, through an overlay and nothing else, and in our sandbox, which throws the changes away."""
    timed, copy, layer = worlds.TIMED.format(line), bench.home / "inside-copy", bench.home / "inside-layer"
    shell = ["/bin/sh", "-c", timed]

    def fresh_copy():
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", str(project), str(copy)], check=True)

    def no_layer():
        subprocess.run(["chmod", "-R", "u+rwx", str(layer)], check=False, **worlds.QUIET)
        shutil.rmtree(layer, ignore_errors=True)

    def ours(*options):
        return [str(bench.airlock), "run", "--backend", "native", "--changes", "discard", *options, "--", *shell]
    overlay = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", MOUNT_OVERLAY, "sh", str(layer), str(project), timed]
    return {
        ALONE: Thing(lambda: told_by(["/bin/sh", "-c", f"cd {copy} && {timed}"]), fresh_copy),
        OVERLAY: Thing(lambda: told_by(overlay), no_layer),
        "airlock": Thing(lambda: told_by(ours("--no-explain-denials"))),
        "airlock --explain-denials": Thing(lambda: told_by(ours("--explain-denials"))),
    }


def inside(bench):
    """Commands that make, change or read many files, beside the same without a sandbox; and the part of it that the kernel's overlay
    takes alone."""
    files, c_files = (1_000, 10) if bench.is_quick else (5_000, worlds.C_FILES)
    project = bench.project("inside", lambda path: worlds.make_inside(path, files, c_files))
    os.chdir(project)
    for column, line in worlds.INSIDE.items():
        series, failures = interleave(inside_things(bench, project, line), bench.rounds(9), bench.seconds(8))
        bench.results.add_all("inside", column, series, ALONE)
        bench.results.note("inside", failures)


# ---- a server's calls, the file API, the scan

def call(bench):
    """A tool call in one running server, beside the same from the command line less the program's own start."""
    project = bench.project("small")
    os.chdir(project)
    airlock = str(bench.airlock)
    server, cold = Server(airlock, project), Server(airlock, project, "--config", str(bench.cold_config()))

    def handshake():
        Server(airlock, project).end()
    things = {
        "airlock --version": Thing(lambda: run([airlock, "--version"])),
        "airlock run -c true": Thing(lambda: run([airlock, "run", "-c", "true"])),
        "airlock mcp, handshake, end": Thing(handshake),
        "run_command true": Thing(cold.call),
        "run_command true, warm": Thing(server.call_warm),
        "run_command true, 8 at once": Thing(lambda: cold.call(CALLS_AT_ONCE)),
    }
    try:
        series, failures = interleave(things, bench.rounds(100), bench.seconds(25))
        bench.results.note("call", failures)
        if "airlock run -c true" in series and "airlock --version" in series:
            series["run less start"] = series["airlock run -c true"].minus(series["airlock --version"])
        bench.results.add_all("call", "", series, "run less start")
        megabytes = own_megabytes([row for row in bench.onlooker.tree(server.process.pid)], None)
        if megabytes is not None:
            bench.results.add("memory", "", "airlock mcp", Series({0: megabytes}), "MB")
    finally:
        server.end()
        cold.end()


def files(bench):
    """The file API in one process, beside running a program for the same: how many times faster."""
    workspace = bench.project("workspace", worlds.make_lines)
    os.chdir(workspace)
    pairs = worlds.file_pairs(str(bench.airlock), bench.binding.Sandbox(workspace=workspace), str(workspace))
    things = {}
    for name, ours, program in pairs:
        things[name] = Thing(ours)
        things[name, "program"] = Thing(lambda program=program: run(program))
    series, failures = interleave(things, bench.rounds(40), bench.seconds(25))
    bench.results.note("files", {str(name): why for name, why in failures.items()})
    for name, _, _ in pairs:
        if name in series and (name, "program") in series:
            bench.results.add("files", "", name, series[name, "program"], "ms of the program", series[name], "the file API")


def scan(bench):
    """`airlock project scan` of 10,000 files without a state directory, and again with, beside find -ls."""
    project = bench.project("scan", lambda path: worlds.make_files(path, 10_000 if not bench.is_quick else 2_000))
    os.chdir(project)
    state = bench.home / "scan-state"
    find, ours = ["/usr/bin/find", str(project), "-ls"], [str(bench.airlock), "project", "scan", str(project)]
    series = {"find -ls": Series(), "first scan": Series(), "scan again": Series()}
    os.environ["XDG_STATE_HOME"] = str(state)
    try:
        for number in range(bench.rounds(15)):
            shutil.rmtree(state, ignore_errors=True)
            series["find -ls"][number] = once(Thing(lambda: run(find)))
            series["first scan"][number] = once(Thing(lambda: run(ours)))
            series["scan again"][number] = once(Thing(lambda: run(ours)))
    finally:
        del os.environ["XDG_STATE_HOME"]
    bench.results.add_all("scan", "", series, "find -ls")


# ---- the network

BYTES, SHORT = 1 << 30, 1000
CODEX_CONFIG = 'default_permissions = "net"\n[features]\nnetwork_proxy = true\n[permissions.net]\nextends = ":workspace"\n' \
               '[permissions.net.network]\nenabled = true\nallow_local_binding = true\n[permissions.net.network.domains]\n"{}" = "allow"\n'
BEHIND_PROXY = 'p=${HTTP_PROXY#http://}; case $p in *@*) s=:$(printf %s "${p%@*}" | base64 -w0); p=${p##*@};; esac; p=${p%/}; ' \
            'exec "$0" "$@" "127.0.0.1:${p##*:}$s"'


def own_address():
    """One of this machine that is not the loopback's: a sandbox has a loopback of its own. None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            return probe.getsockname()[0]
        except OSError:
            return None


def told_by(argv):
    """The milliseconds that a program prints."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:200])
    return float(done.stdout.split()[-1])


def network_things(bench, project, words, address):
    """The same client alone, through our gate, and through the proxies of others, which it must be told of."""
    client = str(bench.tool("transfer"))
    things = {ALONE: Thing(lambda: told_by([client, *words])),
              "airlock": Thing(lambda: told_by([str(bench.airlock), "run", "--config", str(bench.hosts_config(address)), "--", client, *words]))}
    behind = ["/bin/sh", "-c", BEHIND_PROXY, client, *words]
    for contender in bench.contenders:
        if contender.key == "srt":
            settings = bench.home / "srt-hosts.json"
            settings.write_text(json.dumps({"network": {"allowedDomains": [address], "deniedDomains": []},
                                            "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}))
            argv = contender.argv(behind, project)
            argv[argv.index("--settings") + 1] = str(settings)
            things["srt"] = Thing(lambda argv=argv: told_by(argv), every=4)
        elif contender.key == "codex":
            place = bench.home / "codex-hosts"
            place.mkdir(exist_ok=True)
            (place / "config.toml").write_text(CODEX_CONFIG.format(address))
            argv = ["/usr/bin/env", f"CODEX_HOME={place}", contender.argv(behind, project)[0], "sandbox", "-P", "net", "--", *behind]
            things["codex"] = Thing(lambda argv=argv: told_by(argv), every=2)
    return things


def network(bench):
    """A gigabyte, and 1,000 short connections, through the gate, beside the same directly, both to a server of this machine; and
    the start of a command that may reach one host, beside one without network. The time of start is not part of the first two."""
    project = bench.project("small")
    os.chdir(project)
    address = own_address()
    off, hosts = [str(bench.airlock), "run", "--", "/bin/true"], \
        [str(bench.airlock), "run", "--config", str(bench.hosts_config(address or "192.0.2.1")), "--", "/bin/true"]
    series, failures = interleave({"airlock": Thing(lambda: run(off)), "airlock with hosts": Thing(lambda: run(hosts))},
                                  bench.rounds(200), bench.seconds(25))
    bench.results.add_all("network", "start-up", series, "airlock")
    bench.results.note("network", failures)
    if not address:
        bench.results.note("network", {"airlock": "this machine has no address but the loopback's"})
        return
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([bench.tool("transfer"), "serve", str(port)])
    try:
        time.sleep(0.2)
        for column, words, rounds in ("1 GB", ["get", address, str(port), str(BYTES if not bench.is_quick else BYTES >> 4)], 15), \
                ("1,000 connections", ["many", address, str(port), str(SHORT if not bench.is_quick else SHORT // 10)], 25):
            series, failures = interleave(network_things(bench, project, words, address), bench.rounds(rounds), bench.seconds(60))
            bench.results.add_all("network", column, series, ALONE)
            bench.results.note("network", {f"{key} ({column})": why for key, why in failures.items()})
    finally:
        server.kill()
        server.wait()


# ---- sessions

DEEP = 50


def sessions(bench):
    """A fork of a session that holds much beside one that holds little; a command many steps deep beside one after the first step; and
    a command of a session beside bwrap."""
    files, many = (10_000, 1000) if bench.is_quick else (100_000, 10_000)
    project = bench.project(f"session-files-{files}", lambda path: worlds.make_files(path, files))
    os.chdir(project)

    def argv(name, *command):
        return [str(bench.airlock), "run", "--session", name, "--hold", "--", *command]

    def fork(name):
        made = iter(range(1 << 30))
        return Thing(lambda: run([str(bench.airlock), "session", "fork", name, f"{name}-{next(made)}"]))
    for name, count in ("few", 10), ("many", many):
        run(argv(name, str(bench.tool("rewrite")), str(count)))
    series, failures = interleave({"10 held": fork("few"), "many held": fork("many")}, bench.rounds(60), bench.seconds(15))
    bench.results.add_all("sessions", "fork", series, "10 held")
    bench.results.note("sessions", failures)
    for step in range(DEEP):
        run(argv("deep", "/bin/sh", "-c", f"echo {step} >step-{step}"))
        if step == 0:
            run([str(bench.airlock), "session", "fork", "deep", "first"])
    things = {"first step": Thing(lambda: run(argv("first", "/bin/true"))), "50 steps": Thing(lambda: run(argv("deep", "/bin/true")))}
    series, failures = interleave(things, bench.rounds(200), bench.seconds(25))
    bench.results.add_all("sessions", "depth", series, "first step")
    bench.results.note("sessions", failures)
    found, failures = things_for(["/bin/true"], project, [one for one in bench.contenders if one.key == REFERENCE], REFERENCE, 5)
    things = {**found, "airlock --session": Thing(lambda: run(argv("first", "/bin/true")))}
    measure(bench, "sessions", things, failures, 200, 25, REFERENCE, "command")
    shutil.rmtree(project)


# ---- does it stay linear?

MAKE_NEW = "import os\nos.mkdir('new')\nfor i in range({}):\n    i % 100 or os.mkdir(f'new/{{i // 100}}')\n" \
           "    os.close(os.open(f'new/{{i // 100}}/{{i}}', os.O_CREAT | os.O_WRONLY))\n"


def after_command(bench, count):
    """What airlock does once a command has made so many files, by scanning and recording them: ms for each thousand."""
    argv = [str(bench.airlock), "run", "--changes", "discard", "--timeout", "none", "--", "/usr/bin/python3", "-c", MAKE_NEW.format(count)]

    def look():
        start = time.perf_counter()
        run(argv)
        whole = (time.perf_counter() - start) * 1000
        shown = subprocess.run([str(bench.airlock), "show", "last", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return (whole - json.loads(shown.stdout)["duration_ms"]) / count * 1000
    return Thing(look)


def growth_of_changes(bench):
    counts = (1_000, 10_000) if bench.is_quick else (1_000, 10_000, 100_000)
    os.chdir(bench.project("small"))
    series, failures = interleave({f"{count:,} changes": after_command(bench, count) for count in counts}, bench.rounds(5), bench.seconds(60))
    bench.results.add_all("growth", "after the command", series, "1,000 changes", "ms for 1,000 changes")
    bench.results.note("growth", failures)


def growth_of_depth(bench):
    """A command in a session after so many steps."""
    depths = (1, 10) if bench.is_quick else (1, 10, 50, 100)
    os.chdir(bench.project("small"))

    def argv(name, *command):
        return [str(bench.airlock), "run", "--session", name, "--hold", "--", *command]
    for step in range(max(depths)):
        run(argv("grows", "/bin/sh", "-c", f"mkdir -p deep; echo {step} >deep/{step}"))
        if step + 1 in depths:
            run([str(bench.airlock), "session", "fork", "grows", f"deep-{step + 1}"])
    things = {f"{depth} step{'s' * (depth > 1)}": Thing(lambda depth=depth: run(argv(f"deep-{depth}", "/bin/true"))) for depth in depths}
    series, failures = interleave(things, bench.rounds(60), bench.seconds(20))
    bench.results.add_all("growth", "depth", series, "1 step")
    bench.results.note("growth", failures)


def growth_of_project(bench):
    """The whole cycle with ten changes in projects of so many files."""
    sizes = (100, 10_000) if bench.is_quick else (100, 10_000, 1_000_000)
    projects = {size: bench.project(f"grows-{size}", lambda path, size=size: worlds.make_files(path, size)) for size in sizes}
    argv = [str(bench.airlock), "run", "--", str(bench.tool("rewrite")), "10"]
    things = {f"{size:,} files": Thing(lambda project=project: in_place(project, argv)) for size, project in projects.items()}
    series, failures = interleave(things, bench.rounds(60), bench.seconds(20))
    bench.results.add_all("growth", "project", series, "100 files")
    bench.results.note("growth", failures)
    for project in projects.values():
        shutil.rmtree(project)


def growth_of_home(bench):
    """A start with so many entries in the home. What is secret there is hidden by building the home anew, entry by entry."""
    os.chdir(bench.project("small"))
    things = {}
    for entries in (0, 20, 120):
        home = bench.project(f"home-{entries}", lambda path, entries=entries: worlds.make_home(path, entries))
        argv = ["/usr/bin/env", f"HOME={home}", str(bench.airlock), "run", "--", "/bin/true"]
        things[f"{entries} entries" if entries else "an empty home"] = Thing(lambda argv=argv: run(argv))
    series, failures = interleave(things, bench.rounds(100), bench.seconds(20), is_warm=True)
    bench.results.add_all("growth", "home", series, "an empty home")
    bench.results.note("growth", failures)


def growth(bench):
    """Whether the cost stays in proportion: of the scan to the changes, of a command to neither the steps before it nor the project."""
    growth_of_changes(bench)
    growth_of_depth(bench)
    growth_of_project(bench)
    growth_of_home(bench)


RUNS_IN_A_ROW, SLICE = 20_000, 5.0


def sustained(bench):
    """Captured runs by 8 workers, beside bwrap's: as it begins, and after 20,000 runs in a row. On the disk as it is then."""
    project = bench.project("small")
    os.chdir(project)
    most, slice_seconds = (500, 1.0) if bench.is_quick else (RUNS_IN_A_ROW, SLICE)
    both = [one for one in bench.contenders if one.key in ("airlock", REFERENCE)]
    done, began = 0.0, None
    for column in "begin", "end":
        things = {one.key: Thing(lambda one=one: rate_of(bench, one, project, 8, bench.seconds(1.0, least=0.3))) for one in both}
        series, failures = interleave(things, bench.rounds(8), is_warm=True)
        bench.results.add_all("sustained", column, series, REFERENCE, "per second")
        bench.results.note("sustained", failures)
        ours = series.get("airlock")
        if not ours:
            return
        if began:
            bench.results.add("sustained", "end beside begin", "airlock", ours, "per second", began, "as it began")
            return
        began = ours
        while done < most:
            done += slice_seconds * rate_of(bench, next(one for one in both if one.key == "airlock"), project, 8, slice_seconds)


# ---- the server

CLIENTS = 8


def serve(bench):
    """Commands per second of `airlock serve` with 8 clients, each with a sandbox of its own, beside plain bwrap with 8 workers; and how
    much longer a slow request takes than most."""
    project = bench.project("small")
    os.chdir(project)
    seconds, tails, slices = bench.seconds(1.0, least=0.3), Series(), iter(range(1 << 30))
    plain = next((one for one in bench.contenders if one.key == REFERENCE), None)
    served = Served(bench, CLIENTS)

    def load():
        rate, median, p99 = served.load(seconds)
        tails[next(slices)] = p99 / median
        return rate
    try:
        things = {"airlock serve": Thing(load)}
        if plain:
            things[REFERENCE] = Thing(lambda: rate_of(bench, plain, project, CLIENTS, seconds))
        series, failures = interleave(things, bench.rounds(20), is_warm=True)
    finally:
        served.end()
    bench.results.add_all("serve", str(CLIENTS), series, REFERENCE, "per second")
    bench.results.note("serve", failures)
    if tails:
        bench.results.add("serve", "p99", "airlock serve", tails, "× the median")


SECTIONS = {"start-up": start_up, "cycle": cycle, "build": build, "grep": grep, "inside": inside, "memory": memory, "rate": rate,
            "call": call, "files": files, "scan": scan, "network": network, "sessions": sessions, "growth": growth,
            "sustained": sustained, "serve": serve}
