#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code that runs between clone and exec, or as the first process, needs nothing of a C library: no locks that another
thread may hold, no allocation, no thread-local storage that nobody has set up.

    child_symbols.py AIRLOCK_INIT LIBRARY.a
"""
import os
import re
import subprocess
import sys

# What the caller's side of launch.c needs; everything after clone is system calls. The compiler may add the others.
LAUNCH = {"clone", "waitpid", "__errno_location", "child_exec", "child_map_ids"}  # the last two: child_exec.c.o, below
COVER = {"launch_step", "close"}
# Objects of the library that are linked into the first process too, or run between clone and exec.
FREESTANDING = ("child_exec.c.o", "pass.c.o")
COMPILER = re.compile(r"__stack_chk_fail|memset|memcpy|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|lsan)_.*|__gcov_.*")
count = 0


def output(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def check(good, what, details=()):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    for line in () if good else details:
        print(f"# {line}")
    return bool(good)


def undefined(archive, member):
    """Names that one object file of an archive takes from elsewhere."""
    names, inside = set(), False
    for line in output("nm", "-u", archive).splitlines():
        if line.endswith(":"):
            inside = os.path.basename(line.rstrip(":")) == member
        elif inside and line.split()[:1] == ["U"]:
            names.add(line.split()[1])
    return names


def main(program, library):
    headers = output("readelf", "--wide", "--program-headers", "--dynamic", program)
    good = check("INTERP" not in headers and "DYNAMIC" not in headers, "the first process has no loader and no library",
                 headers.splitlines())
    good &= check("TLS" not in headers, "it has no thread-local storage", headers.splitlines())
    good &= check(re.search(r"GNU_STACK .* RW +0x", headers), "its stack cannot be executed", headers.splitlines())
    names = {name for name in undefined(library, "src_child_launch.c.o") if not COMPILER.fullmatch(name)}
    good &= check(names == LAUNCH, "what starts it calls nothing of libc after clone", sorted(names ^ LAUNCH))
    names = {name for name in undefined(library, "src_child_cover.c.o") if not COMPILER.fullmatch(name)}
    good &= check(names == COVER, "nor does what hides something in a sandbox at work", sorted(names ^ COVER))
    for member in FREESTANDING:
        names = {name for name in undefined(library, member) if name != "_GLOBAL_OFFSET_TABLE_"}
        good &= check(not names, f"{member} needs nothing of libc", sorted(names))
    print(f"1..{count}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
