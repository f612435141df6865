#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
# Whole agents: a toy one, from a recipe of the user's.

load ../helpers
load ../changes

setup() {
	default_setup
	AGENTS=$HOME/.config/airlock/agents
	export XDG_CONFIG_HOME=$HOME/.config
	mkdir -p "$AGENTS" "$HOME/bin" "$HOME/.toy/conf" "$HOME/.rival"
	export PATH=$HOME/bin:$PATH
	echo token >"$HOME/.toy/token"
	echo '{"old": 1}' >"$HOME/.toyrc.json"
	echo secret >"$HOME/.rival/token"
	recipe toy '
		title = "Toy"
		program = "toy"
		arguments = ["--base"]
		yolo = ["--ask-nothing"]
		hosts = ["model.toy.test:443"]
		[home]
		private = ["~/.toy"]
		private_files = ["~/.toyrc.json"]
		state = ["~/.toy/sessions"]
		credentials = ["~/.toy/token"]
		[env]
		keep = ["TOY_*"]
		set = { TOY_SET = "1" }'
	recipe rival '
		program = "rival"
		[home]
		private = ["~/.rival"]
		credentials = ["~/.rival/token"]'
	agent 'echo "$@"'
}

# recipe NAME TOML
recipe() {
	printf '%s\n' "$2" >"$AGENTS/$1.toml"
}

# agent SCRIPT: what the toy does
agent() {
	printf '#!/bin/sh\n%s\n' "$1" >"$HOME/bin/toy"
	chmod +x "$HOME/bin/toy"
}

# ---- what is its own

own_things() {
	echo token >"$HOME/.toy/token"
	rm -rf "$HOME/.toy/sessions"
	agent 'cat ~/.toy/token ~/.toyrc.json
		echo transcript >~/.toy/sessions/one && echo evil >~/.toy/conf/hook && echo evil >~/.toyrc.json &&
		echo evil >~/.toy/new-name && echo fresh >~/.toy/t && mv ~/.toy/t ~/.toy/token && cat ~/.toy/conf/hook ~/.toyrc.json
		echo work >made'
	run_airlock agent toy --session "own-$AIRLOCK_BACKEND" --json
	assert_status 0
	[ "$(json 'd["stdout"]')" = $'token\n{"old": 1}\nevil\nevil' ] || fail "$stdout"
	assert_states 'made=held'
	assert_file "$HOME/.toy/sessions/one" transcript
	assert_file "$HOME/.toy/token" fresh
	[ "$(<"$HOME/.toyrc.json")" = '{"old": 1}' ] || fail "a private file reached the home"
	assert_absent "$HOME/.toy/conf/hook"
	assert_absent "$HOME/.toy/new-name"
	# The session goes on with it; another one knows nothing of it.
	agent 'cat ~/.toy/conf/hook ~/.toyrc.json ~/.toy/token made'
	run_airlock agent toy --session "own-$AIRLOCK_BACKEND"
	assert_stdout $'evil\nevil\nfresh\nwork'
	agent 'test ! -e ~/.toy/conf/hook && cat ~/.toyrc.json ~/.toy/sessions/one'
	run_airlock agent toy
	assert_status 0
	assert_stdout $'{"old": 1}\ntranscript'
}

@test "an agent's state is its own, what it could obey later stays with the session, and its credentials come home" {
	each_backend own_things native bubblewrap
}

@test "credentials that somebody changed meanwhile are not replaced" {
	agent 'echo inside >~/.toy/token; touch ~/.toy/sessions/ready; while [ -e ~/.toy/sessions/ready ]; do sleep 0.05; done'
	"$AIRLOCK" agent toy --session s >/dev/null 2>"$BATS_TEST_TMPDIR/err" </dev/null 3>&- &
	eventually test -e "$HOME/.toy/sessions/ready"
	sleep 0.01
	echo outside-and-longer >"$HOME/.toy/token"
	rm "$HOME/.toy/sessions/ready"
	wait $!
	assert_file "$HOME/.toy/token" outside-and-longer
	grep -q "stays with session s" "$BATS_TEST_TMPDIR/err" || fail "$(<"$BATS_TEST_TMPDIR/err")"
}

