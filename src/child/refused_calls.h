/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calls that src/filter/calls.txt says are noted; a unit test compares the two. What they are called where people read it is enum
 * child_seen_op (seen.h). Freestanding. */
#pragma once

enum who {
	ANYBODY,      /* an ordinary user may do it outside, if the machine's settings allow it */
	ROOT,	      /* only root may */
	WITHOUT_USER, /* only root may, unless the flags also ask for a user namespace */
};

#define REFUSED_CALLS(X)                                                                                               \
	X(ptrace, TRACE, ANYBODY)                                                                                      \
	X(process_vm_readv, TRACE, ANYBODY)                                                                            \
	X(process_vm_writev, TRACE, ANYBODY)                                                                           \
	X(unshare, NAMESPACE, WITHOUT_USER)                                                                            \
	X(clone, NAMESPACE, WITHOUT_USER)                                                                              \
	X(setns, NAMESPACE, ROOT)                                                                                      \
	X(mount, MOUNT, ROOT)                                                                                          \
	X(umount2, MOUNT, ROOT)                                                                                        \
	X(pivot_root, MOUNT, ROOT)                                                                                     \
	X(fsopen, MOUNT, ROOT)                                                                                         \
	X(perf_event_open, PERF, ANYBODY)                                                                              \
	X(bpf, BPF, ANYBODY)                                                                                           \
	X(keyctl, KEYS, ANYBODY)                                                                                       \
	X(add_key, KEYS, ANYBODY)                                                                                      \
	X(request_key, KEYS, ANYBODY)                                                                                  \
	X(userfaultfd, USERFAULT, ANYBODY)                                                                             \
	X(fanotify_init, FANOTIFY, ROOT)                                                                               \
	X(swapon, ADMIN, ROOT)                                                                                         \
	X(swapoff, ADMIN, ROOT)                                                                                        \
	X(reboot, ADMIN, ROOT)                                                                                         \
	X(init_module, ADMIN, ROOT)                                                                                    \
	X(finit_module, ADMIN, ROOT)                                                                                   \
	X(delete_module, ADMIN, ROOT)                                                                                  \
	X(settimeofday, ADMIN, ROOT)                                                                                   \
	X(clock_settime, ADMIN, ROOT)
