/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <airlock/job.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents.h"
#include "output.h"
#include "run_loop.h"

/* A plan always belongs to a command; without one it is that of `airlock shell`. */
static int choose_program(const struct invocation *inv, struct airlock_error *err)
{
	const char *argv[] = {run_loop_shell(inv), NULL};
	if (inv->args.command_line || inv->args.n_words)
		return 0;
	return airlock_settings_set_argv(inv->settings, argv, err);
}

/* ── The plan for people ── */

static void print_inert(const char *bytes)
{
	char *inert = airlock_text_inert(bytes, strlen(bytes));
	(void)fputs(inert ? inert : "", stdout);
	airlock_free(inert);
}

static void print_origin(const struct airlock_origin *origin)
{
	char *text = airlock_origin_text(origin);
	(void)fputs(text ? text : "", stdout);
	airlock_free(text);
}

static void print_question(const struct airlock_plan *p)
{
	if (!p->question)
		return;
	if (p->remembered_id) {
		bool allowed = p->remembered == AIRLOCK_ALLOW_SESSION || p->remembered == AIRLOCK_ALLOW_ALWAYS;
		printf("would not ask: %s without a sandbox, as you said before (airlock permissions revoke %lld)\n",
		       allowed ? "allowed" : "denied", (long long)p->remembered_id);
		return;
	}
	(void)fputs("would ask first: ", stdout);
	for (const char *at = p->question->text; *at; at++)
		if (*at == '\n')
			(void)fputs("\n  ", stdout);
		else
			(void)putchar(*at);
	(void)putchar('\n');
}

static void print_link(const struct airlock_job_link *l)
{
	(void)fputs("link: ", stdout);
	print_inert(l->path);
	(void)fputs(" leads to ", stdout);
	print_inert(l->target);
	if (l->state == AIRLOCK_LINK_ALLOWED || l->is_granted)
		printf(": writable, because %s\n",
		       l->is_granted ? "it is allowed for this run" : "a person allowed it (airlock project unlink)");
	else if (l->state == AIRLOCK_LINK_REFUSED)
		printf(": never made writable, because %s\n", l->because);
	else if (l->access == AIRLOCK_LINK_WRITABLE)
		printf(": writable, because it lies in another root\n");
	else
		printf(": %s, because %s (airlock project link)\n",
		       l->access == AIRLOCK_LINK_READ_ONLY ? "read-only" : "hidden",
		       l->state == AIRLOCK_LINK_DENIED ? "a person denied it" : "no person has allowed it");
}

static void print_mount(const struct airlock_mount *m)
{
	printf("  %-9s ", airlock_mount_kind_name(m->kind));
	print_inert(m->target);
	if (m->source && (m->kind == AIRLOCK_MOUNT_SYMLINK || strcmp(m->source, m->target) != 0)) {
		(void)fputs(m->kind == AIRLOCK_MOUNT_SYMLINK ? " -> " : " = ", stdout);
		print_inert(m->source);
	}
	if (m->files_only)
		(void)fputs(" (files only)", stdout);
	if (m->kind == AIRLOCK_MOUNT_TMPFS && m->size > 0)
		printf(" (%s)", output_size((uint64_t)m->size).text);
	(void)fputs("    [", stdout);
	print_origin(&m->because);
	(void)fputs("]\n", stdout);
}

static void print_names(const char *title, const char *const *names)
{
	printf("%s:%s", title, *names ? "" : " none");
	for (; *names; names++) {
		(void)putchar(' ');
		print_inert(*names);
	}
	(void)putchar('\n');
}

static void print_environment(const struct airlock_plan *p)
{
	static const char *const because[AIRLOCK_N_REMOVED] = {
		[AIRLOCK_REMOVED_INSIDE] = "  because it means something else inside",
		[AIRLOCK_REMOVED_NAME] = "  because of its name (--env NAME passes it)",
		[AIRLOCK_REMOVED_VALUE] = "  because its value holds a password or key (--env NAME passes it)",
		[AIRLOCK_REMOVED_NOT_LISTED] = "  because the profile passes a short list only (--env NAME passes it)"};
	print_names("environment kept", p->env_kept);
	print_names("environment removed", p->env_removed);
	for (size_t i = 0; i < AIRLOCK_N_REMOVED; i++)
		if (*p->env_removed_for[i])
			print_names(because[i], p->env_removed_for[i]);
}

static void print_limits(const struct airlock_plan *p)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}};
	size_t u = 0;
	while (p->timeout_ms < units[u].ms && u + 1 < sizeof units / sizeof *units)
		u++;
	(void)fputs("limits: timeout ", stdout);
	if (p->timeout_ms < 0)
		(void)fputs("none", stdout);
	else
		printf("%g %s", (double)p->timeout_ms / (double)units[u].ms, units[u].name);
	printf(", memory %s", p->memory < 0 ? "none" : output_size((uint64_t)p->memory).text);
	if (p->pids < 0)
		(void)fputs(", processes none", stdout);
	else
		printf(", processes %lld", (long long)p->pids);
	printf(", file size %s\n", p->file_size < 0 ? "none" : output_size((uint64_t)p->file_size).text);
	if (!p->session)
		return;
	printf("session %s: may write %s", p->session,
	       p->session_disk < 0 ? "without limit" : output_size((uint64_t)p->session_disk).text);
	printf(", /tmp %s\n", p->session_tmp < 0 ? "without limit" : output_size((uint64_t)p->session_tmp).text);
}

