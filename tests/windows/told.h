/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A demand file in one line: what was understood of it, or why it was refused.
 */
#pragma once

#include "base/text.h"
#include "tests/windows/parsed.h"
#include "windows/servers/engine_lengths.h"

#include <string.h>

/* " [4000/10 7/900x5 and 2]": of five requests each like the second, and two without an answer. */
static inline void tell_tokens(const struct token_pairs *tokens, struct text *out)
{
    for (size_t i = 0; i < tokens->list.count; i++) {
        const struct token_pair *pair = &tokens->list.items[i];

        text_add(out, "%s%g/%g", i > 0 ? " " : " [", (double)pair->in, (double)pair->out);
        if (pair->count != 1)
            text_add(out, "x%g", (double)pair->count);
    }
    text_add(out, "%s", tokens->list.count > 0 ? "" : " [");
    if (tokens->unanswered > 0)
        text_add(out, " and %zu", tokens->unanswered);
    text_add(out, "]");
}

/* "chat 5m: 2026-11-17T12:00:00Z 5 6 -; ...", queue by queue; with classes "5+2". */
static inline struct text *told(const struct demand *demand)
{
    struct text *out = text_new(1 << 16);

    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_series *series = &demand->series[i];
        char step[DURATION_TEXT_SIZE];
        char start[WALL_TEXT_SIZE];

        text_add(out, "%s%s %s %s:", i > 0 ? "; " : "", series->queue,
                 duration_format(series->step_ms, step), wall_format(series->start, start));
        for (size_t at = 0; at < series->count; at++)
            if (!demand_is_known(series, at))
                text_add(out, " -");
            else if (series->is_single)
                text_add(out, " %d", demand_at(series, DEMAND_LOW, at));
            else
                text_add(out, " %d+%d", demand_at(series, DEMAND_HIGH, at),
                         demand_at(series, DEMAND_LOW, at));
        if (series->tokens)
            tell_tokens(series->tokens, out);
    }
    return out;
}

/* What is understood is `want`; of a ":" at its begin, that stands in the refusal. */
static inline void check_told(const char *name, const char *zone, const char *begin,
                              const char *file, const char *want)
{
    struct error err = { 0 };
    owned(demand) struct demand *demand = parse_begun(file, zone, false, begin, &err);
    owned(text) struct text *found = demand ? told(demand) : text_new(ERROR_TEXT_SIZE);

    if (!demand)
        text_add(found, "%s", err.text);
    if (demand ? !text_equal(found->chars, want)
               : want[0] != ':' || !strstr(found->chars, want) || err.kind != ERROR_INVALID ||
                     strncmp(err.text, "in/busy.csv:", 12) != 0)
        fail_msg("%s: found \"%s\", wanted \"%s\"", name, found->chars, want);
}
