/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See target_words.h.
 */
#include "broker/sizing/target_words.h"

#include "base/text.h"
#include "windows/queueing/search_targets.h"

static const struct target_words words[REPLAY_FIGURES] = {
    [REPLAY_WAIT] = { "a request waits", "requests wait", 2 },
    [REPLAY_TTFT] = { "a first token takes", "first tokens take", 2 },
    [REPLAY_ITL] = { "each later token of a request takes", "later tokens take", 4 },
};

struct target_words target_words(enum replay_figure figure)
{
    return words[figure];
}

struct target_words target_words_named(const char *name)
{
    for (enum replay_figure figure = 0; figure < REPLAY_FIGURES; figure++)
        if (text_equal(search_target_name(figure), name))
            return words[figure];
    return words[REPLAY_WAIT];
}