@test "what an agent leaves in place of its credentials is not followed" {
	echo host >"$HOME/target"
	agent 'rm ~/.toy/token; ln -s ~/target ~/.toy/token; mkdir ~/.toy/x'
	run_airlock agent toy
	assert_status 0
	assert_file "$HOME/.toy/token" token
	assert_file "$HOME/target" host
	agent 'rm ~/.toy/token; mkfifo ~/.toy/token'
	run_airlock agent toy
	assert_status 0
	assert_file "$HOME/.toy/token" token
}

transcripts() {
	rm -rf "$HOME/.toy/projects"
	recipe toy $'program = "toy"\n[home]\nprivate = ["~/.toy"]\nfiles = ["~/.toy/projects/*.jsonl"]'
	mkdir -p "$HOME/.toy/projects/p/memory"
	echo mine >"$HOME/.toy/projects/p/memory/MEMORY.md"
	echo old >"$HOME/.toy/projects/p/old.jsonl"
	echo old >"$HOME/.toy/projects/p/taken.jsonl"
	agent 'cd ~/.toy/projects/p && echo evil >memory/MEMORY.md && echo evil >memory/new.md && echo new >>old.jsonl && echo new >one.jsonl &&
		mkdir -p ../q/s && echo sub >../q/s/two.jsonl && ln -s ~/.bashrc link.jsonl && mkfifo fifo.jsonl && mkdir dir.jsonl && echo evil >dir.jsonl/x &&
		echo new >>taken.jsonl && cat old.jsonl'
	run_airlock agent toy --session "t-$AIRLOCK_BACKEND"
	assert_stdout $'old\nnew'
	assert_file "$HOME/.toy/projects/p/old.jsonl" $'old\nnew'
	assert_file "$HOME/.toy/projects/p/one.jsonl" new
	assert_file "$HOME/.toy/projects/q/s/two.jsonl" sub
	assert_file "$HOME/.toy/projects/p/memory/MEMORY.md" mine
	[ "$(cd "$HOME/.toy/projects" && find . -type f | sort | xargs)" = './p/memory/MEMORY.md ./p/old.jsonl ./p/one.jsonl ./p/taken.jsonl ./q/s/two.jsonl' ] ||
		fail "$(find "$HOME/.toy/projects")"
	[ -z "$(find "$HOME/.toy/projects" ! -type f ! -type d)" ] || fail "$(find "$HOME/.toy/projects")"
	# The session goes on with its own memory, and with the transcripts of the home.
	echo more >>"$HOME/.toy/projects/p/one.jsonl"
	agent 'cat ~/.toy/projects/p/memory/MEMORY.md ~/.toy/projects/p/one.jsonl'
	run_airlock agent toy --session "t-$AIRLOCK_BACKEND"
	assert_stdout $'evil\nnew\nmore'
}

@test "transcripts come home by a pattern, and what lies beside them stays with the session" {
	each_backend transcripts native bubblewrap
	# What somebody outside has written meanwhile is not replaced.
	recipe toy $'program = "toy"\n[home]\nprivate = ["~/.toy"]\nstate = ["~/.toy/signs"]\nfiles = ["~/.toy/projects/*.jsonl"]'
	agent 'echo inside >>~/.toy/projects/p/old.jsonl; touch ~/.toy/signs/ready; while [ ! -e ~/.toy/signs/go ]; do sleep 0.02; done'
	"$AIRLOCK" agent toy --session s >/dev/null 2>&1 </dev/null 3>&- &
	eventually test -e "$HOME/.toy/signs/ready"
	echo outside >"$HOME/.toy/projects/p/old.jsonl"
	touch "$HOME/.toy/signs/go"
	wait $!
	assert_file "$HOME/.toy/projects/p/old.jsonl" outside
}

