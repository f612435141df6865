#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Options, variables and files: which of them counts, that each value says where it is from, and what a stranger's
# project may not do.

load ../helpers

setup() {
	default_setup
	CONFIG=$XDG_CONFIG_HOME/airlock/config.toml
}

project_config() {
	printf '%s\n' "$@" >"$PROJECT/.airlock.toml"
}

# assert_value KEY VALUE SOURCE: what config show --json with the last run's options says is in force
assert_value() {
	local found
	found=$(python3 - "$RAW_STDOUT" "$1" <<'EOF_PYTHON'
import json, sys
rows = [row for row in json.load(open(sys.argv[1]))["values"] if row["key"] == sys.argv[2] and not row.get("ignored")]
print("; ".join(f"{json.dumps(row['value'], ensure_ascii=False)} {row['source']}" for row in rows))
EOF_PYTHON
)
	[ "$found" = "$2 $3" ] || fail "expected $1: $2 $3" "found: $found"
}

assert_ignored() {
	python3 - "$RAW_STDOUT" "$1" "$2" <<'EOF_PYTHON' || fail "expected that $1 of $2 is ignored"
import json, sys
rows = json.load(open(sys.argv[1]))["values"]
sys.exit(not any(row["key"] == sys.argv[2] and row["source"] == sys.argv[3] and row["ignored"] for row in rows))
EOF_PYTHON
}

# ---- precedence and where it is from

@test "option over variable over trusted project over user over profile; each with its source" {
	run_airlock config show --json
	assert_value profiles.moderate.timeout '"10m"' built-in
	write_config '[profiles.moderate]' 'timeout = "5m"'
	run_airlock config show --json
	assert_value profiles.moderate.timeout '"5m"' "$CONFIG:2"
	project_config '' '' '[profiles.moderate]' 'timeout = "20m"'
	run_airlock trust
	assert_status 0
	run_airlock config show --json
	assert_value profiles.moderate.timeout '"20m"' "$PROJECT/.airlock.toml:4"
	AIRLOCK_TIMEOUT=25m run_airlock config show --json
	assert_value profiles.moderate.timeout '"25m"' AIRLOCK_TIMEOUT
	AIRLOCK_TIMEOUT=25m run_airlock config show --json --timeout 30m
	assert_value profiles.moderate.timeout '"30m"' --timeout
}

@test "config show for people: a value a line with its source, built-in lists cut short" {
	write_config '[profiles.moderate]' "readonly_paths = [$(printf '"/srv/%s", ' {1..60})]" 'timeout = "5m"'
	project_config '[profiles.moderate]' 'timeout = "20m"'
	run_airlock config show
	assert_status 0
	assert_stdout_contains "profiles.moderate.timeout = \"5m\"    # $CONFIG:3"
	assert_stdout_contains '(left out: the project is not trusted)'
	assert_stdout_contains '"/srv/60"'
	grep -qE '^profiles.moderate.blocked_paths = \["/etc/shadow", .*\.\.\. \(--json shows all\) +# built-in$' <<<"$stdout" ||
		fail "blocked_paths is not cut short"
}

@test "the same order decides what a command really gets" {
	each_backend in_force
}
in_force() {
	rm -f .airlock.toml
	write_config '[sandbox]' 'shell = "bash"' 'default_profile = "short"' '[profiles.short]' 'timeout = "3s"'
	run_airlock run --json -c 'echo ${BASH_VERSION:+bash}; sleep 30'
	assert_status 124
	assert_json bash stdout
	assert_json short isolation profile
	AIRLOCK_SHELL="sh" run_airlock run -c 'echo ${BASH_VERSION:-none}'
	assert_stdout none
	AIRLOCK_SHELL="sh" run_airlock run --shell bash -c 'echo ${BASH_VERSION:+bash}'
	assert_stdout bash
	AIRLOCK_PROFILE=moderate run_airlock run --json -- true
	assert_json moderate isolation profile
	AIRLOCK_PROFILE=strict run_airlock run --json --profile moderate -- true
	assert_json moderate isolation profile
}

@test "--config reads another file instead of the user's, and only if it is there" {
	write_config '[profiles.moderate]' 'timeout = "1m"'
	printf '[profiles.moderate]\npids = 77\n' >other.toml
	run_airlock config show --json --config other.toml
	assert_value profiles.moderate.timeout '"10m"' built-in
	assert_value profiles.moderate.pids 77 "$PROJECT/other.toml:2"
	AIRLOCK_CONFIG=other.toml run_airlock config show --json
	assert_value profiles.moderate.pids 77 "$PROJECT/other.toml:2"
	run_airlock run --json --config missing.toml -- true
	assert_refused not_found
	assert_json "$PROJECT/missing.toml" error subject
}

