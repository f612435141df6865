#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A command on a kernel that does not know some system calls: without_calls.py NAME[,NAME...] COMMAND [ARG...]"""
import ctypes, errno, os, struct, sys
# The same on all architectures.
NUMBERS = {"clone3": 435, "mount_setattr": 442, "fsopen": 430, "open_tree": 428, "move_mount": 429, "openat2": 437,
           "statmount": 457, "listmount": 458, "fsconfig": 431, "fsmount": 432, "landlock_create_ruleset": 444}
numbers = [NUMBERS[name] for name in sys.argv[1].split(",")]
code = [(0x20, 0, 0, 0)]
for number in numbers:
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno.ENOSYS)]
code += [(0x06, 0, 0, 0x7fff0000)]
text = b"".join(struct.pack("HBBI", *row) for row in code)
buffer = ctypes.create_string_buffer(text)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
