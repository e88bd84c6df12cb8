/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A raw request to an API server, as another client would send it.
 */
#pragma once

#include "base/input/json.h"
#include "base/world/http.h"
#include "clusters/kube/kube_config.h"

#include <stdarg.h>

struct asker {
    struct loop *loop; /* runs while the answer is awaited */
    struct http *http;
    const struct kube_config *access;
    int status;   /* of the last answer */
    json_t *body; /* likewise; the owner of the asker drops it */
};

/* A PATCH says what kind of patch it is. */
enum ask_verb { ASK_GET, ASK_POST, ASK_DELETE, ASK_MERGE_PATCH, ASK_STRATEGIC_PATCH, ASK_VERBS };

/* The HTTP status; no answer at all fails the test.  body is taken, NULL: none. */
int ask_server(struct asker *asker, enum ask_verb verb, json_t *body, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
int ask_server_list(struct asker *asker, enum ask_verb verb, json_t *body, const char *path,
                    va_list arguments) __attribute__((format(printf, 4, 0)));

/* Fails the test unless the last answer had that status. */
void ask_expect(const struct asker *asker, int status);
