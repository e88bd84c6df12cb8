/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How answers of the service go out: their forms, and those that many ask for.  Status, metrics and
 * lists walk all nodes or the journal, and do not depend on the person.  So one that was made less
 * than half a second ago is sent again, and a thousand questions a second cost two answers.  What
 * was kept is forgotten when a person changes something, and when readers of changes are told of a
 * new revision: who has acted, or was told, sees no older state.
 */
#pragma once

#include "base/world/http_server.h"
#include "base/world/loop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct answers;

/* Of all JSON that the service and the commands answer.  Members are added within a version; when
   one goes, or means something else, there is another version. */
#define ANSWERS_API_VERSION "v1"

/* The object with its api_version, as text that the caller frees with mem_free(). */
char *answers_print(const json_t *json) __attribute__((returns_nonnull, warn_unused_result));

enum answer_form { ANSWER_JSON, ANSWER_METRICS, ANSWER_METRICS_OPEN, ANSWER_CALENDAR };

enum { ANSWERS_KEPT_MS = 500, ANSWERS_MOST = 16 };

struct answers *answers_new(struct loop *loop) __attribute__((returns_nonnull, warn_unused_result));
void answers_free(struct answers *answers);

/* Answers the call with the JSON in this form.  Takes the JSON. */
void answers_send(struct http_call *call, enum answer_form form, json_t *json);

/* The same, and keeps the answer for other calls of its target. */
void answers_share(struct answers *answers, struct http_call *call, enum answer_form form,
                   json_t *json);

/* Answers the call with what was kept for its target; false: there is none. */
bool answers_repeat(const struct answers *answers, struct http_call *call, enum answer_form form);

/* A person changed something. */
void answers_forget(struct answers *answers);

/* Readers are about to be told of this revision: forgets what is older. */
void answers_follow(struct answers *answers, uint64_t revision);