others_hidden() {
	agent 'ls ~/.rival ~/.claude 2>&1; cat ~/.rival/token ~/.claude/settings.json; cat ~/.toy/token; echo $TOY_KEY $TOY_SET $OTHER_KEY'
	TOY_KEY=key OTHER_KEY=no run_airlock agent toy
	assert_stdout_contains token
	assert_stdout_contains 'key 1'
	refute_stdout_contains secret
	refute_stdout_contains settings-of-claude
	refute_stdout_contains no$
}

@test "an agent does not see what belongs to another, nor variables that are not its own" {
	mkdir -p "$HOME/.claude"
	echo settings-of-claude >"$HOME/.claude/settings.json"
	each_backend others_hidden native bubblewrap
	# A person may show it.
	agent 'cat ~/.rival/token'
	run_airlock agent toy --ro "$HOME/.rival"
	assert_stdout secret
}

plain_run() {
	run_airlock run -c 'cat ~/.toy/token ~/.rival/token ~/.toyrc.json; ls ~/.toy; echo done'
	assert_stdout $'conf\ndone'
	run_airlock run --profile permissive -c 'cat ~/.toy/token'
	assert_stdout token
}

@test "other commands see neither the credentials nor the state of an agent" {
	each_backend plain_run native bubblewrap
}

@test "what a person hides stays hidden from the agent" {
	agent 'cat ~/.toy/token; ls ~/.toy/conf; echo end'
	run_airlock agent toy --hide "$HOME/.toy"
	assert_stdout end
}

@test "links, sockets and setuid bits that an agent leaves in its state are removed" {
	mkdir -p "$HOME/.toy/sessions"
	ln -s /old "$HOME/.toy/sessions/old-link"
	sleep 0.05
	agent 'cd ~/.toy/sessions && mkdir -p d && ln -s ~/.bashrc d/memory && mkfifo fifo && cp /bin/true suid && chmod 6755 suid && echo x >file'
	run_airlock agent toy
	assert_status 0
	assert_absent "$HOME/.toy/sessions/d/memory"
	assert_absent "$HOME/.toy/sessions/fifo"
	[ "$(stat -c %a "$HOME/.toy/sessions/suid")" = 755 ] || fail "a setuid bit stayed"
	assert_file "$HOME/.toy/sessions/file" x
	[ -L "$HOME/.toy/sessions/old-link" ] || fail "a link from before is gone"
}

@test "links that an agent leaves are removed by its next start if airlock was killed" {
	agent 'ln -s ~/.bashrc ~/.toy/sessions/link; touch ~/.toy/sessions/ready; sleep 60'
	"$AIRLOCK" agent toy --session s >/dev/null 2>&1 </dev/null 3>&- &
	eventually test -e "$HOME/.toy/sessions/ready"
	# It is left alone as long as that one runs.
	agent 'test -L ~/.toy/sessions/link && echo there'
	run_airlock agent toy
	assert_stdout there
	kill -9 $!
	wait $! || true
	[ -L "$HOME/.toy/sessions/link" ] || fail "it was not there in the first place"
	agent 'test -L ~/.toy/sessions/link || echo gone'
	run_airlock agent toy
	assert_stdout gone
	assert_absent "$HOME/.toy/sessions/link"
	assert_file "$HOME/.toy/sessions/ready" ''
	[ -z "$(ls -A "$XDG_STATE_HOME/airlock/agents")" ] || fail "a mark was left"
}

@test "that an agent cannot update itself is said once" {
	run_airlock agent toy
	assert_stderr_contains 'Toy cannot update itself in here'
	run_airlock agent toy
	refute_stderr_contains 'update itself'
}

# ---- how it is started

@test "options of the recipe, of its modes and of the caller, in this order" {
	run_airlock agent toy -- a --yolo
	assert_stdout '--base a --yolo'
	run_airlock agent toy --yolo -- 'b c'
	assert_stdout '--base --ask-nothing b c'
	run_airlock agent toy stray
	assert_status 2
	assert_stderr_contains 'airlock agent toy -- stray'
	run_airlock agent rival --yolo
	assert_status 127
	assert_stderr_contains 'rival has no option that asks nothing'
}

