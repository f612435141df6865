#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Network by host: which connections are allowed, asked about and refused, by whom, and what programs see of it, against
servers of the test's own (hosts_world.py). Prints TAP.

    hosts.py BUILD
"""
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import hosts_world  # noqa: E402
from hosts_world import PORTS, SERVER  # noqa: E402
from mcp_client import Client, main, program, test, text_of  # noqa: E402
from pseudo_terminal import Terminal  # noqa: E402

BACKEND = os.environ.get("AIRLOCK_TEST_BACKENDS", "native").split()[0]
GET = "curl -sS -m 20 "
RULES = '[network]\nmode = "hosts"\nallow = ["srv.test", "*.wild.test", "tls.test:443"]\ndeny = ["bad.test", "b.wild.test"]\n'


def configure(place, text=RULES):
    file = place.home / ".config/airlock/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    place.env["AIRLOCK_BACKEND"] = BACKEND
    return file


def run(place, *arguments):
    """The result of a run, and by host and port what the network object has."""
    done = place.airlock("run", "--json", *arguments)
    assert done.stdout, done
    result = json.loads(done.stdout)
    hosts = {(h["host"], h["port"]): h for h in (result.get("network") or {"hosts": []})["hosts"]}
    return result, hosts


def python(place, code, *options):
    return run(place, *options, "--", "/usr/bin/python3", "-c", code)


def refused(place, code, status, *arguments):
    done = place.airlock("run", "--json", *arguments, "--", "touch", "started")
    assert done.returncode == status, done
    assert json.loads(done.stdout)["error"]["code"] == code, done
    assert not (place.project / "started").exists()
    return json.loads(done.stdout)["error"]


@test
def a_rule_allows_its_host_and_the_result_says_which(place):
    file = configure(place)
    result, hosts = run(place, "-c", f"{GET} http://srv.test/ && {GET} http://srv.test:8000/ && {GET} http://srv.test:8000/")
    assert result["stdout"] == "hello from 80\nhello from 8000\nhello from 8000\n", result
    assert result["isolation"]["network"] == "filtered", result
    host = hosts["srv.test", 8000]
    assert host["decision"] == "allowed" and host["by"] == f"rule {file}:3" and host["connections"] == 2, host
    assert host["bytes_out"] > 100 and host["bytes_in"] > 100, host
    shown = json.loads(place.airlock("show", "last", "--json").stdout)
    assert shown["network"] == result["network"], shown
    assert "srv.test:8000 allowed by rule" in place.airlock("show", "last").stdout


@test
def without_rules_there_is_no_network_and_null(place):
    configure(place, '[network]\nallow = ["srv.test"]\n')  # switches nothing on by itself
    result, _ = run(place, "-c", f"{GET} http://srv.test/")
    assert result["exit_code"] != 0 and result["network"] is None, result
    assert result["isolation"]["network"] == "blocked", result


@test
def what_is_denied_is_refused_at_once_by_its_rule(place):
    file = configure(place)
    begun = time.monotonic()
    result, hosts = run(place, "-c", f"{GET} http://bad.test:8000/; {GET} http://b.wild.test/; {GET} http://a.wild.test/")
    assert result["stdout"] == "hello from 80\n" and time.monotonic() - begun < 10, result
    assert hosts["bad.test", 8000]["decision"] == "denied", hosts
    assert hosts["bad.test", 8000]["by"] == hosts["b.wild.test", 80]["by"] == f"rule {file}:4", hosts
    assert any("bad.test:8000" in note for note in result["notes"]), result
    # also when every host is allowed
    result, hosts = run(place, "--network", "--yes", "-c", f"{GET} http://bad.test/; {GET} http://bad.test/; {GET} http://other.test/")
    assert result["stdout"] == "hello from 80\n" and result["isolation"]["network"] == "allowed", result
    assert hosts["bad.test", 80]["decision"] == "denied" and hosts["other.test", 80]["by"] == "option", hosts
    assert result["stderr"].count("Failed to connect to bad.test port 80") == 2, result  # before anything was sent


@test
def names_of_refused_hosts_are_not_looked_up(place):
    configure(place)
    del hosts_world.LOOKED_UP[:]
    result, hosts = run(place, "-c", f"{GET} http://dns.test/; {GET} http://bad.dns.test/")
    assert hosts["dns.test", 80]["by"] == "nobody" and not hosts_world.LOOKED_UP, (hosts, hosts_world.LOOKED_UP)
    result, hosts = run(place, "--allow-host", "dns.test", "--yes", "-c", f"{GET} http://dns.test/")
    assert result["stdout"] == "hello from 80\n" and set(hosts_world.LOOKED_UP) == {"dns.test"}, hosts_world.LOOKED_UP
    result, _ = run(place, "--allow-host", "missing.test", "--yes", "-c", f"{GET} http://missing.test/")
    assert result["exit_code"] == 6, result  # there is no such name: curl says so


@test
def a_name_matches_in_every_spelling_and_no_other_name_does(place):
    configure(place, '[network]\nmode = "hosts"\nallow = ["SRV.test.", "*.Wild.test", "b\u00fccher.test"]\nask = false\n')
    good = ["srv.test", "Srv.TEST", "srv.test.", "a.wild.test", "xn--bcher-kva.test"]
    bad = ["wild.test", "xwild.test", "other.test", SERVER]
    code = ";".join(f"{GET} http://{name}/ >/dev/null 2>&1; echo {name} $?" for name in good + bad)
    result, hosts = run(place, "-c", code)
    status = dict(line.split() for line in result["stdout"].splitlines())
    assert all(status[name] == "0" for name in good), status
    assert all(status[name] != "0" for name in bad), status
    assert hosts[SERVER, 80]["by"] == hosts["wild.test", 80]["by"] == "nobody", hosts
    assert ("srv.test", 80) in hosts and ("srv.test.", 80) not in hosts, hosts


@test
def addresses_that_are_not_public_are_refused(place):
    configure(place, '[network]\nmode = "open"\n')
    targets = ["private.test", "mixed.test", "own.test", "loop.test", "metadata.test", "nat64.test", "10.9.9.9",
               "169.254.169.254", hosts_world.OWN, "0xa.9.9.9", "168364297", "100.64.0.1", "[fd00:ec2::254]"]
    code = ";".join(f"curl -sS -m 10 http://{t}/ >/dev/null 2>&1; echo $?" for t in targets) + f";{GET} http://srv.test/"
    result, hosts = run(place, "-c", code)
    lines = result["stdout"].splitlines()
    assert lines[-1] == "hello from 80" and "0" not in lines[:-1], result["stdout"]
    for name in targets[:9]:
        assert hosts[name, 80]["decision"] == "denied" and hosts[name, 80]["by"] == "guard", (name, hosts)
    # A rule for the address does not make it public; allow_private does, for its port.
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    threading.Thread(target=answer, args=(listener,), daemon=True).start()
    configure(place, '[network]\nmode = "hosts"\nallow = ["loop.test", "127.0.0.1"]\n')
    _, hosts = run(place, "-c", f"{GET} http://loop.test:{port}/")
    assert hosts["loop.test", port]["by"] == "guard", hosts
    configure(place, f'[network]\nmode = "hosts"\nallow = ["loop.test"]\nallow_private = ["127.0.0.1:{port}"]\n')
    result, hosts = run(place, "-c", f"{GET} http://loop.test:{port}/; {GET} http://loop.test:{port + 1}/")
    assert result["stdout"] == "hello" and hosts["loop.test", port + 1]["by"] == "guard", (result, hosts)


@test
def the_machine_itself_stays_out_of_reach(place):
    """With every public host allowed, and under all names and addresses the machine has."""
    configure(place, '[network]\nmode = "open"\n')
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=100)
    port = listener.getsockname()[1]
    targets = ["127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", hosts_world.OWN, f"::ffff:{hosts_world.OWN}",
               hosts_world.OWN6, hosts_world.ROUTED, "localhost", "x.localhost", "own.test", "loop.test", "routed.test", "nat64.test",
               "0x7f000001", "2130706433", "017700000001", "127.1", "64:ff9b::cb00:7101", "2002:cb00:7101::1", "255.255.255.255", "224.0.0.1"]
    result, hosts = python(place, f"""if 1:
        import socket
        for target in {targets!r}:
            try:
                with socket.create_connection((target, {port}), 5) as s:
                    print(target, s.recv(1))
            except OSError:
                pass
        print(socket.create_connection(("srv.test", {PORTS["http"]}), 5).send(b"x"))""")
    assert result["stdout"] == "1\n", result
    listener.settimeout(0)
    came = []
    try:
        while True:
            came.append(listener.accept()[0])
    except BlockingIOError:
        pass
    # The machine's routes are not known beforehand: that one is connected and closed at once, and nothing is carried.
    assert len(came) <= 2 and all(gets_nothing(client) for client in came), came
    for name in "own.test", "routed.test", hosts_world.OWN, hosts_world.ROUTED, hosts_world.OWN6:
        assert hosts[name, port]["by"] == "guard" and hosts[name, port]["bytes_out"] == 0, (name, hosts)
    assert any("routed.test" in note and "this machine" in note for note in result["notes"]), result["notes"]


@test
def an_address_that_changes_while_it_is_judged_wins_nothing(place):
    configure(place, '[network]\nmode = "hosts"\nallow = ["srv.test"]\nask = false\n')
    result, hosts = python(place, f"""if 1:
        import ctypes, socket, struct, threading, time
        libc = ctypes.CDLL(None, use_errno=True)
        good = socket.getaddrinfo("srv.test", {PORTS["other"]}, socket.AF_INET, socket.SOCK_STREAM)[0][4]
        def raw(ip, port):
            return struct.pack("=H", 2) + struct.pack(">H", port) + socket.inet_aton(ip) + bytes(8)
        one, two = raw(*good), raw("{SERVER}", {PORTS["other"]})
        address = ctypes.create_string_buffer(one, 16)
        over = False
        def flip():
            while not over:
                ctypes.memmove(address, two, 16)
                ctypes.memmove(address, one, 16)
        threading.Thread(target=flip, daemon=True).start()
        end, tries, peers = time.monotonic() + 1, 0, set()
        while time.monotonic() < end:
            s = socket.socket()
            s.settimeout(5)
            if libc.connect(s.fileno(), address, 16) == 0 or ctypes.get_errno() == 115:
                try:
                    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
                    if s.recv(100):
                        peers.add(s.getpeername()[0])
                except OSError:
                    pass
            s.close()
            tries += 1
        over = True
        print(tries > 20, peers == {{good[0]}})""")
    assert result["stdout"] == "True True\n", result
    assert (SERVER, PORTS["other"]) not in hosts or hosts[SERVER, PORTS["other"]]["bytes_out"] == 0, hosts


@test
def the_name_server_of_the_machine_and_the_network_itself_are_not_the_commands(place):
    configure(place)
    del hosts_world.LOOKED_UP[:]
    result, _ = run(place, "-c", """ip link set lo down; ip route flush table local; ip addr add 10.9.9.9/32 dev lo
        /usr/bin/python3 -c '
