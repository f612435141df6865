#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The sandbox's own /tmp, /var/tmp, /run and /dev/shm: how large they are, and what a command is told that filled one.

load ../helpers

# Half of the memory that sysinfo(2) tells, rounded down to a MiB.
half_of_memory() {
	python3 -I -S -c 'import os; print(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 50 // 100 >> 20)'
}

# In MiB, as a command inside sees them.
sizes() {
	run_airlock run -- sh -c 'for d in /tmp /var/tmp /run /dev/shm; do echo $(($(stat -f -c "%b*%S" $d) >> 20)); done'
	assert_status 0
}

@test "each of /tmp and /dev/shm may hold half of the machine's memory" {
	each_backend default_size
}
default_size() {
	local half
	half=$(half_of_memory)
	sizes
	assert_stdout "$half"$'\n'"$half"$'\n'"$half"$'\n'"$half"
	run_airlock explain --json -- true
	[ "$(json 'sorted({m["size"] >> 20 for m in d["mounts"] if m["kind"] == "tmpfs"})')" = "[$half]" ]
	run_airlock config show
	assert_stdout_contains 'profiles.moderate.tmp_size = "50%"    # built-in'
	assert_stdout_contains 'profiles.moderate.shm_size = "50%"    # built-in'
}

@test "a profile and a [[commands]] rule set the sizes of /tmp and /dev/shm" {
	each_backend set_size
}
set_size() {
	write_config '[profiles.moderate]' 'tmp_size = "8M"' 'shm_size = "12M"' \
		'[[commands]]' 'match = ["sh", "-c"]' 'shm_size = "16M"'
	sizes
	assert_stdout $'8\n8\n8\n16'
	run_airlock run -- stat -f -c '%b*%S' /dev/shm
	[ "$((stdout >> 20))" = 12 ]
	write_config '[profiles.moderate]' 'tmp_size = "100%"'
	sizes
	[ "${stdout%%$'\n'*}" -ge "$(($(half_of_memory) * 2))" ]
	write_config ''
}

@test "an untrusted project cannot set a size" {
	write_config '[profiles.moderate]' 'tmp_size = "8M"'
	printf '[profiles.moderate]\ntmp_size = "100%%"\nshm_size = "2M"\n' >.airlock.toml
	sizes
	assert_stdout $'8\n8\n8\n'"$(half_of_memory)"
	run_airlock trust .
	assert_status 0
	sizes
	[ "${stdout##*$'\n'}" = 2 ]
}

@test "the result names the full file system and the setting for its size" {
	each_backend told_of_full
}
told_of_full() {
	write_config '[profiles.moderate]' 'tmp_size = "4M"' 'shm_size = "2M"'
	run_airlock run --json -- dd if=/dev/zero of=/dev/shm/x bs=1M count=3
	assert_status 1
	assert_json '["/dev/shm"]' usage full
	[ "$(json '[n for n in d["notes"] if "/dev/shm" in n][0]')" = \
		'/dev/shm, which is in memory, was full when the command failed (2 MiB); shm_size of [profiles.moderate] sets its size: see airlock.toml(5)' ]
	run_airlock run -- dd if=/dev/zero of=/tmp/x bs=1M count=5
	assert_status 1
	assert_stderr_contains '/tmp, which is in memory, was full when the command failed (4 MiB); tmp_size of [profiles.moderate]'
	# Not of a command that did well, nor of one that failed with room left, nor after it was given more.
	run_airlock run --json -- sh -c 'dd if=/dev/zero of=/tmp/x bs=1M count=5 2>/dev/null; true'
	assert_status 0
	assert_json '[]' usage full
	run_airlock run --json -- sh -c 'dd if=/dev/zero of=/tmp/x bs=1M count=3 2>/dev/null; false'
	assert_status 1
	assert_json '[]' usage full
	write_config '[profiles.moderate]' 'tmp_size = "8M"'
	run_airlock run -- dd if=/dev/zero of=/tmp/x bs=1M count=5
	assert_status 0
	write_config ''
}

@test "an agent learns that it was full, but not the setting" {
	write_config '[profiles.moderate]' 'shm_size = "2M"'
	AIRLOCK_AGENT=1 run_airlock run -- dd if=/dev/zero of=/dev/shm/x bs=1M count=3
	assert_status 1
	assert_stderr_contains '/dev/shm, which is in memory, was full when the command failed (2 MiB)'
	[[ $stderr != *shm_size* ]]
}

@test "the result explains SIGBUS on a full file system" {
	each_backend told_of_sigbus
}
told_of_sigbus() {
	local program='
import mmap, os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
f = os.open("/dev/shm/x", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 4 << 20)
m = mmap.mmap(f, 4 << 20)
for at in range(0, 4 << 20, 4096):
	m[at] = 1
print("filled")'
	write_config '[profiles.moderate]' 'shm_size = "2M"'
	run_airlock run -- python3 -I -S -c "$program"
	assert_status 135
	assert_stderr_contains 'killed by signal 7 (SIGBUS): a file system in memory was full'
	assert_stderr_contains '/dev/shm, which is in memory, was full'
	# A SIGBUS of another cause is not blamed on it.
	run_airlock run -- sh -c 'kill -BUS $$'
	assert_status 135
	assert_stderr_contains 'killed by signal 7 (SIGBUS)'
	[[ $stderr != *full* ]]
	write_config '[profiles.moderate]' 'shm_size = "8M"'
	run_airlock run -- python3 -I -S -c "$program"
	assert_status 0
	assert_stdout filled
	write_config ''
}
