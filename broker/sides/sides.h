/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of cluster that sluice moves nodes between, one row for each of cluster_kinds
 * (clusters/cluster.h).  sides.c holds the table and nothing else, so that a test program can link
 * a table of its own.
 */
#pragma once

#include "broker/transfer/side.h"

extern const struct side *const sides_known[]; /* NULL at the end */
