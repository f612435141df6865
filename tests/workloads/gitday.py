# SPDX-License-Identifier: LGPL-2.1-or-later
"""A day of git, one command at a time: clone, branch, commit, merge, rebase, cherry-pick, stash, worktree, bisect, gc."""
from driver import counts

PROGRAMS = ("git",)
IDENTITIES = ("user", "root")
ENVIRONMENT = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "A. Person"), ("EMAIL", "person@example.org"), ("DATE", "2026-01-02T03:04:05Z"))}
STEPS = (
    "git init -q -b main --bare origin.git",
    "git clone -q origin.git work 2>&1",
    "cd work && cp -r ../files/. . && git add -A && git commit -q -m 'First import' && git push -q origin main",
    "cd work && git status && git log --stat && git diff",
    "cd work && git switch -q -c feature && sed -i s/line/row/ a.txt && git commit -q -a -m 'Rename lines'",
    "cd work && git mv b.txt dir/c.txt && ln -s dir/c.txt link && git add -A && git commit -q -m 'Move, link'",
    "cd work && git switch -q main && echo more >>dir/d.txt && git commit -q -a -m 'More' && git tag -a v1 -m 'One'",
    "cd work && git merge -q --no-ff feature -m 'Merge the feature'",
    "cd work && git switch -q -c topic HEAD~1 && for i in 1 2 3; do echo $i >topic.$i && git add . && git commit -q -m \"Topic $i\"; done",
    "cd work && git rebase -q main",
    "cd work && git switch -q main && git cherry-pick topic~1 >/dev/null && git merge -q topic -m 'Merge the topic'",
    "cd work && echo half >>a.txt && echo new >untracked && git stash push -q -u && git stash list && git stash pop -q",
    "cd work && git checkout -q -- a.txt && git clean -fdq",
    "cd work && git worktree add -q ../tree topic && echo x >../tree/x && git -C ../tree add x && git -C ../tree commit -q -m 'In the tree'",
    "cd work && git worktree list | wc -l && git worktree remove ../tree",
    "cd work && git switch -q -c conflict v1 && sed -i '1s/.*/mine/' a.txt && git commit -q -a -m Mine && ! git merge main && git merge --abort",
    "cd work && git switch -q main && git reset -q --hard HEAD~1 && git reset -q --hard ORIG_HEAD",
    "cd work && git bisect start HEAD v1 >/dev/null && git bisect run sh -c '! test -e topic.2' >/dev/null && git bisect reset >/dev/null 2>&1",
    "cd work && git -c gc.auto=0 gc -q --prune=now && git fsck --strict",
    "cd work && git push -q origin --all && git push -q origin --tags && git branch -q -D conflict && git remote prune origin",
    "git -C origin.git repack -q -a -d && git clone -q --depth 1 file://$PWD/origin.git shallow && git -C shallow log --oneline",
    "cd work && git config core.abbrev 12 && git submodule -q add file://$PWD/../origin.git sub 2>&1 || git -c protocol.file.allow=always submodule -q add file://$PWD/../origin.git sub",
    "cd work && git add -A && git commit -q -m 'With a submodule' && git archive --format=tar HEAD | tar -t | sort",
    "cd work && echo count commits $(git rev-list --count HEAD) && echo count objects $(git count-objects -v | sed -n 's/in-pack: //p') && "
    "echo count files $(git ls-files | wc -l) && echo count branches $(git branch | wc -l) && test -z \"$(git status --porcelain)\"",
)
COUNTS = counts.lines("count")
VARIES = (r".*\.git/worktrees/.*",)


def prepare(t):
    t.write("files/a.txt", "".join(f"line {i}\n" for i in range(40)))
    t.write("files/b.txt", "".join(f"other {i}\n" for i in range(400)))
    t.write("files/dir/d.txt", "text\n")
    for i in range(60):
        t.write(f"files/src/{i % 7}/file{i}.c", f"int f{i}(void)\n{{\n\treturn {i};\n}}\n")
    t.sh("chmod 755 files/src/0/file0.c && mkdir files/empty")
