#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016,SC2317 # run_airlock sets variables; $ in quotes is for the shell inside; functions called by name
# What a hostile command leaves in git, or for git: none of it reaches the live tree without a person. Each test has an act
# of the same kind that is applied.

load ../helpers
load ../capture/capture

setup() {
	default_setup
	git config --global user.name Somebody
	git config --global user.email somebody@example.org
	git config --global init.defaultBranch main
	rm -rf .git file
	git init -q .
	echo one >a
	git add a
	git commit -qm one
}

# applied LINE; held LINE PATH REASON: nothing else of it may be applied where git's bookkeeping is in it
applied() {
	run_captured -c "$1"
	assert_status 0
	assert_json applied changes state
}
held() {
	run_captured -c "$1"
	assert_status 0
	assert_change "$2" state=held "reason=*$3*"
}

BARE='mkdir -p d/objects d/refs && echo "ref: refs/heads/main" >d/HEAD'

@test "a repository planted in two runs is held, its configuration being plain, a symlink, or touched only" {
	applied 'mkdir d && printf "[core]\n\tbare = true\n\tfsmonitor = ./evil\n" >d/config'
	held "$BARE" d/HEAD 'makes a directory with commands in it a git repository'
	held "$BARE; chmod 600 d/config" d/HEAD 'makes a directory'
	held "$BARE; touch -d 2001-01-01 d/config" d/HEAD 'makes a directory'
	rm -rf d
	applied 'mkdir d && printf "[core]\n\tfsmonitor = ./evil\n" >x.txt && ln -s ../x.txt d/config'
	held "$BARE" d/HEAD 'makes a directory'
	rm -rf d
	applied 'mkdir d && printf "[core]\n\tbare = true\n" >d/config'
	applied "$BARE"
}

@test "held runs applied in another order are judged again" {
	run_captured --hold -c 'mkdir -p d && printf "[core]\n\tfsmonitor = ./evil\n" >d/config'
	local first=$RUN
	run_airlock changes "$first" --json
	assert_change d/config reason='*'
	mkdir d
	applied "$BARE"
	run_airlock apply "$first"
	assert_stderr_contains 'sensitive'
	assert_stderr_contains 'd/config'
}

@test "undo does not restore a repository into which a later run put commands" {
	mkdir -p d/objects d/refs
	echo 'ref: refs/heads/main' >d/HEAD
	printf '[core]\n\tbare = true\n' >d/config
	applied 'rm d/HEAD; rmdir d/refs'
	local first=$RUN
	applied 'printf "[core]\n\tfsmonitor = ./evil\n" >d/config'
	local second=$RUN
	run_airlock undo "$first"
	assert_status 3
	assert_stderr_contains 'makes a directory with commands in it a git repository'
	assert_absent d/HEAD
	run_airlock undo "$second"
	assert_status 0
	run_airlock undo "$first"
	assert_status 0
	assert_file d/HEAD 'ref: refs/heads/main'
}

@test "a commit, a branch, a tag, a stash and a packed reference that carry a workflow are held" {
	local make='mkdir -p .github/workflows && echo x >.github/workflows/w.yml && git add . && git commit -qm w'
	held "$make && git rm -q .github/workflows/w.yml && git commit -qm gone" .git/refs/heads/main 'w.yml'
	held "$make && git branch b && git reset -q --hard HEAD~1" .git/refs/heads/b 'w.yml'
	held "$make && git tag -a t -m t && git reset -q --hard HEAD~1" .git/refs/tags/t 'w.yml'
	held "$make && git branch b && git reset -q --hard HEAD~1 && git pack-refs --all && git gc -q" .git/packed-refs 'w.yml'
	held 'mkdir -p .github/workflows && echo x >.github/workflows/w.yml && git add . && git stash -q' .git/refs/stash 'w.yml'
	applied 'mkdir docs && echo x >docs/w.yml && git add . && git commit -qm w && git tag -a t -m t && git gc -q'
}

