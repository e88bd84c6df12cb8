/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One request to Google and its answer.  A call waits for a token, is sent once, and is sent a
 * second time only after a 401, which means that it was not carried out.
 */
#pragma once

#include "providers/common/provider.h"
#include "providers/gcp/gcp_token.h"

#include <jansson.h>

/* Each request that sluice sends to Google. */
enum gcp_verb {
    GCP_LIST,
    GCP_REMOVE,
    GCP_CREATE,
    GCP_READ_INSTANCE,
    GCP_READ_GROUP,
    GCP_LIST_RESIZES,
    GCP_READ_NODE_POOL,
    GCP_READ_RESERVATION,
    GCP_TEST_PERMISSIONS,
    GCP_VERB_COUNT,
};

/* By verb.  A permission of "" means that none is needed. */
extern const struct provider_action gcp_actions[GCP_VERB_COUNT];

enum { GCP_LABEL_SIZE = 256 };

struct gcp_client;
struct gcp_call;

/* body: what the answer holds, borrowed; with an error NULL, or the refusal as the API wrote it.
   The callee owns the call: it asks again with it, or frees it before it calls anyone who may close
   the client. */
typedef void (*gcp_answered_fn)(struct gcp_call *call, const json_t *body, const struct error *err);

/* Embedded as the first member of what a verb remembers until its answer, made with mem_new(). */
struct gcp_call {
    struct gcp_waiter waiter; /* first */
    struct gcp_client *client;
    struct gcp_call *previous;
    struct gcp_call *next;
    gcp_answered_fn answered;
    void (*clear)(struct gcp_call *call); /* of what the rest holds, when the client is closed
                                             before the answer; NULL: nothing */
    enum gcp_verb verb;
    int status; /* of HTTP, when answered; 0: there was no answer */
    char *url;
    char *body; /* "" for none */
    char label[GCP_LABEL_SIZE];
    char *used_token;
    bool has_asked_again;
    struct http_exchange *exchange;
    struct timer *late; /* brings a failure from before anything was sent */
    struct error failure;
};

/* What is asked.  Texts are borrowed. */
struct gcp_question {
    enum gcp_verb verb;
    const char *path;   /* below the API's base, escaped, with the query */
    const json_t *body; /* NULL: none */
    const char *label;  /* for errors: "deleteInstances of g in z" */
};

/* endpoint: overrides the public URLs of all APIs; NULL: the cloud's own. */
struct gcp_client *gcp_client_new(struct world *world, const struct gcp_identity *whose,
                                  const char *endpoint, struct error *err)
    __attribute__((warn_unused_result));
/* Ends all calls without calling answered(). */
void gcp_client_free(struct gcp_client *client);

/* answered() is called once, in a later turn. */
void gcp_client_ask(struct gcp_client *client, const struct gcp_question *question,
                    struct gcp_call *call, gcp_answered_fn answered);
