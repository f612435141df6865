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
LAUNCH = {"clone", "waitpid", "__errno_location", "free", "become"}
COVER = {"launch_step", "close"}
# What a program may call before libc is there, and before its own addresses are right.
EARLY = {"ahead.c.o": {"become", "become_is_privileged", "child_init_bytes", "child_init_size", "memory_sealed"},
         "become.c.o": set(), "early.c.o": {"ahead_begin"}, "memory.c.o": set()}
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


def relocated_data(archive, member):
    """Sections of an object file whose words the loader must put right; what runs at the end may have such."""
    sections, inside = set(), False
    for line in output("readelf", "--wide", "--sections", archive).splitlines():
        if line.startswith("File: "):
            inside = re.split(r"[/([]", line.rstrip(")]"))[-1] == member
        found = re.search(r"\] (\.rela?(\.[a-z_.0-9]+)) ", line)
        if inside and found and not re.match(r"\.(text|debug|eh_frame|fini_array)", found[2]):
            sections.add(found[2])
    return sections


def check_early(library):
    good = check(relocated_data(library, "src_child_program.c.o"), "data that holds addresses is found where there is such")
    for member, allowed in EARLY.items():
        names = {name for name in undefined(library, member) if name != "_GLOBAL_OFFSET_TABLE_"} - allowed
        good &= check(not names, f"{member} needs nothing that is not there before libc", sorted(names))
        sections = relocated_data(library, member)
        good &= check(not sections, f"{member} has no data that holds addresses", sorted(sections))
    return good


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
    good &= check_early(library)
    print(f"1..{count}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
