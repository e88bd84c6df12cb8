/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of cluster that sluice moves nodes between.
 */
#pragma once

#include "broker/transfer/side.h"

extern const struct side *const sides_known[]; /* NULL at the end */
