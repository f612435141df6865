#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs in the machine that tools/vm has started, as root. Prints lines for its table:
#   CELL identity | place | backend | what came of it          SUITE identity | backend | file | counts
#   inside.sh TOP SECONDS      TOP: the project with build/airlock; SECONDS: how long the suites may take together
set -u
top=$1 seconds=$2
airlock=$top/build/airlock
cell=$top/tests/machines/cell.sh
image=/var/lib/airlock-image # the root of a container: busybox and airlock

say_cell() { # IDENTITY PLACE BACKEND RESULT
	echo "CELL $1 | $2 | $3 | $4"
}

as() { # IDENTITY COMMAND...: in a login of its own where it is a user's, so that it has what an ssh login has
	local who=$1
	shift
	if [ "$who" = root ]; then
		"$@"
	else
		ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i /root/.ssh/id "$who@127.0.0.1" "$(printf '%q ' "$@")"
	fi
}

host_cells() {
	local who backend
	mkdir -p /mnt/memory
	mountpoint -q /mnt/memory || mount -t tmpfs -o mode=1777 memory /mnt/memory
	for who in root u; do
		for backend in native bubblewrap landlock; do
			say_cell $who 'ext4' $backend "$(as $who sh "$cell" "$airlock" $backend "/var/tmp/cell-$who" </dev/null 2>&1 | tail -n 1)"
		done
		say_cell $who 'ext4, state on tmpfs' native \
			"$(as $who sh "$cell" "$airlock" native "/var/tmp/cell-$who" "/mnt/memory/state-$who" </dev/null 2>&1 | tail -n 1)"
	done
}

memory_limit() {
	local who
	for who in root u; do
		say_cell $who 'memory limit by ssh' native "$(as $who sh -c "mkdir -p ~/limit/.git && cd ~/limit && $airlock run --json --memory 200M -- true |
			sed -n 's/.*\"limits\": \"\([a-z]*\)\".*/\1/p'" </dev/null 2>&1 | tail -n 1)"
	done
}

make_image() {
	mkdir -p $image/{bin,etc,proc,sys,dev,run,tmp,root,usr/bin,var/tmp,home/u}
	cp /bin/busybox $image/bin/busybox
	for name in sh cat cp chmod echo env grep head id ls mkdir printf rm sed sleep tail test touch true '['; do ln -sf busybox "$image/bin/$name"; done
	cp -L "$airlock" $image/usr/bin/airlock
	cp "$cell" $image/usr/bin/cell.sh
	echo 'root:x:0:0::/root:/bin/sh' >$image/etc/passwd
	echo 'root:x:0:' >$image/etc/group
	printf 'ID=test\nNAME=test\n' >$image/etc/os-release
	chmod -R a+rX $image
}

# container IDENTITY PLACE COMMAND...: both backends that need nothing else
container() {
	local who=$1 place=$2 backend
	shift 2
	for backend in native landlock; do
		say_cell "$who" "$place" $backend \
			"$(as "$who" timeout 300 "$@" /bin/sh /usr/bin/cell.sh /usr/bin/airlock $backend /var/cell </dev/null 2>&1 | tail -n 1 | cut -c 1-150)"
	done
}

container_cells() {
	make_image
	command -v systemd-nspawn >/dev/null &&
		container root 'systemd-nspawn' systemd-nspawn --quiet --pipe --register=no --keep-unit --ephemeral -D $image
	if command -v podman >/dev/null; then
		tar -C $image -c . | podman import -q - airlock-test >/dev/null
		container root 'podman' podman run --rm --network none airlock-test
		container root 'podman --privileged' podman run --rm --network none --privileged airlock-test
		tar -C $image -c . >/var/tmp/image.tar && chmod a+r /var/tmp/image.tar
		as u podman import -q /var/tmp/image.tar airlock-test >/dev/null 2>&1
		container u 'podman (rootless)' podman run --rm --network none localhost/airlock-test
	fi
	if command -v dockerd >/dev/null && timeout 240 systemctl start docker 2>/dev/null; then
		tar -C $image -c . | docker import - airlock-test >/dev/null
		container root 'docker' docker run --rm --network none airlock-test
		container root 'docker --privileged' docker run --rm --network none --privileged airlock-test
		systemctl stop docker docker.socket 2>/dev/null
	fi
}

# The suites that say most about a kernel first: what there is no time for is named.
suites() {
	local deadline=$((SECONDS + seconds)) file who backend log=/var/tmp/suite.log
	for file in integration/doctor.bats integration/older_kernels.bats security/landlock.bats security/writes.bats integration/apply.bats \
		security/syscalls.bats security/secrets.bats security/first_process.bats security/ipc.bats security/layers.bats integration/capture_real.bats; do
		for who in u root; do
			for backend in native bubblewrap; do
				[[ $backend = bubblewrap && $file = integration/* ]] && continue
				if [ $SECONDS -ge $deadline ]; then
					echo "SUITE $who | $backend | $file | no time"
					continue
				fi
				as $who timeout 900 env AIRLOCK="$airlock" AIRLOCK_TEST_BACKENDS=$backend BATS_TEST_TIMEOUT=300 bats "$top/tests/$file" \
					>$log 2>&1 </dev/null
				echo "SUITE $who | $backend | $file | $(grep -c '^ok' $log) passed, $(grep -c '^not ok' $log) failed"
				grep -A6 '^not ok' $log | sed 's/^/  /'
			done
		done
	done
}

demo() {
	local who
	for who in root u; do
		if as $who timeout 600 sh "$top/tools/demo" "$airlock" >/var/tmp/demo.log 2>&1 </dev/null; then
			say_cell $who 'tools/demo' auto passed
		else
			say_cell $who 'tools/demo' auto "BROKEN: $(tail -n 1 /var/tmp/demo.log)"
		fi
	done
}

matrix() { # the cases of the threat model, from inside
	local who log=/var/tmp/matrix.log
	for who in u root; do
		as $who timeout 900 env AIRLOCK_TEST_BACKENDS=native python3 "$top/tests/security/matrix.py" "$top/build" >$log 2>&1 </dev/null
		echo "SUITE $who | native | security/matrix.py | $(grep -c '^ok' $log) passed, $(grep -c '^not ok' $log) failed"
		grep '^not ok' $log | sed 's/^/  /'
	done
}

host_cells
memory_limit
container_cells
demo
matrix
suites
