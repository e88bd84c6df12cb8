/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens of Google: from a service account's key (a signed assertion is exchanged) or from
 * the metadata server.  One fetch at a time; callers that ask meanwhile wait for it, up to a limit.
 */
#pragma once

#include "base/error.h"
#include "base/world/world.h"

#include <stdbool.h>

struct gcp_token;

/* The identity to get a token for.  Texts are borrowed while gcp_token_new() runs. */
struct gcp_identity {
    const char *credentials; /* path of a service account's key; NULL: the metadata server */
    const char *metadata;    /* overrides the metadata server's URL; NULL: its own */
};

/* Embedded in whatever waits. */
struct gcp_waiter {
    struct gcp_waiter *next;
    /* token is borrowed and valid during the call; err says why there is none.  Must not free the
       struct gcp_token. */
    void (*ready)(struct gcp_waiter *waiter, const char *token, const struct error *err);
};

/* Reads the key file; nothing is sent yet. */
struct gcp_token *gcp_token_new(struct world *world, const struct gcp_identity *whose,
                                struct error *err) __attribute__((warn_unused_result));
void gcp_token_free(struct gcp_token *token);

/* ready is called once, in a later turn.  ERROR_TRANSIENT when too many wait. */
int gcp_token_ask(struct gcp_token *token, struct gcp_waiter *waiter, struct error *err)
    __attribute__((warn_unused_result));

/* The waiter does not wait any more (legal when it does not). */
void gcp_token_forget(struct gcp_token *token, struct gcp_waiter *waiter);

/* The cloud refused this token: the next caller gets a new one. */
void gcp_token_reject(struct gcp_token *token, const char *refused);
