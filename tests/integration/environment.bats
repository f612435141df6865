#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Which variables a command gets.

load ../helpers

# given NAME=VALUE... -- OPTION...: runs env inside with exactly these variables outside, besides the necessary ones
given() {
	local variables=()
	while [ "$1" != -- ]; do
		variables+=("$1")
		shift
	done
	shift
	run_program env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" XDG_DATA_HOME="$XDG_DATA_HOME" \
		${AIRLOCK_BACKEND:+AIRLOCK_BACKEND="$AIRLOCK_BACKEND"} "${variables[@]}" \
		"$AIRLOCK" run "$@" -- env -0 </dev/null
	assert_status 0
	tr '\0' '\1' <"$RAW_STDOUT" | tr '\1' '\n' >"$BATS_TEST_TMPDIR/env"
}

assert_has() {
	local expected
	for expected; do
		grep -qxF -- "$expected" "$BATS_TEST_TMPDIR/env" || fail "expected the variable $expected"
	done
}

refute_has() {
	local name
	for name; do
		if grep -q "^$name=" "$BATS_TEST_TMPDIR/env"; then fail "expected no variable $name"; fi
	done
}

SECRETS=(GITHUB_TOKEN=s NPM_TOKEN=s AWS_SECRET_ACCESS_KEY=s AWS_PROFILE=s OPENAI_API_KEY=s ANTHROPIC_API_KEY=s
	DB_PASSWORD=s MY_SECRET=s PGPASSFILE=s DATABASE_URL=s KUBECONFIG=s SSH_AUTH_SOCK=s DBUS_SESSION_BUS_ADDRESS=s
	DOCKER_HOST=s npm_config__authToken=s SUDO_ASKPASS=s XAUTHORITY=s VAULT_ADDR=s SESSION_COOKIE=s SIGNING_KEY=s
	TS_AUTHKEY=s PG_DSN=s MONGO_URI=s CELERY_BROKER_URL=s SSHPASS=s JWT=s FTP_PW=s API_KEYS=s OTLP_HEADERS=s)

@test "moderate keeps ordinary variables and removes what looks like a secret" {
	each_backend moderate
}
moderate() {
	given EDITOR=vi LANG=C.UTF-8 CFLAGS='-O2 -g' TOKENIZERS_PARALLELISM=1 MONKEY=1 KEYBOARD=us "${SECRETS[@]}" -- --profile moderate
	assert_has EDITOR=vi LANG=C.UTF-8 'CFLAGS=-O2 -g' TOKENIZERS_PARALLELISM=1 MONKEY=1 KEYBOARD=us
	refute_has "${SECRETS[@]%%=*}"
}

