/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers to other clients: refusals with details as Kubernetes 1.36 gives them, lists, Tables,
 * and watches.
 */
#pragma once

#include "tools/simulator/apiserver/resources.h"
#include "tools/simulator/apiserver/selector.h"

void api_answer_text(struct sim_call *call, int status, const char *chars);

/* The body, in JSON or in protobuf; NULL: answered.  The caller owns it. */
json_t *api_body(struct sim_call *call);

/* A Status that names the resource and object of the request. */
void api_refuse(const struct api_request *request, int code, const char *reason, const char *format,
                ...) __attribute__((format(printf, 4, 5)));
/* 422: `Deployment.apps "web" is invalid: FIELD: SENTENCE`. */
void api_invalid(const struct api_request *request, const char *field, const char *reason,
                 const char *sentence);
void api_not_found(const struct api_request *request);

/* The object, or its Table or metadata, as the client accepts it. */
void api_answer_object(const struct api_request *request, int status, const json_t *object);

/* discovery.c; false: another path. */
bool api_discover(struct sim_call *call, char **parts, size_t count);

/* access.c; false: another path. */
bool api_review_access(struct sim_call *call, char **parts, size_t count);

/* Which objects a list or watch is about.  Clear with api_filter_clear(). */
struct api_filter {
    const struct api_resource *resource;
    char *namespace; /* "": all */
    char *name;      /* "": all */
    struct selector *labels, *fields;
};

/* By the query; false: answered. */
bool api_filter_read(const struct api_request *request, struct api_filter *ret);
void api_filter_clear(struct api_filter *filter);

bool api_filter_takes(const struct api_filter *filter, const json_t *object);

/* The objects that it takes, sorted by "NAMESPACE/NAME"; the caller owns the array. */
json_t *api_filter_collect(struct sim_call *call, const struct api_filter *filter);
void api_object_key(const json_t *object, char out[3 * SIM_NAME_SIZE]);

/* The object of that name; NULL: there is none.  The caller owns it. */
json_t *api_find(struct sim_call *call, const struct api_resource *resource, const char *namespace,
                 const char *name);

/* table.c: what the client's Accept asks for */
enum api_form { API_FORM_PLAIN, API_FORM_TABLE, API_FORM_METADATA, API_FORM_NONE };
enum api_form api_form_of(const struct sim_call *call);
json_t *api_table(const struct sim_call *call, const struct api_resource *resource,
                  const json_t *items);
json_t *api_metadata_of(const json_t *object);

/* follow.c */
void api_follow(const struct api_request *request, struct api_filter *filter); /* takes it */
/* Remembers what a list showed, so that a watch from its version misses nothing. */
void api_remember(struct sim_call *call, const struct api_filter *filter, const json_t *items);
