#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # run_airlock sets variables; $ in single quotes is for the shell inside
# Real work, captured and applied, ends like the same work done directly; and undo takes it back.

load ../helpers

# The same names, dates and settings for both; nothing of the user's.
GIT='export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE="2020-01-01 00:00:00 +0000" \
	GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org GIT_COMMITTER_DATE="2020-01-01 00:00:00 +0000" \
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true GIT_MERGE_AUTOEDIT=no;
	set -e; '

tree() {
	python3 "$BATS_TEST_DIRNAME/../capture/tree.py" "$@"
}

# directly SHELL-LINE: what it is all compared with
directly() {
	bash -c "$1" >"$BATS_TEST_TMPDIR/direct" 2>&1 || fail "directly: $(cat "$BATS_TEST_TMPDIR/direct")"
}

# works_as_direct SHELL-LINE [IGNORED...]: applied, undone and done directly, in the same place, so that paths in files are
# the same too. IGNORED: files whose content tells times or inodes.
works_as_direct() {
	local line=$1
	shift
	find . -exec touch -h -d '2019-05-05 05:05:05.123456789' {} +
	tree save . "$BATS_TEST_TMPDIR/before"
	run_airlock run --json --shell bash -c "$line"
	assert_status 0
	assert_json applied changes state
	local run
	run=$(json_get run)
	tree save . "$BATS_TEST_TMPDIR/after"
	run_airlock undo "$run"
	assert_status 0
	tree same "$BATS_TEST_TMPDIR/before" . || fail "undo did not restore the project"
	directly "$line"
	tree alike "$BATS_TEST_TMPDIR/after" . "$@" || fail "directly, it ends differently"
}

# git_project: with a commit in it, made outside
git_project() {
	rm -rf .git
	mkdir -p src docs
	printf 'int main(void) { return 0; }\n' >src/main.c
	seq 100 >src/numbers
	echo text >docs/page
	directly "$GIT"'git init -q -b main . && git add . && git commit -q -m first'
}

@test "git init and the first commit" {
	each_backend git_init
}
git_init() {
	rm -rf "${PROJECT:?}"/.git
	works_as_direct "$GIT"'git init -q -b main . && git add . && git commit -q -m first && git status --porcelain' .git/index
	directly 'git fsck --strict && test -z "$(git status --porcelain)"'
}

