# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPython's own tests of os, subprocess, socket, tempfile and shutil, test by test."""
from driver import counts

PROGRAMS = ("python3.11", "dpkg-deb")
IDENTITIES = ("user", "root")
MAY_FAIL = True  # some fail on some machines without airlock, too; they must fail the same way
ENVIRONMENT = {"PYTHONPATH": "lib", "PYTHONDONTWRITEBYTECODE": "1"}
RUN = "python3.11 -m test -v --timeout 600"
# Without those of AF_VSOCK, which wait forever in a virtual machine whose host does not answer them.
LITE = "'*UDPLITE*'"  # by itself: the threads of tests that fail write into the lines of others
STEPS = (*(f"{RUN} test_{name} 2>&1" for name in ("os", "subprocess", "tempfile", "shutil")),
         f"{RUN} -i {LITE} -i '*VSOCK*' test_socket 2>&1", f"{RUN} -m {LITE} test_socket 2>&1")
COUNTS = counts.unittest
EXPLAINED = {
    r"count of test\.test_socket\.\w*UDPLITE\w*\.\w+: ok directly, (ERROR|none) inside$|exit status: \[(?P<before>.*), 0\] directly, \[(?P=before), 2\] inside$":
    "the filter allows TCP, UDP and ICMP; UDP-Lite, which hardly any program uses, would only be more of the kernel to attack",
    r"count of test\.test_(shutil\.TestCopy\.test_copy(2_xattr|xattr|xattr_symlinks)|socket\.GeneralModuleTests\.test_sethostname): ok directly, skipped inside$|"
    r"count of test\.test_(shutil|tempfile)\.\w+\.test_(on_error|non_matching_mode|read_only_directory): skipped directly, ok inside$":
    "root inside has no capabilities: tests that need them are skipped (trusted attributes, the name of the machine), and those are run that root "
    "would skip because permissions do not bind it",
}


def prepare(t):
    t.package("libpython3.11-testsuite", "unpacked")
    t.sh("mkdir lib && cp -r /usr/lib/python3.11/test lib/test && cp -r unpacked/usr/lib/python3.11/test/. lib/test && rm -r unpacked"
         " && find lib -name __pycache__ -prune -exec rm -r {} +")
    t.sh("cd lib/test && rm -rf encoded_modules leakers cjkencodings tkinter_testdata xmltestdata test_asyncio test_email")
