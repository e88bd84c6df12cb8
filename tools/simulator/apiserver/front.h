/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The halves of the front: reading and removing (front.c), creating and changing (changes.c), and
 * subresources (parts.c).
 */
#pragma once

#include "tools/simulator/apiserver/resources.h"

void api_create(struct api_request *request);
void api_change(struct api_request *request);
void api_serve_part(struct api_request *request);

void api_answer_no_method(struct sim_call *call);

/* By the query, or by the DeleteOptions (may be NULL); false: answered. */
bool api_read_dry_run(struct api_request *request, const json_t *options);
