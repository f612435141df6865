/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "permission/permission.h"

#include "base/hash.h"
#include "base/text.h"
#include "net/host_name.h"

#include <inttypes.h>
#include <string.h>

/* A longer text is shown by its head, its tail and its length, so that nothing scrolls the question away. */
#define SHOWN_MAX 1200
#define SHOWN_PART 500

/* ── The text ── */

/* How many bytes from here fit into this many columns when escaped; whole characters only. */
static size_t fitting(const char *s, size_t len, size_t room)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;
	size_t done = 0;
	while (done < len) {
		size_t n = text_utf8_length((const unsigned char *)s + done, len - done);
		n = n ? n : 1;
		text_add_escaped(&shown, s + done, n);
		if (shown.failed || shown.len > room)
			break;
		done += n;
	}
	return done;
}

/* Where a tail that fits begins, not before `from`. One that begins within a character shows its bytes. */
static size_t tail_start(const char *s, size_t len, size_t from)
{
	size_t start = len > from + SHOWN_PART ? len - SHOWN_PART : from;
	while (start < len && fitting(s + start, len - start, SHOWN_PART) < len - start)
		start++;
	return start;
}

static void add_inert(struct buf *out, const char *s)
{
	_cleanup_buf_ struct buf whole = BUF_INIT;
	size_t len = strlen(s);
	text_add_escaped(&whole, s, len);
	if (whole.failed) {
		out->failed = true;
	} else if (whole.len <= SHOWN_MAX) {
		buf_add(out, whole.data ? whole.data : "", whole.len);
	} else {
		size_t head = fitting(s, len, SHOWN_PART);
		size_t tail = tail_start(s, len, head);
		text_add_escaped(out, s, head);
		buf_printf(out, " [... %zu of %zu bytes not shown ...] ", tail - head, len);
		text_add_escaped(out, s + tail, len - tail);
	}
}

static const char *const reason_names[] = {[AIRLOCK_ASK_UNSANDBOXED] = "unsandboxed",
					   [AIRLOCK_ASK_ALLOW_WRITE] = "allow-write",
					   [AIRLOCK_ASK_LINK] = "link",
					   [AIRLOCK_ASK_NETWORK] = "network",
					   [AIRLOCK_ASK_SENSITIVE_CHANGES] = "sensitive-changes",
					   [AIRLOCK_ASK_HELD_CHANGES] = "held-changes",
					   [AIRLOCK_ASK_HOST] = "host",
					   [AIRLOCK_ASK_PUBLISH] = "publish"};

const char *airlock_question_reason_name(enum airlock_question_reason reason)
{
	return reason_names[reason];
}

bool permission_parse_reason(const char *name, enum airlock_question_reason *ret)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(reason_names); i++)
		if (strcmp(reason_names[i], name) == 0) {
			*ret = (enum airlock_question_reason)i;
			return true;
		}
	return false;
}

static void add_reason(struct permission_question *q, enum airlock_question_reason reason)
{
	q->reasons[q->n_reasons++] = reason;
}

static void describe_links(const struct permission_inputs *in, struct permission_question *q, struct buf *text)
{
	if (in->n_links)
		add_reason(q, AIRLOCK_ASK_LINK);
	for (size_t i = 0; i < in->n_links; i++) {
		strs_add(&q->paths, in->links[i].target);
		buf_adds(text, "The symlink ");
		add_inert(text, in->links[i].path);
		buf_adds(text, " leads out of the project, to ");
		add_inert(text, in->links[i].target);
		if (in->links[i].before) {
			buf_adds(text, " (when it was allowed it led to ");
			add_inert(text, in->links[i].before);
			buf_addc(text, ')');
		}
		buf_addc(text, '\n');
	}
}

static bool has_any(const char *const *list)
{
	return list && *list;
}