@test "changes are held in a session of its own, and its name is told" {
	agent 'echo x >made; exit 7'
	run_airlock agent toy
	assert_status 7
	assert_stderr_contains '1 change held: airlock diff toy-'
	[ ! -e made ] || fail "the change was applied"
	local name
	name=$(sed -n 's/.*airlock apply \(toy-[0-9-]*\).*/\1/p' "$RAW_STDERR")
	run_airlock apply "$name"
	assert_file made x
	# As configured, or as asked.
	agent 'echo y >made2'
	run_airlock agent toy --changes apply
	assert_file made2 y
	write_config $'[profiles.moderate]\nchanges = "apply"'
	agent 'echo z >made3'
	run_airlock agent toy
	assert_file made3 z
}

@test "AIRLOCK_SESSION and --session name the session; the next agent goes on there" {
	agent 'cat made 2>/dev/null; echo x >>made'
	AIRLOCK_SESSION=work run_airlock agent toy
	assert_status 0
	run_airlock agent toy --session work
	assert_stdout x
	run_airlock session show work --json
	[ "$(json 'len(d["steps"])')" = 2 ] || fail "$stdout"
}

@test "a program below the home is visible where the profile hides the home" {
	mkdir -p "$HOME/.local/npm/lib/node_modules/toy" "$HOME/.local/npm/bin"
	printf '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/data"; echo x >"$0" || echo read-only' \
		>"$HOME/.local/npm/lib/node_modules/toy/cli"
	echo data >"$HOME/.local/npm/lib/node_modules/toy/data"
	chmod +x "$HOME/.local/npm/lib/node_modules/toy/cli"
	ln -s ../lib/node_modules/toy/cli "$HOME/.local/npm/bin/toy"
	PATH=$HOME/.local/npm/bin:$PATH run_airlock agent toy --profile strict --network-mode off
	assert_status 0
	assert_stdout $'data\nread-only'
}

@test "a program that PATH finds in the project is not the agent" {
	rm "$HOME/bin/toy"
	mkdir -p bin
	printf '#!/bin/sh\ncat ~/.toy/token' >bin/toy
	chmod +x bin/toy
	PATH=$PWD/bin:bin:$PATH run_airlock agent toy
	assert_status 127
	assert_stderr_contains 'Toy is not installed'
}

@test "strict refuses the network, which an agent needs" {
	run_airlock agent toy --profile strict
	assert_status 125
	assert_stderr_contains 'refuses network access'
}

added_dirs() {
	mkdir -p "$HOME/lib" "$HOME/more"
	rm -f "$HOME/lib/x" "$HOME/more/x"
	agent 'echo "$@"; for d in ~/lib ~/more; do echo x >$d/x 2>/dev/null && echo wrote $d; done'
	run_airlock agent toy --yes --session "d-$AIRLOCK_BACKEND" -- --add-dir ../lib sub prompt
	assert_stdout $'--base --add-dir ../lib sub prompt\nwrote '"$HOME/lib"
	assert_absent "$HOME/lib/x" # it is held
	run_airlock changes "d-$AIRLOCK_BACKEND"
	assert_stdout_contains "$HOME/lib/x"
	# What the person names for airlock the agent is told.
	run_airlock agent toy --yes --allow-write "$HOME/more" -- --add-dir="$HOME/lib"
	assert_stdout "--base --add-dir=$HOME/more --add-dir=$HOME/lib"$'\nwrote '"$HOME/lib"$'\nwrote '"$HOME/more"
	# Without a yes it does not start.
	AIRLOCK_PERMISSION_WAIT=0 run_airlock agent toy -- --add-dir ../lib
	assert_status 125
	assert_stdout ''
	# Neither the project's own nor one that does not exist needs one.
	run_airlock agent toy -- --add-dir sub --add-dir ../none
	assert_stdout '--base --add-dir sub --add-dir ../none'
}

@test "directories that a person adds to the agent are writable after a yes, and the agent is told of those named to airlock" {
	mkdir sub
	sed -i '1i add_dir = "--add-dir DIR"' "$AGENTS/toy.toml"
	each_backend added_dirs native bubblewrap
	run_airlock agent show claude --json
	assert_json '--add-dir DIR...' add_dir
}

