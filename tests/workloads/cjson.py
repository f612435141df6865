# SPDX-License-Identifier: LGPL-2.1-or-later
"""C with cmake: cJSON, built in a directory of its own, its tests, and its installation below the project."""
from driver import counts

PROGRAMS = ("gcc", "make", "cmake", "ctest")
IDENTITIES = ("user", "root")
STEPS = ("cmake -B build -DCMAKE_INSTALL_PREFIX=$PWD/installed", "cmake --build build -j2", "ctest --test-dir build",
         "cmake --install build")
COUNTS = counts.ctest


def prepare(t):
    t.source("cjson")
