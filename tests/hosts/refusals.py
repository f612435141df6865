#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What programs print when a connection is refused in one way or another, and how long they take to give up: the measurement
behind docs/design/network.md. airlock is not part of it. Prints a table.

    refusals.py [PROGRAM...]
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import hosts_world  # noqa: E402
import program_list  # noqa: E402
import servers  # noqa: E402

NOBODY = 9  # a port where nobody listens
WAYS = {  # host and port; None: the program's own port
    "no such name": ("missing.test", None),
    "name server refuses": ("unwanted.test", None),
    "connection refused": ("web.test", NOBODY),
    "reset after accept": ("web.test", servers.PORTS["reset"]),
    "permission denied": ("prohibited.test", None),
    "host unreachable": ("unreachable.test", None),
}


def main(wanted):
    for program in program_list.PROGRAMS:
        if wanted and program.name not in wanted:
            continue
        print(f"{program.name}", flush=True)
        for way, (host, port) in WAYS.items():
            with tempfile.TemporaryDirectory(dir=os.environ["HOSTS_WORLD_PLACE"]) as directory:
                program_list.prepare(Path(directory))
                command = program_list.command_line(program, host, port or servers.PORTS[program.port], "")
                begun = time.monotonic()
                done = subprocess.run(["sh", "-c", command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, check=False)
                took = time.monotonic() - begun
            print(f"  {way:20} {done.returncode:4} {took:6.1f} s  {program_list.telling(done.stdout, host)[:230]}", flush=True)


HOSTS = "203.0.113.77 prohibited.test\n203.0.113.78 unreachable.test\n"


def make(place):
    servers.make(place)
    hosts_world.ip("route", "add", "prohibit", "203.0.113.77/32")  # connect(2) fails with EACCES
    hosts_world.ip("route", "add", "unreachable", "203.0.113.78/32")
    program_list.build_go(place)


if __name__ == "__main__":
    hosts_world.enter(servers.HOSTS + HOSTS, make, servers.serve)
    main(sys.argv[1:])
