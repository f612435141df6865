/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans over made-up file systems, compared with tests/golden/plan-*.txt. */
#include "plan_world.h"

#include "base/json.h"

/* The way to the name servers is a chain of links, two of them where /run is hidden. */
static const struct made_up chain[] = {
	{"/etc/resolv.conf", PLAN_LINK, "/var/run/resolvconf/resolv.conf"},
	SYSTEM,
	{"/run/resolvconf", PLAN_DIRECTORY},
	{"/run/resolvconf/resolv.conf", PLAN_LINK, "../systemd/resolve/stub-resolv.conf"},
	{"/run/resolvconf/interface", PLAN_DIRECTORY},
	{"/run/systemd", PLAN_DIRECTORY},
	{"/run/systemd/private", PLAN_SOCKET},
	{"/run/systemd/resolve", PLAN_DIRECTORY},
	{"/run/systemd/resolve/stub-resolv.conf", PLAN_FILE},
	{"/run/systemd/resolve/io.systemd.Resolve", PLAN_SOCKET},
	{"/home/u", PLAN_DIRECTORY},
	{"/home/u/p", PLAN_DIRECTORY},
	{0},
};

/* One mount a line. */
static void print_plan(const struct plan *plan, struct buf *out)
{
	struct buf whole = BUF_INIT;
	struct json j = json_begin(&whole, false);
	json_open_object(&j, NULL);
	plan_print_json(plan, &j);
	json_close(&j);
	for (const char *at = buf_str(&whole), *end; *at; at = end) {
		end = strpbrk(at, "}]");
		end = end ? end + strspn(end, "}],") : at + strlen(at);
		buf_add(out, at, (size_t)(end - at));
		buf_addc(out, '\n');
	}
	buf_done(&whole);
}

static void golden(const char *name, const struct setting *s)
{
	struct plan *plan = build(s);
	struct buf out = BUF_INIT;
	char file[64];
	(void)snprintf(file, sizeof file, "plan-%s", name);
	print_plan(plan, &out);
	compare_with_golden(file, buf_str(&out));
	buf_done(&out);
	plan_free(plan);
}

/* ── Golden plans ── */

static void strict_is_as_written(void **state)
{
	golden("strict", &(struct setting){"strict", ordinary, "/home/u", "/home/u/p"});
}

static void moderate_is_as_written(void **state)
{
	golden("moderate", &(struct setting){"moderate", ordinary, "/home/u", "/home/u/p"});
}

static void permissive_is_as_written(void **state)
{
	golden("permissive", &(struct setting){"permissive", ordinary, "/home/u", "/home/u/p"});
}

static void the_network_brings_the_resolver_and_nothing_else_of_run(void **state)
{
	golden("network", &(struct setting){"permissive", ordinary, "/home/u", "/home/u/p", .network = true});
	golden("network-chain", &(struct setting){"permissive", chain, "/home/u", "/home/u/p", .network = true});
}

static void a_workspace_is_the_root(void **state)
{
	static const struct made_up fs[] = {SYSTEM,
					    {"/etc/hosts", PLAN_FILE},
					    {"/srv", PLAN_DIRECTORY},
					    {"/srv/ws", PLAN_DIRECTORY},
					    {"/srv/ws/.venv", PLAN_DIRECTORY},
					    {"/srv/ws/etc", PLAN_DIRECTORY},
					    {"/srv/ws/etc/hosts", PLAN_FILE},
					    {"/srv/ws/etc/own", PLAN_FILE},
					    {"/srv/skills", PLAN_DIRECTORY},
					    {0}};
	static const struct plan_bind binds[] = {{"/srv/skills", "/mnt/skills"}};
	static const struct plan_workspace ws = {"/srv/ws", binds, 1, "/state/passwd", "/state/group"};
	golden("workspace", &(struct setting){"moderate", fs, "/home/u", "/", .workspace = &ws});
	golden("workspace-held", &(struct setting){"strict", fs, "/home/u", "/", .workspace = &ws, .capture = true});
}

