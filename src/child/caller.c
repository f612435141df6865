/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/caller.h"

#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>

#define PROC_PATH 64
#define PAGE_BYTES 4096

static size_t add_text(char *out, size_t at, const char *s)
{
	while (*s)
		out[at++] = *s++;
	out[at] = '\0';
	return at;
}

static size_t add_number(char *out, size_t at, unsigned v)
{
	char digits[12];
	size_t n = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		out[at++] = digits[--n];
	out[at] = '\0';
	return at;
}

static long read_some(int pid, uint64_t address, void *out, size_t len)
{
	struct {
		void *base;
		uint64_t len;
	} local = {out, len}, remote = {(void *)(uintptr_t)address, len};
	long n = raw_call6(__NR_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);
	return n == 0 ? -EFAULT : n;
}

long caller_read(int pid, uint64_t address, void *out, size_t len)
{
	long n = read_some(pid, address, out, len);
	return n < 0 ? n : n == (long)len ? 0 : -EFAULT;
}

/* How much can be read at an address without touching the next page, which may not be mapped. */
static size_t rest_of_page(uint64_t address)
{
	return PAGE_BYTES - address % PAGE_BYTES;
}

static int has_end(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] == '\0')
			return 1;
	return 0;
}

/* Page by page, because the string may end right before an unmapped page. */
long caller_read_string(int pid, uint64_t address, char *out)
{
	size_t len = 0;
	while (len < PATH_MAX) {
		size_t chunk = rest_of_page(address + len);
		if (chunk > PATH_MAX - len)
			chunk = PATH_MAX - len;
		long n = read_some(pid, address + len, out + len, chunk);
		if (n < 0)
			return n;
		if (has_end(out + len, (size_t)n))
			return 0;
		len += (size_t)n;
	}
	return -ENAMETOOLONG;
}

/* Nearly every string ends in the page it begins in: then one call reads both. */
long caller_read_strings(int pid, const uint64_t address[2], char *out[2])
{
	struct {
		void *base;
		uint64_t len;
	} local[2], remote[2];
	for (int i = 0; i < 2; i++) {
		size_t len = rest_of_page(address[i]);
		local[i].base = out[i];
		remote[i].base = (void *)(uintptr_t)address[i];
		local[i].len = remote[i].len = len;
	}
	long n = raw_call6(__NR_process_vm_readv, pid, (long)local, 2, (long)remote, 2, 0);
	if (n == (long)(local[0].len + local[1].len) && has_end(out[0], local[0].len) && has_end(out[1], local[1].len))
		return 0;
	n = caller_read_string(pid, address[0], out[0]);
	return n < 0 ? n : caller_read_string(pid, address[1], out[1]);
}

size_t caller_base_path(int pid, int dir_fd, char *out)
{
	size_t n = add_text(out, 0, "/proc/");
	n = add_number(out, n, (unsigned)pid);
	if (dir_fd == AT_FDCWD)
		return add_text(out, n, "/cwd");
	n = add_text(out, n, "/fd/");
	return add_number(out, n, (unsigned)dir_fd);
}

long caller_open_base(int pid, int dir_fd)
{
	char path[CALLER_BASE_BYTES];
	(void)caller_base_path(pid, dir_fd, path);
	return r_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int caller_shares_mounts(int pid)
{
	static struct statx own; /* the first process stays in its namespace */
	char path[PROC_PATH];
	struct statx other;
	size_t n = add_text(path, 0, "/proc/");
	n = add_number(path, n, (unsigned)pid);
	(void)add_text(path, n, "/ns/mnt");
	if (!own.stx_ino && raw_call5(__NR_statx, AT_FDCWD, "/proc/self/ns/mnt", 0, STATX_INO, &own) < 0)
		return 0;
	return raw_call5(__NR_statx, AT_FDCWD, path, 0, STATX_INO, &other) == 0 && own.stx_ino == other.stx_ino;
}

/* Two mounts may show the same directory: a process whose root is the other one has another view. */
int caller_shares_root(int pid)
{
	char path[PROC_PATH];
	struct statx own, other;
	size_t n = add_text(path, 0, "/proc/");
	n = add_number(path, n, (unsigned)pid);
	(void)add_text(path, n, "/root");
	return caller_shares_mounts(pid) &&
	       raw_call5(__NR_statx, AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &own) == 0 &&
	       raw_call5(__NR_statx, AT_FDCWD, path, 0, STATX_INO | STATX_MNT_ID, &other) == 0 &&
	       own.stx_ino == other.stx_ino && own.stx_mnt_id == other.stx_mnt_id;
}

size_t caller_read_name(int pid, char *out, size_t size)
{
	char path[PROC_PATH];
	size_t n = add_text(path, 0, "/proc/");
	n = add_number(path, n, (unsigned)pid);
	(void)add_text(path, n, "/comm");
	long fd = r_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	long len = r_read((int)fd, out, size);
	(void)r_close((int)fd);
	while (len > 0 && out[len - 1] == '\n')
		len--;
	return len < 0 ? 0 : (size_t)len;
}