static void describe_network(const struct permission_inputs *in, struct permission_question *q, struct buf *text)
{
	if (in->network || has_any(in->hosts))
		add_reason(q, AIRLOCK_ASK_NETWORK);
	if (in->network && !in->unsandboxed && in->shares_network)
		buf_printf(
			text,
			"It shares this machine's network: it can reach other machines and every service of this one (localhost)%s\n",
			in->abstract_sockets ? ", and sockets with abstract names (a session bus, X11)" : "");
	else if (in->network && !in->unsandboxed)
		buf_adds(text, "It can connect to every public host, but not to this machine or its local network\n");
	if (in->n_ports > 0)
		add_reason(q, AIRLOCK_ASK_PUBLISH);
	for (size_t i = 0; i < in->n_ports; i++)
		buf_printf(text, "Programs on this machine can reach its port %u at 127.0.0.1:%u\n", in->ports[i].port,
			   in->ports[i].host_port);
}

static void add_hosts(struct buf *text, const char *const *hosts)
{
	for (const char *const *h = hosts; *h; h++) {
		buf_adds(text, h == hosts ? "" : ", ");
		add_inert(text, *h);
	}
}

static void describe(const struct permission_inputs *in, struct permission_question *q, struct buf *text)
{
	buf_adds(text, "In ");
	add_inert(text, in->working_dir);
	buf_adds(text, "\n");
	if (in->unsandboxed) {
		add_reason(q, AIRLOCK_ASK_UNSANDBOXED);
		buf_adds(text, "NOT IN SANDBOX: it can read and change everything you can (");
		add_inert(text, in->unsandboxed_because);
		buf_adds(text, ")\n");
	}
	for (const char *const *p = in->extra_writable; p && *p; p++) {
		if (p == in->extra_writable)
			add_reason(q, AIRLOCK_ASK_ALLOW_WRITE);
		strs_add(&q->paths, *p);
		buf_adds(text, "It may also write to ");
		add_inert(text, *p);
		buf_addc(text, '\n');
	}
	describe_links(in, q, text);
	describe_network(in, q, text);
}

static void add_sentence(const struct permission_inputs *in, struct buf *text)
{
	if (in->network)
		buf_adds(text, "Run command with network access: ");
	else if (has_any(in->hosts) && !in->unsandboxed) {
		buf_adds(text, "Connect to ");
		add_hosts(text, in->hosts);
		buf_adds(text, " for: ");
	} else if (in->unsandboxed)
		buf_adds(text, "Run command without a sandbox: ");
	else if (in->extra_writable && *in->extra_writable)
		buf_adds(text, "Run command with these extra writable paths: ");
	else if (in->n_ports > 0)
		buf_adds(text, "Run command with a published port: ");
	else
		buf_adds(text, "It runs either way. May it also write there: ");
	add_inert(text, in->command);
	buf_addc(text, '?');
}

/* ── The command that grants it ── */

static void add_word(struct buf *out, const char *word)
{
	buf_addc(out, ' ');
	text_add_shell_word(out, word);
}

static bool is_about_links_only(const struct permission_inputs *in)
{
	return in->n_links && !in->network && !in->unsandboxed && !has_any(in->extra_writable) && !has_any(in->hosts) &&
	       in->n_ports == 0;
}

/* Whole paths: they mean the same wherever they are typed, and none begins with a dash. */
static char *link_command(const struct permission_inputs *in)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "airlock project link");
	for (size_t i = 0; i < in->n_links; i++) {
		bool is_whole = in->links[i].path[0] == '/';
		_cleanup_buf_ struct buf path = BUF_INIT;
		buf_printf(&path, "%s%s%s", is_whole ? "" : in->project, is_whole ? "" : "/", in->links[i].path);
		b.failed |= path.failed;
		add_word(&b, buf_str(&path));
	}
	add_word(&b, in->project);
	return buf_take(&b);
}

