#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Without a grant nothing of any network is reached, whichever way is tried. What a grant gives: tests/integration/network.bats

load ../helpers

teardown() {
	if [ -n "${SERVER:-}" ]; then kill "$SERVER" 2>/dev/null || true; fi
}

# A service on every address of the host, over TCP and UDP, that writes down whoever comes; its ports are in PORTS.
serve() {
	VISITORS=$BATS_TEST_TMPDIR/visitors
	python3 -c '
import select, socket, sys
tcp, udp = socket.create_server(("", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 0))
print(tcp.getsockname()[1], udp.getsockname()[1], flush=True)
while True:
    for ready in select.select([tcp, udp], [], [])[0]:
        who = ready.accept()[1] if ready is tcp else ready.recvfrom(10)[1]
        print(who, file=open(sys.argv[1], "a"))' "$VISITORS" >"$BATS_TEST_TMPDIR/ports" 3>&- &
	SERVER=$!
	eventually grep -q . "$BATS_TEST_TMPDIR/ports"
	read -r TCP UDP <"$BATS_TEST_TMPDIR/ports"
}

@test "a service of the host is not reached over TCP or UDP, at any of its addresses" {
	serve
	ADDRESSES=$(python3 -c '
import socket
addresses = {"127.0.0.1", "127.1.2.3", "0.0.0.0", "localhost"}
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.connect(("192.0.2.1", 9))
    addresses.add(s.getsockname()[0])
except OSError:
    pass
print(sorted(addresses))')
	each_backend each_profile unreached
	assert_absent "$VISITORS"
	# The service can tell a visitor: without this the test could not fail.
	python3 -c "import socket; socket.create_connection(('127.0.0.1', $TCP))"
	eventually test -s "$VISITORS"
}
unreached() {
	run_python <<-EOF_PYTHON
		def tell(address, connected):
		    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		    if connected:
		        s.connect((address, $UDP))
		        s.send(b"x")
		        s.recv(1, socket.MSG_DONTWAIT)
		    else:
		        s.sendto(b"x", (address, $UDP))
		    s.settimeout(0.05)
		    s.recv(1)
		for address in $ADDRESSES:
		    attempt(f"tcp {address}", lambda: socket.create_connection((address, $TCP), 2))
		    for connected in False, True:
		        try:
		            tell(address, connected)
		        except OSError:
		            pass
	EOF_PYTHON
	assert_status 0
	refute_stdout_contains ': done'
	assert_stdout_contains 'tcp 127.0.0.1: ECONNREFUSED'
}

@test "no address outside: the world, the metadata service, a neighbour, by IPv6" {
	each_backend each_profile outside
}
outside() {
	run_python <<-'EOF_PYTHON'
		for family, address in (2, "192.0.2.1"), (2, "169.254.169.254"), (2, "10.0.0.1"), (2, "224.0.0.1"), \
		                       (10, "2001:db8::1"), (10, "fd00:ec2::254"), (10, "ff02::1"):
		    for kind in 1, 2:
		        s = socket.socket(family, kind)
		        s.settimeout(5)
		        attempt(f"{address} {kind}".replace(":", "."), s.connect, (address, 80))
	EOF_PYTHON
	assert_all_failed 14
}

@test "no names are resolved" {
	each_backend each_profile names
}
names() {
	run_python <<-'EOF_PYTHON'
		attempt("own", socket.getaddrinfo, "127.0.0.1", 80)
		try:
		    print("resolved", socket.getaddrinfo("example.com", 80))
		except OSError:
		    print("no names")
	EOF_PYTHON
	assert_status 0
	assert_stdout $'own: done\nno names'
	assert_inside # the host may have no resolver either
}

@test "the only interface is its own loopback, and none can be made or changed" {
	each_backend each_profile interfaces
}
interfaces() {
	run_python <<-'EOF_PYTHON'
		import fcntl, struct
		print(*(name for _, name in socket.if_nameindex()))
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		down = struct.pack("16sh14x", b"lo", 0)
		attempt("down", fcntl.ioctl, s, 0x8914, down)
		attempt("address", fcntl.ioctl, s, 0x8916, struct.pack("16sHH4s8x", b"lo", 2, 0, bytes([10, 0, 0, 1])))
		netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
		netlink.settimeout(10)
		# RTM_NEWLINK, create, a dummy
		body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + struct.pack("HH4s", 8, 3, b"dum\0") + \
		    struct.pack("HH", 16, 18) + struct.pack("HH5s3x", 9, 1, b"dummy")
		netlink.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
		answer = netlink.recv(4096)
		print("made", struct.unpack_from("i", answer, 16)[0])
		attempt("tun", os.open, "/dev/net/tun", os.O_RDWR)
	EOF_PYTHON
	assert_status 0
	[ "$(head -n 1 "$RAW_STDOUT")" = lo ] || fail "expected lo alone"
	refute_stdout_contains ': done'
	assert_stdout_contains 'made -'
}

@test "the hypervisor's, the kernel's and other odd sockets are refused" {
	each_backend each_profile odd
}
odd() {
	run_python <<-'EOF_PYTHON'
		for name, arguments in ("vsock", (40, 1, 0)), ("vsock datagram", (40, 2, 0)), ("alg", (38, 5, 0)), ("tipc", (30, 1, 0)), \
		                       ("packet", (17, 3, 768)), ("xdp", (44, 3, 0)), ("bluetooth", (31, 3, 1)), ("can", (29, 3, 1)), \
		                       ("mptcp", (2, 1, 262)), ("smc", (43, 1, 0)), ("sctp", (2, 1, 132)), ("raw", (2, 3, 255)), \
		                       ("ping6 raw", (10, 3, 58)), ("audit", (16, 3, 9)), ("uevent", (16, 3, 15)), ("netfilter", (16, 3, 12)), \
		                       ("generic netlink", (16, 3, 16)), ("sock_diag", (16, 3, 4)), ("xfrm", (16, 3, 6)), ("rds", (21, 5, 0)):
		    attempt(name, socket.socket, *arguments)
	EOF_PYTHON
	assert_all_failed 20
}

@test "a granted network opens no odd sockets and no other namespace" {
	each_backend granted
}
granted() {
	run_python --network --yes <<-'EOF_PYTHON'
		for name, arguments in ("vsock", (40, 1, 0)), ("packet", (17, 3, 768)), ("mptcp", (2, 1, 262)), ("raw", (2, 3, 255)), \
		                       ("audit", (16, 3, 9)), ("alg", (38, 5, 0)):
		    attempt(name, socket.socket, *arguments)
		attempt("namespace", call, "unshare", 0x40000000)
	EOF_PYTHON
	assert_all_failed 7
}