import socket, struct
q = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + b"\\6secret\\3dns\\4test\\0\\0\\1\\0\\1"
for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
    for server in "127.0.0.1", "127.0.0.53", "%s", "8.8.8.8":
        with socket.socket(socket.AF_INET, kind) as s:
            s.settimeout(5)
            s.connect((server, 53))
            s.send(q if kind == socket.SOCK_DGRAM else struct.pack(">H", len(q)) + q)
            print(s.recv(600)[-4:-2] == bytes([198, 18]))
for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
    for address in ("127.0.0.1", 53), ("0.0.0.0", 53):
        try:
            with socket.socket(socket.AF_INET, kind) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                s.bind(address)
                print("bound")
        except OSError:
            pass
for family in socket.AF_PACKET, socket.AF_INET:
    try:
        socket.socket(family, socket.SOCK_RAW, 1)
        print("raw")
    except OSError:
        pass'""" % hosts_world.OWN + f"\n{GET} http://srv.test/")
    assert result["stdout"].split("\n") == ["True"] * 8 + ["hello from 80", ""], result
    assert hosts_world.LOOKED_UP == [], hosts_world.LOOKED_UP


@test
def a_name_that_changes_its_mind_leads_nowhere_else(place):
    configure(place, '[network]\nmode = "hosts"\nallow = ["*.dns.test"]\n')
    count = {}

    def rebind(first, second):
        def answer(query, end):
            key = query[12:end]
            count[key] = count.get(key, 0) + 1
            return hosts_world.addresses(query, end, first if count[key] == 1 else second)
        return answer
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    hosts_world.ANSWERS.update({
        "rebind.dns.test": rebind(SERVER, "127.0.0.1"), "back.dns.test": rebind("127.0.0.1", SERVER),
        "mapped.dns.test": lambda q, end: q[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + q[12:end] + b"\xc0\x0c\0\x1c\0\1\0\0\0\0\0\x10"
                                          + socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")})
    try:
        result, hosts = python(place, f"""if 1:
            import socket
            def reach(name, port):
                try:
                    with socket.create_connection((name, port), 10) as s:
                        s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
                        return s.makefile().read()[-6:].strip()
                except OSError:
                    return "-"
            print(*(reach("rebind.dns.test", {PORTS["other"]}) for _ in range(3)))
            print(*(reach(f"{{name}}.dns.test", {port}) for name in ("rebind", "back", "mapped")))""")
    finally:
        hosts_world.ANSWERS.clear()
    assert result["stdout"] == "8000 8000 8000\n- - -\n", result
    assert hosts["back.dns.test", port]["by"] == hosts["mapped.dns.test", port]["by"] == "guard", hosts
    listener.settimeout(0)
    try:
        listener.accept()
        raise AssertionError("it was reached")
    except BlockingIOError:
        pass


def gets_nothing(client):
    client.settimeout(5)
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def answer(listener):
    while True:
        client, _ = listener.accept()
        client.recv(4096)
        client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        client.close()


@test
def its_own_loopback_is_its_own(place):
    configure(place)
    result, hosts = python(place, """if 1:
        import socket, threading
        server = socket.create_server(("127.0.0.1", 8080))
        threading.Thread(target=lambda: server.accept()[0].sendall(b"mine"), daemon=True).start()
        print(socket.create_connection(("localhost", 8080)).recv(4))
        wide = socket.create_server(("0.0.0.0", 8081))
        for port in 9, 443:
            try:
                socket.create_connection(("127.0.0.1", port), 5).recv(1)
            except OSError as error:
                print(type(error).__name__)""")
    assert result["stdout"].split()[0] == "b'mine'" and len(result["stdout"].split()) == 3, result
    assert not hosts, hosts


@test
def an_option_is_asked_about_unless_the_configuration_has_it(place):
    configure(place)
    refused(place, "denied", 125, "--allow-host", "other.test")
    refused(place, "denied", 125, "--allow-host", "srv.test", "--allow-host", "other.test:80")
    refused(place, "denied", 125, "--network")
    refused(place, "denied", 125, "--network-mode", "host")
    for covered in "srv.test", "srv.test:8000", "c.wild.test", "*.x.wild.test":
        result, _ = run(place, "--allow-host", covered, "--", "true")
        assert result["exit_code"] == 0 and result["isolation"]["network"] == "filtered", result
    result, hosts = run(place, "--allow-host", "other.test:8000", "--yes", "-c", f"{GET} http://other.test:8000/")
    assert result["stdout"] == "hello from 8000\n" and hosts["other.test", 8000]["by"] == "option", (result, hosts)
    result, hosts = run(place, "--yes", "-c", f"{GET} http://third.test/")  # -y answers about connections, too
    assert result["stdout"] == "hello from 80\n" and hosts["third.test", 80]["by"] == "person", (result, hosts)


@test
def invalid_rules_and_contradictions_are_usage_errors(place):
    configure(place)
    for rule in "", "*", "a.*.x", "*x.test", "x..test", "x.test:0", "x.test:65536", "https://x.test", "x.test/p", "@none":
        done = place.airlock("run", "--allow-host", rule, "--", "true")
        assert done.returncode == 2 and "--allow-host" in done.stderr, (rule, done)
        if rule != "@none":
            file = configure(place, f'[network]\ndeny = ["{rule}"]\n')
            done = place.airlock("run", "--", "true")
            assert done.returncode == 125 and f"{file}:2" in done.stderr, (rule, done)
            configure(place)
    for options in (["--network-mode", "some"], ["--network-mode", "off", "--network"], ["--publish", "0"],
                    ["--publish", "1:70000"], ["--publish", "x"]):
        assert place.airlock("run", *options, "--", "true").returncode == 2, options
    refused(place, "blocked", 125, "--profile", "strict", "--allow-host", "srv.test", "--yes")
    refused(place, "blocked", 125, "--profile", "strict", "--publish", "8080", "--yes")
    refused(place, "unavailable", 125, "--backend", "landlock", "--network", "--yes")
    refused(place, "unavailable", 125, "--backend", "landlock", "--allow-host", "srv.test", "--yes")
    result, _ = run(place, "--backend", "landlock", "--network-mode", "host", "--yes", "--", "true")
    assert result["exit_code"] == 0 and result["isolation"]["network"] == "host", result
    result, _ = run(place, "--profile", "strict", "--", "true")
    assert result["isolation"]["network"] == "blocked", result  # whatever the file's mode


@test
def a_project_that_is_not_trusted_may_only_deny(place):
    configure(place)
    own = place.project / ".airlock.toml"
    own.write_text('[network]\nmode = "open"\nallow = ["other.test"]\ndeny = ["srv.test"]\nallow_private = ["10.9.9.9"]\n'
                   '[network.sets]\nmine = ["other.test"]\n')
    result, hosts = run(place, "-c", f"{GET} http://srv.test/; {GET} http://other.test/")
    assert hosts["srv.test", 80]["by"] == f"rule {own}:4" and hosts["other.test", 80]["by"] == "nobody", hosts
    assert place.airlock("run", "--allow-host", "@mine", "--", "true").returncode == 2
    place.airlock("trust")
    result, hosts = run(place, "-c", f"{GET} http://srv.test/; {GET} http://other.test/")
    assert hosts["srv.test", 80]["decision"] == "denied" and hosts["other.test", 80]["by"] == f"rule {own}:3", hosts


@test
def sets_have_names(place):
    file = configure(place, '[network]\nmode = "hosts"\nallow = ["@mine"]\n[network.sets]\nmine = [\n  "srv.test",\n'
                            '  "other.test:8000"]\n')
    result, hosts = run(place, "-c", f"{GET} http://other.test:8000/")
    assert result["exit_code"] == 0 and hosts["other.test", 8000]["by"] == f"rule {file}:7", hosts
    plan = json.loads(place.airlock("explain", "--json", "--", "true").stdout)["network_rules"]
    assert [r["host"] for r in plan["rules"]] == ["srv.test", "other.test:8000"] and plan["mode"] == "hosts", plan
    file = configure(place, '[network]\ndeny = ["@other"]\n[network.sets]\nmine = ["srv.test"]\n')
    done = place.airlock("run", "--", "true")
    assert done.returncode == 125 and f"{file}:2: there is no set @other in [network.sets]" in done.stderr, done
    configure(place, '[network.sets]\nmine = ["srv.test"]\n')
    result, hosts = run(place, "--allow-host", "@mine", "--yes", "-c", f"{GET} http://srv.test/")
    assert hosts["srv.test", 80]["by"] == "option", hosts


@test
def explain_shows_the_rules_in_order(place):
    file = configure(place)
    text = place.airlock("explain", "--allow-host", "x.test:1", "--", "true").stdout
    lines = text[text.index("\nnetwork: ") + 1:].splitlines()
    assert lines[0] == "network: by host, through the gate", lines
    assert lines[1] == f"  deny bad.test ({file}:4)" and lines[3] == f"  allow srv.test ({file}:3)", lines
    assert lines[6] == "  allow x.test:1 (--allow-host)" and lines[7] == "  other hosts: asked about", lines


@test
def a_person_is_asked_once_while_the_connections_wait(place):
    configure(place)
    code = f"for i in 1 2 3; do {GET} http://other.test:8000/ & done; wait; {GET} http://other.test:8000/"
    command = [program(), "run", "--no-pty", "-c", code]
    for key, answered, by in ("a", 4, "allowed"), ("d", 0, "denied"):
        with Terminal(command, columns=400, env=place.env, cwd=place.project) as terminal:
            terminal.expect("Connect to other.test:8000 for: ")
            terminal.expect("[A]llow once  [D]eny: ")
            terminal.answer(key)
            terminal.wait()
            assert terminal.screen.count("hello from 8000") == answered, terminal.screen
            assert terminal.screen.count("Connect to other.test:8000") == 1, terminal.screen
        host = json.loads(place.airlock("show", "last", "--json").stdout)["network"]["hosts"][0]
        assert host["decision"] == by and host["by"] == "person", host


@test
def a_question_has_lines_of_its_own_on_a_terminal_that_the_command_writes_to(place):
    configure(place)
    place.env["TERM"] = "xterm"
    code = f"printf 'before\\033[8m'; {GET} http://other.test:8000/; printf 'name: '; read x; echo got $x"
    for options in [], ["--no-pty"]:
        with Terminal([program(), "run", *options, "-c", code], columns=300, env=place.env, cwd=place.project) as terminal:
            terminal.expect("before\033[8m\033[m\033(B\017\033[?25h\nIn ")
            terminal.expect("1 connection waits\nConnect to other.test:8000 for: ")
            terminal.expect("\n[A]llow once  [D]eny: ")
            terminal.answer("a")
            terminal.expect("allow once\nhello from 8000\nname: ")
            terminal.type("me\n")  # its terminal is its own again; without one it has no input
            terminal.expect("got me\n" if not options else "got\n")
            assert terminal.wait() == 0, terminal.screen


@test
def an_agents_connection_waits_for_a_person_elsewhere(place):
    configure(place)
    place.env["AIRLOCK_PERMISSION_WAIT"] = "30s"
    process = subprocess.Popen([program(), "run", "--agent", "some", "--json", "-c", f"{GET} http://other.test/"],
                               cwd=place.project, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    question = []

    def look():
        question[:] = json.loads(place.airlock("questions", "--json").stdout)["questions"]
        if not question:
            raise OSError("none yet")
    hosts_world.eventually(look)
    assert question[0]["host"] == "other.test" and question[0]["port"] == 80, question
    assert place.airlock("answer", question[0]["id"], "allow").returncode == 0
    result = json.loads(process.communicate(timeout=30)[0])
    assert result["stdout"] == "hello from 80\n" and result["network"]["hosts"][0]["by"] == "person", result
    place.env["AIRLOCK_PERMISSION_WAIT"] = "0"
    _, hosts = run(place, "--agent", "some", "-c", f"{GET} http://other.test/")
    assert hosts["other.test", 80]["by"] == "nobody", hosts


@test
def an_answer_for_the_session_is_remembered_only_where_the_person_says_so(place):
    code = f"{GET} http://other.test/"
    for remember, second in ("run", 7), ("session", 0):
        configure(place, f'[network]\nmode = "hosts"\nremember = "{remember}"\n')
        with Terminal(["sh", "-c", f'"{program()}" run --no-pty -c "{code}"; "{program()}" run --no-pty -c "{code}" </dev/null; echo over'],
                      columns=400, env=place.env, cwd=place.project) as terminal:
            for key in "ad" if second else "a":
                terminal.expect("Connect to other.test:80")
                terminal.expect("[A]llow once  [D]eny: ")
                terminal.answer(key)
            terminal.expect("over")
            assert terminal.screen.count("hello from 80") == (1 if second else 2), terminal.screen
    # A session of the project: its next command needs no answer, wherever it is started; another session does.
    with Terminal([program(), "run", "--session", "one", "--no-pty", "-c", code], columns=400, env=place.env,
                  cwd=place.project) as terminal:
        terminal.expect("[A]llow once  [D]eny: ")
        terminal.answer("a")
        assert terminal.wait() == 0, terminal.screen
    for session, by in ("one", "person"), ("two", "nobody"):
        _, hosts = run(place, "--session", session, "-c", code)
        assert hosts["other.test", 80]["by"] == by, (session, hosts)


@test
def the_commands_of_a_session_share_loopback_and_have_the_gate_in_turn(place):
    configure(place)
    result, hosts = run(place, "--session", "net", "-c", f"python3 -m http.server 8471 >/dev/null 2>&1 & {GET} http://srv.test/")
    assert result["stdout"] == "hello from 80\n" and hosts["srv.test", 80]["decision"] == "allowed", result
    line = f"for i in 1 2 3 4 5 6 7 8 9; do curl -sf http://127.0.0.1:8471/ >/dev/null && break; sleep 0.3; done && echo own; {GET} http://srv.test:8000/"
    result, hosts = run(place, "--session", "net", "-c", line)
    assert result["background"] == 1 and result["stdout"] == "own\nhello from 8000\n", result
    assert hosts["srv.test", 8000]["connections"] == 1, result
    # At the same time: each has its own gate, and is told that it does not share loopback.
    first = subprocess.Popen([program(), "run", "--session", "net", "-c", f"{GET} http://srv.test/; sleep 3"], env=place.env,
                             cwd=place.project, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
    assert first.stdout.readline() == "hello from 80\n"
    result, hosts = run(place, "--session", "net", "-c", f"{GET} http://srv.test:8000/; {GET} http://bad.test/")
    assert result["stdout"] == "hello from 8000\n" and hosts["bad.test", 80]["decision"] == "denied", result
    assert "session-own-network" in result["note_codes"], result
    first.wait()
    assert place.airlock("session", "end", "net").returncode == 0


@test
def who_waits_for_an_answer_when_the_command_ends_is_refused(place):
    """A process in the background, which nobody can be asked about any more: it must not wait for ever."""
    configure(place)
    place.env["AIRLOCK_PERMISSION_WAIT"] = "60s"
    # One connection that a person would have to allow, and many whose calls are under way at the end.
    code = """import socket, threading, time
def waits():
    s = socket.create_connection(("other.test", 80))
    open("/tmp/asked", "w").close()
    try: s.recv(1)
    except OSError as e: print("asked", e.errno, flush=True)
def calls(k):
    end, n = time.time() + 4, 0
    while time.time() < end:
        n += 1
        try: socket.create_connection((f"198.51.100.{n % 250 + 1}", 4000 + k), 20).close()
        except OSError: pass
all = [threading.Thread(target=waits)] + [threading.Thread(target=calls, args=(k,)) for k in range(16)]
for t in all: t.start()
for t in all: t.join()
print("over", flush=True)
"""
    (place.project / "c.py").write_text(code)
    result, hosts = run(place, "--agent", "some", "--session", "w", "-c",
                        "python3 c.py >/tmp/out 2>&1 & until [ -e /tmp/asked ]; do sleep 0.1; done; sleep 0.4")
    assert result["background"] == 1 and hosts["other.test", 80]["by"] == "nobody", result
    assert json.loads(place.airlock("questions", "--json").stdout)["questions"] == []

    def look():
        out = run(place, "--session", "w", "-c", "cat /tmp/out")[0]["stdout"]
        if "over" not in out:
            raise OSError(out)
        assert "asked 104" in out, out
    hosts_world.eventually(look)
    assert place.airlock("session", "end", "w").returncode == 0


@test
def bytes_come_through_whole_in_both_directions(place):
    configure(place)
    data = hashlib.sha256()
    block, blocks = bytes(range(256)) * 256, 320
    for _ in range(blocks):
        data.update(block)
    result, hosts = python(place, f"""if 1:
        import hashlib, socket, time
        block = bytes(range(256)) * 256
        with socket.create_connection(("srv.test", {PORTS["echo"]})) as s:
            for _ in range({blocks}):
                s.sendall(block)
            s.shutdown(socket.SHUT_WR)
            print(s.makefile().read())
        with socket.create_connection(("srv.test", {PORTS["bulk"]})) as s:
            s.sendall(b"{blocks * 65536}\\n")
            total, digest = 0, hashlib.sha256()
            while got := s.recv(65536):
                if total == 0:
                    time.sleep(0.3)  # a slow reader
                total += len(got)
                digest.update(got)
            print(total, digest.hexdigest())
        with socket.create_connection(("srv.test", {PORTS["reset"]})) as s:
            s.sendall(b"xx")
            try:
                print(s.recv(1))
            except ConnectionResetError:
                print("reset")""")
    whole = f"{blocks * 65536} {data.hexdigest()}"
    assert result["stdout"].splitlines() == [whole, whole, "reset"], result
    assert hosts["srv.test", PORTS["echo"]]["bytes_out"] == blocks * 65536, hosts
    assert hosts["srv.test", PORTS["bulk"]]["bytes_in"] == blocks * 65536, hosts


@test
def what_it_sent_last_goes_out_although_it_has_ended(place):
    configure(place)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    configure(place, f'[network]\nmode = "hosts"\nallow = ["loop.test"]\nallow_private = ["127.0.0.1:{port}"]\n')
    got = []

    def take():
        client, _ = listener.accept()
        while data := client.recv(65536):
            got.append(len(data))
            time.sleep(0.005)
        got.append(0)
    thread = threading.Thread(target=take)
    thread.start()
    python(place, f"import socket; s = socket.create_connection(('loop.test', {port})); s.sendall(bytes(2 << 20))")
    thread.join(10)
    assert got and got[-1] == 0 and sum(got) == 2 << 20, sum(got)


@test
def many_connections_at_once_and_one_after_another(place):
    configure(place)
    result, hosts = python(place, f"""if 1:
        import socket, threading
        all = [socket.create_connection(("srv.test", {PORTS["echo"]}), 30) for _ in range(400)]
        for i, s in enumerate(all):
            s.sendall(b"x" * i)
            s.shutdown(socket.SHUT_WR)
        print(sum(int(s.makefile().read().split()[0]) for s in all))
        for _ in range(600):
            with socket.create_connection(("srv.test", {PORTS["echo"]}), 30) as s:
                s.sendall(b"y")
                s.shutdown(socket.SHUT_WR)
                assert s.recv(100).startswith(b"1 ")""")
    assert result["stdout"].strip() == str(sum(range(400))), result
    assert hosts["srv.test", PORTS["echo"]]["connections"] == 1000, hosts


@test
def the_name_server_survives_whatever_it_is_asked(place):
    configure(place)
    result, _ = python(place, r"""if 1:
        import os, socket, struct
        def query(name, kind=1, flags=0x100, edns=False):
            labels = b"".join(bytes([len(l)]) + l for l in name.split(b".")) + b"\0"
            return (struct.pack(">HHHHHH", 7, flags, 1, 0, 0, edns) + labels + struct.pack(">HH", kind, 1)
                    + (b"\0\0\x29\x10\0\0\0\0\0\0\0" if edns else b""))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.settimeout(5)
        for server in "127.0.0.1", "8.8.8.8", "192.0.2.53":  # whichever it asks, and the answer comes from there
            udp.sendto(query(b"srv.test"), (server, 53))
            data, sender = udp.recvfrom(600)
            assert sender[0] == server and data[-4:-2] == bytes([198, 18]), (sender, data)
        first = data[-4:]
        junk = [b"", b"x", os.urandom(12), query(b"srv.test")[:-1], b"\0\7\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1",
                query(b".".join([b"a" * 63] * 3 + [b"a" * 61])), query(b"srv.test", flags=0x8180), query(b"srv.test", flags=0x2800),
                b"\0\7\1\0\0\1\0\0\0\0\0\0" + b"\1a" * 600, query(b"a\0b.test"), query(b"x" * 63 + b".test", 255)]
        for packet in junk * 20:
            udp.sendto(packet, ("127.0.0.1", 53))
        udp.close()
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.settimeout(5)
        udp.connect(("127.0.0.1", 53))
        for edns in False, True:
            udp.send(query(b"SRV.test", edns=edns))
            data = udp.recv(600)
            assert first in data and (data[11] == 1) == edns, data
        udp.send(query(b"srv.test", 28))
        data = udp.recv(600)
        assert data[7] == 0 and data[3] & 15 == 0, data
        tcp = socket.create_connection(("127.0.0.1", 53), 5)
        whole = b"".join(struct.pack(">H", len(q)) + q for q in (query(b"srv.test"), query(b"srv.test", 28)))
        for i in range(len(whole)):
            tcp.sendall(whole[i:i + 1])
        got = b""
        while len(got) < 2 + 42 + 2 + 26:
            got += tcp.recv(100)
        assert first in got, got
        for i in range(3000):  # each has an address of its own
            udp.send(query(b"n%d.nowhere.test" % i))
            assert udp.recv(600)[-4:-3] == b"\xc6"
        print("alive")""")
    assert result["stdout"] == "alive\n", result


@test
def other_programs_and_protocols(place):
    configure(place)
    ca = os.environ["HOSTS_WORLD_CA"]
    (place.project / "ca.pem").write_bytes(Path(ca).read_bytes())
    result, hosts = run(place, "-c", f"{GET} --cacert ca.pem https://tls.test/; {GET} -k https://srv.test/ ; "
                        "git ls-remote http://srv.test/x.git 2>&1 | tail -1; "
                        "git ls-remote https://bad.test/x.git 2>&1 | tail -1")
    lines = result["stdout"].splitlines()
    assert lines[:2] == ["hello from 443", "hello from 443"] and "bad.test" in lines[-1], result
    assert hosts["tls.test", 443]["decision"] == "allowed" and hosts["srv.test", 443]["connections"] == 1, hosts
    (place.project / "c.c").write_text(
        '#include <arpa/inet.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/socket.h>\n#include <unistd.h>\n'
        'int main(void) { struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(8000)}; char b[400] = {0};\n'
        f'inet_pton(AF_INET, "{SERVER}", &a.sin_addr); int s = socket(AF_INET, SOCK_STREAM, 0);\n'
        'if (connect(s, (void *)&a, sizeof a)) return 1; write(s, "GET / HTTP/1.0\\r\\n\\r\\n", 18);\n'
        'while (read(s, b, sizeof b - 1) > 0) fputs(b, stdout), memset(b, 0, sizeof b); return 0; }\n')
    subprocess.run(["gcc", "-static", "-w", "-o", "c", "c.c"], cwd=place.project, check=True)
    result, hosts = run(place, "--allow-host", SERVER, "--yes", "--", "./c")  # no library that could be told of a proxy
    assert "hello from 8000" in result["stdout"] and hosts[SERVER, 8000]["by"] == "option", (result, hosts)
    result, hosts = python(place, """if 1:
        import socket
        with socket.create_connection(("2001:db8:9::10", 8000), 5) as s:
            s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            print(s.makefile().read()[-16:])
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        u.connect(("203.0.113.10", 443))
        u.send(b"x")
        try:
            u.settimeout(5)
            u.recv(1)
        except OSError as error:
            print(type(error).__name__)""", "--allow-host", "[2001:db8:9::10]:8000", "--yes")
    assert "hello from 8000" in result["stdout"] and "ConnectionRefusedError" in result["stdout"], result
    assert hosts["2001:db8:9::10", 8000]["decision"] == "allowed", hosts


@test
def a_port_is_published_on_the_loopback_alone(place):
    configure(place, "")
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    error = refused(place, "busy", 125, "--publish", f"{port}:8080", "--yes")
    assert str(port) in error["message"], error
    free.close()
    refused(place, "denied", 125, "--publish", f"{port}:8080")
    process = subprocess.Popen([program(), "run", "--json", "--publish", f"{port}:8080", "--yes", "--", "/usr/bin/python3", "-m",
                                "http.server", "--bind", "127.0.0.1", "8080"], cwd=place.project, env=place.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    (place.project / "page").write_text("inside\n")
    try:
        for _ in range(12):
            page = hosts_world.eventually(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/page", timeout=5).read())
            assert page == b"inside\n", page
        try:
            socket.create_connection((hosts_world.OWN, port), 2)
            raise AssertionError("it can be reached from outside")
        except OSError:
            pass
        # Nor from another sandbox.
        other, _ = run(place, "--network", "--yes", "-c", f"for host in 127.0.0.1 {hosts_world.OWN} loop.test own.test '[::1]'; do "
                       f"curl -s -m 5 http://$host:{port}/page; done; {GET} http://srv.test/")
        assert other["stdout"] == "hello from 80\n", other
    finally:
        process.terminate()
        result = json.loads(process.communicate(timeout=20)[0])
    assert result["network"] is None and result["isolation"]["network"] == "blocked", result
    try:
        socket.create_connection(("127.0.0.1", port), 2)
        raise AssertionError("it goes on after the run")
    except ConnectionRefusedError:
        pass


@test
def a_workspace_has_its_hosts_too(place):
    configure(place)
    workspace = place.home / "ws"
    workspace.mkdir()
    result, hosts = run(place, "--workspace", str(workspace), "-c", "/usr/bin/curl -sS -m 20 http://srv.test:8000/; cat /etc/hosts")
    assert "hello from 8000" in result["stdout"] and "203.0" not in result["stdout"], result


@test
def mcp_takes_hosts(place):
    configure(place)
    with Client(place) as client:
        client.initialize()
        data = client.run(f"{GET} http://srv.test/", hosts=["srv.test:80"])
        assert "hello from 80" in text_of(data), data
        result = client.run("true", hosts=["other.test"])
        assert result["isError"], result
        result = client.run("true", hosts=["*"])
        assert result["isError"], result


if __name__ == "__main__":
    hosts_world.enter()
    sys.exit(main())
