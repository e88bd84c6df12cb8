/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on a node pool.  Each request that changes one waits for its turn, and first reads the
 * pool: its ETag is what the change is bound to.
 */
#include "providers/oci/oci.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/common/growth.h"
#include "providers/oci/oci_client.h"
#include "providers/oci/oci_errors.h"
#include "providers/oci/oci_inspect.h"
#include "providers/oci/oci_node.h"

#include <string.h>

enum { LAGGING_RETRY_MS = 10 * SECOND_MS };

enum { REQUEST_ID_SIZE = 64 };

struct oci {
    struct provider provider;
    struct oci_client *client;
    struct growth *growth;
    struct oci_order *waiting; /* for their turn: nothing is sent for them */
    bool is_closing;
};

/* A list, or a change of the pool. */
struct oci_order {
    struct oci_call call; /* first */
    struct growth_turn turn;
    struct oci *oci;
    struct oci_order *next; /* of the waiting */
    enum { ORDER_LIST, ORDER_REMOVE, ORDER_CREATE, ORDER_CANCEL } verb;
    char *node_pool;
    char instance[INSTANCE_NAME_SIZE];
    char request_id[REQUEST_ID_SIZE];
    char progress[GROWTH_PROGRESS_SIZE];
    provider_list_fn listed;
    provider_done_fn done;
    void *context;
};

static void clear_order(struct oci_call *call)
{
    struct oci_order *order = (struct oci_order *)call;

    growth_leave(&order->turn);
    mem_free(order->node_pool);
}

/* Frees first: the caller may close the provider. */
static void finish(struct oci_order *order, const char *operation, const struct error *err)
{
    provider_done_fn done = order->done;
    void *context = order->context;

    clear_order(&order->call);
    mem_free(order);
    done(context, operation, err);
}

static void ask(struct oci_order *order, const struct oci_question *verb, oci_answered_fn answered)
{
    owned(chars) char *pool = url_format("/nodePools/%s", order->node_pool);
    owned(chars) char *path = text_format("%s%s", pool, verb->path);
    owned(chars) char *label = text_format("%s of %s", oci_actions[verb->verb].name,
                                           order->node_pool);
    const struct oci_question question = { verb->verb, path, verb->body, verb->etag, label };

    oci_client_ask(order->oci->client, &question, &order->call, answered);
}

static void on_list(struct oci_call *call, const struct oci_answer *answer, const struct error *err)
{
    struct oci_order *order = (struct oci_order *)call;
    owned(oci_node_list) struct oci_node_list list = { 0 };
    provider_list_fn listed = order->listed;
    void *context = order->context;
    struct error why = { 0 };
    int result = -1;

    if (err)
        why = *err;
    else if ((result = oci_read_pool(answer->body, order->node_pool, &list, &why)) < 0)
        error_context(&why, "oci: %s", call->label);
    clear_order(call);
    mem_free(order);
    if (result < 0) {
        listed(context, NULL, &why);
        return;
    }

    bool is_short = list.wanted > list.present && list.trouble.kind != ERROR_NONE;
    const struct instance_page page = {
        .items = list.machines.items,
        .count = list.machines.count,
        .shortfall = is_short ? &list.trouble : NULL,
    };

    listed(context, &page, NULL);
}

/* The cloud may need long for it, and the order may be sent twice: neither matters. */
static void on_written(struct oci_call *call, const struct oci_answer *answer,
                       const struct error *err)
{
    struct oci_order *order = (struct oci_order *)call;
    owned(chars) char *operation = mem_copy_chars(answer ? answer->work_request : "");
    struct error why = { 0 };

    if (order->verb != ORDER_REMOVE && (!err || err->kind != ERROR_UNKNOWN_OUTCOME))
        growth_answered(&order->turn, !err);
    if (err) {
        why = *err;
        provider_not_now(&why);
    }
    finish(order, operation, err ? &why : NULL);
}

static const struct instance *find_machine(const struct oci_node_list *list, const char *name)
{
    for (size_t i = 0; i < list->machines.count; i++)
        if (text_equal(list->machines.items[i].name, name))
            return &list->machines.items[i];
    return NULL;
}

/* A second removal of a machine that leaves could shrink the pool twice. */
static void remove_now(struct oci_order *order, const struct oci_node_list *list, const char *etag)
{
    const struct instance *machine = find_machine(list, order->instance);
    owned(chars) char *path = url_format(
        "/node/%s?isDecrementSize=true&overrideEvictionGraceDuration"
        "=PT0M&isForceDeletionAfterOverrideGraceDuration=true",
        order->instance);
    struct error err = { 0 };

    if (!machine) {
        error_set(&err, ERROR_NOT_FOUND, "oci: %s has no machine %s", order->node_pool,
                  order->instance);
        finish(order, "", &err);
    } else if (machine->state == INSTANCE_DELETING) {
        finish(order, "", NULL);
    } else {
        ask(order, &(struct oci_question){ OCI_DELETE_NODE, path, NULL, etag, NULL }, on_written);
    }
}

