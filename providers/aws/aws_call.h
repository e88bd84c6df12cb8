/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One signed exchange with a service of AWS.  A call waits for keys and is sent once.  It is sent a
 * second time only after a refusal that means that nothing happened: the keys had expired, or the
 * clock was wrong.
 */
#pragma once

#include "base/input/xml.h"
#include "base/world/world.h"
#include "providers/aws/aws_actions.h"
#include "providers/aws/aws_login.h"

#include <jansson.h>

enum aws_service { AWS_AUTOSCALING, AWS_EC2, AWS_EKS, AWS_STS, AWS_IAM, AWS_SERVICES };

/* Who asks, and where; all borrowed. */
struct aws_caller {
    struct world *world;
    struct aws_login *login;
    const char *region;
    const char *endpoints[AWS_SERVICES]; /* NULL: the cloud's own */
};

/* What is asked; copied. */
struct aws_message {
    enum aws_action action;
    const char *form; /* "&Name=escaped value" for each parameter; NULL: none, or not a form */
    const char *path; /* of EKS, below the endpoint; NULL elsewhere */
};

/* Valid during `done` only. */
struct aws_reply {
    const struct xml_element *xml; /* the answer's element; NULL: EKS answered */
    const json_t *json;            /* of EKS; otherwise NULL */
};

/* Exactly one of reply and err is not NULL. */
typedef void (*aws_call_fn)(void *context, const struct aws_reply *reply, const struct error *err);

struct aws_call;

/* `done` is called once, in a later turn; the handle is valid until it returns. */
struct aws_call *aws_call_send(const struct aws_caller *caller, const struct aws_message *message,
                               aws_call_fn done, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* Ends it without calling `done`.  NULL is legal. */
void aws_call_cancel(struct aws_call *call);
