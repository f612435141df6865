#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`make install DESTDIR=`: what is installed, and that it works from where it lies. Prints TAP.

    tests/install.py BUILD
"""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools"))
import tap  # noqa: E402  (lies in tools/)

EXPECTED = (  # patterns below the prefix, and how many files at least
    ("bin/airlock", 1), ("bin/airlock-sh", 1), ("bin/airlock-bash", 1), ("libexec/airlock/airlock-http", 1), ("lib/libairlock.so*", 3), ("lib/pkgconfig/airlock.pc", 1), ("include/airlock/*.h", 4),
    ("lib/python3*/dist-packages/airlock/*.py", 5), ("share/vala/vapi/airlock.vapi", 1), ("share/man/man1/airlock*.1", 20),
    ("share/man/man3/libairlock.3", 1), ("share/man/man5/airlock.toml.5", 1), ("share/man/man7/airlock-security.7", 1),
    ("share/bash-completion/completions/airlock", 1), ("share/zsh/vendor-completions/_airlock", 1),
    ("share/fish/vendor_completions.d/airlock.fish", 1),
)


def run(*command, env=None):
    """(exit status, what it printed)"""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **(env or {})}, cwd=TOP)
    return done.returncode, done.stdout


def faults_of(*command, env=None, says=""):
    status, text = run(*command, env=env)
    if status or says not in text:
        yield f"{' '.join(map(str, command))}: exit status {status}\n{text}"


def file_faults(prefix):
    """Expected files that are missing, and files that nobody expects."""
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir() and "__pycache__" not in path.parts}
    for pattern, least in EXPECTED:
        matches = fnmatch.filter(found, pattern)
        if len(matches) < least:
            yield f"{pattern}: {len(matches)} files, expected at least {least}"
    for name in sorted(found):
        if not any(fnmatch.fnmatch(name, pattern) for pattern, _ in EXPECTED):
            yield f"{name}: not expected (add it to EXPECTED in tests/install.py and to debian/*.install)"


def package_faults(prefix):
    """Installed files that no Debian package takes, or several do."""
    patterns = [(path.stem, line) for path in TOP.glob("debian/*.install") for line in path.read_text().split()]
    for path in prefix.rglob("*"):
        if path.is_dir() or "__pycache__" in path.parts:
            continue
        # A package's prefix is /usr, and its libraries lie in a directory for the architecture.
        name = re.sub(r"^lib/(?!python)", "lib/x/", re.sub(r"^lib/python3[.0-9]*/", "lib/python3/", str(path.relative_to(prefix))))
        takers = {package for package, pattern in patterns if any(
            fnmatch.fnmatch(f"usr/{part}", pattern) for part in [name, *Path(name).parents])}
        if len(takers) != 1:
            yield f"{name}: in {' and '.join(sorted(takers)) or 'no package'}"


def main(build):
    out = tap.Writer()
    with tempfile.TemporaryDirectory() as folder:
        status, text = run("make", "install", f"BUILD={build}", f"DESTDIR={folder}", env={"MAKEFLAGS": ""})
        out.test("make install DESTDIR=", [text] if status else [])
        prefix = Path(folder, "usr/local")
        out.test("everything is there, and nothing else", file_faults(prefix))
        out.test("every file is in exactly one Debian package", package_faults(prefix))
        library = {"LD_LIBRARY_PATH": str(prefix / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
        out.test("the command runs", faults_of(prefix / "bin/airlock", "--version", says="airlock 0."))
        packages = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": folder}
        status, flags = run("pkg-config", "--cflags", "--libs", "airlock", env=packages)
        out.test("pkg-config finds the library", [flags] if status or "-lairlock" not in flags else [])
        example = Path(folder, "example")
        out.test("the example compiles with what pkg-config says",
                 faults_of("cc", "examples/run.c", "-Wall", "-Werror", *flags.split(), "-o", example))
        out.test("it runs", faults_of("sh", "-c", '"$0"; [ $? -eq 2 ]', example, env=library))
        module = next(prefix.glob("lib/python3*/dist-packages"), prefix)
        out.test("Python imports the module", faults_of("/usr/bin/python3", "-c", "import airlock; print(airlock.__version__)",
                                                        env={**library, "PYTHONPATH": str(module)}, says="0."))
    return out.finish()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]).resolve()))