@test "config path lists the files, the weakest first" {
	write_config ''
	run_airlock config path
	assert_status 0
	[ "$(sed -n 2p "$RAW_STDOUT")" = "$CONFIG" ] || fail "expected the user's file second"
	[ "$(sed -n 3p "$RAW_STDOUT")" = "$PROJECT/.airlock.toml (missing)" ] || fail "expected the project's file last"
	project_config ''
	run_airlock config path
	assert_stdout_contains "$PROJECT/.airlock.toml (not trusted)"
	run_airlock trust
	run_airlock config path
	assert_stdout_contains "$PROJECT/.airlock.toml (trusted)"
}

@test "config shows the files above the project, and what they tighten" {
	mkdir -p sub/deep
	cd sub/deep
	printf '%s\n' '[profiles.moderate]' 'pids = 100' 'timeout = "none"' >"$HOME/.airlock.toml"
	printf '%s\n' '[profiles.moderate]' 'blocked_paths = ["private"]' >"$PROJECT/.airlock.toml"
	run_airlock config path -p .
	assert_status 0
	[ "$(sed -n '3,$p' "$RAW_STDOUT")" = "$HOME/.airlock.toml (not trusted)
$PROJECT/.airlock.toml (not trusted)
$PROJECT/sub/deep/.airlock.toml (missing)" ] || fail 'expected the files above, the outermost first'
	run_airlock trust "$HOME"
	assert_status 0
	run_airlock config path -p .
	assert_stdout_contains "$HOME/.airlock.toml (trusted)"
	run_airlock config show --json -p .
	assert_value profiles.moderate.pids 100 "$HOME/.airlock.toml:2"
	assert_stdout_contains "$PROJECT/private"
	assert_stdout_contains "$PROJECT/.airlock.toml:2"
	[ -z "$stderr" ] || fail 'expected no word about what a file above may not loosen'
	rm "$HOME/.airlock.toml" "$PROJECT/.airlock.toml"
	run_airlock config show --json -p .
	assert_value profiles.moderate.pids 4096 built-in
}

@test "XDG_CONFIG_HOME decides where the user's file is; a relative one does not count" {
	mkdir -p "$HOME/.config/airlock" "$HOME/elsewhere/airlock"
	echo '[sandbox]' >"$HOME/.config/airlock/config.toml"
	printf '[profiles.moderate]\npids = 55\n' >"$HOME/elsewhere/airlock/config.toml"
	XDG_CONFIG_HOME=$HOME/elsewhere run_airlock config show --json
	assert_value profiles.moderate.pids 55 "$HOME/elsewhere/airlock/config.toml:2"
	XDG_CONFIG_HOME=elsewhere run_airlock config show --json
	assert_value profiles.moderate.pids 4096 built-in
}

# ---- mistakes in files

# wrong LINE:COLUMN SENTENCE TEXT...: this user's file is refused by run and by check, at that place, with that sentence
wrong() {
	local place=$1 sentence=$2
	shift 2
	write_config "$@"
	run_airlock run --json -- touch started
	assert_refused invalid
	assert_json "$CONFIG:$place" error subject
	[[ $(json_get error message) == *"$sentence"* ]] || fail "expected in the message: $sentence"
	run_airlock config check --json "$CONFIG"
	assert_status 125
	assert_json invalid error code
	assert_absent started
}

@test "an unknown key is an error that names the nearest" {
	wrong 2:1 'unknown key "timeuot" in [profiles.moderate]; did you mean "timeout"?' '[profiles.moderate]' 'timeuot = "5s"'
	wrong 2:1 'unknown key "defualt_profile" in [sandbox]; did you mean "default_profile"?' '[sandbox]' 'defualt_profile = "strict"'
	wrong 1:2 'did you mean "sandbox"?' '[sandbxo]'
	wrong 3:1 'unknown key "netwrok"' '[[commands]]' 'match = ["x"]' 'netwrok = "ask"'
	wrong 2:9 'did you mean "inherit"?' '[profiles.moderate]' 'env = { inherti = true }'
}

@test "the error for a key in the wrong table names the right table" {
	wrong 2:1 'it belongs in [profiles.NAME]' '[sandbox]' 'timeout = "5s"'
	wrong 2:1 'it belongs in [sandbox]' '[profiles.moderate]' 'backend = "auto"'
}

@test "a wrong type or value is an error that says what was expected" {
	wrong 2:11 '"timeout" must be' '[profiles.moderate]' 'timeout = "soon"'
	wrong 2:11 '"timeout" must be' '[profiles.moderate]' 'timeout = true'
	wrong 2:11 '"enabled" must be' '[sandbox]' 'enabled = "yes"'
	wrong 2:8 '"pids" must be' '[profiles.moderate]' 'pids = 0'
	wrong 2:8 '"pids" must be' '[profiles.moderate]' 'pids = -3'
	wrong 2:11 'did you mean "refuse"?' '[profiles.moderate]' 'network = "refsue"'
	wrong 2:24 '"blocked_paths" must be' '[profiles.moderate]' 'blocked_paths = ["/a", 7]'
	wrong 2:18 'must start with / or ~/' '[profiles.moderate]' 'blocked_paths = ["relative"]'
	wrong 2:19 'unknown profile "strcit"; did you mean "strict"?' '[sandbox]' 'default_profile = "strcit"'
}

@test "syntax errors have their line and column" {
	wrong 2:10 '' '[profiles.moderate]' 'timeout ='
	wrong 3:1 'pids' '[profiles.moderate]' 'pids = 1' 'pids = 2'
	wrong 1:1 '' '= 1'
	wrong 1:9 '' '[sandbox'
}

@test "profiles that extend each other in a circle, themselves, or nothing" {
	wrong 2:11 'extends itself' '[profiles.a]' 'extends = "a"'
	write_config '[profiles.a]' 'extends = "b"' '[profiles.b]' 'extends = "a"'
	run_airlock run --json --profile a -- touch started
	assert_refused invalid
	wrong 2:11 'unknown profile' '[profiles.a]' 'extends = "modrate"'
	wrong 2:1 'the built-in profile "strict" cannot extend another' '[profiles.strict]' 'extends = "permissive"'
	assert_absent started
}

@test "the same path in two lists of one table is an error" {
	wrong 3:18 'is in "readonly_paths" and in "blocked_paths"' '[profiles.moderate]' 'readonly_paths = ["/x"]' 'blocked_paths = ["/x"]'
}

@test "config check prints ok for a valid file" {
	write_config '[sandbox]' 'default_profile = "strict"' '[profiles.mine]' 'extends = "permissive"' 'timeout = 90' \
		'memory_limit_mb = 512' 'file_size = "1G"' '[[commands]]' 'match = ["make"]' 'timeout = "1h"'
	run_airlock config check "$CONFIG"
	assert_status 0
	assert_stdout ok
	run_airlock config check --json "$CONFIG"
	assert_json true ok
	run_airlock config check --json /no/such/file
	assert_status 1
	assert_json not_found error code
}

# ---- profiles and rules

@test "a custom profile extends another" {
	each_backend own_profile
}
own_profile() {
	mkdir -p "$HOME/notes" "$HOME/results"
	echo private >"$HOME/notes/n"
	write_config '[profiles.base]' 'extends = "permissive"' 'blocked_paths = ["~/notes"]' 'timeout = "1s"' \
		'[profiles.mine]' 'extends = "base"' 'writable_paths = ["~/results"]' 'timeout = "30s"'
	run_airlock run --json --profile mine -c 'cat ~/notes/n; echo x >~/results/x; sleep 1.1; ls ~/notes; true'
	assert_status 0
	assert_json mine isolation profile
	[[ $(json_get stdout) != *private* ]] || fail "it saw what base blocks"
	assert_file "$HOME/results/x" x
	rm "$HOME/results/x"
	run_airlock run --profile base -- sleep 30
	assert_status 124
}

@test "a more specific path opens what a wider one blocks, and the other way round" {
	each_backend specific
}
specific() {
	mkdir -p "$HOME/data/open/deep" "$HOME/data/closed"
	echo open >"$HOME/data/open/f"
	echo deep >"$HOME/data/open/deep/f"
	echo closed >"$HOME/data/closed/f"
	write_config '[profiles.moderate]' 'blocked_paths = ["~/data", "~/data/open/deep"]' 'readonly_paths = ["~/data/open"]'
	run_airlock run -c 'cat ~/data/*/f ~/data/open/deep/f'
	assert_stdout open
}

@test "a secret can be shown by name" {
	each_backend shown
}
shown() {
	mkdir -p "$HOME/.aws"
	echo shown >"$HOME/.aws/config"
	echo hidden >"$HOME/.aws/credentials"
	run_airlock run --ro "$HOME/.aws/config" -c 'cat ~/.aws/config ~/.aws/credentials'
	assert_stdout shown
	write_config '[profiles.moderate]' 'readonly_paths = ["~/.aws/config"]'
	run_airlock run -c 'cat ~/.aws/config ~/.aws/credentials'
	assert_stdout shown
	rm "$CONFIG"
}

@test "rules for some commands: by their first words, by program or command line, the later one counts" {
	each_backend rules
}
rules() {
	write_config '[[commands]]' 'match = ["sleep"]' 'timeout = "200ms"' \
		'[[commands]]' 'match = ["sleep", "1.1"]' 'timeout = "30s"'
	run_airlock run -- sleep 1
	assert_status 124
	run_airlock run -- /usr/bin/sleep 1
	assert_status 124
	run_airlock run -c 'sleep 1'
	assert_status 124
	run_airlock run -- sleep 1.1
	assert_status 0
	run_airlock run -- sh -c 'sleep 1'
	assert_status 0
	run_airlock run --timeout 30s -- sleep 1
	assert_status 0
	run_airlock run --json -c 'sleep 1 && true'
	[ "$status" -eq 124 ] || [ "$status" -eq 0 ]
}

# ---- a project that nobody has trusted

@test "an untrusted project may tighten" {
	each_backend tightens
}
tightens() {
	rm -rf "$XDG_STATE_HOME/airlock/trust" "$CONFIG"
	mkdir -p secrets
	echo s >secrets/s
	project_config '[profiles.moderate]' 'timeout = "3s"' 'blocked_paths = ["secrets", "~/notes"]' 'network = "refuse"' \
		'env = { deny = ["PLAIN_*"] }'
	mkdir -p "$HOME/notes"
	echo n >"$HOME/notes/n"
	PLAIN_NAME=x run_airlock run -c 'cat secrets/s ~/notes/n; printenv PLAIN_NAME'
	assert_status 1
	assert_stdout ''
	run_airlock run -- sleep 30
	assert_status 124
	run_airlock run --json --network --yes -- true
	assert_refused blocked
}

@test "an untrusted project cannot loosen, and a warning names the ignored settings" {
	each_backend loosens
}
loosens() {
	rm -rf "$XDG_STATE_HOME/airlock/trust" "$CONFIG"
	mkdir -p "$HOME/outside" "$HOME/.ssh"
	echo key >"$HOME/.ssh/id"
	project_config '[sandbox]' 'enabled = false' 'backend = "passthrough"' 'fallback_on_unavailable = "warn"' \
		'default_profile = "permissive"' '[profiles.moderate]' 'writable_paths = ["~/outside"]' \
		'readonly_paths = ["~/.ssh"]' 'timeout = "none"' 'pids = "none"' 'share_pid = true' 'new_session = false' \
		'nested = true' 'env = { allow = ["GITHUB_TOKEN"] }' \
		'[profiles.open]' 'extends = "permissive"' \
		'[[commands]]' 'match = ["sh"]' 'writable_paths = ["~/outside"]'
	GITHUB_TOKEN=secret run_airlock run --json -- sh -c 'cat ~/.ssh/id; echo x >~/outside/x; printenv GITHUB_TOKEN; echo end'
	assert_json "$AIRLOCK_BACKEND" isolation backend
	assert_json moderate isolation profile
	assert_json enforced isolation filesystem
	assert_json enforced isolation processes
	assert_json end stdout
	assert_absent "$HOME/outside/x"
	assert_stderr_contains "$PROJECT/.airlock.toml is not trusted: ignored settings that would loosen the sandbox"
	AIRLOCK_BACKEND='' run_airlock config show --json
	local key
	for key in sandbox.enabled:2 sandbox.backend:3 sandbox.fallback_on_unavailable:4 sandbox.default_profile:5 \
		profiles.moderate.writable_paths:7 profiles.moderate.readonly_paths:8 profiles.moderate.timeout:9 \
		profiles.moderate.pids:10 profiles.moderate.share_pid:11 profiles.moderate.new_session:12 \
		profiles.moderate.nested:13 profiles.moderate.env.allow:14; do
		assert_ignored "${key%:*}" "$PROJECT/.airlock.toml:${key#*:}"
	done
	run_airlock run --json --profile open -- true
	assert_status 2
	assert_json usage error code
}

@test "an untrusted project's profile may be stricter than the user's" {
	each_backend stricter
}
stricter() {
	rm -rf "$XDG_STATE_HOME/airlock/trust" "$CONFIG"
	project_config '[sandbox]' 'default_profile = "strict"'
	run_airlock run --json -- true
	assert_json strict isolation profile
}

@test "airlock trust lets it loosen, until the file changes" {
	each_backend trusted
}
trusted() {
	rm -rf "$XDG_STATE_HOME/airlock/trust" "$CONFIG"
	mkdir -p "$HOME/outside"
	project_config '[profiles.moderate]' 'writable_paths = ["~/outside"]'
	run_airlock run -c 'echo x >~/outside/x'
	assert_absent "$HOME/outside/x"
	run_airlock trust
	assert_status 0
	run_airlock run -c 'echo x >~/outside/x'
	assert_status 0
	assert_file "$HOME/outside/x" x
	rm "$HOME/outside/x"
	echo '# edited' >>.airlock.toml
	run_airlock run -c 'echo x >~/outside/x'
	assert_absent "$HOME/outside/x"
	assert_stderr_contains 'is not trusted'
	run_airlock trust "$PROJECT"
	assert_status 0
	run_airlock run -c 'echo x >~/outside/x'
	assert_file "$HOME/outside/x" x
	rm "$HOME/outside/x"
}

@test "trust is for one project, not for another with the same file" {
	each_backend another_project
}
another_project() {
	rm -rf "$XDG_STATE_HOME/airlock/trust" "$CONFIG"
	project_config '[profiles.moderate]' 'pids = 5000'
	run_airlock trust
	make_project "$HOME/another"
	project_config '[profiles.moderate]' 'pids = 5000'
	run_airlock config show --json
	assert_value profiles.moderate.pids 4096 built-in
	cd "$HOME/project" || return
}

@test "a command cannot trust its own project" {
	each_backend not_from_inside
}
not_from_inside() {
	rm -rf "$XDG_STATE_HOME/airlock/trust" "$CONFIG"
	project_config '[profiles.moderate]' 'pids = 5000'
	cp "$AIRLOCK" ./airlock-copy
	run_airlock run -- ./airlock-copy trust
	rm airlock-copy
	assert_absent "$XDG_STATE_HOME/airlock/trust"
	run_airlock config show --json
	assert_value profiles.moderate.pids 4096 built-in
}

@test "trust refuses a file that is wrong, missing or a symlink" {
	run_airlock trust
	assert_status 1
	project_config 'nonsense = 1'
	run_airlock trust
	assert_status 125
	run_airlock trust /no/such/place
	assert_status 1
	mv .airlock.toml real.toml
	ln -s real.toml .airlock.toml
	run_airlock trust
	assert_status 125
}

@test "a project's file that is wrong is an error, not ignored" {
	each_backend wrong_project_file
}
wrong_project_file() {
	project_config '[profiles.moderate]' 'tiemout = "5s"'
	run_airlock run --json -- touch started
	assert_refused invalid
	assert_json "$PROJECT/.airlock.toml:2:1" error subject
	assert_absent started
}

@test "text from a hostile file is escaped" {
	printf '[profiles.moderate]\n"evil\\u001b[31m\\nairlock: all is well" = 1\n' >.airlock.toml
	run_airlock run -- true
	assert_status 125
	refute_stderr_contains $'\e'
	if grep -q '^airlock: all is well' "$RAW_STDERR"; then fail "it could speak for airlock"; fi
}

@test "config show --json has JSON values" {
	write_config '[sandbox]' 'explain_denials = true' 'default_profile = "permissive"' '[capture]' 'copy_files = 100000' '[gate]' 'hold = ["a b", "c"]'
	run_airlock config show --json
	assert_status 0
	python3 -c '
import json, sys
values = {v["key"]: v["value"] for v in json.load(open(sys.argv[1]))["values"]}
assert values["sandbox.explain_denials"] is True, values
assert values["sandbox.default_profile"] == "permissive", values
assert values["capture.copy_files"] == 100000, values
assert values["gate.hold"] == ["a b", "c"], values
assert isinstance(values["profiles.permissive.blocked_paths"], list), values' "$RAW_STDOUT" || fail "expected JSON values"
}

@test "config check: a profile that extends one that no file has" {
	printf '%s\n' '[profiles.mine]' 'extends = "company"' >own.toml
	run_airlock config check own.toml
	assert_status 125
	assert_stderr_contains 'own.toml:2:11: unknown profile "company"'
	write_config '[profiles.company]'
	run_airlock config check own.toml
	assert_status 0
	printf '%s\n' '[profiles.mine]' 'extends = "mine"' >own.toml
	run_airlock config check own.toml
	assert_status 125
}
