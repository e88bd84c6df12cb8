/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One transfer, as people read it: a labelled line for each thing that is known of it.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

/* The transfer of the service's answer: its step, what it waits for, its times, its machines, and
   below them each of its blockers. */
void transfer_page(const json_t *transfer, struct text *out);
