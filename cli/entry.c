/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the program begins when it is linked statically: before libc, whose own beginning takes as long as the kernel needs for
 * some of the namespaces. `airlock run` begins its sandbox here, then everything goes on as in any other program. Compiled
 * without a stack protector and without libc: neither is there yet, and no address in the program's data is right. */
#include <stdbool.h>
#include <stddef.h>

#include <airlock/airlock.h>

void airlock_entry_look(const long *stack);

/* What follows the word, or NULL. */
static const char *after(const char *text, const char *word)
{
	while (*word && *text == *word) {
		text++;
		word++;
	}
	return *word ? NULL : text;
}

static bool is_word(const char *text, const char *word)
{
	const char *rest = text ? after(text, word) : NULL;
	return rest && !*rest;
}

/* Of an option's word and the one behind it. */
static bool is_other_backend(const char *word, const char *next)
{
	const char *value = after(word, "--backend");
	if (!value || (*value && *value != '='))
		return false;
	const char *name = *value ? value + 1 : next;
	return !is_word(name, "native") && !is_word(name, "auto");
}

/* Of what run_loop() says about its options as much as can be seen here; it has the last word. */
static bool is_plain_run(const char *const *argv)
{
	if (!argv[0] || !is_word(argv[1], "run"))
		return false;
	for (const char *const *a = argv + 2; *a && !is_word(*a, "--"); a++)
		if (is_other_backend(a[0], a[1]) || after(*a, "--network") || is_word(*a, "--help") ||
		    is_word(*a, "-h"))
			return false;
	return true;
}

/* The kernel puts the number of arguments there, and the arguments behind it. */
__attribute__((used)) void airlock_entry_look(const long *stack)
{
	if (is_plain_run((const char *const *)(stack + 1)))
		airlock_warm_begin_early();
}

/* Everything that _start expects stays as it is. */
#if defined(__x86_64__)
__asm__(".globl airlock_entry\n"
	".type airlock_entry, @function\n"
	"airlock_entry:\n\t"
	"endbr64\n\t"
	"mov %rsp, %rdi\n\t"
	"push %rdx\n\t"
	"sub $8, %rsp\n\t"
	"call airlock_entry_look\n\t"
	"add $8, %rsp\n\t"
	"pop %rdx\n\t"
	"jmp _start\n");
#elif defined(__aarch64__)
__asm__(".globl airlock_entry\n"
	".type airlock_entry, %function\n"
	"airlock_entry:\n\t"
	"mov x19, x0\n\t"
	"mov x0, sp\n\t"
	"bl airlock_entry_look\n\t"
	"mov x0, x19\n\t"
	"b _start\n");
#endif
