#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Projects in places where the usual ways do not work: file systems of FUSE, whose renames take no flags; directories of a
group that the user namespace does not know. Prints TAP.

    places.py BUILD [DIR]

Each place is made here and removed at the end. With DIR, which /etc/fstab lets this user mount, only what is tried on FUSE, there:
tools/vm does this with NFS.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools"))
import tap  # noqa: E402

ARGS = argparse.ArgumentParser()
ARGS.add_argument("build", type=Path)
ARGS.add_argument("dir", type=Path, nargs="?")
ARGS = ARGS.parse_args()
AIRLOCK = str(ARGS.build.resolve() / "airlock")
BACKENDS = os.environ.get("AIRLOCK_TEST_BACKENDS", "native bubblewrap").split()
SCRIPT = """set -e
printf 'new text' >changed; printf x >added; rm gone; mv moved moved-to; chmod 600 mode
rm -r dir-to-file; printf f >dir-to-file; rm file-to-dir; mkdir file-to-dir; printf g >file-to-dir/g
mkdir -p new/deep; printf d >new/deep/f; ln -s added link; rm -r tree; ln added twin
"""


class Needs(Exception):
    pass


# ---- trees

def populate(project):
    for name in ("changed", "gone", "moved", "mode", "file-to-dir", "same"):
        (project / name).write_text(f"old text of {name}, long enough to be known again")
    for name in ("dir-to-file", "tree", "tree/sub"):
        (project / name).mkdir()
    (project / "dir-to-file/in").write_text("in")
    (project / "tree/sub/f").write_text("f")


def look(project):
    """What a person sees of a tree."""
    found = {}
    for path in sorted(project.rglob("*")):
        st = path.lstat()
        content = os.readlink(path) if path.is_symlink() else None if path.is_dir() else path.read_text()
        found[str(path.relative_to(project))] = (st.st_mode, content)
    return found


