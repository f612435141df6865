#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A command that is told of an older Landlock: older_landlock.py VERSION COMMAND [ARG...]

Traces the command, but not what it starts, and changes the answer to its question for the version. Other than older_kernel.py it
leaves the seccomp listener to airlock. Exits as the command does.
"""
import ctypes, os, platform, signal, struct, sys

LANDLOCK_CREATE_RULESET, ASK_VERSION = 444, 1
TRACEME, SETOPTIONS, SYSCALL, GETREGSET, SETREGSET, GET_SYSCALL_INFO = 0, 0x4200, 24, 0x4204, 0x4205, 0x420E
TRACESYSGOOD, EXITKILL = 1, 0x100000
ENTRY, EXIT = 1, 2
RETURN_VALUE = {"x86_64": 10, "aarch64": 0}[platform.machine()]  # its place among the registers
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def trace(request, pid, address=None, data=None):
    if libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def set_return_value(pid, value):
    registers = (ctypes.c_uint64 * 64)()
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(registers), ctypes.sizeof(registers))
    trace(GETREGSET, pid, 1, ctypes.addressof(vector))
    registers[RETURN_VALUE] = value
    trace(SETREGSET, pid, 1, ctypes.addressof(vector))


def follow(pid, version):
    """Until it ends; its wait status."""
    asks = False
    info = ctypes.create_string_buffer(88)
    sig = 0
    while True:
        trace(SYSCALL, pid, None, sig)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return status
        sig = os.WSTOPSIG(status)
        if sig != signal.SIGTRAP | 0x80:
            sig = 0 if sig == signal.SIGTRAP else sig  # of exec
            continue
        sig = 0
        trace(GET_SYSCALL_INFO, pid, len(info), ctypes.addressof(info))
        if info.raw[0] == ENTRY:
            number, attributes, size, flags = struct.unpack_from("4Q", info.raw, 24)
            asks = number == LANDLOCK_CREATE_RULESET and not attributes and not size and flags == ASK_VERSION
        elif info.raw[0] == EXIT and asks and struct.unpack_from("q", info.raw, 24)[0] > version:
            set_return_value(pid, version)


def main():
    pid = os.fork()
    if pid == 0:
        trace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execvp(sys.argv[2], sys.argv[2:])
    os.waitpid(pid, 0)
    trace(SETOPTIONS, pid, None, TRACESYSGOOD | EXITKILL)
    status = follow(pid, int(sys.argv[1]))
    return os.waitstatus_to_exitcode(status) % 256


if __name__ == "__main__":
    sys.exit(main())
