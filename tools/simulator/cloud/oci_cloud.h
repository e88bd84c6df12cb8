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

/* oci_api.c */
void sim_oci_refuse_unknown(struct sim_call *call); /* answers 404 */
/* What the cloud says of an attempt that failed. */
const char *sim_oci_why(enum trouble trouble, const char **ret_code);

/* oci_work.c: a change of a pool as a work request; accept() sets its ID, in answer's own header.
 */
void sim_oci_accept(struct sim_call *call, const struct pool *pool);
void sim_oci_get_work(struct sim_call *call, const char *id);
void sim_oci_list_work_errors(struct sim_call *call, const char *id);
