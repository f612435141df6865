# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Slurm cluster of two nodes on loopback, with munge, in a directory; for the machine of own_machine.py."""
import contextlib
import os
import secrets
import signal
import subprocess
import time
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("freezer", "memory", "cpuacct")
NODES = {"one": "127.0.0.1", "two": "127.0.0.2"}
NODE_MB = 6000

CONFIG = """ClusterName=airlock
SlurmctldHost=machine(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={top}/munge/socket
StateSaveLocation={top}/state
SlurmctldPidFile={top}/slurmctld.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdPidFile={top}/slurmd.%n.pid
SlurmdLogFile={top}/slurmd.%n.log
SlurmdSpoolDir={top}/spool.%n
SlurmdTimeout=10
KillWait=5
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000,sched_interval=2
{plugins}{nodes}PartitionName=all Nodes=ALL Default=YES LLN=YES MaxTime=INFINITE DefMemPerCPU=500
"""
WITH_CGROUPS = """ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
"""
WITHOUT_CGROUPS = """ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
"""
CGROUP_CONFIG = f"""CgroupPlugin=cgroup/v1
CgroupMountpoint={CGROUPS}
ConstrainRAMSpace=yes
ConstrainCores=no
ConstrainDevices=no
"""


def lacks_cgroups():
    """What this machine lacks for the cgroup plugins of version 1; '' if nothing. Version 2 was not tried."""
    missing = [name for name in CONTROLLERS if not Path(CGROUPS, name, "cgroup.procs").exists()]
    return f"control groups of version 1: {', '.join(missing)}" if missing else ""


def remove_cgroups():
    for controller in CONTROLLERS:
        for node in NODES:
            for folder, _, _ in os.walk(CGROUPS / controller / f"slurm_{node}", topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, f"not after {seconds} s: {what}"
        time.sleep(0.2)
    return result


class Cluster:
    def __init__(self, top, has_cgroups):
        self.top, self.has_cgroups = top, has_cgroups

    def __str__(self):
        return "with cgroups" if self.has_cgroups else "without cgroups"

    def __enter__(self):
        self.top.mkdir()
        for name in ("munge", "state", *(f"spool.{node}" for node in NODES)):
            (self.top / name).mkdir()
        (self.top / "munge/key").write_bytes(secrets.token_bytes(1024))
        (self.top / "munge/key").chmod(0o600)
        nodes = "".join(f"NodeName={name} NodeHostname=machine NodeAddr={address} Port={7000 + i} CPUs=2 RealMemory={NODE_MB}\n"
                        for i, (name, address) in enumerate(NODES.items()))
        plugins = WITH_CGROUPS if self.has_cgroups else WITHOUT_CGROUPS
        self.config = self.top / "slurm.conf"
        self.config.write_text(CONFIG.format(top=self.top, plugins=plugins, nodes=nodes))
        (self.top / "cgroup.conf").write_text(CGROUP_CONFIG if self.has_cgroups else "")
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "SLURM_CONF": str(self.config)}
        self.start()
        return self

    def daemon(self, *command):
        subprocess.run(command, env=self.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        munge = self.top / "munge"
        self.daemon("munged", *(f"--{option}={munge / name}" for option, name in (
            ("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))))
        wait_until((munge / "socket").exists, 10, "munged has a socket")
        self.daemon("slurmctld", "-c")
        for node in NODES:
            self.start_node(node)
        self.wait_nodes("idle")

    def start_node(self, node):
        self.daemon("slurmd", "-N", node)

    def states(self):
        done = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], env=self.env, capture_output=True, text=True, check=False)
        return done.stdout.split()

    def wait_nodes(self, state):
        wait_until(lambda: self.states() == [state] * len(NODES), 60, f"all nodes are {state}, but {self.states()}")

    def pid_of(self, name):
        return int((self.top / name).read_text())

    def __exit__(self, *_):
        for name in (*(f"slurmd.{node}.pid" for node in NODES), "slurmctld.pid", "munge/pid"):
            with contextlib.suppress(OSError):
                pid = self.pid_of(name)
                os.kill(pid, signal.SIGTERM)
                wait_until(lambda pid=pid: not Path("/proc", str(pid)).exists(), 20, f"{name} has ended")

    def kill_node(self, node):
        """As if its power was cut: the daemon and everything that it started."""
        os.kill(self.pid_of(f"slurmd.{node}.pid"), signal.SIGKILL)
        groups = list((CGROUPS / "freezer" / f"slurm_{node}").rglob("cgroup.procs"))
        for _ in range(3):  # some start others meanwhile
            for pid in {int(pid) for group in groups for pid in group.read_text().split()}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    # ── What people do ──

    def run(self, user, folder, *command, seconds=60, **variables):
        """Any command as this user: (exit status, stdout, stderr)"""
        done = self.popen(user, folder, *command, **variables)
        out, err = done.communicate(timeout=seconds)
        return done.returncode, out, err

    def popen(self, user, folder, *command, **variables):
        env = {**self.env, "HOME": str(folder.parent), "USER": user.name, "AIRLOCK_PERMISSION_WAIT": "0", **variables}
        return subprocess.Popen([str(word) for word in command], env=env, cwd=folder, user=user.uid, group=user.gid, extra_groups=[], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def jobs(self, *more):
        """{id: state} of the jobs that are not over"""
        done = subprocess.run(["squeue", "-h", "-r", "-o", "%A %T", *more], env=self.env, capture_output=True, text=True, check=True)
        return dict(line.split() for line in done.stdout.splitlines())

    def wait_no_jobs(self, seconds=60):
        wait_until(lambda: not self.jobs(), seconds, "no job is left")

    def log_tail(self):
        return [line for file in sorted(self.top.glob("*.log")) for line in file.read_text().splitlines()[-12:]]

    def cancel(self, *arguments):
        subprocess.run(["scancel", "--quiet", *arguments], env=self.env, check=False)
