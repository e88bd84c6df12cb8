/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The facts of a plain cluster: its list, in the form of a snapshot.
 */
#include "base/array.h"
#include "base/index.h"
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/url.h"
#include "broker/transfer/marks.h"
#include "clusters/cluster_base.h"
#include "tests/plain/plain.h"

#include <string.h>

enum { POLL_MS = 3 * SECOND_MS, TIMEOUT_MS = 10 * SECOND_MS };

struct plain_settings {
    char *server;
};

struct plain {
    struct cluster base;
    char *server;
    struct timer *timer;
    ARRAY(struct ask *) asks; /* under way */
    int64_t asked_ms;         /* the list under way */
    char trouble[256];
};

struct ask {
    struct plain *plain;
    struct http_exchange *exchange;
    side_done_fn done;
    void *context;
};

static struct plain *of(struct cluster *cluster)
{
    return (struct plain *)cluster;
}

static const struct plain *seen(const struct cluster *cluster)
{
    return (const struct plain *)cluster;
}

static void ask_free(struct ask *ask)
{
    struct plain *plain = ask->plain;

    for (size_t i = plain->asks.count; i-- > 0;)
        if (plain->asks.items[i] == ask)
            array_remove(&plain->asks, i);
    mem_free(ask);
}

static int verdict_of(int status, struct error *err)
{
    static const struct {
        int status;
        enum error_kind kind;
    } rows[] = { { 404, ERROR_NOT_FOUND }, { 409, ERROR_CONFLICT }, { 429, ERROR_THROTTLED } };

    if (status == 200)
        return 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].status == status)
            return error_set(err, rows[i].kind, "the server answered %d", status);
    return error_set(err, ERROR_UNKNOWN_OUTCOME, "the server answered %d", status);
}

static void answered(void *context, const struct http_answer *answer, const struct error *err)
{
    struct ask *ask = context;
    struct error bad = { 0 };
    owned(json) json_t *body = NULL;

    if (answer && verdict_of(answer->status, &bad) == 0)
        body = json_loadb(answer->body, answer->body_size, 0, NULL);
    if (!body)
        ask->done(ask->context, NULL, err ? err : &bad);
    else
        ask->done(ask->context, body, NULL);
    ask_free(ask);
}

static void send_ask(struct plain *plain, const char *path, const json_t *body, side_done_fn done,
                     void *context)
{
    owned(chars) char *url = text_format("%s/plain/%s/%s", plain->server, plain->base.name, path);
    owned(chars) char *chars = body ? json_print(body) : NULL;
    struct ask *ask = mem_new(sizeof *ask);
    const struct http_request request = {
        .method = body ? HTTP_POST : HTTP_GET,
        .url = url,
        .body = chars,
        .body_size = chars ? strlen(chars) : 0,
        .is_mutation = body != NULL,
        .timeout_ms = TIMEOUT_MS,
        .answer_limit = 16 << 20,
    };

    *ask = (struct ask){ .plain = plain, .done = done, .context = context };
    *array_add(&plain->asks) = ask;
    ask->exchange = http_send(plain->base.world->http, &request, answered, ask);
}

void plain_post(struct cluster *cluster, const char *path, json_t *body, side_done_fn done,
                void *context)
{
    require(cluster->kind == &plain_cluster);
    send_ask(of(cluster), path, body, done, context);
    json_decref(body);
}

/* ---- the list ---- */

static json_t *taints_of(const json_t *item)
{
    json_t *taints = json_array();

    if (json_is_true(json_object_get(item, "is_new")))
        json_array_append_new(
            taints, json_make("{ss ss}", "key", SLUICE_TAINT_STARTING, "effect", "NoSchedule"));
    return taints;
}

static struct node *node_new(const json_t *item)
{
    struct node *node = mem_new(sizeof *node);
    owned(chars) char *gpus = text_format("%lld", (long long)json_int_or(item, "gpus", 0));
    owned(json) json_t *devices = json_make("{ss}", "nvidia.com/gpu", gpus);
    owned(json) json_t *labels = json_object();
    owned(json) json_t *notes = json_object();
    const char *transfer = json_text_or(item, "transfer", "");

    if (json_is_true(json_object_get(item, "is_movable")))
        json_put(labels, "sluice.dev/ephemeral", json_text("true"));
    if (transfer[0] != '\0') {
        json_put(notes, SLUICE_NOTE_TRANSFER, json_text(transfer));
        json_put(notes, SLUICE_NOTE_DEPARTURE, json_text(json_text_or(item, "leaves", "")));
    }
    node->name = shared_text_of(json_text_or(item, "name", ""));
    node->uid = shared_text_of(json_text_or(item, "id", ""));
    node->resource_version = shared_text_of("");
    node->provider_id = shared_text_of(json_text_or(item, "machine", ""));
    node->troubles = shared_text_of("");
    node->devices = packed_map_new(devices, NULL);
    node->labels = packed_map_new(labels, NULL);
    node->annotations = packed_map_new(notes, NULL);
    node->taints = taints_of(item);
    node->is_ready = json_is_true(json_object_get(item, "is_ready"));
    node->is_unschedulable = !json_is_true(json_object_get(item, "is_open"));
    return node;
}

static struct pod *job_new(const json_t *item, const char *node)
{
    struct pod *job = mem_new(sizeof *job);
    const char *name = json_text_or(item, "name", "");
    owned(chars) char *gpus = text_format("%lld", (long long)json_int_or(item, "gpus", 0));
    owned(json) json_t *devices = json_make("{ss}", "nvidia.com/gpu", gpus);

