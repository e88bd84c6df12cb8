/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text of a first sluice.yaml.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

struct init_facts {
    const char *time_zone;
    const json_t *clusters; /* as for init_survey() */
    const json_t *accounts; /* of init_accounts() */
    const json_t *groups;   /* of init_survey(), with what init_ask_clouds() sets */
};

/* Adds the text.  A value that only a person knows is a word that begins with REPLACE, on a line
   that says what is needed. */
void init_write(const struct init_facts *facts, struct text *out);
