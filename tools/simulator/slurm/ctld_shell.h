/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A command line on the login node, taken apart, and what its command says.
 */
#pragma once

#include "tools/simulator/slurm/ctld.h"

struct ctld_shell {
    struct ctld *slurm;
    struct ctld_output *output;
    ARRAY(char *) words;
    bool as_seconds; /* CTLD_TIME_FORMAT=%s */
    bool as_json, as_lines;
    bool is_timed; /* `timeout` ends it within seconds */
};

/* The value of KEY=VALUE among the words from `at` on, without case; NULL: there is none. */
const char *ctld_word_value(const struct ctld_shell *shell, size_t at, const char *key);

/* Says it on standard error, and makes the exit status 1. */
void ctld_say_error(struct ctld_shell *shell, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "now+10minutes", "uts1795660000", "2026-11-25T22:00:00": false: none. */
bool ctld_read_time(const struct ctld *slurm, const char *text, int64_t *ret_ms);

void ctld_scontrol(struct ctld_shell *shell);
void ctld_scontrol_show(struct ctld_shell *shell, size_t at); /* at: after "show" */
void ctld_sbatch(struct ctld_shell *shell);
