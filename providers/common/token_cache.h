/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keeps one access token: asks for it once however many calls want it, replaces it five minutes
 * before its end, and uses the old one while no new one can be had.  The kind of credential says
 * how a token is asked for, and what the answer means (struct token_source).
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "base/world/world.h"

#include <stdint.h>

/* The request for a token.  Cleared by the cache, which wipes url and form: both may hold
   secrets. */
struct token_request {
    char *url;
    struct text *form;         /* sent by POST; NULL: a GET */
    struct http_header header; /* one header more, constant texts; name NULL: none */
};

/* `access` belongs to whoever holds the lease. */
struct token_lease {
    char *access;
    int64_t life_s; /* from when it was asked for */
};

struct token_source {
    /* Files and environment are read again each time.  -1: nothing can be asked for. */
    int (*ask)(const void *context, struct token_request *ret_request, struct error *err);
    int (*read)(const void *context, const struct http_answer *answer,
                struct token_lease *ret_lease, struct error *err);
    const void *context; /* must outlive the cache */
};

struct token_cache;

/* Embedded in whatever waits. */
struct token_waiter {
    struct token_waiter *next;
    /* token is borrowed and valid during the call; err says why there is none: never
       ERROR_NOT_FOUND or ERROR_CONFLICT, which would speak of what the token is for.  Must not free
       the cache. */
    void (*ready)(struct token_waiter *waiter, const char *token, const struct error *err);
};

struct token_cache *token_cache_new(struct world *world, const struct token_source *source)
    __attribute__((returns_nonnull, warn_unused_result));
void token_cache_free(struct token_cache *cache);

/* ready is called once, in a later turn.  ERROR_TRANSIENT when too many wait. */
int token_cache_ask(struct token_cache *cache, struct token_waiter *waiter, struct error *err)
    __attribute__((warn_unused_result));

/* The waiter does not wait any more (legal when it does not). */
void token_cache_forget(struct token_cache *cache, struct token_waiter *waiter);

/* The cloud refused this token: the next caller gets a new one. */
void token_cache_reject(struct token_cache *cache, const char *refused);

/* Reads an OAuth answer: access_token, and expires_in as a number or as digits.  Otherwise the
   error that a status means: 429 ERROR_THROTTLED; 408 and 5xx ERROR_TRANSIENT; others
   ERROR_DENIED. */
int token_read_oauth(const struct http_answer *answer, struct token_lease *ret_lease,
                     struct error *err) __attribute__((warn_unused_result));
