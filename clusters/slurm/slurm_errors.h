/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Slurm's refusals mean.  REST answers and commands have the same sentences: one table.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* The kind of a refusal in Slurm's words.  Unknown words are ERROR_TRANSIENT: Slurm refused, so
   nothing happened. */
enum error_kind slurm_error_kind(const char *words);

/* An answer with a member `errors` that is not empty is a refusal, whatever its status.  0: it is
   none.  -1: err has it. */
int slurm_check_answer(int status, const json_t *body, struct error *err)
    __attribute__((warn_unused_result));

/* The same for a command that ended with a status other than 0; errors: its standard error. */
int slurm_check_command(int status, const char *errors, struct error *err)
    __attribute__((warn_unused_result));
