/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fake of Oracle's cloud share.
 */
#pragma once

#include "tools/simulator/model/cloud.h"

void sim_oci_error(struct sim_answer *answer, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* oci_login.c; false: answered 401 */
bool sim_oci_is_signed(struct sim_call *call);
