/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file: a line with kind and format, the key, the verdict, bwrap's message. The key is compared as a whole; the
 * path of the program never comes from the file, so a damaged or forged file can at worst give a wrong verdict. */
#include "backend/bwrap_probe_parts.h"

#include "fs/fs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* The number also covers the meaning of enum bwrap_cause. */
#define FORMAT "airlock bwrap probe 1\n"
#define FAILURE_LASTS_S 60
#define MAX_FILE 16384

/* A container or another sandbox may share our home and the machine's boot id. */
void bwrap_cache_add_namespace(struct buf *key, const char *name)
{
	char link[64];
	ssize_t n = readlink(name, link, sizeof link);
	buf_add(key, link, n > 0 ? (size_t)n : 0);
	buf_addc(key, '\n');
}

void bwrap_cache_machine_key(struct buf *ret)
{
	char boot[64] = "";
	struct sys_kernel k;
	sys_kernel_examine(&k);
	(void)sys_read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	buf_printf(ret, "%s", boot);
	bwrap_cache_add_namespace(ret, "/proc/self/ns/user");
	bwrap_cache_add_namespace(ret, "/proc/self/ns/pid");
	buf_printf(ret, "user %u seccomp %d\n", geteuid(), prctl(PR_GET_SECCOMP));
	buf_printf(ret, "settings %" PRId64 " %" PRId64 " %" PRId64 "\n", k.apparmor_restrict_userns,
		   k.unprivileged_userns, k.max_user_namespaces);
}

void bwrap_cache_key(const struct bwrap_found *found, struct buf *ret)
{
	const struct stat *st = &found->st;
	buf_adds(ret, FORMAT);
	bwrap_cache_machine_key(ret);
	buf_printf(ret, "file %ju %ju %o %ju %jd.%09ld %jd.%09ld\n", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino,
		   st->st_mode, (uintmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		   (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
	buf_printf(ret, "%zu %s\n", strlen(found->path), found->path);
}

/* Since boot, including suspended time: setting the clock does not matter. */
static int64_t seconds_now(void)
{
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec;
}

void bwrap_cache_read(const char *file, char *ret, size_t size)
{
	struct stat st;
	ret[0] = '\0';
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return;
	ssize_t n = read(fd, ret, size - 1);
	ret[n > 0 ? n : 0] = '\0';
}

bool bwrap_cache_load(const char *file, const struct buf *key, struct bwrap_verdict *ret)
{
	char text[MAX_FILE];
	struct bwrap_verdict v = {0};
	int cause, detail_at = -1;
	int64_t when;
	bwrap_cache_read(file, text, sizeof text);
	if (key->failed || strncmp(text, buf_str(key), key->len) != 0)
		return false;
	const char *rest = text + key->len;
	/* NOLINTNEXTLINE(cert-err34-c): 9 and 18 digits fit */
	int n = sscanf(rest, "%9d.%9d.%9d %9d %18" SCNd64 "%n", &v.major, &v.minor, &v.patch, &cause, &when,
		       &detail_at);
	if (n != 5 || rest[detail_at] != '\n' || cause < 0 || cause >= BWRAP_CAUSES)
		return false;
	int64_t age = seconds_now() - when;
	if (cause != BWRAP_FINE && (age < 0 || age >= FAILURE_LASTS_S))
		return false;
	rest += detail_at + 1;
	(void)snprintf(v.detail, sizeof v.detail, "%.*s", (int)strcspn(rest, "\n"), rest);
	v.cause = (enum bwrap_cause)cause;
	*ret = v;
	return true;
}

/* Failing to store it is no failure: the next run probes again. */
void bwrap_cache_store(const char *file, const struct buf *key, const struct bwrap_verdict *v)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct airlock_error ignored = {0};
	buf_add(&text, buf_str(key), key->len);
	buf_printf(&text, "%d.%d.%d %d %" PRId64 "\n%s\n", v->major, v->minor, v->patch, (int)v->cause, seconds_now(),
		   v->detail);
	if (!text.failed && !key->failed && text.len < MAX_FILE)
		(void)fs_write_private_file(file, text.data, text.len, &ignored);
}
