#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The image of contrib/oci with a real podman, rootless and as root: which isolation airlock gets inside. Prints TAP.

    oci.py ROOT BASE [WORD...]      ROOT: of make install DESTDIR=ROOT; BASE: the tar of build-image --base; only tests with such words

Needs root, for a part of this machine of its own (own_machine.py). No registry is asked.
"""
import contextlib
import http.client
import json
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
import own_machine  # noqa: E402

OCI = TESTS.parent / "contrib/oci"
IMAGE, SMALL = "localhost/airlock", "localhost/small"
FULL = ("--security-opt", f"seccomp={OCI / 'seccomp.json'}", "--security-opt", "unmask=ALL")
# What docker and containerd refuse to a container without CAP_SYS_ADMIN, and podman does not.
NAMESPACES = {"clone3", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree", "pivot_root",
              "sethostname", "setns", "umount", "umount2", "unshare"}
CLONE_NEW_FLAGS = 0x7E020000
CASES = []


def test(function):
    CASES.append(function)
    return function


class Podman:
    """podman of one user. What podman starts when a container ends knows a user's home only by the list of users."""

    def __init__(self, top, user):
        self.user, self.top = user, user.home / "podman" if user.uid else top / "podman"
        run = top / ("ru" if user.uid else "r0")  # podman cannot clean up if its own directory there has more than 50 characters
        for path in (self.top, run, self.top / "tmp", self.top / "out"):
            path.mkdir(mode=0o755)
            os.chown(path, user.uid, user.gid)
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "USER": user.name, "TMPDIR": str(self.top / "tmp"),
                    "HOME": str(user.home), "XDG_RUNTIME_DIR": str(run)}
        conf = self.top / "containers.conf"
        conf.write_text('[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
        self.env["CONTAINERS_CONF"] = str(conf)
        self.env["STORAGE_DRIVER"] = "overlay"  # podman's choice here is vfs, which copies the image for each container
        # For a container of root in version 2 of control groups crun loads a program, which this machine's root may not be allowed to.
        self.run_options = [] if user.uid else ["--cgroups=disabled"]
        self.options = [] if user.uid else ["--root", self.top / "storage", "--runroot", run / "storage", "--tmpdir", run / "tmp"]

    def __str__(self):
        return "rootless" if self.user.uid else "as root"

    def start(self, *words, program="podman"):
        given = self.options if program == "podman" else []
        words = (words[0], *self.run_options, *words[1:]) if words[:1] == ("run",) else words
        return subprocess.Popen([program, *map(str, given), *map(str, words)], env=self.env, cwd=self.top, user=self.user.uid, group=self.user.gid,
                                extra_groups=[], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __call__(self, *words, seconds=120, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err

    def ok(self, *words, **more):
        status, out, err = self(*words, **more)
        assert status == 0, (words, status, out, err)
        return out

    def run(self, line, *options, image=IMAGE):
        """A line for sh in a new container of the image: (status, stdout, stderr)"""
        return self("run", "--rm", "--pull=never", "--network=none", "--entrypoint", "/bin/sh", *options, image, "-c", line)

    def airlock(self, line, *options, **more):
        """A line for sh in an airlock in a new container, as a result."""
        status, out, err = self.run(f"mkdir -p ~/p; cd ~/p; airlock run --json {line}", *options, **more)
        return status, json.loads(out) if out.startswith("{") else out, err


def docker_like(podman):
    """A seccomp profile that refuses namespaces as docker's own does."""
    profile = json.loads((OCI / "seccomp.json").read_text())
    profile["syscalls"] = [{**rule, "names": [name for name in rule["names"] if name not in NAMESPACES | {"clone"}]} for rule in profile["syscalls"]]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    profile["syscalls"] += [{"names": sorted(NAMESPACES - {"clone3"}), "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
                            {"names": ["clone"], "action": "SCMP_ACT_ALLOW",
                             "args": [{"index": 0, "value": CLONE_NEW_FLAGS, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]}]
    file = podman.top / "docker.json"
    file.write_text(json.dumps(profile))
    return "--security-opt", f"seccomp={file}"


# ── Which isolation ──

def assert_full(podman, *options):
    status, out, err = podman.run("airlock doctor", *options)
    assert status == 0 and "can run commands in the default profile" in out, (status, out, err)
    status, result, err = podman.airlock("--hold --profile strict -c 'echo x >f; ls /proc | grep -c \"^[0-9]\"; cat /var/lib/airlock/secret'",
                                         "-v", f"{podman.top}/secret:/var/lib/airlock/secret:ro", *options)
    isolation = result["isolation"]
    assert isolation["backend"] == "native" and isolation["capture"] == "overlay", isolation
    assert {isolation[key] for key in ("filesystem", "processes", "syscalls")} == {"enforced"}, isolation
    assert int(result["stdout"]) <= 4 and "secret" in result["stderr"], result
    assert [each["path"] for each in result["changes"]["files"]] == ["f"], result["changes"]


def assert_landlock(podman, *options):
    status, out, err = podman.run("airlock doctor", *options)
    assert status != 0 and "cannot give what the default profile promises" in out and "fix:" in out, (status, out, err)
    status, result, err = podman.airlock("--hold -c 'echo x >f; cat f; echo y >/var/lib/airlock/outside'", *options)
    assert result["isolation"]["backend"] == "landlock" and result["isolation"]["filesystem"] == "partial", result
    assert result["stdout"] == "x\n" and "outside" in result["stderr"], result
    assert "isolation is partial" in err, err
    # A policy that wants more: nothing runs.
    status, out, err = podman.airlock("--backend native -c 'echo ran >&2'", *options)
    assert status == 125 and "cannot be used" in err + str(out) and "ran\n" not in err, (status, out, err)


@test
def podmans_own_options_give_landlock(podman):
    assert_landlock(podman)


@test
def a_filter_like_dockers_gives_landlock(podman):
    assert_landlock(podman, *docker_like(podman))
    assert_landlock(podman, *docker_like(podman), "--security-opt", "unmask=ALL")


@test
def the_profile_alone_is_not_enough(podman):
    """/proc is partly covered, so that no other can be mounted."""
    assert_landlock(podman, *FULL[:2])


@test
def the_profile_and_a_whole_proc_give_everything(podman):
    assert_full(podman, *FULL)


@test
def podmans_own_filter_and_a_whole_proc(podman):
    """Only the host name cannot be another one; doctor says that sandboxes can be made."""
    assert_full(podman, *FULL[2:])
    out = podman.run("airlock doctor", *FULL[2:])[1]
    assert "sethostname" in out and "all the same" in out and "only bwrap" not in out, out


@test
def without_any_capability_and_read_only(podman):
    assert_full(podman, *FULL, "--cap-drop=all", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp")


@test
def a_user_namespace_of_the_container(podman):
    """As Kubernetes gives it to a pod with hostUsers: false."""
    first = own_machine.FIRST_SUBID
    assert_full(podman, *FULL, *(["--userns=keep-id"] if podman.user.uid else ["--uidmap", f"0:{first}:4096", "--gidmap", f"0:{first}:4096"]))


@test
def the_profile_still_refuses(podman):
    """What podman's own refuses: calls beyond sandboxes were not opened."""
    probe = "unshare --user true && echo namespaces; mount -t tmpfs none /mnt; date -s @0; echo end"
    status, out, err = podman.run(probe, *FULL)
    assert "namespaces\n" in out and "end\n" in out, (out, err)
    assert "cannot set date" in err and "mount" in err, err


# ── In front of a container's command ──

@test
def airlock_in_front_of_the_command_of_any_image(podman):
    """The program is static: it needs nothing of the image. This one has only busybox."""
    project = podman.top / "project"
    podman.ok("-p", project, program="/bin/mkdir")
    line = "airlock run --hold -c 'echo new >made; rm -f old; cat /etc/shadow 2>/dev/null; id -u' && airlock changes last && airlock apply last >/dev/null"
    podman.ok("-c", f"echo 1 >{project}/old", program="/bin/sh")
    options = (*FULL, "-v", f"{podman.airlock_program}:/bin/airlock:ro", "-v", f"{project}:/project", "-w", "/project", "-e", "HOME=/root", "--tmpfs", "/root")
    status, out, err = podman.run(line, *options, image=SMALL)
    assert status == 0 and "A  made" in out and "D  old" in out, (status, out, err)
    assert (project / "made").read_text() == "new\n" and not (project / "old").exists()


# ── The server ──

class Service:
    def __init__(self, podman, *options, arguments=()):
        self.podman, self.options, self.arguments = podman, options, arguments
        self.tokens = podman.top / "tokens.toml"
        if not self.tokens.exists():
            podman.token = podman.ok("serve", "--new-token", "t", "--token-file", self.tokens, program=podman.airlock_program).strip()
            self.tokens.chmod(0o644)  # the container's user is another one

    def __enter__(self):
        self.process = self.podman.start("run", "--replace", "--pull=never", "--network=host", "--name", "service", *self.options,
                                         "-v", f"{self.tokens}:/etc/airlock/tokens.toml:ro", "-v", "work:/var/lib/airlock", IMAGE, *self.arguments)
        for _ in range(150):
            with contextlib.suppress(OSError):
                if self.ask("GET", "/healthz")[0] == 200:
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError(self.process.communicate(timeout=10))

    def __exit__(self, *_):
        self.podman("stop", "--time", "20", "service")
        self.process.communicate(timeout=60)

    def ask(self, method, path, body=None):
        own = http.client.HTTPConnection("127.0.0.1:8080", timeout=60)
        own.request(method, path, json.dumps(body) if body is not None else None, {"Authorization": f"Bearer {self.podman.token}"})
        reply = own.getresponse()
        content = reply.read()
        own.close()
        return reply.status, json.loads(content) if content.startswith(b"{") else content


@test
def the_server_keeps_its_sandboxes(podman):
    with Service(podman, *FULL) as service:
        assert service.ask("POST", "/v1/sandboxes", {"id": "a"})[0] == 201
        status, body = service.ask("POST", "/v1/sandboxes/a/execute", {"command": "echo kept >/f; id -u; cat /etc/airlock/tokens.toml"})
        assert status == 200 and body["stdout"].strip() == "1000" and body["isolation"]["backend"] == "native", body
        assert "tokens.toml" in body["stderr"], body  # the server's own files are not there
    assert service.process.returncode == 0, service.process.returncode
    with Service(podman, *FULL) as service:
        status, body = service.ask("POST", "/v1/sandboxes/a/execute", {"command": "cat /f"})
        assert status == 200 and body["stdout"] == "kept\n", (status, body)
        assert service.ask("DELETE", "/v1/sandboxes/a")[0] == 204


@test
def the_server_does_not_start_with_less(podman):
    """With Landlock alone a workspace cannot be the root directory of its commands. The volume is that of a container which had everything, and
    what airlock remembers there must not count, even if this container's namespaces have the same numbers."""
    for _ in range(3):
        with Service(podman, *FULL) as service:
            assert service.ask("POST", "/v1/sandboxes", {"id": "c"})[0] == 201
            assert service.ask("POST", "/v1/sandboxes/c/execute", {"command": "true"})[0] == 200
            service.ask("DELETE", "/v1/sandboxes/c")
        less = Service(podman)
        try:
            less.__enter__()
        except AssertionError as error:
            assert "landlock" in str(error), error
        else:
            less.__exit__()
            raise AssertionError("it serves")


# ── ──

def small_image(top):
    """A tar with busybox and its links, nothing else."""
    file = top / "small.tar"
    busybox = shutil.which("busybox")
    with tarfile.open(file, "w") as tar:
        for folder in ("bin", "etc", "tmp", "root", "project", "usr", "usr/bin", "dev", "proc", "sys"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(busybox, "bin/busybox")
        for name in ("sh", "cat", "rm", "id", "ls", "echo"):
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    return file


def prepare(podman, root, base, top):
    """Images; root takes over the one that was built rootless."""
    saved = top / "image.tar"
    if podman.user.uid:
        print(f"# building {IMAGE} rootless", flush=True)
        begun = time.monotonic()
        podman.env["BASE"] = str(base)
        podman.ok(root, IMAGE, program=OCI / "build-image", seconds=900)
        podman.ok("save", "--quiet", "--output", podman.top / "out/image.tar", IMAGE, seconds=300)
        os.rename(podman.top / "out/image.tar", saved)
        print(f"# {time.monotonic() - begun:.0f} s, {saved.stat().st_size >> 20} MB", flush=True)
    else:
        podman.ok("load", "--quiet", "--input", saved, seconds=300)
    podman.ok("import", "--quiet", top / "small.tar", SMALL)
    secret = podman.top / "secret"
    secret.write_text(secrets.token_hex(8))
    secret.chmod(0o644)


def one_test(number, name, function):
    try:
        function()
        print(f"ok {number} {name}", flush=True)
        return True
    except Exception:  # noqa: BLE001  (the next test is run all the same)
        print(f"not ok {number} {name}", flush=True)
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
        return False


def one_kind_of_cgroups():
    """crun refuses a machine that has some controllers in version 1 and others in version 2; here containers get no limits anyway."""
    if Path("/sys/fs/cgroup/unified").exists():
        subprocess.run(["umount", "--recursive", "/sys/fs/cgroup"], check=True)
        subprocess.run(["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], check=True)


def main(top, user):
    root, base, words = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:]
    one_kind_of_cgroups()
    subprocess.run(["mount", "--make-rshared", "/"], check=True)
    shutil.copytree(root, top / "root", symlinks=True)
    shutil.copy2(base, top / "base.tar")
    small_image(top)
    number, failed = 0, 0
    for who in (user, own_machine.ROOT):
        podman = Podman(top, who)
        podman.airlock_program = top / "root/usr/local/bin/airlock"
        prepare(podman, top / "root", top / "base.tar", top)
        for function in CASES:
            name = f"{function.__name__.replace('_', ' ')} ({podman})"
            if not words or any(word in name for word in words):
                number += 1
                failed += not one_test(number, name, lambda f=function, p=podman: f(p))
    print(f"1..{number}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    missing = [name for name in ("podman", "crun", "busybox", "newuidmap", "unshare") if not shutil.which(name)]
    if missing:
        print(f"1..0 # skip needs: {', '.join(missing)}")
        sys.exit(0)
    sys.exit(own_machine.run(main, "airlock-oci"))