@test "objects that an earlier run left do not count as the person's own" {
	# The first leaves objects only, which nothing names; the second names them.
	applied 'echo x >.envrc; git add .envrc; T=$(git write-tree); git commit-tree -m x -p HEAD "$T" >id; git rm -q --cached .envrc; rm .envrc; git update-index -q --refresh; cp id .git/ORIG_HEAD'
	held 'git update-ref refs/heads/b "$(cat id)"' .git/refs/heads/b '.envrc'
	held 'git reset -q --hard ORIG_HEAD' .envrc 'direnv'
	assert_change .git/refs/heads/main state=held
	applied 'git update-ref refs/heads/b HEAD'
}

@test "objects that are damaged, bombs and missing ones are held in bounded time" {
	local forge='import hashlib,os,sys,zlib
def put(kind, data, name=None):
    whole = kind.encode() + b" %d\0" % len(data) + data
    name = name or hashlib.sha1(whole).hexdigest()
    os.makedirs(".git/objects/" + name[:2], exist_ok=True)
    open(".git/objects/%s/%s" % (name[:2], name[2:]), "wb").write(zlib.compress(whole, 9))
    return name
def commit(tree, parent=None):
    return put("commit", ("tree %s\n%sauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n" % (tree, "parent %s\n" % parent if parent else "")).encode())
head = open(".git/refs/heads/main").read().strip()
def ref(value): open(".git/refs/heads/b", "w").write(value + "\n")
'
	local -A acts=(
		[wrong]='ref(put("commit", b"tree x", "ab" * 20))'
		[missing]='ref("cd" * 20)'
		[bomb]='ref(commit(put("tree", b"0" * (1 << 28)), head))'
		[deep]='t = put("tree", b"100644 f\0" + bytes(20))
for i in range(300): t = put("tree", b"40000 d\0" + bytes.fromhex(t))
ref(commit(t, head))'
		[cut]='n = commit(put("tree", b""), head); p = ".git/objects/%s/%s" % (n[:2], n[2:]); d = open(p, "rb").read(); open(p, "wb").write(d[:20]); ref(n)'
	)
	local act started=$SECONDS
	for act in "${!acts[@]}"; do
		run_captured -c "python3 - <<'END'
$forge
${acts[$act]}
END"
		assert_status 0
		assert_change .git/refs/heads/b state=held 'reason=git:*'
	done
	((SECONDS - started < 50)) || fail "it took $((SECONDS - started)) s"
	run_captured -c "python3 - <<'END'
$forge
ref(commit(put('tree', b''), head))
END"
	assert_json applied changes state
}

# Git does not hold objects against their names when it reads them: the next checkout writes what is found under the name.
@test "known objects cannot get other content, nor commits another tree" {
	local forge='import glob,hashlib,os,struct,subprocess,sys,zlib
def name(what): return subprocess.check_output(["git", "rev-parse", what]).decode().strip()
def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path): os.remove(path)
    open(path, "wb").write(data)
def loose(oid, data): write(".git/objects/%s/%s" % (oid[:2], oid[2:]), zlib.compress(b"blob %d\0" % len(data) + data))
def pack(oid, data, version=2):
    raw = b"PACK" + struct.pack(">II", 2, 1) + bytes([3 << 4 | len(data)]) + zlib.compress(data)
    raw += hashlib.sha1(raw).digest()
    first = int(oid[:2], 16)
    fanout = b"".join(struct.pack(">I", i >= first) for i in range(256))
    if version == 2: idx = b"\377tOc" + struct.pack(">I", 2) + fanout + bytes.fromhex(oid) + struct.pack(">II", zlib.crc32(raw[12:-20]), 12)
    else: idx = fanout + struct.pack(">I", 12) + bytes.fromhex(oid)
    idx += raw[-20:]
    idx += hashlib.sha1(idx).digest()
    write(".git/objects/pack/pack-%s.pack" % ("ab" * 20), raw)
    write(".git/objects/pack/pack-%s.idx" % ("ab" * 20), idx)
