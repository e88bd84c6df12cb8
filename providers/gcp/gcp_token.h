/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens of Google, for any credentials of gcp_credentials.h.  One fetch at a time, of one
 * or more exchanges; callers that ask meanwhile wait for it, up to a limit.
 */
#pragma once

#include "base/error.h"
#include "base/world/world.h"
#include "providers/gcp/gcp_credentials.h"

#include <stdbool.h>

struct gcp_token;

/* Embedded in whatever waits. */
struct gcp_waiter {
    struct gcp_waiter *next;
    /* token is borrowed and valid during the call; err says why there is none.  Must not free the
       struct gcp_token. */
    void (*ready)(struct gcp_waiter *waiter, const char *token, const struct error *err);
};

/* Reads the file of credentials; nothing is sent yet. */
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

/* The project that pays for requests, for the header x-goog-user-project; NULL: none is named. */
const char *gcp_token_quota_project(const struct gcp_token *token);
