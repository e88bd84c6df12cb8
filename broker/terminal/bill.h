/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a move costs research, as people read it.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

/* The service's bill as lines; nothing when no research node goes. */
void bill_print(const json_t *bill, struct text *out);
