/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Looking into the table of kinds of provider.
 */
#include "base/text.h"
#include "providers/kinds.h"

const struct provider_kind *provider_kind_find(const char *name)
{
    for (size_t i = 0; i < provider_kind_count; i++)
        if (text_equal(provider_kinds[i]->account.name, name))
            return provider_kinds[i];
    return NULL;
}

const struct settings_kind *provider_account_kind(size_t at)
{
    return at < provider_kind_count ? &provider_kinds[at]->account : NULL;
}

const struct settings_kind *provider_pool_kind(size_t at)
{
    return at < provider_kind_count ? &provider_kinds[at]->pool : NULL;
}