    job->namespace = shared_text_of("jobs");
    job->name = shared_text_of(name);
    job->uid = shared_text_of(json_text_or(item, "id", ""));
    job->node_name = shared_text_of(node);
    job->owner_kind = shared_text_of("Queue");
    job->owner_name = shared_text_of(name);
    job->owner_version = shared_text_of("");
    job->finalizers = shared_text_of("");
    job->devices = packed_map_new(devices, NULL);
    job->device_claims = packed_map_new(NULL, NULL);
    job->priority_class = shared_text_of("");
    job->labels = packed_map_new(NULL, NULL);
    job->annotations = packed_map_new(NULL, NULL);
    job->gang.key = text_format("jobs/%s", name);
    job->phase = POD_RUNNING;
    job->is_ready = true;
    job->deletion.ms = json_is_true(json_object_get(item, "is_stopping"));
    return job;
}

static void forget_all(struct snapshot *snapshot)
{
    const char *key;
    void *value;

    for (size_t i = 0; map_next(snapshot->nodes, &i, &key, &value);) {
        index_change(snapshot->nodes_by_provider, ((struct node *)value)->provider_id, value, "",
                     NULL);
        map_remove(snapshot->nodes, key);
    }
    for (size_t i = 0; map_next(snapshot->pods, &i, &key, &value);) {
        index_change(snapshot->pods_by_node, ((struct pod *)value)->node_name, value, "", NULL);
        map_remove(snapshot->pods, key);
    }
}

static void listed(void *context, const json_t *body, const struct error *err)
{
    struct plain *plain = context;
    struct snapshot *snapshot = &plain->base.snapshot;
    const json_t *item;
    const json_t *job;
    size_t i, k;

    timer_set(plain->timer, POLL_MS);
    text_copy(plain->trouble, sizeof plain->trouble, err ? err->text : "");
    if (err)
        return;
    forget_all(snapshot);
    json_array_foreach(json_object_get(body, "nodes"), i, item) {
        struct node *node = node_new(item);

        map_set(snapshot->nodes, node->name, node);
        index_change(snapshot->nodes_by_provider, "", NULL, node->provider_id, node);
        json_array_foreach(json_object_get(item, "jobs"), k, job) {
            struct pod *pod = job_new(job, node->name);

            map_set(snapshot->pods, pod->uid, pod);
            index_change(snapshot->pods_by_node, "", NULL, pod->node_name, pod);
        }
    }
    snapshot_node_replaced(snapshot, NULL, NULL);
    snapshot_pod_replaced(snapshot, NULL, NULL);
    snapshot->is_known = true;
    snapshot->devices_are_known = true; /* there are none */
    snapshot->nodes_seen_ms = snapshot->pods_seen_ms = plain->asked_ms;
    cluster_tell_news(&plain->base);
}

static void list(void *context)
{
    struct plain *plain = context;

    plain->asked_ms = loop_now(plain->base.world->loop);
    send_ask(plain, "nodes", NULL, listed, plain);
}

/* ---- the kind ---- */

static struct cluster *open_plain(struct world *world, const struct cluster_settings *settings,
                                  struct error *err)
{
    const struct plain_settings *own = settings->own;
    struct plain *plain = mem_new(sizeof *plain);

    (void)err;
    plain->server = mem_copy_chars(own->server);
    cluster_init(&plain->base, &plain_cluster, world, settings);
    plain->timer = timer_new(world->loop, list, plain);
    return &plain->base;
}

static void close_plain(struct cluster *cluster)
{
    struct plain *plain = of(cluster);

    for (size_t i = 0; i < plain->asks.count; i++) {
        http_cancel(cluster->world->http, plain->asks.items[i]->exchange);
        mem_free(plain->asks.items[i]);
    }
    array_clear(&plain->asks);
    timer_free(plain->timer);
    mem_free(plain->server);
    cluster_clear(cluster);
    mem_free(plain);
}

static void watch(struct cluster *cluster)
{
    timer_set(of(cluster)->timer, 0);
}

static void nothing(struct cluster *cluster)
{
    (void)cluster;
}

static bool read_clock(const struct cluster *cluster, int64_t since_ms, int64_t *ret_ahead_ms)
{
    (void)cluster;
    (void)since_ms;
    *ret_ahead_ms = 0;
    return false;
}

static int64_t held(const struct cluster *cluster)
{
    (void)cluster;
    return 0;
}

static const char *trouble(const struct cluster *cluster)
{
    return seen(cluster)->trouble;
}

static bool is_heard(const struct cluster *cluster)
{
    return seen(cluster)->trouble[0] == '\0';
}

static const struct setting own_settings[] = {
    { "server", SETTING_URL, offsetof(struct plain_settings, server), NULL, 0, 0,
      "where its nodes and jobs are asked for" },
};

const struct cluster_kind plain_cluster = {
    .settings = { .name = "plain",
                  .settings = own_settings,
                  .count = COUNT_OF(own_settings),
                  .size = sizeof(struct plain_settings) },
    .open = open_plain,
    .close = close_plain,
    .watch = watch,
    .watch_more = nothing,
    .ask_clock = nothing,
    .clock = read_clock,
    .held = held,
    .trouble = trouble,
    .is_heard = is_heard,
};