/* One option a line, its values beside it. */
static void print_argv(const char *const *argv)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	for (const char *const *word = argv; *word; word++) {
		bool starts_line = strncmp(*word, "--", 2) == 0;
		bool is_plain = **word && (*word)[strspn(*word, plain)] == '\0';
		char *quoted = is_plain ? NULL : agent_quote(*word);
		(void)fputs(word == argv ? "  " : starts_line ? " \\\n    " : " ", stdout);
		print_inert(quoted ? quoted : *word);
		free(quoted);
	}
	(void)putchar('\n');
}

static void print_capture(const struct airlock_plan *p)
{
	if (!p->is_sandboxed)
		printf("NOT IN SANDBOX: nothing below is enforced but the environment and the timeout\n");
	else if (p->is_in_place)
		printf("nothing is mounted: the mounts below are granted or refused where they are\n");
	if (p->capture == AIRLOCK_CAPTURE_COPY && p->is_in_place)
		printf("changes are found by comparing with a copy: the command writes to the project itself\n");
	else if (p->capture == AIRLOCK_CAPTURE_COPY)
		printf("%s\nthe copy is mounted over the project\n", p->capture_because);
}

static void print_network(const struct airlock_plan *p, bool own_loopback)
{
	bool filters = p->network_mode == AIRLOCK_NETWORK_MODE_HOSTS || p->network_mode == AIRLOCK_NETWORK_MODE_OPEN;
	printf("network: %s\n", p->network ? "shared with the host"
				: p->network_mode == AIRLOCK_NETWORK_MODE_OPEN && own_loopback
					? "every public host, through the gate"
				: filters && own_loopback ? "by host, through the gate"
				: own_loopback		  ? "none but an own loopback"
							  : "none");
	for (size_t i = 0; filters && i < p->n_host_rules; i++) {
		printf("  %s %s (", airlock_host_rule_name(p->host_rules[i].kind), p->host_rules[i].host);
		print_origin(&p->host_rules[i].because);
		printf(")\n");
	}
	if (p->network_mode == AIRLOCK_NETWORK_MODE_HOSTS)
		printf("  other hosts: %s\n", p->asks_hosts ? "asked about" : "denied");
}

static void print_plan(const struct airlock_plan *p)
{
	(void)fputs("command: ", stdout);
	print_inert(p->command);
	printf("\nbackend: %s (", p->backend);
	print_origin(&p->backend_origin);
	(void)fputs(")\n", stdout);
	print_question(p);
	for (size_t i = 0; p->is_sandboxed && i < p->n_links; i++)
		print_link(&p->links[i]);
	print_capture(p);
	printf("profile: %s\nworking directory: ", p->profile);
	print_inert(p->working_dir);
	(void)fputs("\nmounts, in order:\n", stdout);
	for (size_t i = 0; i < p->n_mounts; i++)
		print_mount(&p->mounts[i]);
	bool own_loopback = p->namespaces & AIRLOCK_NAMESPACE_NET;
	print_network(p, own_loopback);
	(void)fputs(p->namespaces ? "namespaces:" : "namespaces: none", stdout);
	for (unsigned bit = 1; airlock_namespace_name(bit); bit <<= 1)
		if (p->namespaces & bit)
			printf(" %s", airlock_namespace_name(bit));
	printf("\nnested user namespaces: %s\n", p->nested ? "allowed" : "not allowed");
	printf("unix sockets: %s\n", p->unix_sockets ? "allowed" : "only pairs");
	print_environment(p);
	print_limits(p);
	for (size_t i = 0; i < p->n_notes; i++)
		output_note_line(stdout, "note: ", &p->notes[i]);
	if (p->explains_denials)
		printf("what is refused is explained in the result\n");
	if (p->sandbox_profile)
		printf("sandbox profile, airlock.sb:\n%s", p->sandbox_profile);
	if (*p->argv) {
		printf("command line:\n");
		print_argv(p->argv);
	}
}

int explain_job(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_job *job = NULL;
	int rc = airlock_job_prepare(inv->settings, &job, err);
	const struct airlock_plan *plan = rc >= 0 ? airlock_job_plan(job) : NULL;
	if (rc >= 0 && !plan)
		rc = output_fail(err, AIRLOCK_ERR_INTERNAL, "plan", "out of memory");
	for (size_t i = 0; rc >= 0 && i < airlock_job_warning_count(job); i++)
		output_note(airlock_job_warning(job, i));
	if (rc >= 0 && inv->json)
		(void)fputs(airlock_job_json(job), stdout);
	else if (plan)
		print_plan(plan);
	airlock_job_free(job);
	return rc < 0 ? rc : 0;
}

int cmd_explain(const struct invocation *inv, struct airlock_error *err)
{
	int rc = choose_program(inv, err);
	return rc < 0 ? rc : explain_job(inv, err);
}
