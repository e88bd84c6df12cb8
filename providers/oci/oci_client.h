/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One signed request to Oracle's cloud and its answer.  The profile is read for each request, so
 * that renewed keys and session tokens are used.
 */
#pragma once

#include "base/world/world.h"
#include "providers/common/provider.h"
#include "providers/oci/oci_profile.h"

#include <jansson.h>

/* Each request that sluice sends to Oracle's cloud. */
enum oci_verb {
    OCI_READ_POOL,
    OCI_DELETE_NODE,
    OCI_UPDATE_POOL,
    OCI_READ_RESERVATION,
    OCI_VERB_COUNT,
};

/* By verb.  Permissions are as policies have them: a verb and a type of resource. */
extern const struct provider_action oci_actions[OCI_VERB_COUNT];

enum { OCI_ETAG_SIZE = 128, OCI_LABEL_SIZE = 256 };

struct oci_client;
struct oci_call;

/* Borrowed; "" for what the answer lacks. */
struct oci_answer {
    const json_t *body; /* NULL: it has none */
    const char *etag;
    const char *work_request;
};

/* answer NULL: an error.  The callee owns the call: it asks again with it, or frees it before it
   calls anyone who may close the client. */
typedef void (*oci_answered_fn)(struct oci_call *call, const struct oci_answer *answer,
                                const struct error *err);

/* Embedded as the first member of what a verb remembers until its answer, made with mem_new(). */
struct oci_call {
    struct oci_client *client;
    struct oci_call *previous;
    struct oci_call *next;
    oci_answered_fn answered;
    void (*clear)(struct oci_call *call); /* of what the rest holds, when the client is closed
                                             before the answer; NULL: nothing */
    enum oci_verb verb;
    int status; /* of HTTP, when answered; 0: there was no answer */
    char label[OCI_LABEL_SIZE];
    struct http_exchange *exchange;
    struct timer *late; /* brings a failure from before anything was sent */
    struct error failure;
};

/* What is asked.  Texts are borrowed. */
struct oci_question {
    enum oci_verb verb;
    const char *path;   /* below the API's base, escaped, with the query */
    const json_t *body; /* NULL: none */
    const char *etag;   /* for if-match; NULL: any */
    const char *label;  /* for errors: "DeleteNode of ocid1..." */
};

/* The account must outlive it. */
struct oci_client *oci_client_new(struct world *world, const struct oci_account *account,
                                  struct error *err) __attribute__((warn_unused_result));
/* Ends all calls without calling answered(). */
void oci_client_free(struct oci_client *client);

/* answered() is called once, in a later turn. */
void oci_client_ask(struct oci_client *client, const struct oci_question *question,
                    struct oci_call *call, oci_answered_fn answered);
