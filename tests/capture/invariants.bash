# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2016 # variables for those who load this; $ in quotes is for the shell inside
# The project that the invariants are tried on, and what is done to it.

# some_project: files of several kinds, all of them old
some_project() {
	rm -rf "${PROJECT:?}"/{.[!.]*,*}
	mkdir -p .git src/deep empty
	echo one >one
	echo two >two
	seq 200 >src/numbers
	echo deep >src/deep/file
	ln -s one link
	printf '#!/bin/sh\n' >script
	chmod 755 script
	age .
}

# A bit of everything.
EVERYTHING='echo changed >one; rm two; mv src/numbers src/renamed; mkdir -p new/er; echo new >new/er/file; chmod 600 src/deep/file;
	rm link; ln -s two link; rm -rf empty; mkdir empty; echo x >empty/x; touch -d 2001-01-01 src; mv src/deep deep'