class Place:
    """A project, its twin where the command runs without a sandbox, and a home."""

    def __init__(self, top, project):
        self.project, self.twin, self.home = project, top / "twin", top / "home"
        self.prefix = []  # what airlock is started with
        self.twin.mkdir()
        self.home.mkdir()
        for directory in (project, self.twin):
            populate(directory)
        self.before = look(project)
        subprocess.run(["sh", "-c", SCRIPT], cwd=self.twin, check=True)
        self.after = look(self.twin)

    def airlock(self, *arguments):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRLOCK_", "XDG_"))}
        return subprocess.run([*self.prefix, AIRLOCK, *arguments], cwd=self.project, env=dict(kept, HOME=str(self.home)),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def run(self, backend, *arguments):
        done = self.airlock("run", "--json", "--backend", backend, "-p", str(self.project), *arguments)
        return json.loads(done.stdout), done.returncode


def differs(found, wanted, what):
    if found != wanted:
        paths = [p for p in sorted(set(found) | set(wanted)) if found.get(p) != wanted.get(p)]
        yield f"{what}: " + ", ".join(f"{p}: {found.get(p)}, should be {wanted.get(p)}" for p in paths)


# ---- file systems whose renames take no flags

class Mount:
    """A file system that can be mounted again, and then has another device number, and perhaps other inodes."""

    def __init__(self, path, mount, unmount):
        self.path, self.mount, self.unmount = path, mount, unmount

    def __enter__(self):
        done = subprocess.run(self.mount, capture_output=True, text=True)
        if done.returncode:
            raise Needs(f"the right to mount ({done.stderr.strip()})")
        return self

    def __exit__(self, *_):
        end = time.monotonic() + 30
        while (done := subprocess.run([*self.unmount, self.path], capture_output=True, text=True)).returncode:
            if time.monotonic() > end:
                raise RuntimeError(f"cannot unmount {self.path}: {done.stderr}")
            time.sleep(0.1)  # busy: a descriptor that is being closed

    def again(self):
        self.__exit__()
        self.__enter__()


class FuseMount(Mount):
    """Its server is ended with it. By itself it ends with the last mount, of which a sandbox of somebody else's may have one."""

    def __enter__(self):
        self.server = subprocess.Popen(self.mount, stderr=subprocess.PIPE, text=True)
        while not os.path.ismount(self.path):
            if self.server.poll() is not None:
                raise Needs(f"the right to mount ({self.server.stderr.read().strip()})")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        super().__exit__()
        self.server.terminate()
        self.server.wait()
        self.server.stderr.close()


def mount_fuse(top, program):
    """A directory shown a second time through FUSE: with the inode numbers from below (bindfs), or with made up ones (sshfs)."""
    source, mount, server = top / "source", top / "mount", top / "server"
    source.mkdir()
    mount.mkdir()
    server.write_text("#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n")
    server.chmod(0o755)
    if not shutil.which(program) or (program == "sshfs" and not Path("/usr/lib/openssh/sftp-server").exists()):
        raise Needs(program)
    command = {"bindfs": ["bindfs", "-f", "--no-allow-other", source, mount],
               "sshfs": ["sshfs", "-f", "-o", f"ssh_command={server}", f"nowhere:{source}", mount]}
    return FuseMount(mount, command[program], ["umount"] if os.getuid() == 0 else ["fusermount3", "-u"])


def make_old(project):
    """Times on sshfs are whole seconds: what is written in this second would not be told from what is written next."""
    for path in project.rglob("*"):
        os.utime(path, (1e9, 1e9))


def there_and_back(place, backend):
    result, status = place.run(backend, "-c", SCRIPT)
    if status or result["changes"]["state"] != "applied" or result["error"]:
        yield f"run: {status} {result['changes']['state']} {result['error']}"
        return
    yield from differs(look(place.project), place.after, "applied")
    for wanted, what in ((place.before, "undone"), (place.after, "done again"), (place.before, "undone again")):
        done = place.airlock("undo", result["run"])
        if done.returncode:
            yield f"{what}: {done.stderr}"
        yield from differs(look(place.project), wanted, what)
    result, _ = place.run(backend, "--hold", "-c", SCRIPT)
    yield from differs(look(place.project), place.before, "held")
    (place.project / "changed").write_text("edited meanwhile")
    done = place.airlock("apply", result["run"])
    if done.returncode != 3 or (place.project / "changed").read_text() != "edited meanwhile":
        yield f"an edit meanwhile: {done.returncode} {done.stderr}"


def expect(done, status, what):
    if done.returncode != status:
        yield f"{what}: {done.returncode} {done.stderr}"


def mounted_again(place, mount, backend):
    """What is held can be applied, and what was applied can be undone, after the file system was mounted again; edits are seen."""
    result, _ = place.run(backend, "--hold", "-c", SCRIPT)
    run = result["run"]
    mount.again()
    os.listdir(mount.path)  # so that made up numbers go to others
    (mount.path / "first").touch()
    yield from expect(place.airlock("apply", run), 0, "apply")
    yield from differs(look(place.project), place.after, "applied")
    for wanted, what in ((place.before, "undone"), (place.after, "done again"), (place.before, "undone again")):
        mount.again()
        yield from expect(place.airlock("undo", run), 0, what)
        yield from differs(look(place.project), wanted, what)
    result, _ = place.run(backend, "--hold", "-c", "echo more >>changed")
    mount.again()
    (place.project / "changed").write_text("edited meanwhile")
    yield from expect(place.airlock("apply", result["run"]), 3, "an edit")
    if (place.project / "changed").read_text() != "edited meanwhile":
        yield "the edit is gone"


def links_outside(place, mount, backend):
    """A link is all that is made: sshfs would give owner and times to what it leads to."""
    outside = place.home / "outside"
    outside.write_text("outside")
    os.utime(outside, (1e9, 1e9))
    result, _ = place.run(backend, "--hold", "-c", f"ln -s {outside} link; echo x >added")
    yield from expect(place.airlock("apply", result["run"]), 0, "apply")
    if not (place.project / "link").is_symlink():  # some sshfs do not read links out of the mount
        yield "no link"
    yield from expect(place.airlock("undo", result["run"]), 0, "undo")
    if outside.stat().st_mtime != 1e9:
        yield "the time of the target was changed"


def killed(place, mount, backend, step):
    """kill -9 at every call that changes a name: what is left is finished at the next start, also after another mount."""
    calls = "renameat,renameat2,linkat,unlinkat,mkdirat"
    for number in range(1, 1000, step):
        run = place.run(backend, "--hold", "-c", SCRIPT)[0]["run"]
        place.prefix = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={number}"]
        done = place.airlock("apply", run)
        place.prefix = []
        if number % 2 == 0:
            mount.again()
        recovered = place.airlock("recover")  # 1: there was nothing to do
        if recovered.returncode not in (0, 1):
            yield f"{number}: recover: {recovered.returncode} {recovered.stderr}"
        tree = look(place.project)
        if tree != place.before:
            yield from differs(tree, place.after, f"{number}: recovered")
            yield from expect(place.airlock("undo", run), 0, f"{number}: undo")
        yield from differs(look(place.project), place.before, f"{number}: undone")
        place.airlock("discard", run)
        if done.returncode == 0:
            break
        if done.returncode not in (-signal.SIGKILL, 128 + signal.SIGKILL):
            yield f"{number}: not killed: {done.returncode} {done.stderr}"
            break
    if number < 10:
        yield f"applied with {number} calls only"


def on_mount(act, backend, program):
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        mount = Mount(ARGS.dir, ["mount", ARGS.dir], ["umount"]) if ARGS.dir else mount_fuse(top, program)
        stack.enter_context(mount)
        project = Path(tempfile.mkdtemp(dir=mount.path))
        stack.callback(shutil.rmtree, project, ignore_errors=True)
        place = Place(top, project)
        make_old(project)
        yield from act(place, mount, backend)


def remote_tests(out, backend, program):
    """The dear ones with one backend only: the backend has no part in what happens after the command."""
    where = str(ARGS.dir) if ARGS.dir else program
    test(out, f"{backend}: a project on {where}, applied, undone, and an edit meanwhile",
         on_mount(lambda place, _, b: there_and_back(place, b), backend, program))
    if backend != BACKENDS[0]:
        return
    test(out, f"{backend}: a project on {where} that is mounted again", on_mount(mounted_again, backend, program))
    test(out, f"{backend}: a link on {where} to a file outside", on_mount(links_outside, backend, program))
    if shutil.which("strace"):
        step = 1 if os.environ.get("AIRLOCK_TEST_LONG") else 7
        test(out, f"{backend}: a project on {where}, killed while applying",
             on_mount(lambda place, mount, b: killed(place, mount, b, step), backend, program))
    else:
        out.test(f"{backend}: a project on {where}, killed while applying # skip needs: strace")


# ---- a directory that a group shares

USER, GROUP = 54321, 54322


def give_away(top, project, owner=USER):
    """To a user who is one of a group, as `chgrp -R group p; chmod g+s p` leaves it."""
    os.chmod(top, 0o755)
    for path in (top / "home", top / "twin", *(top / "twin").rglob("*")):
        os.chown(path, USER, USER, follow_symlinks=False)
    for path in (project, *project.rglob("*")):
        os.chown(path, owner, GROUP, follow_symlinks=False)
        if path.is_dir():
            path.chmod(0o2775)


class GroupPlace(Place):
    def airlock(self, *arguments):
        return subprocess.run([*self.command, *arguments], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def __init__(self, top, project):
        super().__init__(top, project)
        give_away(top, project)
        self.before = look(project)
        self.command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", f"--groups={USER},{GROUP}", AIRLOCK]
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}


def without_setgid(tree):
    return {path: (mode & ~0o2000, content) for path, (mode, content) in tree.items()}


def foreign_groups(project):
    return [str(p) for p in project.rglob("*") if p.lstat().st_gid != GROUP]


def while_it_runs(place, backend):
    """The command has written, and the project is as it was; what others do meanwhile stays, and is nobody's change."""
    running = subprocess.Popen([*place.command, "run", "--json", "--backend", backend, "-p", place.project, "-c",
                                "echo new >changed; rm gone; touch written; sleep 1.5"], cwd=place.project, env=place.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not list(place.home.glob(".local/state/airlock/runs/*/upper/overlay1/written")):
        if time.monotonic() > end or running.poll() is not None:
            yield "the command never wrote"
            break
        time.sleep(0.02)
    yield from differs(look(place.project), place.before, "while it runs")
    (place.project / "others").write_text("others")
    (place.project / "same").write_text("edited by others")
    result = json.loads(running.communicate()[0])
    if result["changes"]["state"] != "applied":
        yield f"after it: {result['changes']} {result['error']}"
    found = [c["path"] for c in result["changes"]["files"]]
    if found != ["changed", "gone", "written"]:
        yield f"reported: {found}"
    if (place.project / "others").read_text() + (place.project / "same").read_text() != "othersedited by others":
        yield "what others wrote is gone"


def of_a_group(backend):
    if subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "unshare", "--user", "true"],
                      capture_output=True).returncode:
        raise Needs("user namespaces for every user")
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/lib", ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        place = GroupPlace(top, project)
        done = place.airlock("run", "--backend", backend, "-p", str(project), "-c", "true")
        if "comparing with a copy" not in done.stderr:
            yield f"no sentence: {done.stderr}"
        done = place.airlock("run", "--backend", backend, "-p", str(project), "-c", "true")
        if "comparing with a copy" in done.stderr:
            yield f"told twice: {done.stderr}"
        result, status = place.run(backend, "-c", SCRIPT)
        if status or result["changes"]["state"] != "applied" or result["isolation"]["capture"] != "copy":
            yield f"run: {status} {result}"
            return
        yield from differs(without_setgid(look(project)), without_setgid(place.after), "applied")
        if foreign_groups(project):
            yield f"lost their group: {foreign_groups(project)}"
        place.airlock("undo", result["run"])
        yield from differs(look(project), place.before, "undone")
        if foreign_groups(project):
            yield f"undone, lost their group: {foreign_groups(project)}"
        yield from while_it_runs(place, backend)


