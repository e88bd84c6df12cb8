/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_hosts.h.  A name may have several brackets; the last one changes fastest.
 */
#include "clusters/slurm/slurm_hosts.h"

#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 253, BRACKETS_MOST = 4, DIGITS_MOST = 9 };

static int expand(const char *head, const char *rest, int depth, struct slurm_hosts *out);

/* Digits at *at, at most nine; *ret_width: how many. */
static bool read_number(const char **at, long *ret, int *ret_width)
{
    size_t width = strspn(*at, "0123456789");

    if (width == 0 || width > DIGITS_MOST)
        return false;
    *ret = strtol(*at, NULL, 10);
    *ret_width = (int)width;
    *at += width;
    return true;
}

/* The numbers of one bracket, each followed by `tail`. */
static int expand_bracket(const char *head, const char *inside, const char *tail, int depth,
                          struct slurm_hosts *out)
{
    while (*inside != ']') {
        long first, last;
        int width, end_width;

        if (!read_number(&inside, &first, &width))
            return -1;
        last = first;
        if (*inside == '-') {
            inside++;
            if (!read_number(&inside, &last, &end_width))
                return -1;
        }
        if (last < first || last - first >= SLURM_HOSTS_MOST)
            return -1;
        for (long number = first; number <= last; number++) {
            owned(chars) char *name = text_format("%s%0*ld", head, width, number);

            if (expand(name, tail, depth + 1, out) < 0)
                return -1;
        }
        if (*inside == ',')
            inside++;
        else if (*inside != ']')
            return -1;
    }
    return 0;
}

/* rest: what follows `head` of one item of the list. */
static int expand(const char *head, const char *rest, int depth, struct slurm_hosts *out)
{
    const char *open = strchr(rest, '[');
    const char *close = open ? strchr(open, ']') : NULL;

    if (!open) {
        char *name = text_format("%s%s", head, rest);

        if (name[0] == '\0' || strlen(name) > NAME_MOST || strpbrk(name, "] \t\n") ||
            out->names.count >= SLURM_HOSTS_MOST) {
            mem_free(name);
            return -1;
        }
        *array_add(&out->names) = name;
        return 0;
    }
    if (!close || depth >= BRACKETS_MOST)
        return -1;
    owned(chars) char *start = text_format("%s%.*s", head, (int)(open - rest), rest);

    return expand_bracket(start, open + 1, close + 1, depth, out);
}

/* Where the item ends: at a comma outside brackets, or at the end. */
static const char *end_of_item(const char *at)
{
    bool is_inside = false;

    for (; *at && (*at != ',' || is_inside); at++)
        is_inside = *at == '[' || (is_inside && *at != ']');
    return at;
}

int slurm_hosts_read(const char *list, struct slurm_hosts *ret, struct error *err)
{
    size_t before = ret->names.count;

    for (const char *at = list; *at;) {
        const char *end = end_of_item(at);
        owned(chars) char *item = text_format("%.*s", (int)(end - at), at);

        if (expand("", item, 0, ret) < 0 || (*end == ',' && end[1] == '\0')) {
            while (ret->names.count > before)
                mem_free(ret->names.items[--ret->names.count]);
            return error_set(err, ERROR_CORRUPT, "\"%.80s\" is no list of nodes", list);
        }
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

void slurm_hosts_clear(struct slurm_hosts *hosts)
{
    for (size_t i = 0; i < hosts->names.count; i++)
        mem_free(hosts->names.items[i]);
    array_clear(&hosts->names);
}
