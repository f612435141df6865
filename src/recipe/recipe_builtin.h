/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recipes of builtin/, put into C by tools/embed-texts. */
#pragma once

extern const char *const recipe_builtin_list[];	 /* names, sorted; ends with NULL */
extern const char *const recipe_builtin_texts[]; /* the TOML of each */
