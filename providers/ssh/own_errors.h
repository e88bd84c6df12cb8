/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an answer of machine.sh means: one table.
 */
#pragma once

#include "providers/ssh/own_report.h"

/* 0: the answer is "ok".  Otherwise -1 and the row's kind, with the machine's sentence. */
int own_errors_read(const struct own_report *report, struct error *err)
    __attribute__((warn_unused_result));

bool own_refusal(size_t at, struct provider_refusal *ret);
