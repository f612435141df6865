#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A workspace in an object store: a bucket of an S3 server on this machine, mounted with s3fs. Prints TAP.

    workspace_fuse.py BUILD

The server (s3rver, from npm) is installed once into the cache, started here and stopped at the end.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools"))
import tap  # noqa: E402

AIRLOCK = str(Path(sys.argv[1]).resolve() / "airlock")
CACHE = Path("/var/cache" if os.getuid() == 0 else os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "airlock-tests", "npm")
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"  # the machine's own, which node does not look at by itself
SERVER = "s3rver@3.7.1"
BACKENDS = os.environ.get("AIRLOCK_TEST_BACKENDS", "bubblewrap").split()


class Needs(Exception):
    pass


def has_fuse():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
        return True
    except OSError:
        return False


def install_server():
    program = CACHE / "node_modules/.bin/s3rver"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ, **({"NODE_EXTRA_CA_CERTS": AUTHORITIES} if Path(AUTHORITIES).exists() else {}))
        try:
            done = subprocess.run(["npm", "install", "--prefix", CACHE, "--no-audit", "--no-fund", "--fetch-retries", "1",
                                   "--fetch-timeout", "20000", SERVER], env=environment, timeout=240,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except subprocess.TimeoutExpired as error:
            raise Needs("the npm registry, which does not answer") from error
        if done.returncode:
            raise Needs(f"the npm registry ({done.stderr.strip().splitlines()[-1:]})")
    return program


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def eventually(check, what):
    end = time.monotonic() + 60
    while not check():
        if time.monotonic() > end:
            raise AssertionError(f"never true: {what}")
        time.sleep(0.05)


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def stop(process):
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def start(stack, top):
    """The server and the mount; returns the directory a thread of an agent would get."""
    for program in ("s3fs", "npm", "node"):
        if not shutil.which(program):
            raise Needs(program)
    if not has_fuse():
        raise Needs("/dev/fuse")
    program, port = install_server(), free_port()
    url = f"http://127.0.0.1:{port}"
    (top / "store").mkdir()
    server = subprocess.Popen([program, "-d", top / "store", "-a", "127.0.0.1", "-p", str(port), "--configure-bucket", "bucket"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    stack.callback(stop, server)
    eventually(lambda: answers(url), "the server answers")
    (top / "password").write_text("S3RVER:S3RVER\n")
    (top / "password").chmod(0o600)
    mount = top / "mount"
    mount.mkdir()
    options = f"passwd_file={top}/password,url={url},use_path_request_style,sigv4,stat_cache_expire=1"
    done = subprocess.run(["s3fs", "bucket", mount, "-o", options], capture_output=True, text=True)
    if done.returncode:
        raise Needs(f"a FUSE mount ({done.stderr.strip()})")
    stack.callback(subprocess.run, ["umount", "-l", mount], check=True)
    eventually(lambda: os.path.ismount(mount), "the bucket is mounted")
    (mount / "threads").mkdir()
    workspace = mount / "threads" / "one"
    workspace.mkdir()
    return workspace, url


def airlock(*arguments, text=None):
    return subprocess.run([AIRLOCK, *arguments], input=text or "", capture_output=True, text=True)


def upload(url, key, content):
    """Past the mount, as another machine would: the server takes unsigned requests for a bucket of anybody's."""
    request = urllib.request.Request(f"{url}/bucket/{key}", data=content.encode(), method="PUT")
    urllib.request.urlopen(request, timeout=20).close()


def check(backend, workspace, store, url):
    """Faults of one backend."""
    ws = str(workspace)
    done = airlock("fs", "--workspace", ws, "write", "/script.py", text="print('from the bucket')\n")
    if done.returncode:
        yield f"write: {done.stderr}"
    done = airlock("run", "--backend", backend, "--workspace", ws, "-c", "python3 /script.py && mkdir -p /data && echo made >/data/f")
    if (done.returncode, done.stdout) != (0, "from the bucket\n"):
        yield f"run: {done.returncode} {done.stdout} {done.stderr}"
    done = airlock("fs", "--workspace", ws, "read", "/data/f")
    if done.stdout != "made\n":
        yield f"read: {done.stdout} {done.stderr}"
    stored = [p for p in store.rglob("*") if p.is_file() and p.name.startswith("f") and p.read_bytes() == b"made\n"]
    if not stored:
        yield "the file is not in the bucket"
    left = sorted(p.name for p in workspace.iterdir())
    if left != ["data", "script.py"]:
        yield f"left in the workspace: {left}"
    upload(url, "threads/one/data/g", "uploaded\n")
    done = airlock("run", "--backend", backend, "--workspace", ws, "-c", "cat /data/g")
    if done.stdout != "uploaded\n":
        yield f"a command after an upload: {done.stdout} {done.stderr}"
    airlock("fs", "--workspace", ws, "delete", "/data")
    if (workspace / "data").exists():
        yield "delete left the directory"


def main():
    out = tap.Writer()
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        home = top / "home"
        home.mkdir()
        try:
            workspace, url = start(stack, top)
        except Needs as error:
            print(f"1..0 # skip needs: {error}")
            return 0
        for name in [n for n in os.environ if n.startswith(("AIRLOCK_", "XDG_"))]:
            del os.environ[name]
        os.environ["HOME"] = str(home)
        for backend in BACKENDS:
            out.test(f"a workspace on a FUSE mount, with {backend}", check(backend, workspace, top / "store", url))
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())
