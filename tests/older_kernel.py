#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A command on a kernel that behaves like Linux 6.1: older_kernel.py COMMAND [ARG...]

Calls that it does not have fail with ENOSYS: those from number 451 on, the same everywhere. A seccomp listener answers three more
as that kernel does:
  fsconfig                  overlayfs has no parser of its own: every key is taken, an unknown one fails with EINVAL only when the
                            file system is created, and a string may have 255 bytes
  open_tree                 copies only what is mounted in the caller's mount namespace (until 6.15)
  landlock_create_ruleset   the version is 2, and what came later is unknown

A task can have one listener, so airlock cannot have its own here (explained denials, renames of directories).
"""
import array, ctypes, errno, fcntl, os, platform, select, signal, socket, struct, sys

OPEN_TREE, FSCONFIG, LANDLOCK = 428, 431, 444
SECCOMP = {"x86_64": 317, "aarch64": 277}[platform.machine()]
RECV, SEND = 0xC0502100, 0xC0182101
CONTINUE = 1
FIRST_NEWER_CALL = 451  # cachestat, of Linux 6.5
NEWER_KEYS = {b"lowerdir+", b"datadir+", b"verity", b"override_creds", b"nooverride_creds"}
STRING, CREATE = 1, 6
CLONE, EMPTY_PATH = 1, 0x1000
LANDLOCK_V2 = (1 << 14) - 1


def install_listener():
    """For this process and all it starts: those calls are asked about. The listener's descriptor."""
    code = [(0x20, 0, 0, 0)]
    for number in (OPEN_TREE, FSCONFIG, LANDLOCK):
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x7FC00000)]
    code += [(0x35, 0, 1, FIRST_NEWER_CALL), (0x06, 0, 0, 0x00050000 | errno.ENOSYS), (0x06, 0, 0, 0x7FFF0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    fd = libc.syscall(SECCOMP, 1, 8, program)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "seccomp listener")
    return fd


class Kernel:
    def __init__(self):
        self.spoilt = set()  # (process, descriptor) of file systems that got a key this kernel does not know

    def read(self, pid, address, size):
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def text(self, pid, address):
        """A string, which may end where the memory does."""
        data = b""
        while len(data) < 4096 and b"\0" not in data:
            data += self.read(pid, address + len(data), 64 - (address + len(data)) % 64)
        return data.split(b"\0", 1)[0]

    def fsconfig(self, pid, args):
        fs, command, key, value = args[0], args[1] & 0xFFFFFFFF, args[2], args[3]
        if command == CREATE:
            spoilt = (pid, fs) in self.spoilt
            self.spoilt.discard((pid, fs))
            return -errno.EINVAL if spoilt else None
        name = self.text(pid, key)
        if name in NEWER_KEYS:
            self.spoilt.add((pid, fs))
            return 0
        if command == STRING and len(self.text(pid, value)) > 255:
            return -errno.EINVAL
        return None

    def open_tree(self, pid, args):
        directory, flags = args[0] & 0xFFFFFFFF, args[2] & 0xFFFFFFFF
        if flags & (CLONE | EMPTY_PATH) != CLONE | EMPTY_PATH or self.text(pid, args[1]):
            return None
        with open(f"/proc/{pid}/fdinfo/{directory}", encoding="ascii") as info, open(f"/proc/{pid}/mountinfo", encoding="utf-8") as mounts:
            mount = next(line.split()[1] for line in info if line.startswith("mnt_id:"))
            return None if any(line.split()[0] == mount for line in mounts) else -errno.EINVAL

    def landlock(self, pid, args):
        attributes, size, flags = args[0], args[1], args[2] & 0xFFFFFFFF
        if flags == 1:
            return 2
        wanted = self.read(pid, attributes, min(size, 64)) if attributes else b""
        handled = int.from_bytes(wanted[:8], "little")
        if handled & ~LANDLOCK_V2:
            return -errno.EINVAL
        return -errno.E2BIG if any(wanted[8:]) else None

    def answer(self, pid, number, args):
        return {OPEN_TREE: self.open_tree, FSCONFIG: self.fsconfig, LANDLOCK: self.landlock}[number](pid, args)


def serve(listener, child):
    kernel = Kernel()
    while True:
        ready, _, _ = select.select([listener, child], [], [])
        if child in ready:
            return
        request = bytearray(80)
        try:
            fcntl.ioctl(listener, RECV, request)
        except OSError as e:
            if e.errno in (errno.ENOENT, errno.EINTR):  # the caller is gone
                continue
            raise
        ident, pid, _, number, _, _, *args = struct.unpack("QIIiIQ6Q", request)
        try:
            value = kernel.answer(pid, number, args)
        except OSError as e:
            print(f"older_kernel.py: cannot look at process {pid}: {e}", file=sys.stderr)
            value = -errno.EFAULT
        if value is None:
            reply = struct.pack("QqiI", ident, 0, 0, CONTINUE)
        else:
            reply = struct.pack("QqiI", ident, max(value, 0), min(value, 0), 0)
        try:
            fcntl.ioctl(listener, SEND, reply)
        except OSError as e:
            if e.errno != errno.ENOENT:
                raise


def main(argv):
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        fd = install_listener()
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)
        theirs.close()
        os.execv(argv[0], argv)
    theirs.close()
    _, parts, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    if not parts:
        sys.exit(125)
    listener = array.array("i", parts[0][2])[0]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(listener, os.pidfd_open(pid))
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) % 256


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