@test "no time limit, unless somebody sets one" {
	run_airlock agent explain toy
	assert_stdout_contains 'limits: timeout none'
	run_airlock agent explain toy --timeout 5m
	assert_stdout_contains 'limits: timeout 5 min'
}

# ---- the recipe

@test "list, show and explain" {
	run_airlock agent list
	assert_status 0
	assert_stdout_contains 'claude      built-in   Claude Code'
	assert_stdout_contains 'toy         user       Toy'
	run_airlock agent list --json
	[ "$(json '[a["source"] for a in d["agents"] if a["agent"] == "toy"]')" = "['user']" ] || fail "$stdout"
	[ "$(json '[a["found"] for a in d["agents"] if a["agent"] == "rival"]')" = '[None]' ] || fail "$stdout"
	run_airlock agent show toy
	assert_stdout_contains "# from: $AGENTS/toy.toml"
	assert_stdout_contains 'hosts = ["model.toy.test:443"]'
	run_airlock agent show codex --json
	assert_json built-in source
	assert_json 'built-in recipe codex' file
	run_airlock agent explain toy
	assert_status 0
	assert_stdout_contains "$HOME/.toy    [agent toy: what it writes stays with the session]"
	assert_stdout_contains 'allow model.toy.test:443'
	run_airlock agent show nobody
	assert_status 1
	run_airlock agent nobody
	assert_status 2
	run_airlock agent codx
	assert_stderr_contains 'did you mean "codex"?'
	run_airlock agent list --network
	assert_status 2
}

@test "the user's recipe goes before the built-in one" {
	recipe codex $'title = "Mine"\nprogram = "toy"'
	run_airlock agent list
	assert_stdout_contains 'codex       user       Mine'
	run_airlock agent codex -- x
	assert_stdout x
}

# broken TOML MESSAGE
broken() {
	recipe toy "$1"
	run_airlock agent toy
	assert_status 125
	assert_stderr_contains "$AGENTS/toy.toml:$2"
	run_airlock run -- true
	assert_status 125
}

@test "a recipe with a mistake names file, line and key, and nothing runs" {
	broken $'title = "T"\n' '1:1: "program" is missing'
	broken $'program = "toy"\nhost = []' '2:1: unknown key "host"; did you mean "hosts"?'
	broken $'program = "toy"\nstate = ["~/.toy"]' '2:1: unknown key "state"; it belongs in [home]'
	broken $'program = 3' '1:11: "program" must be a name'
	broken $'program = "toy"\nhosts = ["https://x.test/"]' '2:10: "https://x.test/" in "hosts"'
	broken $'program = "toy"\n[home]\nstate = ["/etc"]' '3:10: "/etc" in "state": a path must start with ~/'
	broken $'program = "toy"\n[home]\nstate = ["~/../x"]' '3:10: "~/../x" in "state": it is not below your home'
	broken $'program = "toy"\n[home]\nprivate = ["~/.local/bin"]' '3:12: "~/.local/bin" in "private": programs are started'
	broken $'program = "toy"\n[home]\nfiles = ["~/.x"]' '1:1: '
	broken $'program = "toy"\n[home]\nstate = ["~/.x*"]' '3:10: "~/.x*" in "state": only "files" may have patterns'
	broken $'program = "toy"\n[env]\nset = { A = 1 }' '3:13: "set" must be'
	broken $'program = "toy"\nhosts = [' '3:1: '
	recipe toy $'program = "toy"\nhosts = ["@none"]'
	run_airlock agent toy
	assert_status 125
	assert_stderr_contains 'toy.toml:2: there is no set "none"'
}

@test "a recipe that others can write is refused" {
	chmod o+w "$AGENTS/toy.toml"
	run_airlock agent toy
	assert_status 125
	assert_stderr_contains 'writable by everybody'
}

# ---- questions