static void resize(struct oci_order *order, int64_t wanted, const char *etag)
{
    owned(json)
        json_t *body = json_make("{s:{s:I}}", "nodeConfigDetails", "size", (json_int_t)wanted);

    ask(order, &(struct oci_question){ OCI_UPDATE_POOL, "", body, etag, NULL }, on_written);
}

/* ETags are long, and growth keeps short versions. */
static void version_of(const char *etag, char out[GROWTH_VERSION_SIZE])
{
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(etag, strlen(etag), hash);
    text_print(out, GROWTH_VERSION_SIZE, "%.32s", etag[0] ? hash : "");
}

/* Only a node that failed can be taken back.  The cloud would delete a machine for any other number
   below the pool's, one that the list does not show yet too. */
static void fail_lagging(struct oci_order *order)
{
    struct error err = { 0 };

    error_set(&err, ERROR_TRANSIENT, "oci: %s lists neither the machine nor why it did not come",
              order->node_pool);
    err.retry_after_ms = LAGGING_RETRY_MS;
    finish(order, "", &err);
}

static void change_size(struct oci_order *order, const struct oci_node_list *list, const char *etag)
{
    char version[GROWTH_VERSION_SIZE];
    char progress[GROWTH_PROGRESS_SIZE] = "";
    const struct growth_size size = { list->wanted, list->wanted - list->failed, version };
    struct error err = { 0 };
    enum growth_verdict verdict;
    int64_t wanted = 0;

    if (order->verb == ORDER_CANCEL && list->failed == 0 && list->wanted > list->present) {
        fail_lagging(order);
        return;
    }
    version_of(etag, version);
    verdict = order->verb == ORDER_CREATE ? growth_grow(&order->turn, &size, progress, &wanted)
                                          : growth_shrink(&order->turn, &size, progress, &wanted);
    switch (verdict) {
    case GROWTH_PLAN:
        error_set(&err, ERROR_TRANSIENT, "oci: the size of %s is planned", order->node_pool);
        error_because(&err, &provider_goes_on);
        finish(order, progress, &err);
        return;
    case GROWTH_SEND:
        resize(order, wanted, etag[0] ? etag : NULL);
        return;
    case GROWTH_DONE:
        finish(order, "", NULL);
        return;
    case GROWTH_NONE:
        break;
    }
    error_set(&err, ERROR_CONFLICT, "oci: %s wants no more machines than it has", order->node_pool);
    finish(order, "", &err);
}

static void on_read(struct oci_call *call, const struct oci_answer *answer, const struct error *err)
{
    struct oci_order *order = (struct oci_order *)call;
    owned(oci_node_list) struct oci_node_list list = { 0 };
    struct error why = { 0 };

    if (err || oci_read_pool(answer->body, order->node_pool, &list, &why) < 0) {
        if (err)
            why = *err;
        else
            error_context(&why, "oci: %s", call->label);
        growth_failed(&order->turn, &why);
        finish(order, "", &why);
    } else if (order->verb == ORDER_REMOVE) {
        remove_now(order, &list, answer->etag[0] ? answer->etag : NULL);
    } else {
        change_size(order, &list, answer->etag);
    }
}

static const struct oci_question read_pool = { OCI_READ_POOL, "", NULL, NULL, NULL };

static void forget_waiting(struct oci_order *order)
{
    struct oci_order **at = &order->oci->waiting;

    while (*at != order)
        at = &(*at)->next;
    *at = order->next;
}

static void on_turn(struct growth_turn *turn)
{
    struct oci_order *order = (struct oci_order *)(void *)((char *)turn -
                                                           offsetof(struct oci_order, turn));

    if (order->oci->is_closing)
        return;
    forget_waiting(order);
    ask(order, &read_pool, on_read);
}

static struct oci_order *order_new(struct provider *provider, const struct pool_address *pool,
                                   provider_done_fn done, void *context)
{
    struct oci_order *order = mem_new(sizeof *order);

    order->call.clear = clear_order;
    order->oci = (struct oci *)provider;
    order->node_pool = mem_copy_chars(oci_pool_of(pool)->node_pool);
    order->done = done;
    order->context = context;
    return order;
}