'
	mkdir .vscode
	echo own >.vscode/tasks.json
	git add .
	git commit -qm own
	git checkout -q -b other
	git rm -rq .vscode
	git commit -qm gone
	# forged LINE: what it forges works outside, and is held inside
	forged() {
		rm -rf "$HOME/copy"
		cp -a . "$HOME/copy"
		(cd "$HOME/copy" && python3 -c "$forge$1" && git checkout -q main 2>/dev/null && git reset -q --hard 2>/dev/null && grep -qx evil .vscode/tasks.json) ||
			fail "expected that git is deceived: $1"
		run_captured -- python3 -c "$forge$1"
		assert_status 0
		assert_change "$2" state=held "reason=*$3*"
		git checkout -q main
		assert_file .vscode/tasks.json own
		git checkout -q other
	}
	local object file pack
	object=$(git rev-parse main:.vscode/tasks.json)
	file=.git/objects/${object:0:2}/${object:2}
	pack=.git/objects/pack/pack-$(printf 'ab%.0s' {1..20}).idx
	forged 'loose(name("main:.vscode/tasks.json"), b"evil\n")' "$file" 'not what its name says'
	forged 'pack(name("main:.vscode/tasks.json"), b"evil\n")' "$pack" 'not what its name says'
	forged 'pack(name("main:.vscode/tasks.json"), b"evil\n", 1)' "$pack" 'not what its name says'
	git repack -adq
	forged 'loose(name("main:.vscode/tasks.json"), b"evil\n")
