#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets status, stdout and stderr; $ in quotes is for the shell inside
# Secrets among the caller's variables do not reach the command, by whatever name, and not through another process.

load ../helpers

BY_NAME=(GITHUB_TOKEN TS_AUTHKEY APP_DSN MONGO_URI CELERY_BROKER_URL SSHPASS JWT FTP_PW PGPASSWORD AZDO_PAT SLACK_WEBHOOK
	SESSION_COOKIE GIT_CONFIG_VALUE_0 OTLP_HEADERS STORAGE_CONNECTION_STRING GOOGLE_CREDENTIALS npm_config__authToken)
BY_VALUE=(MIRROR=https://user:the-secret@host/x CACHE=redis://:the-secret@cache 'PIP_ARGS=--index-url https://the-secret@pkgs/simple'
	QUEUE=amqps://u:the-secret@mq 'DEPLOY=-----BEGIN PRIVATE KEY-----the-secret')
PLAIN=(EDITOR=the-editor HOMEPAGE=https://host/a@b CLONE=ssh://git@host/x)

# everywhere OPTION...: prints all variables that the command can find, of itself and of every process it sees
everywhere() {
	run_program env "${BY_NAME[@]/%/=the-secret}" "${BY_VALUE[@]}" "${PLAIN[@]}" "$AIRLOCK" run "$@" -c \
		'env; for p in /proc/[0-9]*; do tr "\0" "\n" <"$p/environ"; done 2>/dev/null; echo "looked"' </dev/null
	assert_status 0
	assert_stdout_contains looked
}

@test "moderate: secret variables, by name or value, are in no process that the command sees; the rest is there" {
	each_backend moderate
}
moderate() {
	everywhere --profile moderate
	refute_stdout_contains the-secret
	local variable
	for variable in "${PLAIN[@]}"; do
		assert_stdout_contains "$variable"
	done
}

@test "strict: nothing but its list, and no value with a password even there" {
	each_backend strict
}
strict() {
	LC_ALL=C.UTF-8 LANG=https://user:the-secret@host everywhere --profile strict
	refute_stdout_contains the-secret
	refute_stdout_contains the-editor
	refute_stdout_contains LANG=
	assert_stdout_contains LC_ALL=C.UTF-8
}

# The same variables are there where they should be: otherwise the tests above could not fail.
@test "variables that a person names are passed, and permissive passes all" {
	each_backend named
}
named() {
	everywhere --profile moderate --env CACHE --env JWT
	assert_stdout_contains CACHE=redis://:the-secret@cache
	assert_stdout_contains JWT=the-secret
	refute_stdout_contains GITHUB_TOKEN
	refute_stdout_contains MIRROR
	everywhere --profile permissive
	local name
	for name in "${BY_NAME[@]}" "${BY_VALUE[@]%%=*}"; do
		assert_stdout_contains "$name="
	done
	# Without a sandbox all of this would be so as well; a filter of system calls tells them apart.
	assert_inside --profile permissive
}

@test "an untrusted project cannot ask for secret variables" {
	each_backend untrusted
}
untrusted() {
	printf '%s\n' '[profiles.moderate]' 'env = { allow = ["*"], inherit = true }' >.airlock.toml
	everywhere --profile moderate
	refute_stdout_contains the-secret
	run_airlock trust
	assert_status 0
	everywhere --profile moderate
	assert_stdout_contains MIRROR=https://user:the-secret@host/x
	rm .airlock.toml
}