@test "its hosts are allowed, others are asked about elsewhere, and a named set counts" {
	write_config $'[network.sets]\nmine = ["set.toy.test"]\n[permission]\nwait = "20s"'
	recipe toy $'program = "toy"\nhosts = ["@mine"]\ndeny = ["stats.toy.test"]'
	run_airlock agent explain toy
	assert_stdout_contains 'allow set.toy.test'
	assert_stdout_contains 'deny stats.toy.test'
	assert_stdout_contains 'other hosts: asked about'
	agent 'for h in stats other; do bash -c "exec 3<>/dev/tcp/$h.toy.test/443; head -c1 <&3"; done; echo over'
	"$AIRLOCK" agent toy --session q >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null 3>&- &
	local pid=$! id
	asks() { [ -n "$("$AIRLOCK" questions 2>/dev/null </dev/null)" ]; }
	eventually asks
	run_airlock questions --json
	[ "$(json '[(q["session"], q["host"], q["port"]) for q in d["questions"]]')" = "[('q', 'other.toy.test', 443)]" ] ||
		fail "$stdout"
	id=$("$AIRLOCK" questions </dev/null | cut -d' ' -f1)
	run_airlock answer "$id" deny
	assert_status 0
	wait "$pid"
	grep -q 'refused: connect to other.toy.test:443: a person denied it' "$BATS_TEST_TMPDIR/out" || fail "$(<"$BATS_TEST_TMPDIR/out")"
	# What the recipe itself refuses is no news; the list of hosts has it.
	! grep -q 'refused: connect to stats' "$BATS_TEST_TMPDIR/out" || fail "$(<"$BATS_TEST_TMPDIR/out")"
	run_airlock show last
	assert_stdout_contains 'stats.toy.test:443 denied by rule'
}

# at_terminal: the Python program on stdin; it has Terminal and airlock
at_terminal() {
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - "$AIRLOCK" <<<"
import subprocess, sys, time
from pseudo_terminal import Terminal
airlock = sys.argv[1]
$(cat)" || fail "at the terminal"
}