/* Whoever shows this escapes it as a whole: a person reads and types it, the bytes are exact. */
static char *grant_command(const struct permission_inputs *in)
{
	struct buf b = BUF_INIT;
	if (is_about_links_only(in))
		return link_command(in);
	buf_adds(&b, "airlock run --yes");
	if (in->network)
		buf_adds(&b, in->shares_network ? " --network-mode host" : " --network");
	for (const char *const *h = in->hosts; h && *h; h++) {
		buf_adds(&b, " --allow-host");
		add_word(&b, *h);
	}
	for (size_t i = 0; i < in->n_ports; i++)
		buf_printf(&b, " --publish %u:%u", in->ports[i].host_port, in->ports[i].port);
	if (in->unsandboxed)
		buf_adds(&b, " --no-sandbox");
	for (const char *const *p = in->extra_writable; p && *p; p++) {
		buf_adds(&b, " --allow-write");
		add_word(&b, *p);
	}
	buf_adds(&b, " -p");
	add_word(&b, in->project);
	buf_adds(&b, " -C");
	add_word(&b, in->working_dir);
	buf_adds(&b, " -c");
	add_word(&b, in->command);
	return buf_take(&b);
}

/* ── What may be remembered, and under which key ── */

static void offer(struct permission_question *q)
{
	static const enum airlock_answer all[] = {AIRLOCK_ALLOW_ONCE,	AIRLOCK_DENY,	      AIRLOCK_ALLOW_SESSION,
						  AIRLOCK_ALLOW_ALWAYS, AIRLOCK_DENY_SESSION, AIRLOCK_DENY_ALWAYS};
	/* Links belong to the project, which outlives any session. */
	static const enum airlock_answer about_links[] = {AIRLOCK_ALLOW_ONCE, AIRLOCK_DENY, AIRLOCK_ALLOW_ALWAYS,
							  AIRLOCK_DENY_ALWAYS};
	const enum airlock_answer *choices = q->is_optional ? about_links : all;
	q->n_choices = q->is_optional ? AL_ARRAY_LEN(about_links) : q->one_time_only ? 2 : AL_ARRAY_LEN(all);
	memcpy(q->choices, choices, q->n_choices * sizeof *choices);
}

/* Each part with its end, so that no two questions share one text. */
static void add_part(struct buf *b, const char *part)
{
	buf_add(b, part, strlen(part) + 1);
}

static void add_command_parts(struct buf *b, const struct permission_inputs *in)
{
	add_part(b, in->profile);
	add_part(b, in->working_dir);
	for (const char *const *a = in->argv; a && *a; a++)
		add_part(b, *a);
}

static char *make_key(const struct permission_inputs *in, const struct permission_question *q)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	char hex[65];
	for (size_t i = 0; i < q->n_reasons; i++)
		add_part(&b, airlock_question_reason_name(q->reasons[i]));
	add_part(&b, "");
	if (q->one_time_only)
		add_part(&b, in->nonce);
	add_part(&b, in->project);
	for (size_t i = 0; i < in->n_links; i++) {
		add_part(&b, in->links[i].path);
		add_part(&b, in->links[i].target);
	}
	if (!q->is_optional)
		add_command_parts(&b, in);
	if (b.failed)
		return NULL;
	hash_sha256_hex(b.data, b.len, hex);
	return strdup(hex);
}

static bool is_rememberable(const struct permission_question *q)
{
	return q->n_reasons == 1 && q->reasons[0] == AIRLOCK_ASK_UNSANDBOXED && q->shape == COMMAND_SIMPLE;
}

int permission_collect(const struct permission_inputs *in, struct permission_question *ret, struct airlock_error *err)
{
	struct permission_question q = {.shape = command_shape(in->command, strlen(in->command))};
	struct buf text = BUF_INIT;
	describe(in, &q, &text);
	add_sentence(in, &text);
	q.is_optional = is_about_links_only(in);
	q.one_time_only = !q.is_optional && !is_rememberable(&q);
	offer(&q);
	q.text = buf_take(&text);
	q.command = strdup(in->command);
	q.working_dir = strdup(in->working_dir);
	q.project = strdup(in->project);
	q.profile = strdup(in->profile);
	q.key = make_key(in, &q);
	q.grant_command = grant_command(in);
	*ret = q;
	if (q.text && q.command && q.working_dir && q.project && q.profile && q.key && q.grant_command &&
	    !q.paths.failed)
		return 0;
	permission_done(ret);
	return base_oom(err);
}

