/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What receivers should know of the present: moves that take research nodes, reclaims in force, and
 * conditions from severity warning on.
 */
#pragma once

#include "broker/transfer/runner.h"

#include <jansson.h>

/* health: of health_describe(); reclaims: their records, portion by portion.  Returns
     {moves: {ID: {pool, cluster, to, reason, departure, due, is_emergency, leaving: [node], left:
                   [node], staying: [node]}},
      reclaims: {ID: {cluster, from, nodes, reason, by, until}},
      conditions: {KEY: {id, severity, what, cluster, since, text, advice}}}.
   A node is in a move once its departure was announced; `departure` is the latest of those that
   leave.  Times as texts. */
json_t *picture_take(const struct runner *runner, const json_t *health, const json_t *reclaims)
    __attribute__((returns_nonnull, warn_unused_result));
