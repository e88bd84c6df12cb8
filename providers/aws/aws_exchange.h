/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The exchanges by which a link of a chain becomes keys: what to send, and what the answer says.
 * Pure but for token files, which are read for each request.
 */
#pragma once

#include "base/world/http.h"
#include "providers/aws/aws_clock.h"
#include "providers/aws/aws_credentials.h"

enum { AWS_EXCHANGE_HEADERS = 6 };

struct aws_exchange {
    enum http_method method;
    char *url;
    struct text *body; /* NULL: none */
    struct {
        const char *name;
        char *value;
    } headers[AWS_EXCHANGE_HEADERS];
    size_t header_count;
};

/* A metadata server takes three requests: for a session, for the name of the role, for its keys. */
enum aws_metadata_step { AWS_METADATA_SESSION, AWS_METADATA_NAME, AWS_METADATA_KEYS };

struct aws_metadata_talk {
    enum aws_metadata_step step;
    char *session;
    char *role;
};

/* The result of a chain so far: keys, and when they end (0: never). */
struct aws_lease {
    struct aws_keys keys;
    struct wall_time ends;
};

/* A form to the token service at link->url, signed with `keys` where the link is a role that others
   take on. */
int aws_exchange_sts(const struct aws_link *link, const struct aws_keys *keys,
                     const struct aws_scope *scope, struct aws_exchange *ret_exchange,
                     struct error *err) __attribute__((warn_unused_result));
int aws_exchange_container(const struct aws_link *link, struct aws_exchange *ret_exchange,
                           struct error *err) __attribute__((warn_unused_result));
void aws_exchange_metadata(const struct aws_link *link, const struct aws_metadata_talk *talk,
                           struct aws_exchange *ret_exchange);
void aws_exchange_clear(struct aws_exchange *exchange);

/* Errors by reaction: ERROR_DENIED for what only a person mends. */
int aws_answer_sts(const struct http_answer *answer, struct aws_lease *ret_lease, struct error *err)
    __attribute__((warn_unused_result));
int aws_answer_container(const struct http_answer *answer, struct aws_lease *ret_lease,
                         struct error *err) __attribute__((warn_unused_result));

/* 1: the lease is there; 0: the talk goes on. */
int aws_answer_metadata(const struct http_answer *answer, struct aws_metadata_talk *talk,
                        struct aws_lease *ret_lease, struct error *err)
    __attribute__((warn_unused_result));
void aws_metadata_clear(struct aws_metadata_talk *talk);
void aws_lease_clear(struct aws_lease *lease);

static inline void owned_aws_exchange(struct aws_exchange *exchange)
{
    aws_exchange_clear(exchange);
}

static inline void owned_aws_lease(struct aws_lease *lease)
{
    aws_lease_clear(lease);
}
