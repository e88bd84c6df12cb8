/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Direct reads, one of each kind under way at most.  See look.h.
 */
#include "broker/sides/kube/look.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/url.h"
#include "base/world/pages.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"
#include "clusters/field_manager.h"
#include "clusters/kube_verbs.h"

#include <string.h>

enum {
    LOOK_VALID_MS = 10 * SECOND_MS,
    LOOK_RETRY_MS = 5 * SECOND_MS,
    LOOK_BROKEN_MS = MINUTE_MS, /* after an answer that made no sense */
    CLAIMS_MOST = 32,
};

/* In the place of the name of a claim's volume: not read yet, or not readable. */
static const char UNREAD[] = "";
static const char UNREADABLE[] = "-"; /* no volume's name */

struct reading;

/* A list that is counted as its pages come. */
struct census {
    const char *name;
    int pages_most; /* of 500 items */
    void (*ask)(struct cluster *cluster, const char *node, const char *next, cluster_done_fn done,
                void *context);
    bool (*counts)(struct reading *reading, const json_t *item);
};
static const struct census pods, volumes;

/* A pod that would lose something if its machine went now. */
struct running {
    char name[320];
    bool tolerates; /* our taint */
    struct wall_time created;
};

/* One kind of read: asked for, and what came back. */
struct reading {
    struct runner *runner;
    struct transfer *transfer;
    struct transfer_look *look;           /* that it is of */
    const struct config_cluster *cluster; /* pods, volumes: of which node */
    char name[TRANSFER_NAME_SIZE];
    const struct census *census; /* pods, volumes */
    bool is_under_way;
    bool is_good; /* the last one was answered in full */
    int64_t asked_ms;
    int64_t tried_ms;
    struct pages pages;
    struct error failure;          /* of the last one; ERROR_NONE: it was answered */
    int count;                     /* pods, volumes */
    ARRAY(struct running) running; /* pods whose grace is not over */
    int daemons;                   /* of the volumes */
    enum node_look node;           /* node */
    bool is_closed;
    char opener[64];
};

struct transfer_look {
    struct reading pods;
    struct reading new_pods;
    struct reading node;
    struct reading volumes;
    struct reading claim;
    struct reading new_node;
    struct map *claims; /* of pods of DaemonSets: "namespace/name" -> name of its volume */
    char asked[TRANSFER_NAME_SIZE * 2]; /* the claim that is read */
};

static void clear_reading(struct reading *reading)
{
    array_clear(&reading->running);
    pages_clear(&reading->pages);
}

void look_free(struct transfer_look *look)
{
    if (!look)
        return;
    map_free(look->claims);
    clear_reading(&look->pods);
    clear_reading(&look->new_pods);
    clear_reading(&look->volumes);
    mem_free(look);
}

bool look_is_under_way(const struct transfer_look *look)
{
    return look &&
           (look->pods.is_under_way || look->new_pods.is_under_way || look->node.is_under_way ||
            look->new_node.is_under_way || look->volumes.is_under_way || look->claim.is_under_way);
}

static struct transfer_look *look_of(struct runner *runner, struct transfer *transfer)
{
    struct transfer_look *look = side_seen(transfer, &side_kube);

    if (look)
        return look;
    look = mem_new(sizeof *look);
    side_see(transfer, &side_kube, look);
    look->claims = map_new(mem_free);
    look->pods.census = look->new_pods.census = &pods;
    look->volumes.census = &volumes;

    struct reading *const readings[] = { &look->pods,    &look->new_pods, &look->node,
                                         &look->volumes, &look->claim,    &look->new_node };

    for (size_t i = 0; i < COUNT_OF(readings); i++) {
        readings[i]->runner = runner;
        readings[i]->transfer = transfer;
        readings[i]->look = look;
    }
    return look;
}

static bool is_valid(const struct reading *reading, int64_t since_ms)
{
    int64_t now = loop_now(reading->runner->world->loop);

    return reading->is_good && !reading->is_under_way && reading->asked_ms >= since_ms &&
           now - reading->asked_ms <= LOOK_VALID_MS;
}