static void a_shared_pid_namespace_has_the_hosts_proc(void **state)
{
	golden("share-pid", &(struct setting){"permissive", ordinary, "/home/u", "/home/u/p", .share_pid = true});
}

static void a_home_that_does_not_exist_rebuilds_the_root(void **state)
{
	golden("no-home", &(struct setting){"permissive", ordinary, "/nonexistent", "/home/u/p"});
}

static void a_project_in_tmp_is_seen_in_a_private_tmp(void **state)
{
	static const struct made_up fs[] = {SYSTEM,
					    {"/tmp/h", PLAN_DIRECTORY},
					    {"/tmp/h/playground", PLAN_DIRECTORY},
					    {"/tmp/p", PLAN_DIRECTORY},
					    {"/tmp/lib", PLAN_DIRECTORY},
					    {0}};
	golden("tmp", &(struct setting){"permissive", fs, "/tmp/h", "/tmp/p", "/tmp/lib"});
}

static void home_as_project_keeps_secrets_hidden(void **state)
{
	golden("home-as-project", &(struct setting){"moderate", ordinary, "/home/u", "/home/u"});
}

/* ── Single properties ── */

static const struct plan_mount *mount_at(const struct plan *p, const char *target)
{
	const struct plan_mount *found = NULL;
	for (size_t i = 0; i < p->n_mounts; i++)
		if (p->mounts[i].kind != PLAN_SEAL && strcmp(p->mounts[i].target, target) == 0)
			found = &p->mounts[i];
	return found;
}

static void the_same_inputs_give_the_same_plan(void **state)
{
	struct setting s = {"moderate", ordinary, "/home/u", "/home/u/p"};
	struct plan *a = build(&s), *b = build(&s);
	struct buf x = BUF_INIT, y = BUF_INIT;
	print_plan(a, &x);
	print_plan(b, &y);
	assert_string_equal(buf_str(&x), buf_str(&y));
	buf_done(&x);
	buf_done(&y);
	plan_free(a);
	plan_free(b);
}

static void no_mount_point_is_missing_where_it_cannot_be_made(void **state)
{
	static const char *const profiles[] = {"strict", "moderate", "permissive"};
	for (size_t k = 0; k < AL_ARRAY_LEN(profiles); k++) {
		struct plan *p = build(&(struct setting){profiles[k], ordinary, "/home/u", "/home/u/p"});
		for (size_t i = 0; i < p->n_mounts; i++) {
			const struct plan_mount *m = &p->mounts[i], *cover = NULL;
			for (size_t j = 0; j < i; j++)
				if (strcmp(p->mounts[j].target, m->target) != 0 &&
				    path_is_beneath(m->target, p->mounts[j].target))
					cover = &p->mounts[j];
			if (m->kind == PLAN_SEAL || !cover || (cover->kind != PLAN_READ && cover->kind != PLAN_WRITE))
				continue;
			/* The host has it, so nothing needs to be created there. */
			assert_int_not_equal(type_in(m->target, (void *)ordinary), PLAN_MISSING);
		}
		plan_free(p);
	}
}

static void secrets_of_a_rebuilt_home_are_left_out(void **state)
{
	struct plan *p = build(&(struct setting){"moderate", ordinary, "/home/u", "/home/u/p"});
	assert_int_equal(mount_at(p, "/home/u")->kind, PLAN_REBUILD);
	assert_null(mount_at(p, "/home/u/.ssh"));
	assert_null(mount_at(p, "/home/u/agent.sock"));
	assert_int_equal(mount_at(p, "/home/u/.bashrc")->kind, PLAN_READ);
	assert_int_equal(mount_at(p, "/home")->kind, PLAN_EMPTY_DIR);
	plan_free(p);
}

