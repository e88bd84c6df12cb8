/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside this folder: the verbs, as struct provider_kind has them.
 */
#pragma once

#include "providers/common/provider.h"

void capi_list(struct provider *provider, const struct pool_address *pool, const char *page,
               provider_list_fn done, void *context);
void capi_look(struct provider *provider, const struct pool_address *pool, const char *instance,
               provider_look_fn done, void *context);
void capi_remove(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *order, provider_done_fn done, void *context);
void capi_create(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *order, provider_done_fn done, void *context);
void capi_cancel(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *order, provider_done_fn done, void *context);
void capi_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                  provider_done_fn done, void *context);
