#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""airlock under a real Slurm: commands with srun and sbatch, then servers by contrib/slurm behind HAProxy. Prints TAP.

    slurm.py BUILD [WORD...]       only tests whose names have one of the words

Needs root; the cluster (munge, slurmctld, two slurmd) runs in a part of this machine of its own (own_machine.py), with and
without control groups, for root and for an ordinary user.
"""
import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent / "tools")]
import own_machine  # noqa: E402
from cluster import NODES, Cluster, lacks_cgroups, remove_cgroups, wait_until  # noqa: E402

CONTRIB = TESTS.parent / "contrib"
COMMANDS, FLEETS, WITH_CGROUPS = [], [], set()
EAT = "head -c {} /dev/zero | tail -c {}"  # tail keeps all of it in memory


def command(function):
    COMMANDS.append(function)
    return function


def fleet(function):
    FLEETS.append(function)
    return function


def with_cgroups(function):
    """Slurm does this only with control groups."""
    WITH_CGROUPS.add(function)
    return function


class Place:
    """A home and a project of this user, and airlock in it."""

    count = 0

    def __init__(self, cluster, user, airlock):
        Place.count += 1
        self.number = 7000 + Place.count
        self.cluster, self.user, self.airlock = cluster, user, airlock
        self.home = airlock.parent.parent / f"place{Place.count}"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        for path in (self.home, self.project):
            os.chown(path, user.uid, user.gid)

    def sh(self, *words, **options):
        return self.cluster.run(self.user, self.project, *words, **options)

    def ok(self, *words, **options):
        status, out, err = self.sh(*words, **options)
        assert status == 0, (words, status, out, err)
        return out

    def srun(self, *words, **options):
        return self.sh("srun", "--quiet", *words, **options)

    def changes(self, run="last"):
        return [each["path"] for each in json.loads(self.ok(self.airlock, "changes", run, "--json"))["files"]]


def processes(word):
    """The processes that have this word in their command line."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if word in words:
            found.append(int(file.parent.name))
    return found


# ── Commands ──

@command
def a_command_of_srun(p):
    status, out, err = p.srun(p.airlock, "run", "--hold", "-c", "echo $SLURMD_NODENAME; echo new >file; exit 7")
    assert status == 7 and out.strip() in NODES and not (p.project / "file").exists(), (status, out, err)
    assert p.changes() == ["file"]
    p.ok("srun", "-w", "two", p.airlock, "apply", "last")  # another node, the same home
    assert (p.project / "file").read_text() == "new\n"


@command
def one_on_each_node_at_once(p):
    status, out, err = p.srun("-N2", p.airlock, "run", "-c", "echo $SLURMD_NODENAME >$SLURM_PROCID")
    assert status == 0, (out, err)
    assert {(p.project / name).read_text().strip() for name in "01"} == set(NODES)


@command
def a_job_of_sbatch(p):
    script = p.project / "job"
    script.write_text(f"#!/bin/sh\n{p.airlock} run --session work -c 'echo 1 >a'\nsrun {p.airlock} run --session work -c 'cat a >b'\n"
                      f"{p.airlock} run --network -c 'echo never >c'\n")
    p.sh("sbatch", "--wait", "--output", "out", script)
    said = (p.project / "out").read_text()
    assert (p.project / "b").read_text() == "1\n" and not (p.project / "c").exists(), said
    assert "network" in said, said  # nobody is there to be asked


@command
def memory_of_the_sandbox(p):
    status, out, err = p.srun("--mem=900", p.airlock, "run", "--json", "--memory", "100M", "-c", EAT.format("300M", "250M") + " >/dev/null")
    assert status != 0 and json.loads(out)["usage"]["limit_hit"] == "memory", (status, out, err)
    status, out, err = p.srun("--mem=900", p.airlock, "run", "-c", EAT.format("300M", "250M") + " | wc -c")
    assert status == 0 and out.strip() == str(250 << 20), (status, out, err)


@command
@with_cgroups
def memory_of_the_allocation(p):
    """Slurm's own limit holds for what is in a sandbox."""
    status, out, err = p.srun("--mem=200", p.airlock, "run", "--hold", "-c", "echo before >f; " + EAT.format("600M", "500M") + " >/dev/null")
    assert status != 0 and ("oom-kill" in err or "Out Of Memory" in err), (status, out, err)
    assert p.changes() == ["f"]


