/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists of node names as Slurm writes them ("n[1-3,7],m4"), and times.
 */
#include "tools/simulator/slurm/ctld.h"

#include <ctype.h>
#include <stdlib.h>

bool ctld_names_have(const char *list, const char *name)
{
    owned(map) struct map *names = map_new(NULL);

    return ctld_names_split(list, names) >= 0 && map_get(names, name);
}

/* "1-3,7" after a start: adds a name for each number. */
static bool add_range(const char *start, size_t start_length, const char *range, struct map *names)
{
    while (*range != ']') {
        char *end;
        const char *first = range;
        long low = strtol(range, &end, 10);
        int width = (int)(end - first);
        long high = low;

        if (end == range)
            return false;
        if (*end == '-')
            high = strtol(end + 1, &end, 10);
        for (long i = low; i <= high && i < low + 4096; i++) {
            owned(chars) char *name = text_format("%.*s%0*ld", (int)start_length, start,
                                                  first[0] == '0' ? width : 1, i);

            map_set(names, name, names);
        }
        range = *end == ',' ? end + 1 : end;
        if (*range == '\0')
            return false;
    }
    return true;
}

int ctld_names_split(const char *list, struct map *ret_names)
{
    while (*list) {
        size_t length = strcspn(list, ",[");

        if (length == 0)
            return -1;
        if (list[length] == '[') {
            const char *close = strchr(list, ']');

            if (!close || !add_range(list, length, list + length + 1, ret_names))
                return -1;
            list = close + 1;
        } else {
            owned(chars) char *name = text_format("%.*s", (int)length, list);

            map_set(ret_names, name, ret_names);
            list += length;
        }
        if (*list == ',')
            list++;
        else if (*list != '\0')
            return -1;
    }
    return 0;
}

/* ---- printing: names of one start and numbers in a row become one item ---- */

struct part {
    char start[SIM_NAME_SIZE];
    char digits[24];
    long long number; /* -1: none */
};

static struct part part_of(const char *name)
{
    struct part part = { .number = -1 };
    size_t length = strlen(name);
    size_t at = length;

    while (at > 0 && isdigit((unsigned char)name[at - 1]) && length - at < 9)
        at--;
    text_print(part.start, sizeof part.start, "%.*s", (int)at, name);
    text_copy(part.digits, sizeof part.digits, name + at);
    if (at < length)
        part.number = strtoll(name + at, NULL, 10);
    return part;
}

static int by_part(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    int order = strcmp(a->start, b->start);

    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static size_t print_group(struct text *out, const struct part *parts, size_t count)
{
    size_t end = 1;

    while (end < count && parts[0].number >= 0 && parts[end].number >= 0 &&
           text_equal(parts[end].start, parts[0].start) &&
           strlen(parts[end].digits) == strlen(parts[0].digits))
        end++;
    if (end == 1) {
        text_add(out, "%s%s", parts[0].start, parts[0].digits);
        return 1;
    }
    text_add(out, "%s[", parts[0].start);
    for (size_t i = 0; i < end;) {
        size_t last = i;

        while (last + 1 < end && parts[last + 1].number == parts[last].number + 1)
            last++;
        text_add(out, "%s%s", i ? "," : "", parts[i].digits);
        if (last > i)
            text_add(out, "-%s", parts[last].digits);
        i = last + 1;
    }
    text_add(out, "]");
    return end;
}

void ctld_names_print(struct text *out, const struct map *names)
{
    ARRAY(struct part) parts = { 0 };
    const char *name;

    for (size_t i = 0; map_next(names, &i, &name, NULL);)
        *array_add(&parts) = part_of(name);
    if (parts.count)
        qsort(parts.items, parts.count, sizeof *parts.items, by_part);
    for (size_t i = 0; i < parts.count;) {
        text_add(out, "%s", i ? "," : "");
        i += print_group(out, parts.items + i, parts.count - i);
    }
    array_clear(&parts);
}

char *ctld_names_of_job(const struct ctld_job *job)
{
    owned(map) struct map *names = map_new(NULL);
    struct text *out = text_new(4096);

    for (int i = 0; i < job->node_count; i++)
        if (job->node_names[i][0] != '\0')
            map_set(names, job->node_names[i], names);
    ctld_names_print(out, names);
    return text_take(out);
}

int64_t ctld_leading(const char *text)
{
    return strtoll(text, NULL, 10);
}

int64_t ctld_seconds(const struct ctld *slurm, int64_t loop_ms)
{
    return loop_ms == 0 ? 0 : (loop_ms + slurm->sim->wall_offset_ms) / SECOND_MS;
}

char *ctld_time_text(const struct ctld *slurm, int64_t loop_ms)
{
    struct wall_time wall = { ctld_seconds(slurm, loop_ms) * SECOND_MS };
    char text[WALL_TEXT_SIZE];

    if (loop_ms == 0)
        return mem_copy_chars("Unknown");
    wall_format(wall, text);
    text[strlen("2026-11-25T22:55:24")] = '\0';
    return mem_copy_chars(text);
}