/* A mount over it would go with the file once somebody on the host saves a new one. */
static void a_hidden_file_below_home_is_left_out_of_its_directory(void **state)
{
	static const struct made_up fs[] = {
		SYSTEM,
		{"/home/u", PLAN_DIRECTORY},
		{"/home/u/.local", PLAN_DIRECTORY},
		{"/home/u/.local/state", PLAN_DIRECTORY},
		{"/home/u/.local/state/airlock", PLAN_DIRECTORY},
		{"/home/u/notes", PLAN_DIRECTORY},
		{"/home/u/notes/diary", PLAN_FILE},
		{"/home/u/notes/keys", PLAN_DIRECTORY},
		{"/home/u/notes/todo", PLAN_FILE},
		{"/home/u/p", PLAN_DIRECTORY},
		{"/home/u/p/.env", PLAN_FILE},
		{0},
	};
	static const struct policy_path hide[] = {
		{(char *)"/home/u/notes/diary", POLICY_HIDE, {AIRLOCK_ORIGIN_CALLER, "--hide", 0}},
		{(char *)"/home/u/notes/keys", POLICY_HIDE, {AIRLOCK_ORIGIN_CALLER, "--hide", 0}},
		{(char *)"/home/u/p/.env", POLICY_HIDE, {AIRLOCK_ORIGIN_CALLER, "--hide", 0}}};
	struct plan *p =
		build(&(struct setting){"permissive", fs, "/home/u", "/home/u/p", .rules = hide, .n_rules = 3});
	assert_int_equal(mount_at(p, "/home/u/notes")->kind, PLAN_REBUILD);
	assert_null(mount_at(p, "/home/u/notes/diary"));
	assert_null(mount_at(p, "/home/u/notes/keys"));
	assert_int_equal(mount_at(p, "/home/u/notes/todo")->kind, PLAN_READ);
	/* Where the command writes, its directory must be the real one. */
	assert_int_equal(mount_at(p, "/home/u/p/.env")->kind, PLAN_EMPTY_FILE);
	assert_true(mount_at(p, "/home/u/p/.env")->uncoverable);
	/* Nobody replaces it. */
	assert_null(mount_at(p, "/home/u/.local/state"));
	assert_int_equal(mount_at(p, "/home/u/.local/state/airlock")->kind, PLAN_EMPTY_DIR);
	assert_false(mount_at(p, "/home/u/.local/state/airlock")->uncoverable);
	plan_free(p);
	/* Only root could do it, and only root could read it. */
	p = build(&(struct setting){"moderate", fs, "/home/u", "/home/u/p"});
	assert_int_equal(mount_at(p, "/etc/shadow")->kind, PLAN_EMPTY_FILE);
	for (size_t i = 0; i < p->n_mounts; i++)
		assert_false(p->mounts[i].uncoverable);
	plan_free(p);
}

static void the_later_rule_for_a_path_wins(void **state)
{
	static const struct policy_path show[] = {
		{(char *)"/home/u/.ssh", POLICY_READ, {AIRLOCK_ORIGIN_CALLER, "--ro", 0}}};
	struct plan *p =
		build(&(struct setting){"moderate", ordinary, "/home/u", "/home/u/p", .rules = show, .n_rules = 1});
	assert_int_equal(mount_at(p, "/home/u/.ssh")->kind, PLAN_READ);
	plan_free(p);
}

static void a_hidden_path_in_the_project_that_does_not_exist_is_not_created(void **state)
{
	static const struct policy_path hide[] = {
		{(char *)"/home/u/p/.env", POLICY_HIDE, {AIRLOCK_ORIGIN_CALLER, "--hide", 0}}};
	struct plan *p =
		build(&(struct setting){"moderate", ordinary, "/home/u", "/home/u/p", .rules = hide, .n_rules = 1});
	assert_null(mount_at(p, "/home/u/p/.env"));
	plan_free(p);
}

