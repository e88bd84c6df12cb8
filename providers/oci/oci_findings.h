/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What answers of Oracle's cloud say about whether a pool can be resized safely.  Pure.
 */
#pragma once

#include "providers/oci/oci_pool.h"

#include <jansson.h>

/* Who is told. */
struct oci_findings {
    const struct oci_pool *pool;
    finding_fn found;
    void *context;
};

/* The answers to GetNodePool and GetComputeCapacityReservation. */
void oci_findings_pool(const struct oci_findings *findings, const json_t *body);
void oci_findings_reservation(const struct oci_findings *findings, const json_t *body);
