/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text of a first sluice.yaml.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

/* Adds the text.  clusters, groups: of init_survey().  A value that only a person knows is a word
   that begins with REPLACE, on a line that says what is needed. */
void init_write(const char *time_zone, const json_t *clusters, const json_t *groups,
                struct text *out);
