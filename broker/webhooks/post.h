/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One request to a receiver, and what its answer means.
 */
#pragma once

#include "base/world/world.h"
#include "broker/config/config.h"

#include <jansson.h>

enum post_result {
    POST_ACCEPTED, /* 2xx */
    POST_AGAIN,    /* no answer, or one that asks for patience: 408, 425, 429, 5xx */
    POST_REFUSED,  /* any other answer, redirects too: the same request would be refused again */
    POST_GONE,     /* 410: the receiver wants no more */
};

enum { POST_TEXT_SIZE = 160 };

struct post {
    const struct config_webhook *hook;
    const char *id;
    const json_t *row; /* of the chain */
};

/* Reads the webhook's files, signs and sends.  NULL and an error if the files cannot be used; done
   is as of http_send(). */
struct http_exchange *post_send(const struct world *world, const struct post *post,
                                http_done_fn done, void *context, struct error *err)
    __attribute__((warn_unused_result));

/* answer NULL: none came. */
enum post_result post_result_of(const struct http_answer *answer);

/* What was answered, for people: "204", "404 no_service", or the error.  Of the body only a word in
   small letters is shown, as Slack answers: a receiver may repeat a URL, which may be a secret. */
const char *post_text(const struct http_answer *answer, const struct error *err,
                      char out[POST_TEXT_SIZE]);
