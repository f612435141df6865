# SPDX-License-Identifier: LGPL-2.1-or-later
"""C with autotools: configure, make and the tests of XZ Utils."""
from driver import counts

PROGRAMS = ("gcc", "make")
IDENTITIES = ("user", "root")
STEPS = ("./configure --quiet --disable-nls --disable-shared --disable-doc CFLAGS=-O1", "make -s -j2", "make -s check")
COUNTS = counts.automake


def prepare(t):
    t.source("xz-utils")
