/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The exchanges by which credentials become an access token: what to send, and what the answer
 * says.  Pure but for the file of another issuer's token, which is read for each request because
 * such tokens are renewed.
 */
#pragma once

#include "base/timestamp.h"
#include "base/world/http.h"
#include "providers/gcp/gcp_credentials.h"

enum { GCP_EXCHANGE_HEADERS = GCP_SUBJECT_HEADERS + 2 };

/* Most credentials take the second step only. */
enum gcp_step {
    GCP_STEP_SUBJECT,     /* of an external account with a URL: the other issuer's token */
    GCP_STEP_TOKEN,       /* the token service, or the metadata server */
    GCP_STEP_IMPERSONATE, /* of an external account that acts as a service account */
};

struct gcp_talk {
    enum gcp_step step;
    char *carried;          /* the token that the step before brought; NULL: none */
    struct wall_time asked; /* when the last exchange was written */
};

struct gcp_exchange {
    enum http_method method;
    const char *url;   /* borrowed from the credentials */
    struct text *body; /* NULL: none */
    struct {
        const char *name; /* borrowed likewise */
        char *value;
    } headers[GCP_EXCHANGE_HEADERS];
    size_t header_count;
};

struct gcp_grant {
    char *access;
    int64_t life_ms; /* from when it was asked for */
};

void gcp_talk_begin(const struct gcp_credentials *credentials, struct gcp_talk *ret_talk);
void gcp_talk_clear(struct gcp_talk *talk);

/* For errors: "the subject token", "the token", "generateAccessToken". */
const char *gcp_talk_name(const struct gcp_talk *talk);

int gcp_exchange_write(const struct gcp_credentials *credentials, struct wall_time now,
                       struct gcp_talk *talk, struct gcp_exchange *ret_exchange, struct error *err)
    __attribute__((warn_unused_result));
void gcp_exchange_clear(struct gcp_exchange *exchange);

/* 1: the grant is there; 0: the talk goes on.  Errors by reaction: ERROR_DENIED for what only a
   person mends. */
int gcp_exchange_read(const struct gcp_credentials *credentials, const struct http_answer *answer,
                      struct gcp_talk *talk, struct gcp_grant *ret_grant, struct error *err)
    __attribute__((warn_unused_result));

static inline void owned_gcp_exchange(struct gcp_exchange *exchange)
{
    gcp_exchange_clear(exchange);
}