/* Whether a new read may be sent now; notes that it is. */
static bool may_ask(struct reading *reading)
{
    int64_t now = loop_now(reading->runner->world->loop);
    int64_t rest_ms = reading->failure.kind == ERROR_CORRUPT ? LOOK_BROKEN_MS : LOOK_RETRY_MS;

    if (reading->is_under_way ||
        (reading->tried_ms > 0 && !reading->is_good && now - reading->tried_ms < rest_ms))
        return false;
    require(reading->runner && reading->transfer && reading->look);
    reading->is_under_way = true;
    reading->is_good = false;
    reading->asked_ms = reading->tried_ms = now;
    return true;
}

static void finish(struct reading *reading, bool is_good)
{
    require(reading->is_under_way);
    reading->is_under_way = false;
    reading->is_good = is_good;
    if (is_good)
        reading->failure = (struct error){ 0 };
    runner_wake(reading->runner);
}

/* Failed: err says why. */
static void finish_failed(struct reading *reading, const struct error *err)
{
    if (err->kind == ERROR_CORRUPT && reading->failure.kind != ERROR_CORRUPT)
        log_warn("look_failed", FIELD_TEXT("transfer", reading->transfer->id),
                 FIELD_TEXT("text", err->text));
    reading->failure = *err;
    finish(reading, false);
}

const char *look_trouble(const struct transfer_look *look)
{
    const struct reading *readings[] = { look ? &look->pods : NULL, look ? &look->volumes : NULL };

    for (size_t i = 0; look && i < COUNT_OF(readings); i++)
        if (readings[i]->failure.kind == ERROR_CORRUPT)
            return readings[i]->failure.text;
    return NULL;
}

static void note_claim(struct transfer_look *look, const struct pod *pod, const char *name)
{
    owned(chars) char *key = text_format("%s/%s", pod->namespace, name);

    if (!map_get(look->claims, key) && map_count(look->claims) < CLAIMS_MOST)
        map_set(look->claims, key, mem_copy_chars(UNREAD));
}

/* The volumes of a DaemonSet's pod stay attached, as it stays itself. */
static void note_claims(struct transfer_look *look, const struct pod *pod, const json_t *item)
{
    const json_t *volume;
    size_t i;

    if (pod_class_of(pod) != POD_CLASS_DAEMON)
        return;
    json_array_foreach(json_at(item, "spec/volumes"), i, volume) {
        const char *claim = json_text_or(volume, "persistentVolumeClaim/claimName", NULL);
        owned(chars) char *own = text_format("%s-%s", pod->name, json_text_or(volume, "name", ""));

        if (claim || json_object_get(volume, "ephemeral"))
            note_claim(look, pod, claim ? claim : own);
    }
}

/* Only the end of its grace means that a pod needs no more time. */
static void note_running(struct reading *reading, const struct pod *pod, const json_t *item)
{
    const struct snapshot *snapshot = fleet_snapshot(reading->runner->fleet, reading->cluster);
    struct running *running;

    if (pod && pod->deletion.ms > 0 &&
        snapshot_wall(snapshot, pod->deletion).ms <= runner_now(reading->runner).ms)
        return;
    running = array_add(&reading->running);
    running->tolerates = wishes_to_come(item);
    running->created = pod ? snapshot_wall(snapshot, pod->created) : (struct wall_time){ 0 };
    text_print(running->name, sizeof running->name, "%s/%s",
               json_text_or(item, "metadata/namespace", "?"),
               json_text_or(item, "metadata/name", "?"));
}

/* What cannot be read may be work: it counts. */
static bool is_in_the_way(struct reading *reading, const json_t *item)
{
    struct error broken = { 0 };
    struct pod *pod = pod_decode(item, &broken);
    bool counts = !pod || pod_must_leave(pod);

    if (pod)
        note_claims(reading->look, pod, item);
    if (counts)
        note_running(reading, pod, item);
    pod_free(pod);
    return counts;
}

static void ask_for_volumes(struct cluster *cluster, const char *node, const char *next,
                            cluster_done_fn done, void *context)
{
    (void)node; /* the server cannot choose by node */
    cluster_read_attachments(cluster, next, done, context);
}

static bool is_daemons(const struct transfer_look *look, const char *volume)
{
    void *known;

    for (size_t i = 0; map_next(look->claims, &i, NULL, &known);)
        if (volume[0] != '\0' && text_equal(known, volume))
            return true;
    return false;
}

