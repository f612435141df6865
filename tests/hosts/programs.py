#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real programs through the gate: what is allowed works as it does without airlock, what is refused is refused soon, and the
result says which host and port. Prints TAP, and beside it what each program tells its user of a refusal.

    programs.py BUILD
"""
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import hosts_world  # noqa: E402
import program_list  # noqa: E402
import servers  # noqa: E402
from mcp_client import TESTS, main, test  # noqa: E402

BACKEND = os.environ.get("AIRLOCK_TEST_BACKENDS", "native").split()[0]
RULES = '[network]\nmode = "hosts"\nallow = [{allow}]\ndeny = [{deny}]\n'


def run(place, command):
    done = place.airlock("run", "--json", "--backend", BACKEND, "--timeout", "150s", "-c", command)
    assert done.stdout, done
    result = json.loads(done.stdout)
    return result, {(h["host"], h["port"]): h for h in (result["network"] or {"hosts": []})["hosts"]}


def configure(place, allow, deny):
    file = place.home / ".config/airlock/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RULES.format(allow=", ".join(f'"{name}"' for name in allow), deny=", ".join(f'"{name}"' for name in deny)))
    return file


def add(program):
    port = servers.PORTS[program.port]

    def works(place):
        program_list.prepare(place.project)
        configure(place, [program.host], [])
        result, hosts = run(place, program_list.command_line(program, program.host, port))
        assert result["exit_code"] == 0 and program.expect in result["stdout"], result
        host = hosts[program.host, port]
        assert host["decision"] == "allowed" and host["connections"] > 0 and host["bytes_in"] > 0, hosts
        assert all(h["decision"] == "allowed" for h in hosts.values()), hosts

    def is_refused(place):
        program_list.prepare(place.project)
        denied = f"no-{program.host}"
        file = configure(place, [program.host], [denied])
        for name, by in (denied, f"rule {file}:4"), (f"un-{program.host}", "nobody"):
            begun = time.monotonic()
            result, hosts = run(place, program_list.command_line(program, name, port))
            took = time.monotonic() - begun
            assert result["exit_code"] != 0 and program.expect not in result["stdout"], result
            assert hosts[name, port]["decision"] == "denied" and hosts[name, port]["by"] == by, hosts
            assert all(h["decision"] == "denied" for h in hosts.values()), hosts
            assert took < program.retries, (took, result)
            words = program_list.telling(result["stdout"] + result["stderr"], name)
            print(f"# {program.name}, by {by.split()[0]}, {took:.1f} s: {words}")

    for function, words in (works, "works where it is allowed"), (is_refused, "is refused soon where it is not"):
        function.__name__ = f"{program.name} {words}"
        test(function)


for each in program_list.PROGRAMS:
    add(each)


@test
def a_slow_server_is_waited_for_and_a_silent_one_ends_with_the_program(place):
    configure(place, ["slow.test"], [])
    result, _ = run(place, f"curl -sS http://slow.test:{servers.PORTS['slow']}/")
    assert result["stdout"] == "slow\n", result
    begun = time.monotonic()
    result, _ = run(place, f"curl -sS -m 2 http://slow.test:{servers.PORTS['never']}/")
    assert result["exit_code"] == 28 and time.monotonic() - begun < 10, result


def make(place):
    servers.make(place)
    program_list.build_go(place)


if __name__ == "__main__":
    assert TESTS
    hosts_world.enter(servers.HOSTS, make, servers.serve)
    sys.exit(main())
