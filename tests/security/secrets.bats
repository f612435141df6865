#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2088 # run_airlock sets variables; ~ in quotes is for the shell inside
# What is hidden cannot be read: not by name, not by another name, not by coming later.

load ../helpers

SECRETS=(.ssh/id_ed25519 .gnupg/private-keys-v1.d/k .aws/credentials .azure/token .config/gcloud/credentials.db
	.kube/config .docker/config.json .netrc .npmrc .pypirc .git-credentials .config/gh/hosts.yml
	.password-store/mail.gpg .mozilla/firefox/logins.json .config/google-chrome/Default/Cookies
	.config/chromium/Cookies .local/share/keyrings/login.keyring .bash_history .zsh_history .python_history
	.cargo/credentials.toml .config/rclone/rclone.conf .pgpass .claude/.credentials.json .codex/auth.json .vault-token
	.tsh/keys/k .step/secrets/k .acme.sh/account.key .local/share/mkcert/rootCA-key.pem .android/adbkey .config/argocd/config
	.supabase/access-token .modal.toml .mcp-auth/tokens.json .vscode-server/data/User/globalStorage/state.vscdb
	.claude/projects/p/session.jsonl .claude/history.jsonl .codex/sessions/s.jsonl .codex/history.jsonl .gemini/tmp/chat.json
	.ipython/profile_default/history.sqlite .node_repl_history .psql_history .sqlite_history .mysql_history .rediscli_history
	.irb_history .local/state/nvim/shada/main.shada .lesshst .Rhistory)

make_secrets() {
	local name
	for name in "${SECRETS[@]}"; do
		mkdir -p "$HOME/$(dirname "$name")"
		echo "the-secret in $name" >"$HOME/$name"
	done
	echo 'the-secret in plain sight' >"$HOME/plain"
}

# The two profiles that hide secrets.
each_hiding() {
	local profile
	for profile in strict moderate; do
		AIRLOCK_PROFILE=$profile "$@"
	done
}

assert_hidden() {
	refute_stdout_contains the-secret
	refute_stderr_contains the-secret
}

