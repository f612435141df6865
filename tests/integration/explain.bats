#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# The plan, printed: what would be seen and touched, and which rule says so. Nothing runs.

load ../helpers

# plan EXPRESSION: a Python expression about the plan that must be true; mount(TARGET) is the last mount there
plan() {
	python3 - "$RAW_STDOUT" "$1" <<'EOF_PYTHON' || fail "not true of the plan: $1"
import json, os, sys
plan = json.load(open(sys.argv[1]))
def mount(target):
    return [m for m in plan["mounts"] if m["target"] == target and m["kind"] != "seal"][-1]
sys.exit(not eval(sys.argv[2]))
EOF_PYTHON
}

@test "explain --json has every key of the contract, with its type" {
	each_backend whole_object
}
whole_object() {
	run_airlock explain --json -- make test
	assert_status 0
	assert_stderr ''
	plan "plan['backend'] == '$AIRLOCK_BACKEND' and plan['profile'] == 'moderate'"
	plan "plan['roots'] == ['$PROJECT']"
	plan "all(isinstance(m[k], str) for m in plan['mounts'] for k in ('kind', 'target', 'because'))"
	plan "all(m['source'] is None or isinstance(m['source'], str) for m in plan['mounts'])"
	plan "all(m['because'] for m in plan['mounts'])"
	plan "isinstance(plan['environment']['kept'], list) and isinstance(plan['environment']['removed'], list)"
	plan "isinstance(plan['limits'], dict)"
	plan "{'user', 'mount', 'pid', 'net', 'ipc', 'uts'} <= set(plan['namespaces'])"
	plan "plan['argv'][-2:] == ['make', 'test'] and all(isinstance(a, str) for a in plan['argv'])"
}

@test "every mount has its reason: the profile, the file and line, the option" {
	each_backend reasons
}
reasons() {
	mkdir -p "$HOME/docs" "$HOME/tools" "$HOME/.ssh" "$HOME/out"
	write_config '[profiles.moderate]' '# a comment' 'blocked_paths = ["~/docs"]' 'writable_paths = [' '  "~/out",' ']'
	run_airlock explain --json --ro "$HOME/tools" -- true
	assert_status 0
	plan "mount('$PROJECT')['because'] == 'project'"
	plan "mount('$HOME/docs')['because'] == '$XDG_CONFIG_HOME/airlock/config.toml:3'"
	plan "mount('$HOME/docs')['kind'] in ('hide-dir', 'left-out')"
	plan "mount('$HOME/out')['because'] == '$XDG_CONFIG_HOME/airlock/config.toml:5'"
	plan "mount('$HOME/out')['kind'] in ('write', 'layer')"
	plan "mount('$HOME/playground')['because'] == 'playground'"
	plan "mount('$HOME/.ssh')['because'] == 'built-in: moderate'"
	plan "mount('$HOME/.ssh')['kind'] in ('hide-dir', 'left-out')"
	run_airlock explain --json --hide "$HOME/tools" -- true
	plan "mount('$HOME/tools')['because'] == '--hide' and mount('$HOME/tools')['kind'] in ('hide-dir', 'left-out')"
	AIRLOCK_HIDE=$HOME/tools run_airlock explain --json -- true
	plan "mount('$HOME/tools')['because'] == 'AIRLOCK_HIDE'"
}

@test "explain names the questions a run would ask" {
	each_backend asks
}
asks() {
	run_airlock explain --json -- true
	plan "plan['asks'] == [] and 'net' in plan['namespaces']"
	run_airlock explain --json --network -- true
	assert_status 0
	plan "plan['asks'] == ['network'] and 'net' in plan['namespaces'] and plan['network_rules']['mode'] == 'open'"
	run_airlock explain --json --network-mode host -- true
	plan "plan['asks'] == ['network'] and 'net' not in plan['namespaces']"
	run_airlock explain --network -c 'curl example.org'
	assert_stdout_contains 'would ask first: '
	assert_stdout_contains 'Run command with network access: curl example.org?'
}