def cancelled(p, *how):
    sleeps = [f"{p.number}.77{i}" for i in range(3)]  # seconds: each is the mark of a process
    line = "echo kept >kept; (setsid sleep {} &); sleep {} & trap '' TERM; echo ready; while :; do sleep {}; done".format(*sleeps)
    process = p.cluster.popen(p.user, p.project, "srun", "--job-name", "victim", p.airlock, "run", "--timeout", "none", "-c", line)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    wait_until(lambda: all(map(processes, sleeps)), 10, "the tree is there")
    p.cluster.cancel(*how, "--name", "victim")
    process.communicate(timeout=60)
    p.cluster.wait_no_jobs()
    wait_until(lambda: not any(map(processes, sleeps)), 10, "the tree has ended")
    p.sh(p.airlock, "recover")
    assert p.changes() == ["kept"] and not (p.project / "kept").exists()
    p.ok(p.airlock, "apply", "last")
    assert (p.project / "kept").read_text() == "kept\n"


@command
def scancel_ends_the_tree_and_keeps_the_changes(p):
    cancelled(p)


@command
def scancel_with_sigkill(p):
    cancelled(p, "--full", "--signal", "KILL")


@command
def processes_of_a_session_end_with_the_step(p):
    """Only control groups let Slurm find a process that left its parent; without them the session keeps it until it ends."""
    mark = f"{p.number}.5"
    status, out, err = p.srun(p.airlock, "run", "--session", "s", "-c", f"echo x >x; sleep {mark} >/dev/null 2>&1 & echo ready")
    assert status == 0 and out == "ready\n", (status, out, err)
    if p.cluster.has_cgroups:
        wait_until(lambda: not processes(mark), 10, "the background process has ended")
    else:
        assert processes(mark)
    status, out, err = p.srun("-w", "two", p.airlock, "run", "--session", "s", "-c", "cat x")
    assert status == 0 and out == "x\n", (status, out, err)
    p.ok(p.airlock, "session", "end", "s")
    wait_until(lambda: not processes(mark), 10, "the background process has ended")


# ── Servers ──

class Fleet:
    """The servers of contrib/slurm's job, behind HAProxy."""

    PORT = 8080

    def __init__(self, place, elements="1-2", *options, **variables):
        self.place, self.cluster = place, place.cluster
        self.shared = place.home / "shared"
        place.ok("mkdir", "-p", self.shared / "servers")
        self.token = place.ok(place.airlock, "serve", "--new-token", "t", "--token-file", self.shared / "tokens.toml").strip()
        export = ",".join(["ALL", f"AIRLOCK={place.airlock}", *(f"{name}={value}" for name, value in variables.items())])
        self.job = place.ok("sbatch", "--parsable", f"--array={elements}", "--mem=1128", "--cpus-per-task=1", f"--export={export}", *options,
                            "--output", place.home / "log.%a", CONTRIB / "slurm/airlock-serve.sbatch", self.shared).strip()
        self.proxy = None

    def __enter__(self):
        wait_until(lambda: len(self.servers()) == len(self.cluster.jobs()) > 0, 30, f"the servers are listed\n{self.logs()}")
        log = (self.place.home / "proxy").open("w")
        self.proxy = subprocess.Popen([CONTRIB / "haproxy/follow-list", self.shared / "servers", "--bind", f"127.0.0.1:{self.PORT}"], stderr=log)
        wait_until(self.answers, 30, "the proxy answers")
        return self

    def __exit__(self, *_):
        if self.proxy:
            self.proxy.terminate()
            self.proxy.wait(20)
        self.cluster.cancel("--user", self.place.user.name)
        self.cluster.wait_no_jobs()

    def logs(self):
        return "".join(file.read_text() for file in self.place.home.glob("log.*"))

    def servers(self):
        """{name: address}"""
        return dict(file.read_text().split() for file in sorted((self.shared / "servers").glob("[!.]*")))

    def node_of(self, name):
        host = self.servers()[name].split(":")[0]
        return next(node for node, address in NODES.items() if address == host)

    def answers(self):
        try:
            return self.ask("GET", "/v1/sandboxes")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body=None, at=None, connection=None):
        own = connection or self.connect(at)
        own.request(method, path, json.dumps(body) if body is not None else None, {"Authorization": f"Bearer {self.token}"})
        reply = own.getresponse()
        content = reply.read()
        if not connection:
            own.close()
        try:
            return reply.status, json.loads(content)
        except ValueError:
            return reply.status, content

    def connect(self, at=None):
        return http.client.HTTPConnection(at or f"127.0.0.1:{self.PORT}", timeout=150)

    def new(self):
        status, body = self.ask("POST", "/v1/sandboxes", {})
        assert status == 201, (status, body)
        return body["id"]

    def one_on(self, name):
        """A sandbox on this server; whether the proxy would ever choose it is another question."""
        status, body = self.ask("POST", "/v1/sandboxes", {}, at=self.servers()[name])
        assert status == 201 and body["id"].startswith(f"{name}-"), (status, body)
        return body["id"]

    def execute(self, sandbox, line):
        return self.ask("POST", f"/v1/sandboxes/{sandbox}/execute", {"command": line})