# Runs what follows where the machine has these accounts, and /etc/subgid grants what the first argument says.
WITH_ACCOUNTS = f"""set -e
mount --make-rprivate /
mkdir -p "$2/etc"
cp /etc/passwd /etc/group "$2/etc"
echo 'airlock-places:x:{USER}:{USER}::/nowhere:/bin/sh' >>"$2/etc/passwd"
printf 'airlock-places:x:{USER}:\\nairlock-team:x:{GROUP}:airlock-places\\n' >>"$2/etc/group"
printf '%s' "$1" >"$2/etc/subgid"
: >"$2/etc/subuid"
for file in passwd group subgid subuid; do mount --bind "$2/etc/$file" /etc/$file; done
shift 2
exec "$@"
"""


def grant(place, top, line):
    place.command = ["unshare", "--mount", "sh", "-c", WITH_ACCOUNTS, "sh", line, str(top), *place.command]


def groups_of(project):
    return {str(p.relative_to(project)): p.lstat().st_gid for p in sorted(project.rglob("*"))}


def of_a_granted_group(backend):
    """With a line in /etc/subgid the group is known inside: an overlay, and files keep their group and may get it."""
    if not os.path.exists("/usr/bin/newgidmap") or not os.path.exists("/etc/subgid"):
        raise Needs("newgidmap")
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/lib", ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        place = GroupPlace(top, project)
        plain = place.command
        groups = groups_of(project)
        for line in ("", f"airlock-places:{GROUP + 1}:1\n", f"somebody:{GROUP}:1\n"):  # nothing, another group, for another user
            place.command = plain
            grant(place, top, line)
            result, _ = place.run(backend, "--hold", "-c", "true")
            isolation = result["isolation"]
            if isolation["capture"] != "copy" or f"{USER}:{GROUP}:1 in /etc/subgid" not in isolation["capture_because"]:
                yield f"{line!r}: {isolation}"
        place.command = plain
        grant(place, top, f"airlock-places:{GROUP}:1\n")
        result, status = place.run(backend, "-c", SCRIPT)
        if status or result["changes"]["state"] != "applied" or result["isolation"]["capture"] != "overlay":
            yield f"run: {status} {result}"
            return
        if "capture_because" in result["isolation"] or result["notes"]:
            yield f"said without need: {result['isolation']} {result['notes']}"
        yield from differs(without_setgid(look(project)), without_setgid(place.after), "applied")
        if foreign_groups(project):
            yield f"lost their group: {foreign_groups(project)}"
        place.airlock("undo", result["run"])
        yield from differs(look(project), place.before, "undone")
        if groups_of(project) != groups:
            yield f"undone, lost their group: {groups_of(project)}"
        result, status = place.run(backend, "-c", f"chgrp {USER} same tree && stat -c %g same tree && chgrp {GROUP} tree/sub/f")
        if backend != "native":  # bwrap's own namespace knows one group
            if "not permitted" not in result["stderr"]:
                yield f"chgrp: {result['stderr']}"
            return
        found = [(c["path"], c["kind"], c.get("owner")) for c in result["changes"]["files"]]
        if status or found != [("same", "metadata", f"{USER}:{USER}"), ("tree", "metadata", f"{USER}:{USER}")]:
            yield f"chgrp: {status} {found} {result['stderr']}"
        if [(project / n).stat().st_gid for n in ("same", "tree")] != [USER, USER]:
            yield f"chgrp was not applied: {groups_of(project)}"
        place.airlock("undo", result["run"])
        if groups_of(project) != groups:
            yield f"chgrp was not undone: {groups_of(project)}"
        result, status = place.run(backend, "--", "python3", "-c", IDS, str(GROUP + 1))
        if result["stdout"] != "Operation not permitted\n" * 5 + "own\n":
            yield f"other ids: {result['stdout']}"
        yield from while_it_runs(place, backend)


