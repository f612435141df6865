#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The network: off, unless it was asked for and granted.

load ../helpers

setup() {
	default_setup
	start_server
}

teardown() {
	kill "$SERVER" 2>/dev/null || true
}

# A service of the host on its loopback, TCP and UDP on the same port; says hello to whoever connects.
start_server() {
	python3 -c '
import socket, sys
tcp = socket.create_server(("127.0.0.1", 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(tcp.getsockname())
print(tcp.getsockname()[1], flush=True)
sys.stdout.close()
while True:
    client, _ = tcp.accept()
    client.sendall(b"hello")
    client.close()' >"$BATS_TEST_TMPDIR/port" 3>&- &
	SERVER=$!
	eventually test -s "$BATS_TEST_TMPDIR/port"
	PORT=$(cat "$BATS_TEST_TMPDIR/port")
}

# connect OPTION...: from inside to that service
connect() {
	run_python "$@" <<-EOF_PYTHON
		def tcp():
		    with socket.create_connection(("127.0.0.1", $PORT), 5) as s:
		        assert s.recv(5) == b"hello"
		attempt("tcp", tcp)
	EOF_PYTHON
}

@test "a service on the host's loopback is out of reach" {
	each_backend each_profile unreachable
}
unreachable() {
	connect
	assert_attempts tcp=ECONNREFUSED
	run_airlock run --json -- true
	assert_json blocked isolation network
}

@test "there is no interface but an own loopback, no route and no name" {
	each_backend each_profile nothing_there
}
nothing_there() {
	run_python <<-'EOF_PYTHON'
		print(*(name for _, name in socket.if_nameindex()))
		attempt("address", lambda: socket.create_connection(("192.0.2.1", 80), 2))
		def udp():
		    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		    s.sendto(b"x", ("169.254.169.254", 80))
		attempt("metadata", udp)
		try:
		    socket.getaddrinfo("example.org", 80)
		    print("resolved")
		except socket.gaierror:
		    print("no name")
	EOF_PYTHON
	assert_status 0
	assert_stdout $'lo\naddress: ENETUNREACH\nmetadata: ENETUNREACH\nno name'
}

@test "the own loopback works inside" {
	each_backend each_profile own_loopback
}
own_loopback() {
	run_python <<-'EOF_PYTHON'
		server = socket.create_server(("127.0.0.1", 0))
		client = socket.create_connection(server.getsockname(), 5)
		peer, _ = server.accept()
		peer.sendall(b"inside")
		print(client.recv(6).decode())
	EOF_PYTHON
	assert_status 0
	assert_stdout inside
}

@test "with --network-mode host, granted, the host's network is there" {
	each_backend granted
}
granted() {
	connect --network-mode host --yes
	assert_attempts tcp=done
	connect --network-mode host --yes --profile permissive
	assert_attempts tcp=done
	run_airlock run --json --network-mode host --yes -- true
	assert_json host isolation network
	assert_json null network
	[ "$(readlink /proc/self/ns/net)" = "$("$AIRLOCK" run --network-mode host --yes -- readlink /proc/self/ns/net)" ]
	run_program setsid -w "$AIRLOCK" run --json --network-mode host -- touch started </dev/null
	assert_refused denied
	assert_absent started
}

@test "with --network-mode host the name servers can be read" {
	[ -e /etc/resolv.conf ] || skip "needs: /etc/resolv.conf"
	each_backend name_servers
}
name_servers() {
	run_airlock run --network-mode host --yes -- cat /etc/resolv.conf
	assert_status 0
	cmp /etc/resolv.conf "$RAW_STDOUT"
}

@test "with --network everything else stays as closed as before" {
	each_backend only_network
}
only_network() {
	mkdir -p "$HOME/.ssh"
	echo key >"$HOME/.ssh/id"
	run_airlock run --network --yes -c 'cat ~/.ssh/id; echo x >"$HOME/x"; ls /run'
	refute_stdout_contains key
	assert_absent "$HOME/x"
	run_airlock run --json --network --yes -- true
	assert_json enforced isolation filesystem
	assert_json enforced isolation processes
}

@test "the grant is for one run" {
	each_backend one_run
}
one_run() {
	connect --network-mode host --yes
	assert_attempts tcp=done
	connect
	assert_attempts tcp=ECONNREFUSED
	run_program setsid -w "$AIRLOCK" run --json --network -- true </dev/null
	assert_refused denied
}

@test "--network=no takes AIRLOCK_NETWORK back" {
	each_backend taken_back
}
taken_back() {
	AIRLOCK_NETWORK=yes AIRLOCK_YES=yes run_airlock run --json -- true
	assert_json allowed isolation network
	AIRLOCK_NETWORK=yes AIRLOCK_YES=yes run_airlock run --json --network=no -- true
	assert_json blocked isolation network
}

@test "strict refuses it, --yes or not: blocked, and nothing runs" {
	each_backend strict
}
strict() {
	run_airlock run --json --profile strict --network --yes -- touch started
	assert_refused blocked
	assert_json network error op
	assert_json 'profile strict refuses network access' error message
	assert_json 'choose a profile that may ask for it: --profile moderate' error hint
	assert_absent started
}

@test "a profile that asks for it every time, one that never does" {
	each_backend by_profile
}
by_profile() {
	write_config '[profiles.online]' 'network = "ask"' '[profiles.offline]' 'network = "refuse"'
	run_program setsid -w "$AIRLOCK" run --json --profile online -- touch started </dev/null
	assert_refused denied
	assert_json network error subject
	run_airlock run --json --profile online --yes -- true
	assert_json allowed isolation network
	run_airlock run --json --profile offline --network --yes -- touch started
	assert_refused blocked
	assert_absent started
}

# ---- names, where the file of name servers is a link into /run

# A machine of its own, for as long as the function takes: other mounts and another network, a name server on its
# loopback, /etc/resolv.conf a chain of links into /run as systemd-resolved and resolvconf make it.
in_a_machine_with_resolved() {
	is_root || skip "needs: root, for a machine laid out otherwise"
	cat >"$BATS_TEST_TMPDIR/name_server.py" <<-'EOF_PYTHON'
		import fcntl, socket, struct, sys
		with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:  # ip link set lo up
		    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
		udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		udp.bind(("127.0.0.53", 53))
		print("ready", flush=True)
		while True:
		    query, client = udp.recvfrom(512)
		    end = query.index(0, 12) + 5
		    is_a = query[end - 4:end - 2] == b"\0\1"
		    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\7" if is_a else b""
		    udp.sendto(query[:2] + b"\x81\x80\0\1\0" + bytes([is_a]) + b"\0\0\0\0" + query[12:end] + answer, client)
	EOF_PYTHON
	export -f names_resolve run_airlock run_program fail assert_status assert_stdout assert_stdout_contains refute_stdout_contains
	export AIRLOCK PROJECT BATS_TEST_TMPDIR
	run_program unshare -mn bash -euc '
		rm -rf "$BATS_TEST_TMPDIR/etc"
		mkdir "$BATS_TEST_TMPDIR/etc"
		cp -a /etc/. "$BATS_TEST_TMPDIR/etc/"
		rm -f "$BATS_TEST_TMPDIR/etc/resolv.conf"
		ln -s '"$2"' "$BATS_TEST_TMPDIR/etc/resolv.conf"
		echo "hosts: files dns" >"$BATS_TEST_TMPDIR/etc/nsswitch.conf"
		mount --bind "$BATS_TEST_TMPDIR/etc" /etc
		mount -t tmpfs tmpfs /run
		mkdir -p /run/systemd/resolve /run/other /run/resolvconf
		printf "nameserver 127.0.0.53\noptions timeout:1 attempts:1\n" >/run/systemd/resolve/stub-resolv.conf
		ln -s ../systemd/resolve/stub-resolv.conf /run/resolvconf/resolv.conf
		echo secret >/run/other/secret
		echo secret >/run/systemd/resolve/secret
		python3 "$BATS_TEST_TMPDIR/name_server.py" >"$BATS_TEST_TMPDIR/ready" &
		server=$!
		trap "kill $server" EXIT
		for i in $(seq 200); do [ ! -s "$BATS_TEST_TMPDIR/ready" ] || break; sleep 0.05; done
		"$0"' "$1" </dev/null
	assert_status 0
}

names_resolve() {
	local lookup='python3 -c "import socket; print(socket.gethostbyname(\"somewhere.example\"))" 2>/dev/null'
	for profile in moderate permissive; do
		# By the gate: a name that exists has an address of its own, and the server to ask is the gate's.
		run_airlock run --profile "$profile" --network --yes -c "$lookup"'; cat /etc/resolv.conf; find /run -type f; ls -A /run'
		assert_status 0
		assert_stdout_contains 198.18.
		assert_stdout_contains 'nameserver 127.0.0.1'
		refute_stdout_contains secret
		[ "$(grep -c '^/run/' <<<"$stdout")" -eq 1 ] || fail "expected one file in /run"
		run_airlock run --profile "$profile" --network-mode host --yes -c "$lookup"'; cat /etc/resolv.conf; find /run -type f; ls -A /run'
		assert_status 0
		assert_stdout_contains 192.0.2.7
		assert_stdout_contains 'nameserver 127.0.0.53'
		refute_stdout_contains secret
		refute_stdout_contains other
		[ "$(grep -c '^/run/' <<<"$stdout")" -eq 1 ] || fail "expected one file in /run"
		run_airlock run --profile "$profile" -c "$lookup"'; find /run ! -type d'
		refute_stdout_contains 192.0.2.7
		refute_stdout_contains /run/
	done
}

@test "names resolve where /etc/resolv.conf is a link into /run, and nothing else of /run is there" {
	each_backend in_a_machine_with_resolved names_resolve ../run/systemd/resolve/stub-resolv.conf
}

@test "names resolve over a chain of links" {
	each_backend in_a_machine_with_resolved names_resolve /run/resolvconf/resolv.conf
	each_backend in_a_machine_with_resolved names_resolve /var/run/resolvconf/resolv.conf
}
