/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lists behind the built-in profiles. Each ends with NULL and is static. Only for the files of this folder. */
#pragma once

/* Hidden in strict and moderate: absolute paths with secrets of the machine. */
extern const char *const policy_system_secrets[];
/* Hidden in every profile: password hashes. */
extern const char *const policy_password_files[];
/* Directories that contain other people's homes. */
extern const char *const policy_home_parents[];

/* Patterns on the names of variables. */
extern const char *const policy_env_strict_allow[];
extern const char *const policy_env_moderate_deny[];