def of_somebody_else(backend):
    """A directory of a colleague, writable for the group: what is changed becomes the user's own, undo gives it back."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/lib", ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        place = GroupPlace(top, project)
        give_away(top, project, USER + 1)
        (project / "same").chmod(0o600)
        place.before = look(project)
        result, status = place.run(backend, "-c", "echo more >>changed; rm gone; echo new >new")
        found = [c["path"] for c in result["changes"]["files"]]
        if status or result["changes"]["state"] != "applied" or found != ["changed", "gone", "new"]:
            yield f"run: {status} {found} {result['error']}"
        if foreign_groups(project) or (project / "same").stat().st_uid != USER + 1:
            yield f"whose they are: {foreign_groups(project)}"
        place.airlock("undo", result["run"])
        yield from differs(look(project), place.before, "undone")
        if (project / "changed").stat().st_uid != USER + 1:
            yield "undo gave nothing back"


# ---- what other users have to do with it

def acls(backend):
    """Entries for other users, whom the sandbox does not know, are there afterwards."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR"), ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        place = Place(top, project)
        if not shutil.which("setfacl") or subprocess.run(["setfacl", "-m", "u:1234:rw", project / "changed", project / "mode"],
                                                         capture_output=True).returncode:
            raise Needs("setfacl and a file system with ACLs")
        subprocess.run(["setfacl", "-d", "-m", "u:1234:rwx", project / "tree"], check=True)

        def shown():
            return subprocess.run(["getfacl", "-cn", *(p for p in sorted(project.rglob("*")) if not p.is_symlink())],
                                  capture_output=True, text=True).stdout
        before = shown()
        result, status = place.run(backend, "-c", "echo more >>changed; mv mode mode2; chmod 640 mode2; echo new >tree/new")
        if status or result["changes"]["state"] != "applied" or result["notes"]:
            yield f"run: {status} {result['error']} {result['notes']}"
        for name in ("changed", "mode2", "tree/new"):
            acl = subprocess.run(["getfacl", "-n", project / name], capture_output=True, text=True).stdout
            if "user:1234:" not in acl:
                yield f"{name}: {acl}"
        after = shown()
        for wanted in (before, after, before):
            place.airlock("undo", result["run"])
            if shown() != wanted:
                yield f"undone: {shown()}, should be {wanted}"
        # What cannot be kept is named: a new file in its place, a directory that is moved entry by entry.
        result, status = place.run(backend, "-c", "cp changed tmp; echo more >>tmp; mv tmp changed; mv tree wood")
        lost = [note for note in result["notes"] if "ACL" in note]
        wanted = [f"{name} has lost what its ACL said about other users and groups" for name in ("changed", "wood")]
        if status or (lost != wanted and os.getuid() != 0) or lost[:1] != wanted[:1]:
            yield f"lost: {status} {lost}"