@fleet
def a_server_for_each_element(p):
    with Fleet(p) as f:
        assert set(f.servers()) == {"s1", "s2"} and f.node_of("s1") != f.node_of("s2"), f.servers()
        made = {f.new().split("-")[0] for _ in range(20)}
        assert made == {"s1", "s2"}, made
        for name in made:
            sandbox = f.one_on(name)
            status, body = f.execute(sandbox, "echo hello >/f; cat /f")
            assert status == 200 and body["stdout"] == "hello\n", (status, body)
            status, body = f.execute(sandbox, EAT.format("1600M", "1300M") + " >/dev/null")  # 1000M of the allocation are for commands
            assert status == 200 and body["exit_code"] != 0 and body["usage"]["limit_hit"] == "memory", (status, body)
            status, body = f.execute(sandbox, EAT.format("400M", "300M") + " | wc -c")
            assert status == 200 and body["stdout"].strip() == str(300 << 20), (status, body)
        assert "1000M of memory" in f.logs(), f.logs()
    assert not f.servers(), "scancel leaves no server in the list"


@fleet
@with_cgroups  # that is how the test finds what it must kill
def a_node_fails(p):
    with Fleet(p) as f:
        lost = next(name for name in f.servers() if f.node_of(name) == "two")
        kept = next(name for name in f.servers() if name != lost)
        sandbox, other = f.one_on(lost), f.one_on(kept)
        assert f.execute(sandbox, "echo precious >/f")[0] == 200
        old = f.servers()[lost]
        begun = time.monotonic()
        p.cluster.kill_node("two")
        status, body = wait_until(lambda: (got := f.ask("GET", f"/v1/sandboxes/{sandbox}"))[0] == 503 and got, 10, "503 for lost sandboxes")
        assert "does not answer" in body["error"]["message"], body
        print(f"# 503 {time.monotonic() - begun:.1f} s after the node failed")
        assert f.execute(other, "true")[0] == 200
        assert all(f.new().startswith(kept) for _ in range(6))
        wait_until(lambda: f.servers()[lost] != old, 200, f"Slurm starts {lost} again\n{f.logs()}")
        status, body = wait_until(lambda: (got := f.execute(sandbox, "cat /f"))[0] == 200 and got, 15, "the sandbox is there again")
        assert body["stdout"] == "precious\n" and f.node_of(lost) == "one", (body, f.servers())
        print(f"# its sandboxes answer from the other node {time.monotonic() - begun:.1f} s after it failed")
    p.cluster.start_node("two")
    p.cluster.wait_nodes("idle")


@fleet
def draining_by_hand(p):
    with Fleet(p) as f:
        sandbox = f.one_on("s1")
        result = []
        busy = threading.Thread(target=lambda: result.append(f.execute(sandbox, "sleep 6; echo done")))
        busy.start()
        time.sleep(1)
        p.cluster.cancel("--batch", "--signal", "TERM", f"{f.job}_1")
        time.sleep(3)
        assert all(f.new().startswith("s2") for _ in range(6))
        busy.join()
        status, body = result[0]
        assert status == 200 and body["stdout"] == "done\n", result
        wait_until(lambda: list(f.servers()) == ["s2"], 20, f"s1 is gone from the list: {f.servers()}")
        assert len(p.cluster.jobs()) == 1


@fleet
def the_time_is_up(p):
    """A job of two minutes drains 60 to 120 s before that, and is queued again with its sandboxes."""
    with Fleet(p, "1", "--time=2", "--signal=B:USR1@60") as f:
        sandbox = f.one_on("s1")
        assert f.execute(sandbox, "echo kept >/f")[0] == 200
        old = f.servers()["s1"]
        wait_until(lambda: f.ask("GET", f"/v1/sandboxes/{sandbox}")[0] == 503, 120, "the server has ended")
        begun = time.monotonic()
        wait_until(lambda: f.servers()["s1"] != old, 240, f"another server has taken over\n{f.logs()}")
        status, body = wait_until(lambda: (got := f.execute(sandbox, "cat /f"))[0] == 200 and got, 15, "the sandbox is there again")
        print(f"# Slurm started it again after {time.monotonic() - begun:.0f} s")
        assert body["stdout"] == "kept\n", body
        assert "DUE TO TIME LIMIT" not in f.logs(), f.logs()


@fleet
def an_allocation_that_is_too_small(p):
    p.ok("mkdir", "-p", p.home / "shared")
    status, _, _ = p.sh("sbatch", "--wait", "--mem=200", "--output", p.home / "log", f"--export=ALL,AIRLOCK={p.airlock}",
                        CONTRIB / "slurm/airlock-serve.sbatch", p.home / "shared")
    said = (p.home / "log").read_text()
    assert status != 0 and "too small" in said, (status, said)


