# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPython's own tests of os, subprocess, socket, tempfile and shutil, test by test."""
from driver import counts

PROGRAMS = ("python3.11", "dpkg-deb")
IDENTITIES = ("user", "root")
MAY_FAIL = True  # some fail on some machines without airlock, too; they must fail the same way
ENVIRONMENT = {"PYTHONPATH": "lib", "PYTHONDONTWRITEBYTECODE": "1"}
STEPS = tuple(f"python3.11 -m test -v --timeout 600 test_{name} 2>&1" for name in ("os", "subprocess", "socket", "tempfile", "shutil"))
COUNTS = counts.unittest


def prepare(t):
    t.package("libpython3.11-testsuite", "unpacked")
    t.sh("mkdir lib && cp -r /usr/lib/python3.11/test lib/test && cp -r unpacked/usr/lib/python3.11/test/. lib/test && rm -r unpacked"
         " && find lib -name __pycache__ -prune -exec rm -r {} +")
    t.sh("cd lib/test && rm -rf encoded_modules leakers cjkencodings tkinter_testdata xmltestdata test_asyncio test_email")