/* ── A host ── */

static char *host_command(const struct permission_host *in)
{
	struct buf b = BUF_INIT;
	bool is_v6 = strchr(in->host, ':') != NULL;
	buf_printf(&b, "airlock run --yes --allow-host %s%s%s:%u -p", is_v6 ? "[" : "", in->host, is_v6 ? "]" : "",
		   in->port);
	add_word(&b, in->project);
	buf_adds(&b, " -C");
	add_word(&b, in->working_dir);
	buf_adds(&b, " -c");
	add_word(&b, in->command);
	return buf_take(&b);
}

int permission_about_host(const struct permission_host *in, struct permission_question *ret, struct airlock_error *err)
{
	struct permission_question q = {.one_time_only = true};
	struct buf text = BUF_INIT, key = BUF_INIT;
	bool is_v6 = strchr(in->host, ':') != NULL;
	add_reason(&q, AIRLOCK_ASK_HOST);
	buf_adds(&text, "In ");
	add_inert(&text, in->working_dir);
	buf_printf(&text, "\n%u connection%s\n", in->connections, in->connections == 1 ? " waits" : "s wait");
	buf_printf(&text, "Connect to %s", is_v6 ? "[" : "");
	host_name_add_shown(&text, in->host);
	buf_printf(&text, "%s:%u for: ", is_v6 ? "]" : "", in->port);
	add_inert(&text, in->command);
	buf_addc(&text, '?');
	offer(&q);
	buf_printf(&key, "host %s %u %s", in->host, in->port, in->nonce);
	q.text = buf_take(&text);
	q.key = buf_take(&key);
	q.command = strdup(in->command);
	q.working_dir = strdup(in->working_dir);
	q.project = strdup(in->project);
	q.profile = strdup(in->profile);
	q.grant_command = host_command(in);
	*ret = q;
	if (q.text && q.key && q.command && q.working_dir && q.project && q.profile && q.grant_command)
		return 0;
	permission_done(ret);
	return base_oom(err);
}

/* ── Changes that were held ── */

/* Counts the rest: the question itself must stay on the screen. */
#define LINES_MAX 30

static void add_lines(struct buf *text, const char *lines)
{
	size_t shown = 0, left = 0;
	for (const char *at = lines; *at;) {
		size_t len = strcspn(at, "\n");
		if (shown < LINES_MAX) {
			buf_add(text, at, len);
			buf_addc(text, '\n');
			shown++;
		} else {
			left++;
		}
		at += len + (at[len] == '\n');
	}
	if (left)
		buf_printf(text, "... and %zu more\n", left);
}

static char *apply_command(const struct permission_apply *in)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "airlock apply");
	add_word(&b, in->session ? in->session : in->run);
	for (const char *const *p = in->paths; p && *p; p++)
		add_word(&b, *p);
	return buf_take(&b);
}

