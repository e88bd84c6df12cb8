/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a Machine says of itself, in v1beta2 and in v1beta1.
 */
#pragma once

#include "providers/common/provider.h"

#include <jansson.h>

/* The annotation that makes a Machine the first to go when its pool gets smaller; its value does
   not matter. */
#define CAPI_DELETE_MACHINE "cluster.x-k8s.io/delete-machine"

/* ERROR_CORRUPT: it has no name or UID, or one that does not fit.  A Machine without a provider ID
   has no machine yet. */
int capi_read_machine(const json_t *machine, struct instance *ret, struct error *err)
    __attribute__((warn_unused_result));

/* Whether it was told to go: its deletion cannot be taken back. */
bool capi_is_leaving(const json_t *machine);

/* The value of CAPI_DELETE_MACHINE; NULL: it is not marked. */
const char *capi_mark_of(const json_t *machine);

/* A label or annotation; NULL: there is none.  (Its key has a slash, so that it is no path.) */
const char *capi_label(const json_t *object, const char *key);
const char *capi_annotation(const json_t *object, const char *key);

/* As struct provider_kind has it. */
bool capi_refusal(size_t at, struct provider_refusal *ret);