/* A change: one at a time for each node pool. */
static void change(struct oci_order *order, const struct provider_order *given)
{
    struct oci *oci = order->oci;

    text_copy(order->instance, sizeof order->instance, given->instance ?: "");
    text_copy(order->progress, sizeof order->progress, given->progress ?: "");
    if (order->verb != ORDER_REMOVE)
        require(text_copy(order->request_id, sizeof order->request_id, given->request_id));
    order->turn.request_id = order->request_id;
    order->turn.progress = order->progress;
    order->turn.ready = on_turn;
    order->next = oci->waiting;
    oci->waiting = order;
    growth_wait(oci->growth, order->node_pool, &order->turn);
}

static void oci_list(struct provider *provider, const struct pool_address *pool, const char *page,
                     provider_list_fn done, void *context)
{
    struct oci_order *order = order_new(provider, pool, NULL, context);

    (void)page; /* all machines are in one answer */
    order->verb = ORDER_LIST;
    order->listed = done;
    ask(order, &read_pool, on_list);
}

static void oci_remove(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *given, provider_done_fn done, void *context)
{
    struct oci_order *order = order_new(provider, pool, done, context);

    order->verb = ORDER_REMOVE;
    change(order, given);
}

static void oci_create(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *given, provider_done_fn done, void *context)
{
    struct oci_order *order = order_new(provider, pool, done, context);

    order->verb = ORDER_CREATE;
    change(order, given);
}

static void oci_cancel(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *given, provider_done_fn done, void *context)
{
    struct oci_order *order = order_new(provider, pool, done, context);

    order->verb = ORDER_CANCEL;
    change(order, given);
}

static void oci_inspect_pool(struct provider *provider, const struct pool_address *pool,
                             finding_fn found, provider_done_fn done, void *context)
{
    oci_inspect(((struct oci *)provider)->client, oci_pool_of(pool), found, done, context);
}

static void oci_set_zone(struct pool_address *pool, const char *zone)
{
    ((struct oci_pool *)(void *)pool)->zone = zone;
}

static void oci_print_place(const struct provider_account *account,
                            const struct pool_address *address, struct text *out)
{
    (void)account;
    text_add(out, "node pool %s", oci_pool_of(address)->node_pool);
}

static void oci_close(struct provider *provider)
{
    struct oci *oci = (struct oci *)provider;

    oci->is_closing = true;
    oci_client_free(oci->client);
    while (oci->waiting) {
        struct oci_order *order = oci->waiting;

        forget_waiting(order);
        clear_order(&order->call);
        mem_free(order);
    }
    growth_free(oci->growth);
    mem_free(oci);
}

static struct provider *oci_open(struct world *world, const struct provider_account *given,
                                 struct error *err)
{
    const struct oci_account *account = (const struct oci_account *)(const void *)given;
    struct oci_client *client = oci_client_new(world, account, err);
    struct oci *oci;

    if (!client) {
        error_context(err, "oci");
        return NULL;
    }
    oci = mem_new(sizeof *oci);
    oci->provider.kind = &oci_kind;
    oci->client = client;
    oci->growth = growth_new();
    return &oci->provider;
}

static const struct setting account_settings[] = {
    { "endpoint", SETTING_URL, offsetof(struct oci_account, endpoint), "", 0, 0,
      "URL of the API; absent: the cloud's own" },
    { "region", SETTING_TEXT, offsetof(struct oci_account, region), "", 0, 0,
      "us-ashburn-1; absent: the profile's" },
    { "credentials", SETTING_PATH, offsetof(struct oci_account, credentials), "", 0, 0,
      "path of the file of profiles; absent: `$OCI_CONFIG_FILE`, `~/.oci/config`" },
    { "profile", SETTING_TEXT, offsetof(struct oci_account, profile), "", 0, 0,
      "profile of that file; absent: `$OCI_CLI_PROFILE`, `DEFAULT`" },
};

static const struct setting pool_settings[] = {
    { "node_pool", SETTING_TEXT, offsetof(struct oci_pool, node_pool), NULL, 0, 0,
      "OCID of the node pool" },
    { "capacity_reservation", SETTING_TEXT, offsetof(struct oci_pool, capacity_reservation), "", 0,
      0, "OCID of the reservation that its machines must come from; it is inspected" },
};

const struct provider_kind oci_kind = {
    .account = { .name = "oci",
                 .maker = "Oracle Cloud",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct oci_account) },
    .pool = { .name = "oci",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct oci_pool) },
    .place_key = "node_pool",
    .identity = IDENTITY_BY_GROWTH,
    .set_zone = oci_set_zone,
    .print_place = oci_print_place,
    .open = oci_open,
    .close = oci_close,
    .list = oci_list,
    .remove = oci_remove,
    .create = oci_create,
    .cancel = oci_cancel,
    .inspect = oci_inspect_pool,
    .actions = oci_actions,
    .action_count = OCI_VERB_COUNT,
    .refusal = oci_refusal,
    .read_provider_id = oci_read_provider_id,
};