@test "no file of the list can be read by its name" {
	make_secrets
	each_backend each_hiding by_name
}
by_name() {
	run_airlock run -- sh -c 'for f; do cat "$HOME/$f"; echo tried; done' sh "${SECRETS[@]}"
	assert_hidden
	[ "$(grep -c tried "$RAW_STDOUT")" -eq ${#SECRETS[@]} ] || fail "expected that each is tried"
}

@test "searching all of home finds no secret, but everything else" {
	make_secrets
	each_backend searched
}
searched() {
	AIRLOCK_PROFILE=moderate run_airlock run -c 'grep -rsh the-secret ~ /proc/self/root"$HOME" /proc/1/root"$HOME"'
	[ "$(sort -u "$RAW_STDOUT")" = 'the-secret in plain sight' ] || fail "expected only the plain file"
	AIRLOCK_PROFILE=strict run_airlock run -c 'grep -rsh the-secret ~ /proc/self/root"$HOME" /proc/1/root"$HOME"'
	assert_stdout ''
}

@test "in strict home is empty but for the project and the playground" {
	make_secrets
	each_backend empty_home
}
empty_home() {
	run_airlock run --profile strict -- ls -A "$HOME"
	assert_status 0
	assert_stdout $'playground\nproject'
}

@test "in strict the other directories of the machine are not there" {
	each_backend strict_root
}
strict_root() {
	run_airlock run --profile strict -- ls -A /
	assert_status 0
	local name
	for name in home root mnt media opt srv boot sys lost+found; do
		if grep -qx "$name" "$RAW_STDOUT"; then fail "expected no /$name"; fi
	done
	run_airlock run --profile strict -- sh -c 'ls /etc/ssh /etc/sudoers /etc/machine-id /etc/crontab'
	assert_stdout ''
}

@test "a symlink in the project leads to no secret" {
	make_secrets
	each_backend each_hiding through_link
}
through_link() {
	ln -sfn "$HOME/.ssh" keys
	ln -sfn "$HOME/.netrc" netrc
	run_airlock run -c 'cat keys/id_ed25519 netrc ./keys/../.netrc file'
	assert_hidden
	assert_stdout original
	rm keys netrc
}

@test "a secret that is itself a symlink is hidden under both names" {
	each_backend each_hiding linked_secret
}
linked_secret() {
	rm -rf "$HOME/.ssh" "$HOME/.netrc"
	mkdir -p "$HOME/dotfiles/ssh"
	echo the-secret >"$HOME/dotfiles/ssh/id"
	echo the-secret >"$HOME/dotfiles/netrc"
	ln -sfn dotfiles/ssh "$HOME/.ssh"
	ln -sfn dotfiles/netrc "$HOME/.netrc"
	run_airlock run -c 'cat ~/.ssh/id ~/.netrc ~/dotfiles/ssh/id ~/dotfiles/netrc; ls ~/dotfiles ~/dotfiles/ssh; cat file'
	assert_hidden
	assert_stdout_contains original
}

@test "a home that is reached through a symlink hides the same" {
	make_secrets
	ln -s home "$BATS_TEST_TMPDIR/alias"
	each_backend each_hiding linked_home
}
linked_home() {
	HOME=$BATS_TEST_TMPDIR/alias run_airlock run -- sh -c 'cat ~/.ssh/id_ed25519 ~/.netrc "$1"/.ssh/* "$1"/.netrc; cat file' sh \
		"$BATS_TEST_TMPDIR/home"
	assert_hidden
	assert_stdout original
}

@test "a secret that comes into being while the command runs is not seen" {
	each_backend each_hiding comes_later
}
comes_later() {
	local play=$XDG_DATA_HOME/airlock/playground name
	rm -rf "$HOME"/.[a-km-z]* "$play"
	mkdir -p "$XDG_CONFIG_HOME" "$XDG_CACHE_HOME"
	"$AIRLOCK" run --timeout "${EVENTUALLY_SECONDS:-30}s" -- sh -c '
		touch ~/playground/ready
		until [ -e ~/playground/go ]; do sleep 0.02; done
		for f; do cat "$HOME/$f"; done
		grep -rsh the-secret ~' sh "${SECRETS[@]}" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- </dev/null &
	eventually test -e "$play/ready"
	for name in "${SECRETS[@]}"; do
		mkdir -p "$HOME/$(dirname "$name")"
		echo "the-secret in $name" >"$HOME/$name"
	done
	touch "$play/go"
	wait $! || true
	[ "$(grep -c 'cat: ' "$BATS_TEST_TMPDIR/out")" -eq ${#SECRETS[@]} ] || fail "it did not try: $(cat "$BATS_TEST_TMPDIR/out")"
	if grep -v '^cat: ' "$BATS_TEST_TMPDIR/out" | grep the-secret; then fail "it saw a secret that came later"; fi
}

# As a program saves a file: the new one is renamed over it, which takes away whatever is mounted there.
@test "a secret that is replaced while the command runs stays hidden" {
	each_backend each_hiding is_replaced
}
is_replaced() {
	local play=$XDG_DATA_HOME/airlock/playground name hidden=(.docker/config.json .docker/run/x notes/diary)
	rm -rf "$play" "$HOME/.docker" "$HOME/notes"
	mkdir -p "$HOME/.docker/run" "$HOME/.docker/desktop" "$HOME/notes" # all that is hidden in .docker is there
	echo old >"$HOME/notes/todo"
	for name in "${hidden[@]}"; do echo "the-secret, old" >"$HOME/$name"; done
	"$AIRLOCK" run --ro "$HOME/notes" --hide "$HOME/notes/diary" --timeout "${EVENTUALLY_SECONDS:-30}s" -- sh -c '
		touch ~/playground/ready
		until [ -e ~/playground/go ]; do sleep 0.02; done
		cat ~/.docker/config.json ~/.docker/run/x ~/notes/diary ~/notes/todo' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- </dev/null &
	eventually test -e "$play/ready"
	mv "$HOME/.docker/run" "$HOME/.docker/before"
	mkdir "$HOME/.docker/run"
	for name in "${hidden[@]}"; do
		echo "the-secret, new" >"$HOME/new"
		mv "$HOME/new" "$HOME/$name"
	done
	touch "$play/go"
	wait $! || true
	grep -q old "$BATS_TEST_TMPDIR/out" || fail "it saw nothing of notes: $(cat "$BATS_TEST_TMPDIR/out")"
	if grep the-secret "$BATS_TEST_TMPDIR/out"; then fail "it saw a secret that was replaced"; fi
}

# What is hidden in a project that is written to directly is covered, and a cover goes with the file it is over.
start_over_cover() { # WHAT: the command waits until it may look
	play=$XDG_DATA_HOME/airlock/playground place=$PROJECT/place
	rm -rf "$play" "$place"
	mkdir -p "$place/dir"
	echo "the-secret, old" | tee "$place/file" >"$place/dir/in"
	"$AIRLOCK" run --changes direct --hide "$place/$1" --timeout "${EVENTUALLY_SECONDS:-30}s" -- sh -c '
		touch ~/playground/ready
		until [ -e ~/playground/go ]; do sleep 0.02; done
		cat "$1/file" "$1/dir/in"; echo made >"$1/$2"; echo looked' sh "$place" "$2" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- </dev/null &
	eventually test -e "$play/ready"
}

@test "a cover that vanished with the file it hid is put back for root, and ends another user's command" {
	each_backend each_hiding replaced_file
	each_backend each_hiding replaced_dir
}
replaced_file() {
	local ended=0
	start_over_cover file file
	rm "$place/dir/in"
	echo "the-secret, new" >"$place/new"
	mv "$place/new" "$place/file"
	sleep 0.2 # it is noticed, not prevented
	touch "$play/go"
	wait $! || ended=$?
	if [ "$(id -u)" -eq 0 ]; then
		grep -q looked "$BATS_TEST_TMPDIR/out" || fail "$(cat "$BATS_TEST_TMPDIR/out")"
	else # nobody but root gets into a sandbox: it is ended
		[ "$ended" -eq 125 ] || fail "it went on: $ended, $(cat "$BATS_TEST_TMPDIR/out")"
	fi
	grep -q "$place/file, which is hidden.*was replaced" "$BATS_TEST_TMPDIR/out" || fail "$(cat "$BATS_TEST_TMPDIR/out")"
	if grep the-secret "$BATS_TEST_TMPDIR/out"; then fail "it saw a secret that was replaced"; fi
	grep -q the-secret "$place/file"
}
replaced_dir() {
	start_over_cover dir dir/made
	rm "$place/file"
	mkdir "$place/new"
	echo "the-secret, new" >"$place/new/in"
	rm -r "$place/dir"
	mv -T "$place/new" "$place/dir"
	sleep 0.2
	touch "$play/go"
	wait $! || true # removed before it was there again: either is fine, to see it is not
	if grep the-secret "$BATS_TEST_TMPDIR/out"; then fail "it saw a secret that was replaced"; fi
	grep -q "$place/dir, which is hidden" "$BATS_TEST_TMPDIR/out" || fail "$(cat "$BATS_TEST_TMPDIR/out")"
	[ ! -e "$place/dir/made" ]
}

@test "a command whose cover cannot be put back is ended" {
	each_backend each_hiding removed_file
}
removed_file() {
	local ended=0
	start_over_cover file file
	rm "$place/file"
	wait $! || ended=$?
	[ "$ended" -eq 125 ] || fail "it went on: $ended, $(cat "$BATS_TEST_TMPDIR/out")"
	grep -q "$place/file, which is hidden from it, was replaced" "$BATS_TEST_TMPDIR/out" || fail "$(cat "$BATS_TEST_TMPDIR/out")"
}

@test "a cover outside the project stays when the file it hid is replaced" {
	each_backend each_hiding replaced_behind_screen
}
replaced_behind_screen() {
	local place=$BATS_TEST_TMPDIR/place play=$XDG_DATA_HOME/airlock/playground
	rm -rf "$play" "$place"
	mkdir -p "$place"
	echo "the-secret, old" >"$place/file"
	echo "shown" >"$place/other"
	"$AIRLOCK" run --ro "$place" --hide "$place/file" --timeout "${EVENTUALLY_SECONDS:-30}s" -- sh -c '
		touch ~/playground/ready
		until [ -e ~/playground/go ]; do sleep 0.02; done
		cat "$1/file" "$1/other"; echo looked' sh "$place" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- </dev/null &
	eventually test -e "$play/ready"
	echo "the-secret, new" >"$place/new"
	mv "$place/new" "$place/file"
	touch "$play/go"
	wait $! || fail "it did not go on: $(cat "$BATS_TEST_TMPDIR/out")"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = $'shown\nlooked' ] || fail "$(cat "$BATS_TEST_TMPDIR/out")"
}

@test "a secret in a home that is the project stays hidden" {
	make_secrets
	each_backend each_hiding home_as_project
}
home_as_project() {
	run_airlock run -p "$HOME" --changes direct -c 'cat ~/.ssh/id_ed25519 ~/.netrc ~/.aws/credentials ~/project/file; echo x >~/project/new'
	assert_hidden
	assert_stdout original
	assert_file new x
	run_airlock run -p "$HOME" --changes direct -c 'echo mine >>~/.ssh/authorized_keys; echo x >~/.aws/credentials; echo x >~/.netrc'
	assert_absent "$HOME/.ssh/authorized_keys"
	assert_file "$HOME/.aws/credentials" 'the-secret in .aws/credentials'
	assert_file "$HOME/.netrc" 'the-secret in .netrc'
}

@test "--hide and blocked_paths hide files and directories alike" {
	each_backend each_profile by_option
}
by_option() {
	mkdir -p private
	echo the-secret >private/file
	echo the-secret >single
	run_airlock run --hide "$PROJECT/private" --hide single -c 'cat private/file single file; ls -A private'
	assert_hidden
	assert_stdout original
	write_config "[profiles.$AIRLOCK_PROFILE]" "blocked_paths = [\"$PROJECT/private\", \"$PROJECT/single\"]"
	run_airlock run -c 'cat private/file single; ls -A private; echo x >private/new; echo x >single'
	assert_hidden
	rm "$XDG_CONFIG_HOME/airlock/config.toml"
	assert_file single the-secret
	assert_absent private/new
}

@test "other people's homes and root's are not there" {
	each_backend each_hiding other_homes
}
other_homes() {
	run_airlock run -c 'ls -A /home; [ "$HOME" = /root ] || ls -A /root; cat file'
	assert_stdout original
	assert_inside # the host may have no other homes
}

@test "the system's password files are empty or gone in every profile" {
	each_backend each_profile password_files
}
password_files() {
	# An ordinary user cannot read them anyway, but sees their size.
	[ -s /etc/shadow ] || skip "needs: /etc/shadow"
	run_airlock run -c 'cat /etc/shadow /etc/gshadow /etc/shadow- 2>/dev/null; [ -s /etc/shadow ] && echo size; cat file'
	assert_stdout original
}

@test "a hidden file cannot be uncovered" {
	make_secrets
	each_backend each_hiding uncovered
}
uncovered() {
	run_python <<-'EOF_PYTHON'
		home = os.environ["HOME"].encode()
		for name in b"/.ssh", b"/.netrc", b"":
		    attempt(f"unmount {name.decode()}", call, "umount2", home + name, 2)
		attempt("remove", os.rmdir, home + b"/.ssh")
		attempt("rename", os.rename, home + b"/.ssh", home + b"/was-ssh")
		attempt("tree", call, 428, -100, home, 1)
	EOF_PYTHON
	assert_status 0
	if grep -E '^(unmount .*|remove|rename): done' "$RAW_STDOUT"; then fail "it was uncovered"; fi
	assert_hidden
}
