/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lists that make the built-in profiles. Each ends with NULL and lives for ever. Only for the files of this folder. */
#pragma once

/* Hidden in strict and moderate, where they would show: absolute paths with secrets of the machine. */
extern const char *const policy_system_secrets[];
/* Hidden in every profile: password hashes. */
extern const char *const policy_password_files[];
/* Where the homes of other people are. */
extern const char *const policy_home_parents[];

/* Patterns on names of the environment. */
extern const char *const policy_env_strict_allow[];
extern const char *const policy_env_moderate_deny[];