static bool is_attached(struct reading *reading, const json_t *item)
{
    const char *volume = json_text_or(item, "spec/source/persistentVolumeName", "");

    if (!text_equal(json_text_or(item, "spec/nodeName", ""), reading->name))
        return false;
    reading->daemons += is_daemons(reading->look, volume);
    return true;
}

static const struct census pods = { "pods", 20, cluster_read_pods, is_in_the_way };
static const struct census volumes = { "volumes", 200, ask_for_volumes, is_attached };

static void page_answered(void *context, const json_t *body, const struct error *err);

static void ask_for_page(struct reading *reading, const char *next)
{
    reading->census->ask(fleet_cluster(reading->runner->fleet, reading->cluster), reading->name,
                         next, page_answered, reading);
}

static void page_answered(void *context, const json_t *body, const struct error *err)
{
    struct reading *reading = context;
    const json_t *items = json_object_get(body, "items");
    const char *next = json_text_or(body, "metadata/continue", "");
    struct error why = { 0 };
    const json_t *item;
    size_t i;

    if (err)
        return finish_failed(reading, err);
    json_array_foreach(items, i, item)
        reading->count += reading->census->counts(reading, item);
    pages_brought(&reading->pages, json_array_size(items));
    if (!json_is_array(items))
        error_set(&why, ERROR_CORRUPT, "the answer is no list");
    else if (next[0] == '\0')
        return finish(reading, true);
    else if (pages_next(&reading->pages, next, &why) == 0)
        return ask_for_page(reading, next);
    error_context(&why, "cluster %s: %s of node %s", reading->cluster->name, reading->census->name,
                  reading->name);
    finish_failed(reading, &why);
}

static bool count(struct reading *reading, const struct config_cluster *cluster, const char *node,
                  int64_t since_ms, int *ret_count)
{
    if (is_valid(reading, since_ms) && text_equal(reading->name, node)) {
        require(reading->count >= 0);
        *ret_count = reading->count;
        return true;
    }
    if (may_ask(reading)) {
        reading->cluster = cluster;
        text_copy(reading->name, sizeof reading->name, node);
        reading->count = reading->daemons = 0;
        array_clear(&reading->running);
        pages_start(&reading->pages, reading->census->pages_most);
        ask_for_page(reading, NULL);
    }
    return false;
}

bool look_at_pods(struct runner *runner, struct transfer *transfer, int64_t since_ms,
                  int *ret_count)
{
    return count(&look_of(runner, transfer)->pods, transfer->source->cluster, transfer->node,
                 since_ms, ret_count);
}

bool look_at_new_pods(struct runner *runner, struct transfer *transfer, const char *node,
                      int64_t since_ms, int *ret_count)
{
    return count(&look_of(runner, transfer)->new_pods, transfer_goal(transfer)->cluster, node,
                 since_ms, ret_count);
}

int look_running_pods(const struct transfer *transfer, struct wall_time since,
                      const char **ret_first)
{
    const struct transfer_look *look = side_seen(transfer, &side_kube);
    const struct reading *reading = &look->pods;
    int count = 0;

    require(reading->is_good); /* of a list that was read to its end */
    *ret_first = "";
    for (size_t i = reading->running.count; i-- > 0;) {
        const struct running *running = &reading->running.items[i];

        if (running->tolerates && since.ms > 0 && running->created.ms > since.ms)
            continue;
        *ret_first = running->name;
        count++;
    }
    return count;
}

bool look_at_volumes(struct runner *runner, struct transfer *transfer, int64_t since_ms,
                     int *ret_count)
{
    return count(&look_of(runner, transfer)->volumes, transfer->source->cluster, transfer->node,
                 since_ms, ret_count);
}

/* Not found, or no right to read: known for good.  Any other failure is asked again. */
static void claim_answered(void *context, const json_t *body, const struct error *err)
{
    struct reading *reading = context;
    struct transfer_look *look = reading->look;
    const char *volume = json_text_or(body, "spec/volumeName", "");
    bool is_final = !err || err->kind == ERROR_NOT_FOUND || err->kind == ERROR_DENIED;

    if (is_final)
        map_set(look->claims, look->asked, mem_copy_chars(volume[0] ? volume : UNREADABLE));
    if (err && err->kind == ERROR_DENIED)
        log_warn("claim_unread", FIELD_TEXT("transfer", reading->transfer->id),
                 FIELD_TEXT("text", err->text));
    finish(reading, is_final);
}