int permission_about_apply(const struct permission_apply *in, struct permission_question *ret,
			   struct airlock_error *err)
{
	struct permission_question q = {.one_time_only = true};
	struct buf text = BUF_INIT;
	struct buf key = BUF_INIT;
	if (*in->held) {
		add_reason(&q, AIRLOCK_ASK_HELD_CHANGES);
		buf_adds(&text, "An agent wants to apply these changes, which wait for a person:\n");
		add_lines(&text, in->held);
	}
	if (*in->sensitive) {
		add_reason(&q, AIRLOCK_ASK_SENSITIVE_CHANGES);
		buf_adds(&text, "Sensitive, because other programs would run or obey them:\n");
		add_lines(&text, in->sensitive);
	}
	offer(&q);
	buf_adds(&text, *in->held ? "Apply them?" : "Apply them too?");
	for (const char *const *p = in->paths; p && *p; p++)
		strs_add(&q.paths, *p);
	buf_printf(&key, "apply %s %s", in->run, in->nonce);
	q.text = buf_take(&text);
	q.key = buf_take(&key);
	q.command = apply_command(in);
	q.grant_command = q.command ? strdup(q.command) : NULL;
	q.project = in->project ? strdup(in->project) : NULL;
	q.session = in->session ? strdup(in->session) : NULL;
	*ret = q;
	if (q.text && q.key && q.grant_command && !q.paths.failed && (q.project || !in->project) &&
	    (q.session || !in->session))
		return 0;
	permission_done(ret);
	return base_oom(err);
}

void permission_done(struct permission_question *q)
{
	char **all[] = {&q->text,    &q->command, &q->working_dir,   &q->project,
			&q->profile, &q->key,	  &q->grant_command, &q->session};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
	strs_done(&q->paths);
	*q = (struct permission_question){0};
}

struct airlock_question permission_show(const struct permission_question *q)
{
	static const char *const none[] = {NULL};
	return (struct airlock_question){
		.text = q->text,
		.command = q->command,
		.working_dir = q->working_dir ? q->working_dir : "",
		.project = q->project ? q->project : "",
		.session = q->session,
		.reasons = q->reasons,
		.n_reasons = q->n_reasons,
		.paths = q->paths.n ? (const char *const *)q->paths.v : none,
		.one_time_only = q->one_time_only,
		.is_optional = q->is_optional,
		.choices = q->choices,
		.n_choices = q->n_choices,
		.key = q->key,
		.grant_hint = "--yes",
		.grant_command = q->grant_command,
	};
}

/* ── Answers ── */

bool permission_is_choice(const struct permission_question *q, enum airlock_answer answer)
{
	for (size_t i = 0; i < q->n_choices; i++)
		if (q->choices[i] == answer)
			return true;
	return false;
}

bool permission_allows(enum airlock_answer answer)
{
	return answer == AIRLOCK_ALLOW_ONCE || answer == AIRLOCK_ALLOW_SESSION || answer == AIRLOCK_ALLOW_ALWAYS;
}

const char *permission_scope(enum airlock_answer answer)
{
	if (answer == AIRLOCK_ALLOW_SESSION || answer == AIRLOCK_DENY_SESSION)
		return "session";
	return answer == AIRLOCK_ALLOW_ALWAYS || answer == AIRLOCK_DENY_ALWAYS ? "always" : "once";
}

int permission_denied(const struct permission_question *q, enum permission_refusal why, struct airlock_error *err)
{
	static const struct {
		const char *before, *after;
	} words[] = {
		[PERMISSION_SAID_NO] = {"was denied", ""},
		[PERMISSION_NOBODY_TO_ASK] = {"is needed", " and there is nobody to ask"},
		[PERMISSION_AGENT] =
			{"is needed",
			 ", and only a person can give it. Nothing was done; the person finds this in airlock log"},
		[PERMISSION_IGNORED] =
			{"is needed",
			 ", only a person can give it, and nobody answered in time. Nothing was done; the person finds this in airlock log, and the next such question in airlock questions"},
	};
	struct buf what = BUF_INIT;
	for (size_t i = 0; i < q->n_reasons; i++)
		buf_printf(&what, "%s%s", i ? ", " : "", airlock_question_reason_name(q->reasons[i]));
	base_error(err, AIRLOCK_ERR_DENIED, "ask", buf_str(&what), "permission %s (%s)%s", words[why].before,
		   buf_str(&what), words[why].after);
	buf_done(&what);
	if (why == PERMISSION_NOBODY_TO_ASK)
		return base_hint(err, "run it in a terminal, or grant it on the command line with --yes");
	return AIRLOCK_ERR_DENIED;
}
