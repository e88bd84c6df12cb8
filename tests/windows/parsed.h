/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A demand file as characters of a test.
 */
#pragma once

#include "base/memory.h"
#include "base/time_zone.h"
#include "tests/support/unit.h"
#include "windows/demand/demand.h"

#include <string.h>

/* As "in/busy.csv"; zone_name: of times without an offset, NULL: UTC; begin: of times that count
   from there, NULL: none. */
static inline struct demand *parse_begun(const char *chars, const char *zone_name,
                                         bool missing_zero, const char *begin, struct error *err)
{
    owned(time_zone) struct time_zone *zone = zone_name ? time_zone_open(zone_name, NULL) : NULL;
    struct demand_options options = { missing_zero, NULL, zone, begin };
    owned(chars) char *copy = mem_copy_chars(chars);

    return demand_parse(copy, strlen(copy), "in/busy.csv", &options, err);
}

static inline struct demand *parse(const char *chars, const char *zone_name, bool missing_zero,
                                   struct error *err)
{
    return parse_begun(chars, zone_name, missing_zero, NULL, err);
}
