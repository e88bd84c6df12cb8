/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What must hold in `access`.  Whether a unix group exists is only known on the machine of the
 * service, which looks when it starts.
 */
#include "base/text_items.h"
#include "base/world/http_server.h"
#include "broker/config/config_tables.h"

#include <string.h>

static int check_claims(const struct config *config, size_t at, struct error *err)
{
    const char *rest = config->access[at].claims;
    const char *item;
    size_t length;

    while (text_items_next(&rest, &item, &length)) {
        const char *equals = memchr(item, '=', length);

        if (!equals || equals == item || equals == item + length - 1)
            return yaml_error(err, config_place(config, "access", at, "claims"),
                              "expected CLAIM=VALUE with commas between them, found \"%.*s\"",
                              (int)length, item);
    }
    return 0;
}

/* A name with a space would be read as two names, and each of them would have the role. */
static int check_names(const struct config *config, size_t at, const char *key, const char *names,
                       struct error *err)
{
    for (const char *space = names ? strchr(names, ' ') : NULL; space;
         space = strchr(space + 1, ' '))
        if (space > names && space[-1] != ',' && space[-1] != ' ' && space[1] != ',' &&
            space[1] != ' ' && space[1] != '\0')
            return yaml_error(err, config_place(config, "access", at, key),
                              "expected names with commas between them: \"%s\" has a space in a "
                              "name, which no name here may have",
                              names);
    return 0;
}

/* What there is of `listen` and `tokens`, and how they depend on each other. */
static int check_doors(const struct config *config, struct error *err)
{
    const struct yaml_node *root = yaml_root(config->document);
    const struct yaml_node *listen = yaml_get(root, "listen");
    const struct yaml_node *tokens = yaml_get(root, "tokens");
    struct error why = { 0 };

    if ((listen && config_refuse_empty(listen, err) < 0) ||
        (tokens && config_refuse_empty(tokens, err) < 0))
        return -1;
    if (tokens && !config->tokens.keys == !config->tokens.keys_url)
        return yaml_error(err, tokens, "needs either `keys` or `keys_url`");
    if (tokens && config->tokens.keys_url && http_check_url(config->tokens.keys_url, &why) < 0)
        return yaml_error(err, yaml_get(tokens, "keys_url"), "%s", why.text);
    if (tokens && !listen)
        return yaml_error(err, tokens, "tokens are read over TLS alone: set `listen` as well");
    if (listen && http_server_check_address(config->listen.address, &why) < 0)
        return yaml_error(err, yaml_get(listen, "address"), "%s", why.text);
    if (listen && !tokens && !config->listen.client_ca)
        return yaml_error(err, listen, "needs `client_ca`, or `tokens` beside it");
    if (listen && config->listen.client_crl && !config->listen.client_ca)
        return yaml_error(err, yaml_get(listen, "client_crl"),
                          "is for the authorities of `client_ca`: set it as well");
    return 0;
}

int config_check_access(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->access_count; i++) {
        if (access_role_find(config->access[i].name) == ACCESS_NONE)
            return yaml_error(err, config_place(config, "access", i, ""),
                              "unknown role \"%s\"; known roles: viewer, operator, dispatcher, "
                              "admin",
                              config->access[i].name);
        if (check_claims(config, i, err) < 0 ||
            check_names(config, i, "groups", config->access[i].groups, err) < 0 ||
            check_names(config, i, "certificates", config->access[i].certificates, err) < 0)
            return -1;
    }
    return check_doors(config, err);
}
