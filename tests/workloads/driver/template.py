# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the template of a workload: a project and a home, from Debian's sources and npm.

A workload's prepare(t) gets a Template:

    t.source("xz-utils")               this source package as its authors released it, into the project
    t.package("libfoo-tests", "lib")   the files of a binary package below project/lib, not installed
    t.sh("npm install")                a command in the project, with the network and the template's home
    t.write("a/b.txt", "text")         a file of the project
    t.home, t.project                  for everything else

Sources are listed in an apt configuration of our own, for the machine's has seldom deb-src lines, and is not ours to change.
"""
import os
import shutil
import subprocess

MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """Something that the workload needs cannot be had: a package, a program, the network."""


class Template:
    def __init__(self, top, downloads, environment):
        self.project, self.home = top / "project", top / "home"
        self.downloads, self.environment = downloads, environment
        for path in (self.project, self.home):
            path.mkdir(parents=True)
        downloads.mkdir(parents=True, exist_ok=True)

    def _call(self, command, cwd, **options):
        told = subprocess.run(command, cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", **options)
        if told.returncode:
            what = command if isinstance(command, str) else " ".join(map(str, command))
            raise Unavailable(f"{what.splitlines()[0]}: exit status {told.returncode}: {told.stdout[-600:]}")
        return told.stdout

    def _apt(self, *arguments):
        place = self.downloads / "apt"
        lists = place / "lists"
        if not lists.exists():
            (lists / "partial").mkdir(parents=True)
            (place / "cache/archives/partial").mkdir(parents=True)
            with open("/etc/os-release", encoding="ascii") as file:
                codename = dict(line.strip().split("=", 1) for line in file if "=" in line).get("VERSION_CODENAME", "stable")
            (place / "sources.list").write_text("".join(f"{kind} [signed-by={KEYS}] {MIRROR} {codename} main\n" for kind in ("deb", "deb-src")))
            try:
                self._apt("update")
            except Unavailable:
                shutil.rmtree(place)
                raise
        options = {"Dir::Etc::SourceList": place / "sources.list", "Dir::Etc::SourceParts": "-", "Dir::State::Lists": lists,
                   "Dir::Cache": place / "cache", "APT::Sandbox::User": "root"}
        return self._call(["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items()), *arguments], self.downloads)

    def source(self, package):
        self._apt("source", "--tar-only", "--download-only", "--only-source", package)
        files = [path for path in self.downloads.glob(f"{package}_*.orig.tar.*") if path.suffix != ".asc"]
        self._call(["tar", "-x", "--strip-components=1", "-C", self.project, "-f", max(files, key=os.path.getmtime)], self.downloads)

    def package(self, package, below):
        place = self.downloads / f"{package}.deb.d"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        self._call(["apt-get", "-q", "-oAPT::Sandbox::User=root", "download", package], place)
        self._call(["dpkg-deb", "-x", next(place.glob("*.deb")), self.project / below], place)

    def sh(self, script):
        return self._call(script, self.project, shell=True)

    def write(self, path, text):
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
