/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The protobuf form in which kubectl sends some bodies (application/vnd.kubernetes.protobuf):
 * access reviews, namespaces, evictions and the options of a delete.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* The same object as JSON; the caller owns it.  ERROR_INVALID: damaged, or of another
   kind. */
json_t *protobuf_decode(const char *bytes, size_t size, struct error *err)
    __attribute__((warn_unused_result));
