/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Valid keys for AWS: the chain of aws_credentials.h is walked when the present keys end soon, once
 * for all callers that wait.  Keys without an end are read again each time.
 */
#pragma once

#include "base/world/world.h"
#include "providers/aws/aws_clock.h"
#include "providers/aws/aws_credentials.h"

struct aws_login;

/* Embedded in whatever waits. */
struct aws_waiter {
    struct aws_waiter *next;
    /* keys are borrowed and valid during the call; err says why there are none.  Must not free the
       struct aws_login. */
    void (*ready)(struct aws_waiter *waiter, const struct aws_keys *keys, const struct error *err);
};

/* Everything that the account points to must outlive it.  Nothing is read or sent yet. */
struct aws_login *aws_login_new(struct world *world, const struct aws_account *account)
    __attribute__((returns_nonnull, warn_unused_result));
void aws_login_free(struct aws_login *login);

/* ready is called once, in a later turn. */
void aws_login_ask(struct aws_login *login, struct aws_waiter *waiter);

/* The waiter does not wait any more (legal when it does not). */
void aws_login_forget(struct aws_login *login, struct aws_waiter *waiter);

/* The cloud refused the keys with that ID: the next caller gets new ones.  False when there are no
   others: they never end. */
bool aws_login_reject(struct aws_login *login, const char *id);

/* How long the present keys are good for yet; INT64_MAX: they do not end. */
int64_t aws_login_left_ms(const struct aws_login *login);

/* The clock for all requests that are signed with these keys. */
struct aws_clock *aws_login_clock(struct aws_login *login);
