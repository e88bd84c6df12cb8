/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One request to a source at a time: a question waits for its turn, is sent with an access token
 * where the source wants one, and is repeated while the source is busy or out of reach, no sooner
 * than it asks for, up to a number of attempts.  Embedded as the first member of whatever asks.
 */
#pragma once

#include "broker/sources/source_parts.h"

struct source_ask;

struct source_ask_verbs {
    int (*write)(struct source_ask *ask, const struct source_access *access,
                 struct source_request *request, struct error *err);
    /* After ERROR_CONFLICT, and after errors that pass with time, the request is written and sent
       again. */
    int (*read)(struct source_ask *ask, const struct http_answer *answer, struct error *err);
    /* NULL: the answer was read.  May begin the next question, or free the asker. */
    void (*done)(struct source_ask *ask, const struct error *err);
    /* The source is closed: clears the ask and frees the asker. */
    void (*free)(struct source_ask *ask);
};

struct source_ask {
    struct source_ask *next; /* of those of the source */
    struct source *source;
    const struct source_ask_verbs *verbs;
    uint64_t turn; /* the lowest is next; 0: asks nothing now */
    bool is_begun; /* its turn has come */
    int attempts;
    bool is_renewed;   /* a refused access token was replaced once */
    bool is_corrected; /* the clock was corrected once */
    struct timer *timer;
    struct http_exchange *exchange;
    struct gcp_waiter google;
    struct aws_waiter aws;
    bool has_word; /* the access has answered: it is there, or the reason why not */
    char *bearer;
    struct aws_keys keys;
    struct error access_error;
};

void source_ask_init(struct source_ask *ask, struct source *source,
                     const struct source_ask_verbs *verbs);

/* Asks, in a later turn of the loop. */
void source_ask_begin(struct source_ask *ask);

/* Ends it without `done`. */
void source_ask_clear(struct source_ask *ask);