@test "a value with a password in it is removed, whatever the name, and explain says why" {
	each_backend by_value
}
by_value() {
	local secrets=(MIRROR=https://user:secret@host/x CACHE=redis://:secret@cache 'PIP_ARGS=-i https://secret@pkgs/simple')
	given HOMEPAGE=https://host/a@b CLONE=ssh://git@host/x "${secrets[@]}" -- --profile moderate
	assert_has HOMEPAGE=https://host/a@b CLONE=ssh://git@host/x
	refute_has "${secrets[@]%%=*}"
	given "${secrets[@]}" -- --profile moderate --env CACHE
	assert_has CACHE=redis://:secret@cache
	refute_has MIRROR
	write_config '[profiles.moderate]' 'env = { allow = ["MIRROR"] }'
	given "${secrets[@]}" -- --profile moderate --config "$XDG_CONFIG_HOME/airlock/config.toml"
	assert_has MIRROR=https://user:secret@host/x
	refute_has CACHE
	rm -r "$XDG_CONFIG_HOME/airlock"
	given "${secrets[@]}" -- --profile permissive
	assert_has "${secrets[@]}"
	MIRROR=https://user:secret@host GH_TOKEN=x run_airlock explain -- true
	assert_status 0
	assert_stdout_contains 'because its value holds a password or key (--env NAME passes it): MIRROR'
	assert_stdout_contains 'because of its name (--env NAME passes it): GH_TOKEN'
	refute_stdout_contains secret@
	MIRROR=https://user:secret@host run_airlock explain --json -- true
	assert_json MIRROR environment removed_because value 0
}

@test "git works although its settings in the environment are removed" {
	each_backend git_settings
}
git_settings() {
	# A count or a key without its value would make every git command fail.
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.extraHeader GIT_CONFIG_VALUE_0='Authorization: Bearer secret'
	run_airlock run -c 'env | grep ^GIT_CONFIG_; git config --get-all http.extraHeader; git --version >/dev/null && echo works'
	assert_stdout works
	run_airlock run --env GIT_CONFIG_COUNT --env GIT_CONFIG_KEY_0 --env GIT_CONFIG_VALUE_0 -c 'git config --get-all http.extraHeader'
	assert_stdout 'Authorization: Bearer secret'
	unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
}

@test "strict gives a short list only" {
	each_backend strict
}
strict() {
	given TERM=dumb LANG=C.UTF-8 LC_TIME=C TZ=UTC EDITOR=vi CFLAGS=-O2 "${SECRETS[@]}" -- --profile strict
	assert_has TERM=dumb LANG=C.UTF-8 LC_TIME=C TZ=UTC
	refute_has EDITOR CFLAGS "${SECRETS[@]%%=*}"
	local name
	while IFS='=' read -r name _; do
		[[ $name =~ ^(PATH|HOME|USER|LOGNAME|SHELL|PWD|TERM|LANG|LC_TIME|TZ)$ ]] || fail "$name is not on the list"
	done <"$BATS_TEST_TMPDIR/env"
}

@test "permissive keeps all variables" {
	each_backend permissive
}
permissive() {
	given EDITOR=vi "${SECRETS[@]}" -- --profile permissive
	assert_has EDITOR=vi "${SECRETS[@]}"
}

@test "airlock's own variables and the caller's temporary and runtime directories never get in" {
	each_backend never
}
never() {
	local profile
	for profile in strict moderate permissive; do
		given AIRLOCK_TIMEOUT=30s AIRLOCK_UNKNOWN=x TMPDIR=/somewhere TMP=/somewhere XDG_RUNTIME_DIR=/run/user/1 OLDPWD=/ \
			-- --profile "$profile"
		refute_has AIRLOCK_TIMEOUT AIRLOCK_UNKNOWN AIRLOCK_BACKEND TMPDIR TMP XDG_RUNTIME_DIR OLDPWD
	done
}

@test "HOME, PATH and PWD are always there" {
	each_backend always
}
always() {
	given -- --profile strict
	assert_has "HOME=$HOME" "PATH=$PATH" "PWD=$PROJECT"
	given -- --clear-env
	assert_has "HOME=$HOME" "PWD=$PROJECT"
	grep -q '^PATH=/' "$BATS_TEST_TMPDIR/env"
}

@test "--env sets a variable, and lets the caller's through" {
	each_backend by_option
}
by_option() {
	local profile
	for profile in strict moderate permissive; do
		given GITHUB_TOKEN=secret EDITOR=vi -- --profile "$profile" --env GITHUB_TOKEN --env NEW=value --env EDITOR=ed \
			--env EMPTY= --env EQUALS=a=b --env UNSET_OUTSIDE
		assert_has GITHUB_TOKEN=secret NEW=value EDITOR=ed EMPTY= EQUALS=a=b
		refute_has UNSET_OUTSIDE
	done
	given -- --env A=1 --env A=2
	assert_has A=2
}

@test "AIRLOCK_ENV takes one variable a line" {
	each_backend by_variable
}
by_variable() {
	given GITHUB_TOKEN=secret AIRLOCK_ENV=$'GITHUB_TOKEN\nWITH=a:b c' --
	assert_has GITHUB_TOKEN=secret 'WITH=a:b c'
	refute_has AIRLOCK_ENV
}

@test "--clear-env leaves nothing but what --env names" {
	each_backend cleared
}
cleared() {
	given EDITOR=vi TERM=dumb LANG=C -- --clear-env --env TERM --env MINE=1
	assert_has TERM=dumb MINE=1
	refute_has EDITOR LANG XDG_STATE_HOME
	[ "$(wc -l <"$BATS_TEST_TMPDIR/env")" -eq 5 ] || fail "found: $(cat "$BATS_TEST_TMPDIR/env")"
}

@test "values come through as bytes, however long" {
	each_backend bytes
}
bytes() {
	local long
	long=$(printf '%*s' 100000 '' | tr ' ' x)
	given ODD=$'a\xff\e[31m' LONG="$long" --
	grep -aqxF $'ODD=a\xff\e[31m' "$BATS_TEST_TMPDIR/env" || fail "a value was changed"
	assert_has "LONG=$long"
}

@test "a name that is empty or not one is wrong usage" {
	run_airlock run --json --env =x -- true
	assert_status 2
	assert_json usage error code
}

@test "rules of a profile: inherit, allow, deny" {
	each_backend rules
}
rules() {
	write_config '[profiles.listed]' 'env = { inherit = false, allow = ["PATH", "WORK_*"], deny = ["WORK_SECRET*"] }' \
		'[profiles.denied]' 'extends = "permissive"' 'env = { deny = ["WORK_*"], allow = ["WORK_NAME"] }'
	given WORK_NAME=n WORK_SECRET_ID=i EDITOR=vi XDG_CONFIG_HOME="$XDG_CONFIG_HOME" -- --profile listed
	assert_has WORK_NAME=n
	refute_has EDITOR
	given WORK_NAME=n WORK_OTHER=o EDITOR=vi GITHUB_TOKEN=t XDG_CONFIG_HOME="$XDG_CONFIG_HOME" -- --profile denied
	assert_has WORK_NAME=n EDITOR=vi GITHUB_TOKEN=t
	refute_has WORK_OTHER
}

@test "explain says what is kept and what is removed" {
	GITHUB_TOKEN=s EDITOR=vi run_airlock explain --json -- true
	assert_status 0
	[[ $(json_get environment removed) == *'"GITHUB_TOKEN"'* ]] || fail "expected it among the removed"
	[[ $(json_get environment kept) == *'"EDITOR"'* ]] || fail "expected it among the kept"
	refute_stdout_contains '"GITHUB_TOKEN=s"'
}
