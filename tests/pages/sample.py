# SPDX-License-Identifier: LGPL-2.1-or-later
"""A project with runs, a session, a conflict, images and a question, for pictures of the page and for its tests."""
import struct
import zlib


def png(width, height, pixel):
    """A picture; pixel(x, y) gives (r, g, b)."""
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def disc(red, green, blue, size=96):
    def pixel(x, y):
        inside = (x - size / 2) ** 2 + (y - size / 2) ** 2 < (size / 2.4) ** 2
        return (red, green, blue) if inside else (246, 246, 242)
    return png(size, size, pixel)


PARSER = '''/* Reads the list of tasks. */
#include "tasks.h"

#include <stdio.h>
#include <string.h>

static int parse_line(const char *line, struct task *ret)
{
	size_t len = strlen(line);
	if (len < 4)
		return -1;
	ret->is_done = line[1] == 'x';
	strcpy(ret->title, line + 4);
	return 0;
}

int tasks_read(FILE *in, struct tasks *ret)
{
	char line[256];
	while (fgets(line, sizeof line, in)) {
		struct task task;
		if (parse_line(line, &task) == 0)
			ret->v[ret->n++] = task;
	}
	return 0;
}
'''


def project(world):
    """The files before anything runs."""
    top = world.project
    for directory in ("src", "docs", "assets", ".github/workflows"):
        (top / directory).mkdir(parents=True, exist_ok=True)
    (top / "src/parse.c").write_text(PARSER)
    (top / "src/tasks.h").write_text("#include <stddef.h>\n\nstruct task {\n\tchar title[200];\n\tint is_done;\n};\n")
    (top / "README.md").write_text("# tasks\n\nA small list of tasks for the terminal.\n\n## Use\n\n    tasks add \"water the plants\"\n")
    (top / "assets/logo.png").write_bytes(disc(70, 120, 190))
    (top / "docs/old-notes.md").write_text("- ask about the format\n")
    (top / ".github/workflows/test.yml").write_text("on: push\njobs: {}\n")


FIX = r"""sed -i 's/strcpy(ret->title, line + 4);/if (len - 4 >= sizeof ret->title)\n\t\treturn -1;\n\tmemcpy(ret->title, line + 4, len - 3);/' src/parse.c
sed -i 's/if (parse_line(line, &task) == 0)/if (ret->n < TASKS_MAX \&\& parse_line(line, \&task) == 0)/' src/parse.c
printf '\n#define TASKS_MAX 64\n' >> src/tasks.h"""
TESTS = r"""mkdir -p tests; printf '#include "../src/tasks.h"\n\nint main(void)\n{\n\treturn 0;\n}\n' > tests/test_parse.c; cp ../logo.png assets/logo.png 2>/dev/null || true; rm docs/old-notes.md
printf '\033[32mPASS\033[0m parse: empty line\n\033[32mPASS\033[0m parse: long title is refused\n\033[31mFAIL\033[0m parse: 64 tasks\n'"""
CI = r"""printf 'on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make test\n' > .github/workflows/test.yml; mv README.md docs/README.md; head -c 900 /dev/urandom > assets/font.bin"""


def fill(world):
    """Runs and sessions. Returns ids by name."""
    project(world)
    (world.home / "new.png").write_bytes(disc(31, 111, 99))
    made = {}
    world.call("run", "-c", "echo '## Build' >> README.md; echo done", check=False)
    world.call("run", "-c", "make test", check=False)
    world.call("session", "new", "fix-parser", "--changes", "hold")
    for command in (FIX, TESTS.replace("../logo.png", "../new.png"), CI):
        world.call("run", "--session", "fix-parser", "-c", command, check=False)
    made["conflict"] = world.held("sed -i 's/small/very small/' docs/notes.md 2>/dev/null; echo 'agent: a small list for the terminal' > notes.txt; echo two > other.txt")
    (world.project / "notes.txt").write_text("mine: written while the agent worked\n")
    world.call("apply", made["conflict"], check=False)
    made["applied"] = world.json("log")["runs"][-1]["run"]
    return made
