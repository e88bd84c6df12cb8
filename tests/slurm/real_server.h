/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A real Slurm that tests/slurm/server started, as a person uses it: by its commands.
 */
#pragma once

#include "base/input/json.h"

struct real_server {
    const char *folder; /* of tests/slurm/server */
    const char *log;    /* what tests/slurm/server says is written there */
};

/* What a line prints there; it may fail.  The caller frees it. */
char *real_server_run(const struct real_server *server, const char *line)
    __attribute__((returns_nonnull, warn_unused_result));

/* tests/slurm/server VERB FOLDER REST; fails the test if it fails. */
void real_server_do(const struct real_server *server, const char *verb, const char *rest);

/* The list of that name in the JSON that a line prints; anything else fails the test. */
json_t *real_server_list(const struct real_server *server, const char *line, const char *name)
    __attribute__((returns_nonnull, warn_unused_result));

/* How many nodes serve, as people see it. */
int real_server_serving(const struct real_server *server);
