/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which cases of a sweep are played: SLUICE_SWEEP is "all", or "I/N" for the I-th of N parts of all
 * (from 0).  Else a sample is.
 */
#pragma once

#include "base/text.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

struct sweep_part {
    size_t first;
    size_t every;
    size_t at; /* of the case that is asked for next */
};

/* sample: without SLUICE_SWEEP one case in so many. */
static inline struct sweep_part sweep_part(size_t sample)
{
    const char *wish = getenv("SLUICE_SWEEP");
    unsigned first = 0, every = 1;

    if (!wish)
        every = (unsigned)sample;
    else if (!text_equal(wish, "all") && (sscanf(wish, "%u/%u", &first, &every) != 2 || !every))
        fail_msg("SLUICE_SWEEP: \"%s\" is neither \"all\" nor a part such as \"0/2\"", wish);
    return (struct sweep_part){ .first = first, .every = every };
}

/* Whether the next case is played. */
static inline bool sweep_plays(struct sweep_part *part)
{
    return part->at++ % part->every == part->first;
}
