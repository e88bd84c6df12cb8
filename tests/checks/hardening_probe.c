/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Built as sluice is, by check_hardening only: each function shows one of the flags in its code.
 */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv);
char *probe_copy(const char *chars, size_t size);
int probe_large(void);
extern void (*probe_use)(char *chars);

void (*probe_use)(char *chars);

/* The size is known when it runs: bounded at level 3 of _FORTIFY_SOURCE only. */
char *probe_copy(const char *chars, size_t size)
{
    char *copy = malloc(size);

    return copy ? memcpy(copy, chars, size + 1) : NULL;
}

/* Larger than a guard page, and never set. */
int probe_large(void)
{
    char large[1 << 16];

    probe_use(large);
    return large[1];
}

int main(int argc, char **argv)
{
    return argc > 1 ? *probe_copy(argv[1], (size_t)argc) : probe_large();
}
