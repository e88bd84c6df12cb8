/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See init_clouds.h.
 */
#include "broker/doctor/init_clouds.h"

#include "base/input/json.h"
#include "base/input/yaml.h"
#include "base/text.h"
#include "broker/sizing/source_world.h"
#include "providers/kinds.h"

#include <unistd.h>

/* A cloud's account, opened for the first group that needs it. */
struct asking {
    struct loop *loop;
    struct timer *timer;
    const struct provider_kind *kind;
    void *account; /* a struct provider_account */
    struct provider *provider;
    char *group; /* the answer; NULL: none */
    struct error why;
};

static json_t *known(const json_t *groups, const char *cloud)
{
    const json_t *row;
    size_t i;

    json_array_foreach(groups, i, row) {
        const char *subscription = json_text_or(row, "subscription", "");

        if (!text_equal(json_text_or(row, "cloud", ""), cloud))
            continue;
        if (text_equal(cloud, "aws"))
            return json_make("{ss}", "region", json_text_or(row, "region", ""));
        if (text_equal(cloud, "azure"))
            return json_make("{ss}", "subscription",
                             subscription[0] ? subscription : "REPLACE-SUBSCRIPTION");
        if (text_equal(cloud, "capi"))
            return json_make("{ss}", "kubeconfig", "REPLACE-KUBECONFIG");
        return json_object();
    }
    return NULL;
}

/* As if the keys stood in a configuration.  NULL: an error; the caller frees the account. */
static void *read_account(const struct provider_kind *kind, const json_t *keys, struct error *err)
{
    owned(text) struct text *text = text_new(TEXT_UNBOUNDED);
    owned(yaml_document) struct yaml_document *document = NULL;
    const struct settings_kind *settings = &kind->account;
    void *account = mem_new(settings->size);
    const char *key = "";

    yaml_print(keys, text);
    document = yaml_parse(text->chars, text->length, settings->name, err);
    if (document && settings_read(yaml_root(document), settings->settings, settings->count, account,
                                  err) == 0) {
        if (!settings->check || settings->check(account, &key, err) == 0)
            return account;
        settings_clear(settings->settings, settings->count, account);
        error_context(err, "%s.%s", settings->name, key);
    }
    mem_free(account);
    return NULL;
}

/* A path is given from here, and the file may be written elsewhere. */
static void make_absolute(const struct settings_kind *kind, json_t *keys)
{
    char cwd[4096];

    for (size_t i = 0; i < kind->count; i++) {
        const char *value = json_text_or(keys, kind->settings[i].key, "/");

        if (kind->settings[i].type != SETTING_PATH || value[0] == '/' ||
            text_equal(value, kind->no_file ?: "") || !getcwd(cwd, sizeof cwd))
            continue;

        owned(chars) char *path = text_format("%s/%s", cwd, value);

        json_object_set_new(keys, kind->settings[i].key, json_text(path));
    }
}

static void free_account(const struct provider_kind *kind, void *account)
{
    if (account)
        settings_clear(kind->account.settings, kind->account.count, account);
    mem_free(account);
}

json_t *init_accounts(const json_t *groups, const json_t *given, struct error *err)
{
    owned(json) json_t *accounts = json_object();
    const char *cloud;
    json_t *keys;

    for (size_t i = 0; i < provider_kind_count; i++) {
        const struct provider_kind *kind = provider_kinds[i];
        json_t *account = known(groups, kind->account.name);
        void *read = NULL;

        if (!account)
            continue;

        owned(json) json_t *ours = json_deep_copy(json_object_get(given, kind->account.name));

        make_absolute(&kind->account, ours);
        json_object_set_new(accounts, kind->account.name, account);
        json_object_update(account, ours);
        read = read_account(kind, account, err);
        free_account(kind, read);
        if (!read) {
            err->kind = ERROR_INVALID;
            error_context(err, "--account");
            return NULL;
        }
    }
    json_object_foreach((json_t *)(uintptr_t)given, cloud, keys)
        if (!json_object_get(accounts, cloud)) {
            error_set(err, ERROR_INVALID, "--account %s: no cluster has a GPU node of this cloud",
                      cloud);
            return NULL;
        }
    return steal(&accounts);
}

