# SPDX-License-Identifier: LGPL-2.1-or-later
"""The projects that are measured in, and what is done in them."""
import subprocess
from pathlib import Path

STAMP = ".bench-stamp"
NEWER = ["/usr/bin/find", ".", "-newer", STAMP, "-type", "f"]
C_FILES, C_FUNCTIONS = 50, 8
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

MAKEFILE = """\
sources := $(wildcard *.c)
objects := $(sources:%.c=out/%.o)
out/all: $(objects)
\tgcc -o $@ $^
out/%.o: %.c | out
\tgcc -O1 -c -o $@ $<
out:
\tmkdir out
"""
FUNCTION = """\
int f{file}_{number}(int a, int b)
{{
	int sum = {number};
	for (int i = 0; i < a; i++)
		sum += i % (b + {number}) ? i * b : printf("%d\\n", sum);
	return sum;
}}
"""


def make_files(project, count):
    """That many files of 1 KB in directories of 100, named as rewrite.c names them."""
    content = b"a line of text, and more\n" * 40 + b"the last line, 24 bytes\n"
    for i in range(count):
        if i % 100 == 0:
            Path(project, f"d{i // 100}").mkdir(parents=True)
        Path(project, f"d{i // 100}", f"f{i}").write_bytes(content)
    Path(project, ".airlock.toml").touch()  # so that this is the project
    Path(project, STAMP).touch()


def make_home(home, entries):
    """Files, directories and their like with a dot, as many of each."""
    for i in range(0, entries, 4):
        Path(home, f".dir{i}").mkdir()
        Path(home, f"dir{i}").mkdir()
        Path(home, f".file{i}").touch()
        Path(home, f"file{i}").touch()


def make_git_dir(place, project):
    """A repository beside the project, which knows all its files: for `git status` afterwards."""
    git = ["git", f"--git-dir={place}", f"--work-tree={project}"]
    subprocess.run(["git", "init", "--quiet", "--bare", place], check=True, **QUIET)
    subprocess.run([*git, "config", "core.bare", "false"], check=True, **QUIET)
    subprocess.run([*git, "add", "--all"], cwd=project, check=True, **QUIET)


def make_c_files(project, count=C_FILES):
    for file in range(count):
        functions = "".join(FUNCTION.format(file=file, number=number) for number in range(1, C_FUNCTIONS + 1))
        main = "int main(void)\n{\n\treturn 0;\n}\n" if file == 0 else ""
        Path(project, f"part{file}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n{functions}{main}")
    Path(project, "Makefile").write_text(MAKEFILE)


# ---- many files inside: each is a line of shell in a project with a tree of files, an archive of it and C files

REPLACE = """
import os
for top, _, names in os.walk("tree"):
    for name in names:
        with open(f"{top}/{name}.new", "w") as file:
            file.write("new content")
        os.rename(f"{top}/{name}.new", f"{top}/{name}")
"""
NEW_FILES = """
import os
for i in range(10000):
    if i % 100 == 0:
        os.makedirs(f"new/d{i // 100}")
    with open(f"new/d{i // 100}/f{i}", "w") as file:
        file.write("a line of text")
"""
INSIDE = {
    "untar": "tar -xf tree.tar",
    "10,000 new files": f"/usr/bin/python3 -c '{NEW_FILES}'",
    "cp -a": "cp -a tree new",
    "rsync -a": "rsync -a tree/ new/",
    "replace by rename": f"/usr/bin/python3 -c '{REPLACE}'",
    "chmod -R": "chmod -R go-rwx tree",
    "rm -r": "rm -r tree",
    "mv of a directory": "mv tree new",
    "mv of a new directory": "cp -a tree new; start=$(date +%s%N); mv new newer",
    "grep -r": "grep -rF nothing-of-that tree || true",
    "find": "find tree -size +1000k",
    "make -j2": "make -s -j2 -C c",
}
TIMED = 'start=$(date +%s%N); {} >/dev/null; took=$(( ($(date +%s%N) - start) / 1000 )); printf "%d.%03d\\n" $((took / 1000)) $((took % 1000))'


def make_inside(project, files, c_files):
    """Sizes as in a source tree: from nothing to 4 KB."""
    for i in range(files):
        if i % 100 == 0:
            Path(project, "tree", f"d{i // 100}").mkdir(parents=True)
        Path(project, "tree", f"d{i // 100}", f"f{i}").write_bytes(b"a line\n" * (i % 600))
    subprocess.run(["tar", "-cf", "tree.tar", "--transform=s/^tree/new/", "tree"], cwd=project, check=True, **QUIET)
    Path(project, "c").mkdir()
    make_c_files(project / "c", c_files)
    Path(project, ".airlock.toml").touch()


def make_lines(workspace):
    Path(workspace, "src").mkdir()
    for i in range(50):
        Path(workspace, "src", f"{i}.c").write_text("".join(f"line {n}\n" for n in range(100)))


def file_pairs(airlock, box, workspace):
    """Name, what the file API does, and the argv that does the same."""
    def api(name, *arguments):
        """The library's own work: without making Python objects of its result."""
        def function():
            with box._call("airlock_files_" + name, *arguments):
                pass
        return function

    def program(*argv):
        return [airlock, "run", "--json", "--workspace", workspace, "--", *argv]

    spellings = [b"line 7\n", b"LINE 7\n"]

    def edit():
        api("edit", b"/src/11.c", *spellings, 0)()
        spellings.reverse()
    return [
        ("ls", api("ls", b"/src"), program("ls", "/src")),
        ("read", api("read", b"/src/10.c", 0, -1), program("cat", "/src/10.c")),
        ("write", api("write", b"/out", b"x" * 1000, 1000), program("sh", "-c", "echo x >/out")),
        ("edit", edit, program("sed", "-i", "s/line 8$/line 8/", "/src/11.c")),
        ("glob", api("glob", b"*.c", None, 0), program("find", "/src", "-name", "*.c")),
        ("grep", api("grep", b"line 99", None, None, 0), program("grep", "-rF", "line 99", "/src")),
        ("execute", lambda: silent(box), program("true")),
    ]


def silent(box):
    """Returns nothing, so that the time counts."""
    box.execute(["true"])