static void a_link_to_a_hidden_directory_hides_what_it_leads_to(void **state)
{
	static const struct policy_path hide[] = {
		{(char *)"/home/u/dotfiles", POLICY_HIDE, {AIRLOCK_ORIGIN_CALLER, "--hide", 0}}};
	struct plan *p =
		build(&(struct setting){"permissive", ordinary, "/home/u", "/home/u/p", .rules = hide, .n_rules = 1});
	assert_null(mount_at(p, "/home/u/.config"));
	char *host = NULL;
	assert_int_equal(plan_locate(p, "/home/u/.config", &host), PLAN_AT_NOTHING);
	plan_free(p);
}

static void paths_inside_are_located(void **state)
{
	struct plan *p = build(&(struct setting){"strict", ordinary, "/home/u", "/home/u/p"});
	static const struct {
		const char *path;
		enum plan_location at;
		const char *host;
	} rows[] = {
		{"/home/u/p/x", PLAN_AT_HOST, "/home/u/p/x"},
		{"/home/u/playground/y", PLAN_AT_HOST, "/data/playground/y"},
		{"/home/u", PLAN_AT_SANDBOX, NULL},
		{"/home/u/.ssh", PLAN_AT_NOTHING, NULL},
		{"/home", PLAN_AT_SANDBOX, NULL},
		{"/root", PLAN_AT_NOTHING, NULL},
		{"/bin/sh", PLAN_AT_HOST, "/usr/bin/sh"},
		{"/usr", PLAN_AT_HOST, "/usr"},
		{"/", PLAN_AT_SANDBOX, NULL},
		{"/etc", PLAN_AT_SANDBOX, NULL},
		{"/etc/shadow", PLAN_AT_NOTHING, NULL},
		{"/tmp", PLAN_AT_SANDBOX, NULL},
		{"/tmp/x", PLAN_AT_NOTHING, NULL},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		char *host = NULL;
		assert_int_equal(plan_locate(p, rows[i].path, &host), rows[i].at);
		if (rows[i].host)
			assert_string_equal(host, rows[i].host);
		free(host);
	}
	plan_free(p);
}

static void the_environment_is_filtered_and_told(void **state)
{
	struct plan *p = build(&(struct setting){"moderate", ordinary, "/home/u", "/home/u/p"});
	assert_true(strs_has(&p->env_removed, "GITHUB_TOKEN"));
	assert_true(strs_has(&p->env_removed, "TMPDIR"));
	assert_true(strs_has(&p->env_kept, "LANG"));
	assert_true(strs_has(&p->envp, "PWD=/home/u/p"));
	assert_true(strs_has(&p->envp, "HOME=/home/u"));
	plan_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_is_as_written),
		cmocka_unit_test(moderate_is_as_written),
		cmocka_unit_test(permissive_is_as_written),
		cmocka_unit_test(the_network_brings_the_resolver_and_nothing_else_of_run),
		cmocka_unit_test(a_workspace_is_the_root),
		cmocka_unit_test(a_shared_pid_namespace_has_the_hosts_proc),
		cmocka_unit_test(a_home_that_does_not_exist_rebuilds_the_root),
		cmocka_unit_test(a_project_in_tmp_is_seen_in_a_private_tmp),
		cmocka_unit_test(home_as_project_keeps_secrets_hidden),
		cmocka_unit_test(the_same_inputs_give_the_same_plan),
		cmocka_unit_test(no_mount_point_is_missing_where_it_cannot_be_made),
		cmocka_unit_test(secrets_of_a_rebuilt_home_are_left_out),
		cmocka_unit_test(a_hidden_file_below_home_is_left_out_of_its_directory),
		cmocka_unit_test(the_later_rule_for_a_path_wins),
		cmocka_unit_test(a_hidden_path_in_the_project_that_does_not_exist_is_not_created),
		cmocka_unit_test(a_link_to_a_hidden_directory_hides_what_it_leads_to),
		cmocka_unit_test(paths_inside_are_located),
		cmocka_unit_test(the_environment_is_filtered_and_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
