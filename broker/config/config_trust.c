/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who may change the files that decide what is run, whom we speak to and what is known.
 */
#include "base/text.h"
#include "base/trust.h"
#include "broker/config/config_tables.h"

struct teller {
    config_warn_fn warn;
    void *context;
};

/* A kubeconfig, plugin or key that others may change is refused by the code that reads it. */
static void look(const struct teller *teller, const char *path, bool also_others)
{
    struct error why = { 0 };
    enum trust trust = path ? trust_look(path, &why) : TRUST_OURS;

    if (trust == TRUST_GROUP || (trust == TRUST_OTHERS && also_others))
        teller->warn(teller->context, path, why.text);
}

static void look_at_own(const struct teller *teller, const struct config_own *own)
{
    size_t at = 0;
    char **path;

    while ((path = config_next_path(own, &at)))
        look(teller, *path, false);
}

int config_check_files(const struct config *config, config_warn_fn warn, void *context,
                       struct error *err)
{
    const struct teller teller = { warn, context };
    struct error why = { 0 };

    if (trust_look(config->path, &why) == TRUST_OTHERS) {
        if (err)
            *err = why;
        return error_context(err, "the configuration says which programs are run and where "
                                  "credentials are sent");
    }
    if (!warn)
        return 0;
    look(&teller, config->path, false);
    for (size_t i = 0; i < config->cluster_count; i++)
        look_at_own(&teller, &config->clusters[i].own);
    for (size_t i = 0; i < config->provider_count; i++)
        look_at_own(&teller, &config->providers[i].own);
    look(&teller, config->listen.certificate, false);
    look(&teller, config->listen.key, false);
    look(&teller, config->listen.client_ca, false);
    look(&teller, config->listen.client_crl, false);
    look(&teller, config->tokens.keys, false);
    for (size_t i = 0; i < config->webhook_count; i++) {
        look(&teller, config->webhooks[i].url_file, false);
        look(&teller, config->webhooks[i].secret_file, false);
    }
    if (!text_equal(config->journal, ":memory:"))
        look(&teller, config->journal, true);
    return 0;
}
