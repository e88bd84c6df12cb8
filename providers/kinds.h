/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of provider that there are.  A new kind is a file of its own and a row in kinds.c.
 * From the tables of that file follow its settings, and how they are read, checked and documented.
 *
 * kinds.c holds the table and nothing else, so that a test program can link a table of its own.
 */
#pragma once

#include "clusters/kube/kube_login.h"
#include "providers/common/provider.h"

extern const struct provider_kind *const provider_kinds[];
extern const size_t provider_kind_count;

/* The kind of that name; NULL: there is none. */
const struct provider_kind *provider_kind_find(const char *name);

/* The login that the settings of a cluster name. */
struct kube_login *provider_log_in(struct world *world, const struct kube_login_settings *settings)
    __attribute__((returns_nonnull, warn_unused_result));

/* The settings of `providers.NAME` and of `pools.NAME` of the kind with this number; NULL after the
   last. */
const struct settings_kind *provider_account_kind(size_t at);
const struct settings_kind *provider_pool_kind(size_t at);
