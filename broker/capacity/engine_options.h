/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An engine (windows/servers/engine.h) by options of a command, as `engine:` gives it in a
 * configuration.
 */
#pragma once

#include "base/input/options.h"
#include "windows/servers/engine.h"

/* Lines of a command's table of options. */
#define ENGINE_OPTIONS                                                                             \
    { "slots", 0, "N", "requests that run at once in one replica: an engine's max_num_seqs",       \
      false },                                                                                     \
        { "iteration", 0, "DURATION", "engine: time of one iteration, as 10ms", false },           \
        { "iteration-per-request", 0, "DURATION", "time that each running request adds: 250us",    \
          false },                                                                                 \
        { "prefill-per-token", 0, "DURATION", "time of each token of a prompt: 20us", false },     \
        { "tokens-in", 0, "N", "mean length of a prompt", false },                                 \
        { "tokens-out", 0, "N", "mean length of an answer", false },                               \
        { "kv-tokens", 0, "N", "tokens that the cache holds (default: no limit)", false },         \
    {                                                                                              \
        "router", 0, "NAME",                                                                       \
            "how replicas get requests: least-outstanding (default), random, round-robin, "        \
            "central",                                                                             \
            false                                                                                  \
    }

/* Scalars only: the table of lengths is empty.  NULL, and no error, if no option of an engine is
   given.  With slots alone it is the short form, whose time is service_s (0: not given).  An error
   is one of usage; the caller frees with mem_free(). may_lack_lengths: without --tokens-in and
   --tokens-out the lengths come from elsewhere; mean_out is then 0, and the cache limits nothing
   yet. */
struct engine *engine_options_read(const struct command_call *call, double service_s,
                                   bool may_lack_lengths, struct error *err)
    __attribute__((warn_unused_result));
