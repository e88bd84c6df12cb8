/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The least that an account needs at a cloud, in the cloud's own form: made from the kind's table
 * of requests (struct provider_action), of which each request that it sends is a row.
 */
#pragma once

#include "base/text.h"
#include "providers/common/provider.h"

/* The file's name under tools/policies: "aws.json"; NULL: this kind has no form. */
const char *policy_file(const struct provider_kind *kind);

/* Only where policy_file() is not NULL. */
void policy_print(const struct provider_kind *kind, struct text *out);
