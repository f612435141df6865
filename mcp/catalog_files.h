/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of the table in catalog.c: the tools that look at and change files without a command. */
