/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rows of THE route table, which is in api.c.
 */
#pragma once

#include "base/url.h"
#include "base/world/http_server.h"
#include "broker/access/access.h"
#include "broker/access/rates.h"
#include "broker/service/service.h"

/* The input of a route: the decoded body (an object, maybe empty) and the caller; by: its name. */
struct ask {
    struct service *service;
    const char *target;
    const char *id; /* the segment that stands for ":id"; NULL without one */
    const json_t *body;
    const char *by;
    struct person person;
};

enum route_flag {
    IS_TRIED = 1,     /* a read whose answer is completed by dry runs at the API servers */
    IS_KEPT = 2,      /* it reads the journal: it waits until that is at rest */
    IS_OPEN = 4,      /* also answered on the metrics port, to anyone who reaches it */
    IS_METRICS = 8,   /* the answer is sent as metrics, not as JSON */
    IS_CALENDAR = 16, /* as a calendar */
    IS_STREAM = 32,   /* the answer is a stream of changes; that of the function only allows it */
    IS_PAGE =
        64, /* a file of the web page, for everyone at the socket or the TLS port; no function */
    IS_SENT = 128,   /* what it asks for is sent to a webhook, whose answer is waited for */
    IS_SHARED = 256, /* the answer depends on the target alone, and may be half a second old */
    IS_NAMED = 512,  /* the answer has the person's name; that of an act is recorded in any case */
};

struct route {
    enum http_method method;
    const char *path; /* ":id" stands for one segment */
    /* Returns new JSON, or NULL and an error. */
    json_t *(*answer)(const struct ask *ask, struct error *err);
    enum access_role role; /* the least that may ask; above ACCESS_VIEWER: it changes something */
    int flags;             /* of enum route_flag */
    enum rate rate;        /* how often a person may ask */
};

/* NULL: there is none.  *ret_id is borrowed from the segments. */
const struct route *route_find(enum http_method method, const struct url_segments *segments,
                               const char **ret_id);

/* All of them, one a call; *at is 0 at first.  NULL: there are no more. */
const struct route *route_next(size_t *at);
