# SPDX-License-Identifier: LGPL-2.1-or-later
"""C with meson and ninja: GNU FriBidi, its tests, and its installation below the project."""
from driver import counts

PROGRAMS = ("gcc", "meson", "ninja")
IDENTITIES = ("user",)
STEPS = ("meson setup build -Ddocs=false --prefix=$PWD/installed", "ninja -C build", "meson test -C build", "meson install -C build")
COUNTS = counts.meson
VARIES = (r"build/\.ninja_(log|deps)", r"build/meson-logs/.*", r"build/meson-private/.*\.dat")


def prepare(t):
    t.source("fribidi")