@test "git: branches, checkout, merge, rebase, stash, tag, gc" {
	each_backend git_work
}
git_work() {
	git_project
	works_as_direct "$GIT"'
		git checkout -q -b topic
		seq 50 120 >src/numbers && git commit -q -a -m topic
		git checkout -q main
		echo more >>docs/page && git commit -q -a -m more
		git merge -q --no-edit topic
		git checkout -q -b other HEAD~1
		echo "int x;" >>src/main.c && git commit -q -a -m other
		git rebase -q main
		echo wip >>src/main.c && git stash -q && git stash pop -q && git checkout -q .
		git tag v1 && git rm -q docs/page && git commit -q -m removed
		git gc -q' .git/index '.git/objects/info/*' '.git/objects/pack/*' .git/gc.log
	directly 'git fsck --strict && test -z "$(git status --porcelain)" && git log --oneline | wc -l'
}

@test "git worktree add and remove" {
	each_backend git_worktree
}
git_worktree() {
	git_project
	works_as_direct "$GIT"'
		git worktree add -q -b side tree
		cd tree && echo in-tree >docs/page && git commit -q -a -m side
		cd .. && git worktree add -q --detach gone && git worktree remove gone' .git/index .git/worktrees/tree/index
	directly 'git -C tree status --porcelain'
}

@test "a submodule, made outside, changed and moved on inside" {
	each_backend git_submodule
}
git_submodule() {
	git_project
	git clone -q --no-hardlinks . "$HOME/library"
	directly "$GIT"'git -c protocol.file.allow=always submodule --quiet add "file://$HOME/library" lib && git commit -q -m "a submodule"'
	works_as_direct "$GIT"'
		cd lib && echo more >docs/page && git commit -q -a -m "in the submodule"
		cd .. && git add lib && git commit -q -m "moved on" && git submodule status' .git/index .git/modules/lib/index
	directly 'test -z "$(git status --porcelain)" && git -C lib log -1 --format=%s | grep -qx "in the submodule"'
}

@test "git mv of a directory that was there before" {
	each_backend git_mv
}
git_mv() {
	git_project
	works_as_direct "$GIT"'git mv src source && git commit -q -m moved && git mv docs source/docs' .git/index
	[ -f source/docs/page ] || fail "git mv did not move it"
}

@test "a build with make, twice" {
	each_backend build
}
build() {
	mkdir -p lib
	for i in 1 2 3 4; do
		printf 'int f%d(int x) { return x + %d; }\n' $i $i >lib/f$i.c
	done
	printf 'int f1(int); int f4(int);\nint main(void) { return f1(f4(-5)); }\n' >main.c
	cat >Makefile <<-'MAKE'
		.RECIPEPREFIX = >
		OBJECTS = $(patsubst %.c,%.o,$(wildcard lib/*.c) main.c)
		program: $(OBJECTS)
		> $(CC) -o $@ $^
		%.o: %.c
		> $(CC) -O1 -c -o $@ $<
		clean:
		> rm -f program $(OBJECTS)
	MAKE
	works_as_direct 'make -j2 && ./program && make -q'
	works_as_direct 'touch lib/f1.c && make && make clean && make -j2 program && test "$(make)"'
}

@test "a virtual environment for python" {
	each_backend venv
}
venv() {
	works_as_direct 'PATH=/usr/bin:/bin; python3 -m venv --without-pip env && . env/bin/activate &&
		python3 -c "import sys; assert sys.prefix.endswith(\"env\")" && python3 -m venv --clear --without-pip env'
}

@test "thousands of files: untar, move, rm -rf, untar again" {
	each_backend thousands
}
thousands() {
	mkdir -p "$BATS_TEST_TMPDIR/full"
	(
		cd "$BATS_TEST_TMPDIR/full" || exit
		python3 -I -S - <<-'PYTHON'
			import os
			for i in range(1, 61):
			    os.makedirs(f"d{i % 12}/s{i}")
			    for name in range(1, 41):
			        with open(f"d{i % 12}/s{i}/{name}", "w") as file:
			            file.write(f"{i}\n" if name < 5 else "")
		PYTHON
		tar cf "$PROJECT/all.tar" .
	)
	mkdir -p old && tar xf all.tar -C old
	works_as_direct 'mkdir new && tar xf all.tar -C new && rm -rf new/d1 new/d3/s* && mv old/d2 new/moved && rm -rf old &&
		mkdir old && tar xf all.tar -C old ./d5'
	assert_absent old/d4
	[ -f new/moved/s2/1 ] || fail "not moved"
}

@test "a SQLite database, with a write-ahead log" {
	each_backend sqlite
}
sqlite() {
	cat >work.py <<-'PYTHON'
		import sqlite3, sys
		db = sqlite3.connect("data.db")
		db.execute("pragma journal_mode=" + sys.argv[1])
		db.execute("create table if not exists t(id integer primary key, text)")
		with db:
		    db.executemany("insert into t(text) values (?)", [("x" * (i % 700),) for i in range(3000)])
		with db:
		    db.execute("delete from t where id % 3 = 0")
		assert db.execute("pragma integrity_check").fetchone() == ("ok",)
		db.execute("pragma wal_checkpoint(truncate)")
		db.close()
	PYTHON
	works_as_direct 'python3 work.py wal'
	works_as_direct 'python3 work.py delete && python3 work.py wal'
	directly 'python3 -c "import sqlite3; assert sqlite3.connect(\"data.db\").execute(\"select count(*) from t\").fetchone() == (6000,)"'
}

@test "sed -i, editors that save by renaming, backups" {
	each_backend editors
}
editors() {
	printf 'one\ntwo\n' | tee a b c d >/dev/null
	chmod 600 a
	chmod 755 b
	ln -s a to-a
	works_as_direct '
		sed -i s/one/1/ a b && sed -i.bak s/two/2/ c && sed -i --follow-symlinks s/two/zwei/ to-a
		cp -p d d~ && echo new >d.tmp && chmod --reference=d d.tmp && mv d.tmp d
		ln d d.link && echo "in place" >>d && cp --preserve=all c c2 && mv -f c2 c
		mv b b~ && cp -p b~ b && echo edited >>b && : >.b.swp && rm .b.swp
		install -m 750 a installed && truncate -s 1M sparse && dd if=/dev/zero of=sparse bs=1 seek=500000 count=1 conv=notrunc status=none'
	assert_file a $'1\nzwei'
	[ -L to-a ] || fail "the symlink is gone"
}

@test "npm install from a local package" {
	command -v npm node >/dev/null || skip "needs: node"
	each_backend npm_install
}
npm_install() {
	local dir=$BATS_TEST_TMPDIR/package
	rm -rf "$dir"
	mkdir -p "$dir/lib"
	echo '{"name": "tiny", "version": "1.0.0", "main": "lib/i.js", "bin": {"tiny": "lib/cli.js"}}' >"$dir/package.json"
	echo 'module.exports = 42' >"$dir/lib/i.js"
	printf '#!/usr/bin/env node\nconsole.log(require("./i.js"))\n' >"$dir/lib/cli.js"
	tar czf tiny-1.0.0.tgz -C "$BATS_TEST_TMPDIR" package
	echo '{"name": "project", "version": "1.0.0", "scripts": {"test": "true"}}' >package.json
	works_as_direct 'set -e; cache=$(mktemp -d /tmp/npm.XXXXXX); trap "rm -rf $cache" EXIT
		npm install --offline --no-audit --no-fund --cache "$cache" ./tiny-1.0.0.tgz >/dev/null
		test "$(node_modules/.bin/tiny)" = 42'
}
