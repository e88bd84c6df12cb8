/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A whole examination (doctor.h) on the real world, for commands.
 */
#pragma once

#include "broker/doctor/doctor.h"

#include <jansson.h>

/* Adds a row for each finding to the array: {part, name, verdict ("right", "doubtful", "wrong"),
   subject, text, remedy}.  Returns how many are wrong; -1: nothing could be asked, see err. */
int examine(const struct config *config, int64_t timeout_ms, json_t *rows, struct error *err)
    __attribute__((warn_unused_result));

/* One such row. */
json_t *examination_row(const struct doctor_row *row)
    __attribute__((returns_nonnull, warn_unused_result));