@test "a question is told by bell and title, never on the agent's screen, and the title is restored" {
	write_config $'[permission]\nwait = "20s"'
	agent 'stty size; bash -c "exec 3<>/dev/tcp/other.toy.test/443; head -c1 <&3"; echo over; echo x >made; read -r line; echo "read $line"'
	at_terminal <<-'EOF_PYTHON'
		with Terminal([airlock, "agent", "toy", "--session", "q"], rows=30, columns=91) as terminal:
		    terminal.expect("Toy runs in session q")
		    terminal.expect("30 91")
		    terminal.expect("\033[22;2t\033]2;airlock questions: connect to other.toy.test:443?\007\007")
		    for _ in range(100):
		        waiting = subprocess.run([airlock, "questions"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
		        if waiting:
		            break
		        time.sleep(0.05)
		    subprocess.run([airlock, "answer", waiting.split()[0], "deny"], stdin=subprocess.DEVNULL, check=True, capture_output=True)
		    terminal.expect("over")
		    terminal.expect("\033[23;2t")
		    terminal.answer("yes\r")
		    terminal.expect("read yes")
		    terminal.expect("1 change held: airlock review q")
		    assert terminal.wait() == 0
		    assert "Allow" not in terminal.screen and "llow once" not in terminal.screen, terminal.screen
	EOF_PYTHON
}

nested() {
	agent '"$AIRLOCK" run -- true; echo "$?"; "$AIRLOCK" run --agent hook:toy -C . -c "echo started; pwd"; "$AIRLOCK" agent claude; echo "$?"'
	run_airlock agent toy
	assert_stdout $'125\nstarted\n'"$PWD"$'\n125'
	assert_stderr_contains 'this is inside a sandbox of airlock already'
	refute_stderr_contains sysctl
}

@test "an airlock inside says where it is, and what a hook brings to it is started as it is" {
	each_backend nested native bubblewrap
}

@test "a file that an agent hands to another process of its session is not changed any more once it is held" {
	cat >receive.py <<-'EOF'
		import array, os, socket, time
		s = socket.socket(socket.AF_UNIX)
		s.bind("/tmp/socket")
		s.listen()
		fd = array.array("i", s.accept()[0].recvmsg(1, socket.CMSG_SPACE(4))[1][0][2])[0]
		open("/tmp/received", "w").close()
		while not os.path.exists("/tmp/write"):
		    time.sleep(0.02)
		os.write(fd, b"EVIL")
		open("/tmp/written", "w").close()
		time.sleep(60)
	EOF
	run_airlock run --session s --changes hold -c 'python3 receive.py >/dev/null 2>&1 & while [ ! -e /tmp/socket ]; do sleep 0.02; done'
	assert_status 0
	agent 'python3 -c "
import array, os, socket
fd = os.open(\"victim\", os.O_RDWR | os.O_CREAT)
os.write(fd, b\"good\")
os.lseek(fd, 0, 0)
s = socket.socket(socket.AF_UNIX)
s.connect(\"/tmp/socket\")
s.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array(\"i\", [fd]))])"
		while [ ! -e /tmp/received ]; do sleep 0.02; done'
	run_airlock agent toy --session s
	assert_status 0
	run_airlock run --session s -c 'touch /tmp/write; while [ ! -e /tmp/written ]; do sleep 0.02; done; cat victim'
	assert_stdout good
	run_airlock apply s victim
	assert_file victim good
	run_airlock session end s
}

# ---- while it works

# tell WORD: the agent, which waits for it, goes on
tell() {
	echo "$1" >"$HOME/.toy/sessions/$1"
}

# begin_agent SCRIPT: starts it in the background; wait_for WORD in the script waits for tell
begin_agent() {
	agent "wait_for() { while [ ! -e ~/.toy/sessions/\$1 ]; do sleep 0.02; done; }
		say() { touch ~/.toy/sessions/said-\$1; }
		$1"
	"$AIRLOCK" agent toy --session s >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null 3>&- &
	PID=$!
}

heard() {
	[ -e "$HOME/.toy/sessions/said-$1" ]
}

while_it_works() {
	rm -rf "$HOME/.toy/sessions"
	begin_agent 'echo one >one; echo two >two; echo gone >gone; say first; wait_for go
		echo again >>one; rm gone; echo three >three; say second; wait_for end'
	eventually heard first
	run_airlock changes s --json
	assert_states 'gone=held one=held two=held'
	run_airlock diff s one
	assert_stdout_contains '+one'
	[ ! -e one ] || fail "it is in the project already"
	run_airlock apply s
	assert_status 125
	assert_stderr_contains 'is still running a command, so only named paths can be decided about: '
	assert_stderr_contains 'which ends the command'
	run_airlock apply s one two
	assert_status 0
	assert_file one one
	assert_file two two
	tell go
	eventually heard second
	run_airlock changes s --json
	assert_states 'one=held three=held'
	tell end
	wait "$PID"
	run_airlock changes s --json
	assert_states 'one=held three=held'
	run_airlock apply s
	assert_status 0
	assert_file one $'one\nagain'
	assert_file three three
	assert_absent gone
	run_airlock undo s
	assert_file one one
	rm -f one two three
	run_airlock gc
	run_airlock session end s
	rm -rf "$XDG_STATE_HOME/airlock"
}

@test "a person looks at what an agent has changed so far, and takes finished files" {
	each_backend while_it_works native bubblewrap
}

@test "what a person edits after taking a file is a conflict, and a session without changes in the end has none" {
	begin_agent 'echo one >one; say first; wait_for go; echo again >>one'
	eventually heard first
	run_airlock apply s one
	assert_status 0
	echo mine >one
	tell go
	wait "$PID"
	run_airlock apply s
	assert_status 3
	assert_file one mine
	rm -rf "$HOME/.toy/sessions"
	run_airlock discard s
	begin_agent 'echo x >x; say first; wait_for go; rm x'
	eventually heard first
	run_airlock changes s --json
	assert_states 'x=held'
	tell go
	wait "$PID"
	run_airlock changes s --json
	assert_states 'one=applied' # the last apply: nothing is held
}
