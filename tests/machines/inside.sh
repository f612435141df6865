#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs in the machine that tools/vm has started, as root. Prints lines for its table:
#   CELL identity | place | backend | what came of it          SUITE identity | backend | file | counts
#   inside.sh TOP SECONDS [PART...]     TOP: the project with build/airlock; SECONDS: how long the suites may take together; PART: host_cells,
#                                       memory_limit, container_cells, remote, demo, suites; all of these unless named; and speed
#                                       FIRST_SUITE in the environment: the suite to begin with
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
		# One connection for all: without KVM a login takes a minute.
		ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ControlMaster=auto -o ControlPath=/run/ssh-%r -o ControlPersist=yes \
			-i /root/.ssh/id "$who@127.0.0.1" "$(printf '%q ' "$@")"
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

# run_suite IDENTITY BACKEND FILE: its line of the table, and the story of what failed. As in tools/check, homes do not lie in
# /tmp or /var/tmp, of which sandboxes have their own.
run_suite() {
	local who=$1 backend=$2 file=$3 log=/var/tmp/suite-$1.log tmp=/var/lib/suite-$1 command status=0
	mkdir -p "$tmp" && chown "$who:" "$tmp"
	case $file in
	*.bats) command=(bats "$top/tests/$file") ;;
	*) command=(python3 "$top/tests/$file" "$top/build" "${@:4}") ;;
	esac
	as "$who" timeout 3600 env PYTHONUNBUFFERED=1 TMPDIR="$tmp" AIRLOCK="$airlock" AIRLOCK_TEST_BACKENDS="$backend" BATS_TEST_TIMEOUT=600 EVENTUALLY_SECONDS=120 \
		"${command[@]}" >"$log" 2>&1 </dev/null || status=$?
	[ $status -eq 124 ] && echo 'not ok killed after an hour' >>"$log"
	[ $status -ne 0 ] && ! grep -q '^not ok' "$log" && echo "not ok ended with $status" >>"$log"
	echo "SUITE $who | $backend | $file ${*:4}| $(grep '^ok' "$log" | grep -vc '# skip') passed, $(grep -c '^not ok' "$log") failed, $(grep -c '^ok.*# skip' "$log") skipped"
	grep -A12 '^not ok' "$log" | sed 's/^/  /'
	grep -o '# skip.*' "$log" | sort | uniq -c | sed 's/^/  /'
}

# Both identities at once. What there is no time for is named.
suites() {
	local deadline=$((SECONDS + seconds)) file backends backend who
	awk -v first="${FIRST_SUITE:-}" '/^#/ { next } first == "" || $1 == first { on = 1 } on' "$top/tests/machines/suites.txt" >/var/tmp/suites
	while read -r file backends; do
		for backend in $backends; do
			for who in u root; do
				if [ $SECONDS -lt $deadline ]; then
					run_suite $who "$backend" "$file" >"/var/tmp/said-$who" &
				else
					echo "SUITE $who | $backend | $file | no time" >"/var/tmp/said-$who"
				fi
			done
			wait
			cat /var/tmp/said-u /var/tmp/said-root
		done
	done </var/tmp/suites
}

# ---- projects on other machines' file systems

start_nfs() {
	mkdir -p /srv/nfs /mnt/nfs
	chmod 1777 /srv/nfs
	echo '/srv/nfs 127.0.0.1(rw,no_root_squash,no_subtree_check,fsid=0)' >/etc/exports
	grep -q /mnt/nfs /etc/fstab || echo '127.0.0.1:/ /mnt/nfs nfs4 noauto,user,exec 0 0' >>/etc/fstab
	timeout 600 systemctl start nfs-server
}

remote() {
	local who backend
	if start_nfs; then
		mount /mnt/nfs || say_cell root 'NFS' - 'BROKEN: cannot mount'
		for who in root u; do
			for backend in native bubblewrap landlock; do
				say_cell $who 'NFS, state on ext4' $backend \
					"$(as $who sh "$cell" "$airlock" $backend "/mnt/nfs/cell-$who" "/var/tmp/state-$who" </dev/null 2>&1 | tail -n 1)"
			done
			say_cell $who 'NFS, state there too' native "$(as $who sh "$cell" "$airlock" native "/mnt/nfs/cell-$who" </dev/null 2>&1 | tail -n 1)"
		done
		umount /mnt/nfs
		for who in u root; do run_suite $who native integration/places.py /mnt/nfs; done
	else
		say_cell root 'NFS' - 'BROKEN: no server'
	fi
	for who in u root; do run_suite $who native integration/places.py; done
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

# Only when it is named: the start beside bwrap's, on this kernel.
speed() {
	python3 "$top/bench/run" --no-install --sections start-up,rate,sessions --json /var/tmp/bench.json "$airlock" </dev/null 2>&1
}

all=(host_cells memory_limit container_cells remote demo suites)
for part in "${@:3}"; do
	[[ " ${all[*]} speed " = *" $part "* ]] || { echo "inside.sh: no part $part; there are: ${all[*]} speed" >&2; exit 2; }
done
[ $# -gt 2 ] && all=("${@:3}")
for part in "${all[@]}"; do "$part"; done