IDS = """
import os, sys
ID = int(sys.argv[1])
for call in (lambda: os.chown("changed", ID, -1), lambda: os.lchown("changed", -1, ID), lambda: os.setuid(ID),
             lambda: os.setgid(ID), lambda: os.setresuid(-1, ID, -1)):
    try:
        call()
        print("done")
    except OSError as error:
        print(error.strerror)
os.chown("changed", os.getuid(), os.getgid())
os.setresuid(-1, os.getuid(), -1)
print("own")
"""


def ids(backend):
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        unknown = "4000000000" if os.getuid() == 0 else "1234"  # root may have many: other_ids.bats
        result, _ = Place(top, project).run(backend, "--", "python3", "-c", IDS, unknown)
        if result["stdout"] != "Operation not permitted\n" * 5 + "own\n":
            yield result["stdout"] + result["stderr"]


def links(backend):
    """Names of one file are names of one file afterwards; where that cannot be, the report says so, and only there."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        place = Place(top, project)
        os.link(project / "same", project / "other")
        (project / "mode").chmod(0o4755)
        runs = []
        for command, pairs, split in (
                ("ln changed second; ln gone third", (("changed", "second"), ("gone", "third")), None),
                ("cp -al tree copy", (("tree/sub/f", "copy/sub/f"),), None),
                ("ln same more", (("same", "more"), ("other", "more")), None),
                ("echo y >moved; ln moved both; echo z >>both", (("moved", "both"),), None),
                ("ln mode setuid", (), "setuid was made as another name of mode, and is a file of its own"),
                ("echo x >>second", (), "the other names of second keep the old content")):
            result, status = place.run(backend, "-c", command)
            runs.append(result["run"])
            said = [note for note in result["notes"] if "hard link" in note]
            if status or (split is None) == bool(said) or (split and split not in said[0]):
                yield f"{command}: {status} {said} {result['error']}"
            yield from (f"{command}: {a} and {b} are two files" for a, b in pairs if not os.path.samefile(project / a, project / b))
        for run in reversed(runs):  # what one run linked the ones before it know again
            done = place.airlock("undo", run)
            if done.returncode:
                yield f"undo of {run}: {done}"
        if [p.name for p in project.iterdir() if p.name in ("second", "third", "copy", "more", "both", "setuid")]:
            yield f"undone: {sorted(p.name for p in project.iterdir())}"
        done = place.airlock("undo", runs[0])  # and done again
        if done.returncode or not os.path.samefile(project / "changed", project / "second"):
            yield f"done again: {done}"


# ---- changes that cannot be brought home

def full(backend, command, expected):
    """The project's file system has less room than the command's changes need."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        project = top / "project"
        project.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", project], check=True)
        stack.callback(subprocess.run, ["umount", "-l", project], check=True)
        place = Place(top, project)
        result, status = place.run(backend, "-c", f"head -c 1000000 /dev/zero >big; {command}")
        error = result["error"] and result["error"]["code"]
        found = (status, result["exit_code"], result["status"], result["changes"]["state"], error)
        if found != expected:
            yield f"{found}, should be {expected}"
        yield from differs(look(project), place.before, "after it")
        result, status = place.run(backend, "-c", "echo small >small")  # what fits is applied
        if status or (project / "small").read_text() != "small\n":
            yield f"what fits: {status} {result['error']}"


def test(out, name, faults):
    try:
        out.test(name, list(faults))
    except Needs as need:
        out.test(f"{name} # skip needs: {need}")


def main():
    out = tap.Writer()
    for backend in BACKENDS:
        for program in (None,) if ARGS.dir else ("bindfs", "sshfs"):
            remote_tests(out, backend, program)
        if ARGS.dir:
            continue
        test(out, f"{backend}: ACLs of other users stay", acls(backend))
        test(out, f"{backend}: ids that the sandbox does not have are refused as everywhere", ids(backend))
        test(out, f"{backend}: hard links stay, and those that are split are named", links(backend))
        if os.getuid() == 0:
            test(out, f"{backend}: a directory of a group has a copy mounted over it", of_a_group(backend))
            test(out, f"{backend}: where newgidmap makes the group known, an overlay is over it", of_a_granted_group(backend))
            test(out, f"{backend}: so has one of somebody else's that the group may write in", of_somebody_else(backend))
            test(out, f"{backend}: a success whose changes cannot be applied is none",
                 full(backend, "true", (125, 125, "exited", "held", "io")))
            test(out, f"{backend}: a failure keeps its status", full(backend, "exit 3", (3, 3, "exited", "held", "io")))
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())
