/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "identities.h"

#include "api/doctor.h"

#include <stdbool.h>

static struct airlock_doctor *doctor;

static int examine_as(const char *state_dir, const char *flatpak_id)
{
	struct airlock_error err = {0};
	struct doctor_inputs in = {.state_dir = state_dir, .path_env = "/usr/bin:/bin", .flatpak_id = flatpak_id};
	airlock_doctor_free(doctor);
	doctor = NULL;
	return doctor_examine(&in, &doctor, &err);
}

static const struct airlock_check *row(const char *name)
{
	for (size_t i = 0; i < airlock_doctor_count(doctor); i++)
		if (strcmp(airlock_doctor_check(doctor, i)->name, name) == 0)
			return airlock_doctor_check(doctor, i);
	return NULL;
}

static bool is(const char *name, enum airlock_check_status status)
{
	const struct airlock_check *c = row(name);
	return c && c->status == status;
}

/* What holds for every examination: words where they belong, and ok exactly when nothing failed. */
static const char *check_form(void)
{
	bool failed = false;
	EXPECT(airlock_doctor_count(doctor) >= 10);
	EXPECT(airlock_doctor_check(doctor, airlock_doctor_count(doctor)) == NULL);
	for (size_t i = 0; i < airlock_doctor_count(doctor); i++) {
		const struct airlock_check *c = airlock_doctor_check(doctor, i);
		bool ok = c->status == AIRLOCK_CHECK_OK;
		failed |= c->status == AIRLOCK_CHECK_FAILED;
		EXPECT(*c->name && *c->detail);
		EXPECT(ok == (*c->consequence == '\0'));
		EXPECT(!ok || *c->fix == '\0');
		EXPECT(c->status != AIRLOCK_CHECK_FAILED || *c->fix);
	}
	EXPECT(airlock_doctor_ok(doctor) == !failed);
	const char *json = airlock_doctor_json(doctor);
	EXPECT(strncmp(json, "{\n  \"ok\": ", 10) == 0 && strcmp(json + strlen(json) - 2, "}\n") == 0);
	return NULL;
}

static const char *examine_here(const char *dir)
{
	static const char *const names[] = {"user namespaces",	 "overlay", "native",	      "bubblewrap",
					    "Landlock",		 "seccomp", "control groups", "pid namespace",
					    "network namespace", "kernel",  "environment",    "state directory"};
	EXPECT(examine_as(in_dir(dir, "a/state"), NULL) == 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		EXPECT(row(names[i]));
	EXPECT(is("seccomp", AIRLOCK_CHECK_OK));
	EXPECT(row("explained denials"));
	EXPECT(strstr(row("state directory")->detail, in_dir(dir, "a/state")));
	EXPECT(!is("state directory", AIRLOCK_CHECK_FAILED));
	EXPECT(!is("bubblewrap", AIRLOCK_CHECK_DEGRADED));
	return check_form();
}

static void every_row_is_there(void **state)
{
	as_everyone(examine_here);
}

static const char *break_state_dir(const char *dir)
{
	EXPECT(put_file(in_dir(dir, "file"), "", 0600) == 0);
	EXPECT(examine_as(in_dir(dir, "file/state"), NULL) == 0);
	EXPECT(is("state directory", AIRLOCK_CHECK_FAILED) && is("overlay", AIRLOCK_CHECK_DEGRADED) &&
	       !airlock_doctor_ok(doctor));
	EXPECT(strstr(row("state directory")->fix, "XDG_STATE_HOME"));
	EXPECT(check_form() == NULL);
	/* Others may write to it. */
	EXPECT(mkdir(in_dir(dir, "open"), 0700) == 0 && chmod(in_dir(dir, "open"), 0777) == 0);
	EXPECT(examine_as(in_dir(dir, "open"), NULL) == 0);
	EXPECT(is("state directory", AIRLOCK_CHECK_FAILED));
	return check_form();
}

static void a_state_directory_that_cannot_be_used_fails(void **state)
{
	as_everyone(break_state_dir);
}

static const char *in_flatpak(const char *dir)
{
	EXPECT(examine_as(dir, "org.example.App") == 0);
	EXPECT(is("environment", AIRLOCK_CHECK_FAILED) && !airlock_doctor_ok(doctor));
	EXPECT(strstr(row("environment")->consequence, "NOT IN SANDBOX"));
	return check_form();
}

static void a_flatpak_fails(void **state)
{
	as_everyone(in_flatpak);
}

static const char *without_namespaces(const char *dir)
{
	EXPECT(forbid_user_namespaces() == 0);
	EXPECT(examine_as(dir, NULL) == 0);
	EXPECT(is("user namespaces", AIRLOCK_CHECK_FAILED) && is("bubblewrap", AIRLOCK_CHECK_FAILED) &&
	       is("native", AIRLOCK_CHECK_FAILED) && is("pid namespace", AIRLOCK_CHECK_FAILED));
	EXPECT(is("network namespace", AIRLOCK_CHECK_FAILED) && is("Landlock", AIRLOCK_CHECK_OK));
	/* Root mounts layers with the privileges it has. */
	EXPECT(is("overlay", geteuid() == 0 ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_DEGRADED));
	EXPECT(strstr(row("environment")->detail, "a seccomp filter"));
	EXPECT(!airlock_doctor_ok(doctor));
	return check_form();
}

static void a_filter_against_namespaces_fails(void **state)
{
	as_everyone(without_namespaces);
}

/* The verdict of the doctor is the one the next run goes by. */
static const char *refresh_cache(const char *dir)
{
	EXPECT(put_file(in_dir(dir, "bubblewrap.probe"), "old", 0600) == 0);
	EXPECT(examine_as(dir, NULL) == 0);
	struct stat st;
	EXPECT(stat(in_dir(dir, "bubblewrap.probe"), &st) == 0 && st.st_size > 50);
	return NULL;
}

static void the_remembered_verdict_is_made_new(void **state)
{
	as_everyone(refresh_cache);
}

static void the_public_entry_uses_the_given_environment(void **state)
{
	char dir[] = "/tmp/airlock-test-XXXXXX", state_home[64];
	struct airlock_error err = {0};
	assert_non_null(mkdtemp(dir));
	(void)snprintf(state_home, sizeof state_home, "XDG_STATE_HOME=%s", dir);
	char home[] = "HOME=/nonexistent", path[] = "PATH=/usr/bin", flatpak[] = "FLATPAK_ID=x";
	char *env[] = {home, path, state_home, flatpak, NULL};
	struct airlock_settings *s = airlock_settings_new();
	assert_int_equal(airlock_settings_set_environ(s, env, &err), 0);
	assert_int_equal(airlock_doctor_examine(s, &doctor, &err), 0);
	assert_true(is("environment", AIRLOCK_CHECK_FAILED));
	assert_non_null(strstr(row("state directory")->detail, in_dir(dir, "airlock")));
	airlock_doctor_free(doctor);
	doctor = NULL;
	airlock_settings_free(s);
	(void)nftw(dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_there),
		cmocka_unit_test(a_state_directory_that_cannot_be_used_fails),
		cmocka_unit_test(a_flatpak_fails),
		cmocka_unit_test(a_filter_against_namespaces_fails),
		cmocka_unit_test(the_remembered_verdict_is_made_new),
		cmocka_unit_test(the_public_entry_uses_the_given_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
