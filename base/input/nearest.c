/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The distance is the number of letters to insert, remove, replace or swap with a neighbour
 * (optimal string alignment).
 */
#include "base/input/nearest.h"

#include <string.h>

enum { NAME_LIMIT = 40 }; /* longer names are not compared: they are not typed by hand */

static size_t least(size_t left, size_t right)
{
    return left < right ? left : right;
}

static size_t distance_between(const char *left, const char *right)
{
    size_t rows[3][NAME_LIMIT + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t width = strlen(right);

    for (size_t j = 0; j <= width; j++)
        row[j] = before[j] = above[j] = j;
    for (size_t i = 1; left[i - 1]; i++) {
        size_t *oldest = before;

        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(least(row[j - 1], above[j]) + 1,
                           above[j - 1] + (left[i - 1] != right[j - 1]));
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[width];
}

struct nearest nearest_to(const char *wanted)
{
    /* a third of the letters may be wrong, and at least one */
    return (struct nearest){ .wanted = wanted, .distance = strlen(wanted) / 3 + 2 };
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    size_t distance;

    if (strlen(nearest->wanted) > NAME_LIMIT || strlen(name) > NAME_LIMIT)
        return;
    distance = distance_between(nearest->wanted, name);
    if (distance >= nearest->distance || distance >= strlen(name))
        return;
    nearest->name = name;
    nearest->distance = distance;
}