static bool is_known(const json_t *row)
{
    return json_text_or(row, "group", NULL) != NULL;
}

static void on_group(void *context, const char *group, const struct error *err)
{
    struct asking *asking = context;

    if (err)
        asking->why = *err;
    else
        asking->group = mem_copy_chars(group);
    loop_stop(asking->loop);
}

static void on_timeout(void *context)
{
    struct asking *asking = context;

    error_set(&asking->why, ERROR_TRANSIENT, "%s did not answer in time",
              asking->kind->account.name);
    loop_stop(asking->loop);
}

/* Opens the account, unless an earlier group of this cloud has: then it is open, or failed. */
static int open_cloud(struct world *world, const json_t *accounts, struct asking *asking)
{
    const char *cloud = asking->kind->account.name;

    if (asking->provider)
        return 0;
    if (asking->why.kind != ERROR_NONE)
        return -1;
    if (!asking->kind->find_group)
        return error_set(&asking->why, ERROR_INVALID, "%s does not tell it by a node", cloud);
    asking->account = read_account(asking->kind, json_object_get(accounts, cloud), &asking->why);
    if (asking->account)
        asking->provider = provider_open(world, asking->kind, asking->account, &asking->why);
    return asking->provider ? 0 : -1;
}

/* The answer, or why there is none.  One that does not come in time closes the account: what is
   under way is called off, and the cloud's other groups are not asked for. */
static void ask_group(struct asking *asking, const char *provider_id, int64_t timeout_ms,
                      struct error *why)
{
    asking->timer = timer_new(asking->loop, on_timeout, asking);
    timer_set(asking->timer, timeout_ms);
    provider_find_group(asking->provider, provider_id, on_group, asking);
    if (!asking->group && asking->why.kind == ERROR_NONE)
        loop_run(asking->loop);
    timer_free(asking->timer);
    *why = asking->why;
    if (asking->why.kind == ERROR_TRANSIENT)
        provider_close(steal(&asking->provider));
    else
        asking->why = (struct error){ 0 };
}

static void ask_row(struct world *world, const json_t *accounts, struct asking *asking,
                    int64_t timeout_ms, json_t *row)
{
    const char *cloud = asking->kind->account.name;
    const char *region = json_text_or(json_object_get(accounts, cloud), "region", "");
    struct error why = { 0 };
    owned(chars) char *group = NULL;

    if (region[0] && !text_equal(json_text_or(row, "region", ""), region))
        error_set(&why, ERROR_INVALID, "its region %s needs an entry of its own in `providers`",
                  json_text_or(row, "region", ""));
    else if (open_cloud(world, accounts, asking) < 0)
        why = asking->why;
    else
        ask_group(asking, json_text_or(row, "provider_id", ""), timeout_ms, &why);
    group = steal(&asking->group);
    if (group && !group[0])
        error_set(&why, ERROR_NOT_FOUND, "%s has no group with node %s", cloud,
                  json_text_or(row, "node", ""));
    json_object_set_new(row, "group", group && group[0] ? json_text(group) : json_null());
    json_object_set_new(row, "group_unknown",
                        group && group[0] ? json_null() : json_text(why.text));
}

void init_ask_clouds(const json_t *accounts, int64_t timeout_ms, json_t *groups)
{
    owned(source_world) struct source_world world = { 0 };
    struct error err = { 0 };
    bool is_open = source_world_open(&world, &err) == 0;
    json_t *row;
    size_t i;

    init_ask_nothing(groups);
    for (size_t k = 0; is_open && k < provider_kind_count; k++) {
        struct asking asking = { .loop = world.world.loop, .kind = provider_kinds[k] };

        json_array_foreach(groups, i, row)
            if (!is_known(row) &&
                text_equal(json_text_or(row, "cloud", ""), asking.kind->account.name))
                ask_row(&world.world, accounts, &asking, timeout_ms, row);
        provider_close(asking.provider);
        free_account(asking.kind, asking.account);
    }
}

void init_ask_nothing(json_t *groups)
{
    json_t *row;
    size_t i;

    json_array_foreach(groups, i, row)
        json_object_set_new(row, "group_unknown",
                            is_known(row) ? json_null() : json_text("the cloud was not asked"));
}
