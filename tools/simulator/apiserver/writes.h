/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the writers of resources share.
 */
#pragma once

#include "tools/simulator/apiserver/answers.h"
#include "tools/simulator/apiserver/owners.h"

/* A request in the form that sluice's server takes. */
struct api_passed {
    enum http_method method;
    const char *target;
    const char *type;   /* Content-Type; NULL: application/json */
    const json_t *body; /* NULL: none */
};
void api_pass(struct sim_call *call, const struct api_passed *passed);

/* "/api/v1/nodes/a", in the version by which objects are made; the caller frees it. */
char *api_path_of(const struct api_request *request, bool is_collection);

/* The object as it is now. */
void api_answer_present(const struct api_request *request, int status);

/* A Status of success that names the object. */
void api_answer_deleted(const struct api_request *request, const json_t *object);