/* Whether no claim is left to be read; asks for one that is. */
static bool claims_are_read(struct runner *runner, struct transfer *transfer)
{
    struct transfer_look *look = look_of(runner, transfer);
    const char *key;
    void *volume;

    for (size_t i = 0; map_next(look->claims, &i, &key, &volume);) {
        const char *name = strchr(key, '/') + 1;
        owned(chars) char *namespace = text_format("%.*s", (int)(name - 1 - key), key);
        owned(chars) char *path = url_format("/api/v1/namespaces/%s/persistentvolumeclaims/%s",
                                             namespace, name);

        if (!text_equal(volume, UNREAD))
            continue;
        if (may_ask(&look->claim)) {
            text_copy(look->asked, sizeof look->asked, key);
            cluster_read_at(fleet_cluster(runner->fleet, transfer->source->cluster), path,
                            claim_answered, &look->claim);
        }
        return false;
    }
    return true;
}

bool look_at_left_volumes(struct runner *runner, struct transfer *transfer, int64_t since_ms,
                          int *ret_count)
{
    int count;

    if (!claims_are_read(runner, transfer) || !look_at_volumes(runner, transfer, since_ms, &count))
        return false;
    *ret_count = count - look_of(runner, transfer)->volumes.daemons;
    require(*ret_count >= 0);
    return true;
}

/* A removed field has no manager any more; for taints the last manager that changed them is
 * named.
 */
static void note_closed(struct reading *reading, const struct node *node, const json_t *body)
{
    owned(chars) char *opener = field_manager_of(
        body, node->is_unschedulable ? "f:spec/f:taints" : "f:spec/f:unschedulable");

    reading->is_closed = node->is_unschedulable && node_has_taint(node, SLUICE_TAINT_LEAVING);
    text_copy(reading->opener, sizeof reading->opener, opener ? opener : "");
}

static void node_answered(void *context, const json_t *body, const struct error *err)
{
    struct reading *reading = context;
    const struct transfer *transfer = reading->transfer;
    struct error broken = { 0 };
    struct node *node;

    if (err && err->kind == ERROR_NOT_FOUND) {
        reading->node = NODE_LOOK_GONE;
        return finish(reading, true);
    }
    if (err)
        return finish(reading, false);
    node = node_decode(body, &broken);
    if (!node)
        return finish(reading, false);
    if (!text_equal(node->uid, transfer->node_uid))
        reading->node = NODE_LOOK_GONE;
    else if (!side_is_marked(node, transfer))
        reading->node = NODE_LOOK_STATIC;
    else
        reading->node = fleet_is_ephemeral(reading->runner->config, node) ? NODE_LOOK_OURS
                                                                          : NODE_LOOK_MARKED;
    note_closed(reading, node, body);
    node_free(node);
    finish(reading, true);
}

enum node_look look_at_node(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    struct reading *reading = &look_of(runner, transfer)->node;

    if (is_valid(reading, since_ms))
        return reading->node;
    if (may_ask(reading))
        cluster_read_node(fleet_cluster(runner->fleet, transfer->source->cluster), transfer->node,
                          node_answered, reading);
    return NODE_LOOK_UNKNOWN;
}

/* Without the right to read the node, the list decides. */
static void new_node_answered(void *context, const json_t *body, const struct error *err)
{
    struct reading *reading = context;

    (void)body;
    reading->count = !err;
    finish(reading, !err || err->kind == ERROR_NOT_FOUND || err->kind == ERROR_DENIED);
}

enum presence look_at_new_node(struct runner *runner, struct transfer *transfer)
{
    struct reading *reading = &look_of(runner, transfer)->new_node;

    if (is_valid(reading, 0))
        return reading->count > 0 ? PRESENCE_YES : PRESENCE_NO;
    if (may_ask(reading))
        cluster_read_node(fleet_cluster(runner->fleet, transfer_goal(transfer)->cluster),
                          transfer->new_instance, new_node_answered, reading);
    return PRESENCE_UNKNOWN;
}

bool look_is_closed(const struct transfer *transfer, const char **ret_opener)
{
    const struct transfer_look *look = side_seen(transfer, &side_kube);

    require(look); /* the node was looked at before */
    *ret_opener = look->node.opener;
    return look->node.is_closed;
}