@test "explain says that there is no sandbox" {
	run_airlock explain --no-sandbox -- true
	assert_status 0
	assert_stdout_contains 'NOT IN SANDBOX'
	run_airlock explain --json --no-sandbox -- true
	assert_json passthrough backend
	assert_json '["unsandboxed"]' asks
}

@test "profiles differ as they should" {
	each_backend profiles
}
profiles() {
	run_airlock explain --json --profile strict -- true
	plan "not any(m['target'] == '/' and m['kind'] == 'read' for m in plan['mounts'])"
	plan "plan['limits'] == {'timeout_ms': 60000, 'memory': 1 << 30, 'pids': 256, 'fsize': None}"
	plan "mount('$HOME')['kind'] == 'tmpfs'"
	run_airlock explain --json --profile moderate -- true
	plan "mount('/') == {'kind': 'read', 'source': '/', 'target': '/', 'because': 'built-in: moderate'}"
	plan "plan['limits'] == {'timeout_ms': 600000, 'memory': None, 'pids': 4096, 'fsize': None}"
	run_airlock explain --json --profile permissive -- true
	plan "plan['limits'] == {'timeout_ms': None, 'memory': None, 'pids': None, 'fsize': None}"
	plan "plan['nested'] is True"
}

@test "/tmp, /run, /dev and /proc are the sandbox's own, and every tmpfs has a size" {
	each_backend each_profile own_places
}
own_places() {
	run_airlock explain --json -- true
	plan "mount('/tmp')['kind'] == 'tmpfs' and mount('/run')['kind'] == 'tmpfs'"
	plan "mount('/dev')['kind'] == 'dev' and mount('/proc')['kind'] == 'proc'"
	plan "all(m['size'] > 0 for m in plan['mounts'] if m['kind'] == 'tmpfs')"
}

@test "the printed plan can be read, and is the same twice" {
	each_backend printed
}
printed() {
	run_airlock run -- true
	run_airlock explain -c 'make test | tail'
	assert_status 0
	local first=$stdout
	for line in 'command: make test | tail' 'profile: moderate' "working directory: $PROJECT" 'network: none' \
		'environment kept: ' 'limits: timeout 10 min' 'namespaces: user'; do
		assert_stdout_contains "$line"
	done
	run_airlock explain -c 'make test | tail'
	[ "$stdout" = "$first" ] || fail "another plan the second time"
}

@test "nothing is run, and nothing is changed but our own state" {
	each_backend nothing_runs
}
nothing_runs() {
	find "$HOME" -path "$HOME/.local" -prune -o -print | sort >"$BATS_TEST_TMPDIR/before"
	run_airlock explain -- touch started
	assert_status 0
	run_airlock explain --no-sandbox -- touch started
	assert_absent started
	find "$HOME" -path "$HOME/.local" -prune -o -print | sort | diff "$BATS_TEST_TMPDIR/before" - || fail "something was made"
	assert_absent "$XDG_STATE_HOME/airlock/runs"
}

@test "hostile names are shown inert" {
	each_backend hostile
}
hostile() {
	mkdir -p $'odd\e[31m\nname'
	run_airlock explain --ro $'odd\e[31m\nname' -C $'odd\e[31m\nname' -- $'x\e]0;title\a'
	assert_status 0
	refute_stdout_contains $'\e'
	refute_stdout_contains $'\a'
	run_airlock explain --json -C $'odd\e[31m\nname' -- true
	plan "plan['working_dir'] == '$PROJECT/odd\x1b[31m\nname'"
}

@test "what cannot be planned is refused with its code" {
	each_backend refused
}
refused() {
	run_airlock explain --json --project /no/such/place -- true
	assert_status 1
	assert_json not_found error code
	run_airlock explain --json --profile strict --network -- true
	assert_status 125
	assert_json blocked error code
	run_airlock explain --json --profile nonsense -- true
	assert_status 2
	assert_json usage error code
	run_airlock explain --json --backend nonsense -- true
	assert_status 2
	run_airlock explain --json --hide "$PROJECT" -- true
	assert_status 125
	assert_json blocked error code
	assert_json "the project $PROJECT is hidden by --hide" error message
}