def rate(f, sandboxes, seconds=6, at=None):
    """Commands a second of one client for each sandbox."""
    counts, end = [0] * len(sandboxes), time.monotonic() + seconds

    def work(i):
        own = f.connect(at(sandboxes[i]) if at else None)
        while time.monotonic() < end:
            status, body = f.ask("POST", f"/v1/sandboxes/{sandboxes[i]}/execute", {"command": "true"}, connection=own)
            assert status == 200 and body["exit_code"] == 0, (status, body)
            counts[i] += 1
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(sandboxes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def plain_server(p, f):
    """The same server, without Slurm, with the fleet's token: (process, address)"""
    process = p.cluster.popen(p.user, p.project, p.airlock, "serve", "--listen", "127.0.0.1:0", "--name", "plain", "--memory", "1000M",
                              "--token-file", f.shared / "tokens.toml", "--workspaces", p.home / "plain")
    return process, process.stdout.readline().strip().removeprefix("http://")


def job_rate(p, seconds=8, workers=4):
    """Commands a second with a job for each."""
    counts, end = [0] * workers, time.monotonic() + seconds

    def work(i):
        while time.monotonic() < end:
            assert p.srun(p.airlock, "run", "-c", "true")[0] == 0
            counts[i] += 1
    threads = [threading.Thread(target=work, args=(i,)) for i in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


@fleet
def how_many_commands_a_second(p):
    """Printed, not judged: everything shares the processors of one machine. The rounds are interleaved; their best counts."""
    print(f"# a job for each command: {job_rate(p):.1f} commands a second")
    p.cluster.wait_no_jobs()
    with Fleet(p) as f:
        process, plain = plain_server(p, f)
        made = [f.ask("POST", "/v1/sandboxes", {}, at=plain)[1]["id"] for _ in range(8)]
        both = [f.one_on(name) for name in ("s1", "s2") * 4]
        first = [f.one_on("s1") for _ in range(8)]
        where = f.servers()
        cases = (("a server without Slurm", made, lambda _: plain), ("one server, direct", first, lambda _: where["s1"]),
                 ("one server, through the proxy", first, None), ("two servers, direct", both, lambda s: where[s.split("-")[0]]),
                 ("two servers, through the proxy", both, None))
        best = [max(each) for each in zip(*[[rate(f, ids, 4, at) for _, ids, at in cases] for _ in range(3)])]
        for (what, _, _), number in zip(cases, best):
            print(f"# {what}: {number:.0f} commands a second, {number / best[0]:.2f} of the first")
        process.terminate()
        process.communicate(timeout=40)


# ── ──

def one_test(number, name, function, cluster):
    try:
        function()
        cluster.wait_no_jobs()
        print(f"ok {number} {name}", flush=True)
        return True
    except Exception:  # noqa: BLE001  (the next test is run all the same)
        print(f"not ok {number} {name}", flush=True)
        lines = traceback.format_exc().splitlines() + cluster.log_tail()
        print("".join(f"# {line}\n" for line in lines), end="", flush=True)
        cluster.cancel("--full", "--signal", "KILL", "--state", "RUNNING", *cluster.jobs())
        return False


def main(top, user):
    airlock = own_machine.install(sys.argv[1], top)
    words, lacks = sys.argv[2:], lacks_cgroups()
    if lacks:
        print(f"# without cgroups only: this machine lacks {lacks}")
    number, failed = 0, 0
    for has_cgroups in (False, *([] if lacks else [True])):
        with Cluster(top / f"cluster{int(has_cgroups)}", has_cgroups) as cluster:
            tests = [(function, who) for function in COMMANDS for who in (own_machine.ROOT, user)]
            tests += [(function, user) for function in FLEETS]
            for function, who in tests:
                name = f"{function.__name__.replace('_', ' ')} ({who}, {cluster})"
                is_chosen = not words or any(word in name for word in words)
                if is_chosen and (has_cgroups or function not in WITH_CGROUPS):
                    number += 1
                    failed += not one_test(number, name, lambda f=function, w=who: f(Place(cluster, w, airlock)), cluster)
    print(f"1..{number}", flush=True)
    return 1 if failed else 0


def with_programs():
    missing = [name for name in ("slurmctld", "slurmd", "munged", "haproxy", "unshare") if not shutil.which(name)]
    if missing:
        print(f"1..0 # skip needs: {', '.join(missing)}")
        return 0
    try:
        return own_machine.run(main, "airlock-slurm")
    finally:
        if own_machine.INSIDE not in os.environ:
            remove_cgroups()


if __name__ == "__main__":
    sys.exit(with_programs())
