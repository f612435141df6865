# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints what a command in a sandbox sees, line by line: two views are compared as text. HOST_mnt, HOST_net and so on are the
namespaces outside."""
import os, re, resource
FLAGS = ("ro", "rw", "nosuid", "nodev", "noexec")
seen = {}
def is_covered(point, device):
    try:
        found = os.lstat(point).st_dev
    except PermissionError:
        return False
    except OSError:
        return True
    return f"{os.major(found)}:{os.minor(found)}" != device
for line in open("/proc/self/mountinfo"):
    fields = line.split()
    if is_covered(fields[4], fields[2]):
        continue # another lies over it, or over what it is in
    dash = fields.index("-")
    flags = [f for f in FLAGS if f in fields[5].split(",")]
    seen[fields[4]] = (fields[dash + 1], *flags) # the topmost
for path, what in sorted(seen.items()):
    print("mount", path, *what)
for line in open("/proc/self/status"):
    if re.match(r"Cap|NoNewPrivs|Seccomp|Uid|Gid|Groups|Umask|Sig(Blk|Ign)|NSpid|NSsid", line):
        name, _, value = line.partition(":")
        print(name, hex(int(value, 16) & ~(3 << 31)) if name == "SigIgn" else value.strip()) # libc keeps two for itself
for name in sorted(os.listdir("/proc/self/ns")):
    own = os.environ["HOST_" + name] != os.readlink("/proc/self/ns/" + name)
    print("namespace", name, "own" if own else "shared")
for key, value in sorted(os.environ.items()):
    print("variable", key, value)
for name in sorted(n for n in dir(resource) if n.startswith("RLIMIT_")):
    print(name, *resource.getrlimit(getattr(resource, name)))
for top in "/", "/dev", "/dev/pts", "/dev/shm", "/tmp", os.environ["HOME"]:
    try:
        for entry in sorted(os.scandir(top), key=lambda e: e.name):
            st = entry.stat(follow_symlinks=False)
            link = os.readlink(entry.path) if entry.is_symlink() else ""
            print("entry", entry.path, oct(st.st_mode), st.st_uid, st.st_gid, st.st_rdev, link)
    except OSError as error:
        print("entry", top, error.errno)
for path in ("/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/kcore", "/proc/kmsg",
             "/proc/sys", "/proc/1/environ", "/dev", "/dev/null", "/", "/etc", "/usr", os.environ["HOME"], "/tmp"):
    print("access", path, *(os.access(path, mode) for mode in (os.F_OK, os.R_OK, os.W_OK)))
for path in "/tmp", "/dev/shm", "/dev":
    st = os.statvfs(path)
    print("size", path, st.f_blocks * st.f_frsize)
print("descriptors", sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1], os.getcwd(), os.getpid(), os.getsid(0))
print("processes", sorted(int(n) for n in os.listdir("/proc") if n.isdigit()))