for f in glob.glob(".git/objects/pack/*"): os.rename(f, "kept" + f[-5:])
subprocess.run("git unpack-objects -q <kept.pack", shell=True)' "$file" 'not what its name says'
	git unpack-objects -q < <(cat .git/objects/pack/*.pack) # has them already
	# A graph of commits that lies about a tree.
	run_captured -c 'git commit-graph write --reachable && python3 -c "
import hashlib, subprocess
path = \".git/objects/info/commit-graph\"
tree = lambda of: bytes.fromhex(subprocess.check_output([\"git\", \"rev-parse\", of + \"^{tree}\"]).decode().strip())
data = open(path, \"rb\").read().replace(tree(\"main\"), tree(\"other\"))[:-20]
import os
os.remove(path)
open(path, \"wb\").write(data + hashlib.sha1(data).digest())"'
	assert_status 0
	assert_change .git/objects/info/commit-graph state=held 'reason=*not as its commits say*'
	# A link in the place of a directory, whose files would be gone without it.
	held 'mv .git/objects elsewhere && ln -s ../elsewhere .git/objects' .git/objects 'in another directory'
	assert_json held changes state
	# A large file, which git-lfs takes as it is.
	mkdir -p .git/lfs/objects/ab/cd
	echo large >.git/lfs/objects/ab/cd/abcd
	held 'echo LARGE >.git/lfs/objects/ab/cd/abcd' .git/lfs/objects/ab/cd/abcd 'not what its name says'
	applied 'mkdir -p .git/lfs/objects/ab/ef; echo new >.git/lfs/objects/ab/ef/abef; touch .git/lfs/objects/ab/cd/abcd'
	# What git itself writes passes: the same objects packed anew, a graph, loose objects again.
	applied 'git gc -q && git commit-graph write --reachable'
	applied 'echo 3 >a && git commit -qam three && git repack -q'
	applied 'for p in .git/objects/pack/*.pack; do mv "$p" kept; rm -f "${p%.pack}".*; git unpack-objects -q <kept; done; rm kept; git fsck'
}

@test "replaced objects, alternates and references behind symlinks are held" {
	held 'git replace HEAD "$(git commit-tree -m x "HEAD^{tree}")"' ".git/refs/replace/$(git rev-parse HEAD)" 'in place of another'
	echo two >a
	git commit -qam two # both are the person's own, and still one is not the other
	held 'git pack-refs --all; echo "$(git rev-parse HEAD~1) refs/replace/$(git rev-parse HEAD)" >>.git/packed-refs' .git/packed-refs 'in place of another'
	held 'mkdir -p .git/objects/info && echo /elsewhere >.git/objects/info/alternates' .git/objects/info/alternates 'another directory'
	held 'ln -s ../../../a .git/refs/heads/l' .git/refs/heads/l 'no regular file'
	applied 'git branch l'
}

@test "what is staged and not in the work tree is held, what is in both is judged once" {
	held 'mkdir -p .github/workflows && echo x >.github/workflows/w.yml && git add . && rm -r .github' .git/index 'staged is .github/workflows/w.yml'
	held 'git update-index --add --cacheinfo "100644,$(echo x | git hash-object -w --stdin),.envrc"' .git/index 'staged is .envrc'
	held 'git update-index --add --cacheinfo "120000,$(printf ../x | git hash-object -w --stdin),.vscode"' .git/index 'staged is .vscode'
	held 'git update-index --split-index && git update-index --add --cacheinfo "100644,$(echo x | git hash-object -w --stdin),.envrc" && git update-index --split-index' .git/index ''
	held 'echo x >.envrc && git add .envrc' .git/index 'it belongs to .envrc'
	applied 'echo 2 >b && git add b && rm b && git add -N a'
	# What a commit of the person has may be staged again.
	mkdir .vscode && echo own >.vscode/tasks.json && git add . && git commit -qm own && git rm -rq .vscode && git commit -qm gone
	applied 'git restore --staged --source=HEAD~1 .vscode'
}

@test "state files of an unfinished git operation cannot smuggle in a commit that the gate would hold" {
	local make='mkdir -p .vscode && echo x >.vscode/tasks.json && git stash -qu && S=$(git rev-parse stash@{0}) && git stash drop -q'
	local file
	# The next commit applies this one by itself, the others are gone back to by --abort.
	for file in MERGE_AUTOSTASH MERGE_HEAD CHERRY_PICK_HEAD BISECT_START rebase-merge/orig-head rebase-merge/autostash \
		rebase-apply/orig-head rebase-apply/autostash sequencer/head; do
		held "$make && mkdir -p \"\$(dirname .git/$file)\" && echo \$S >.git/$file" \
			".git/$file" '.vscode/tasks.json'
	done
	applied 'echo 2 >a && git stash -q && git rev-parse stash@{0} >.git/MERGE_AUTOSTASH && git stash drop -q'
	applied 'git rev-parse HEAD >.git/CHERRY_PICK_HEAD'
}

@test "a branch that points to something other than a reference is held" {
	held 'echo x >.envrc; git add .envrc; T=$(git write-tree); git rm -q --cached .envrc; rm .envrc
		git commit-tree -m x -p HEAD "$T" >.git/ORIG_HEAD; echo "ref: ORIG_HEAD" >.git/refs/heads/b' .git/refs/heads/b 'leads to none'
	held 'echo "ref: FETCH_HEAD" >.git/refs/heads/main' .git/refs/heads/main 'leads to none'
	applied 'git branch c && git symbolic-ref refs/heads/b refs/heads/c'
}

@test "a repository that is in a commit or staged only is held" {
	local make='mkdir -p d/objects d/refs && touch d/objects/x d/refs/x && echo "ref: refs/heads/m" >d/HEAD'
	local arm='printf "[core]\n\tbare = true\n\tfsmonitor = ./evil\n" >d/config' commit='git add . && git commit -qm x && git checkout -q main'
	held "git checkout -qb b && $make && $arm && $commit" .git/refs/heads/b 'that git takes for a repository'
	held "git checkout -qb b && $make && ln -s ../a d/config && $commit" .git/refs/heads/b 'that git takes for a repository'
	held "git checkout -qb b && $make && mkdir d/hooks && echo x >d/hooks/post-checkout && $commit" .git/refs/heads/b 'that git takes for a repository'
	held "git checkout -qb b && mkdir d && echo x >d/HEAD && echo ../e >d/commondir && $commit" .git/refs/heads/b 'that git takes for a repository'
	held "$make && $arm && git add . && rm -r d" .git/index 'that git takes for a repository'
	# Its configuration lies there already, and means nothing yet.
	applied 'mkdir d && printf "[core]\n\tfsmonitor = ./evil\n" >d/config && echo d/config >>.git/info/exclude'
	held "git checkout -qb b && $make && $commit" .git/refs/heads/b 'that git takes for a repository'
	rm -r d
	applied "git checkout -qb b && $make && printf '[core]\n\tbare = true\n' >d/config && git add -f . && git commit -qm x && git checkout -q main"
}

@test "settings of git pass by an allow-list" {
	git remote add origin https://example.org/x.git
	local key
	for key in remote.origin.url remote.origin.pushurl remote.origin.mirror remote.new.url branch.main.pushremote \
		core.pager pager.log alias.st include.path annex.secure-erase-command svn.authorsprog filter.x.clean \
		diff.x.textconv url.x.insteadof something.new remote.origin.gh-resolved core.sharedrepository core.protectntfs; do
		held "git config $key value" .git/config 'git setting'
	done
	applied 'git config remote.origin.gh-resolved base'
	applied 'git config user.name Else; git config branch.main.remote origin; git config branch.main.merge refs/heads/main; git config pull.rebase true'
	applied 'git clone -q --no-hardlinks . copy; echo copy >>.git/info/exclude'
}

@test "what the person's own configuration leads to is held" {
	git config --global include.path "$PROJECT/team.inc"
	git config --global diff.x.textconv './tools/conv --fast'
	git config --global core.hooksPath scripts/hooks
	git config --global alias.up '!sh tools/up.sh'
	mkdir -p tools scripts/hooks
	touch team.inc tools/conv tools/other
	held 'printf "[core]\n\tpager = evil\n" >team.inc' team.inc 'git setting core.pager'
	held 'echo x >tools/conv' tools/conv 'git configuration'
	held 'echo x >tools/up.sh' tools/up.sh 'git configuration'
	held 'echo x >scripts/hooks/pre-commit' scripts/hooks/pre-commit 'git hook'
	applied 'echo x >tools/other; printf "[user]\n\tname = x\n" >team.inc'
}

@test "very many references are looked through or held, in bounded time" {
	local started=$SECONDS
	python3 - <<-'END'
		import subprocess
		head = subprocess.check_output(["git", "rev-parse", "HEAD"]).decode().strip()
		with open(".git/packed-refs", "w") as f:
		    f.write("# pack-refs with: peeled fully-peeled sorted \n")
		    for i in range(400000):
		        f.write("%s refs/tags/a-name-that-is-rather-long-%06d\n" % (head, i))
	END
	applied 'echo 2 >a && git commit -qam two'
	applied 'git checkout -q --detach HEAD~1 && git checkout -q main'
	held 'echo x >.envrc && git add . && git commit -qm x' .git/refs/heads/main '.envrc'
	((SECONDS - started < 50)) || fail "it took $((SECONDS - started)) s"
}

@test "a repository planted by two runs that end together is held" {
	each_backend planted_together
}
planted_together() {
	local round first second # not a bare wait: the test runner has children in this shell, too
	make_project "$HOME/together-$AIRLOCK_BACKEND"
	for round in 1 2 3; do
		"$AIRLOCK" run -c "mkdir -p $round; printf '[core]\n\tfsmonitor = ./program\n' >$round/config" >/dev/null 2>&1 &
		first=$!
		"$AIRLOCK" run -c "mkdir -p $round/objects $round/refs; echo 'ref: refs/heads/a' >$round/HEAD" >/dev/null 2>&1 &
		second=$!
		wait "$first" "$second"
		[ -e "$round/config" ] || [ -e "$round/HEAD" ] || fail "neither was applied"
		[ ! -e "$round/config" ] || [ ! -e "$round/HEAD" ] || fail "both were applied: $(ls "$round")"
	done
}
