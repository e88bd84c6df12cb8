/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bounded history of each cluster and the watches that follow it: frames a moment after the
 * change, bookmarks every minute, the end at timeoutSeconds.
 */
#include "tools/simulator/model/client.h"
#include "tools/simulator/model/lies.h"

#include <inttypes.h>

enum { BOOKMARK_MS = 60 * SECOND_MS, FRAMES_MAX = 64 << 20, PODS_A_MS = 10 };

struct kube_watch {
    struct actor actor;
    struct watch_query query;
    uint64_t sent; /* the version up to which the client has seen all */
    bool is_flushing;
    int64_t wakes_ms; /* when changes that a lie holds back are due */
    sim_frames_fn send;
    sim_watch_end_fn end;
    void *context;
};

static void flush(struct simulator *sim, struct actor *actor, uint64_t stamp);

/* Another client's watch makes all of its objects again each time: it waits for more changes. */
static void flush_soon(struct simulator *sim, struct kube_watch *watch)
{
    int64_t delay_ms;

    if (watch->is_flushing)
        return;
    watch->is_flushing = true;
    delay_ms = sim_draw(&sim->latency, &sim->scenario->latency.api);
    if (watch->query.follow)
        delay_ms += (int64_t)map_count(watch->query.cluster->pods) / PODS_A_MS;
    sim_after(sim, delay_ms, flush, &watch->actor, 0);
}

void sim_history_add(struct simulator *sim, struct kube_cluster *cluster,
                     const struct change *change)
{
    *array_add(&cluster->history) = *change;
    cluster->history.items[cluster->history.count - 1].at_ms = sim_now(sim);
    change->blob->references++;
    sim_trace(sim, "%s %" PRIu64 " %d %s", cluster->plan->name, change->version, (int)change->type,
              change->name);
    if (cluster->history.count > 2 * SIM_HISTORY) {
        for (size_t i = 0; i < SIM_HISTORY; i++)
            sim_blob_drop(cluster->history.items[i].blob);
        cluster->history_floor = cluster->history.items[SIM_HISTORY - 1].version;
        cluster->history.count -= SIM_HISTORY;
        memmove(cluster->history.items, cluster->history.items + SIM_HISTORY,
                cluster->history.count * sizeof *cluster->history.items);
    }
    for (size_t i = 0; i < cluster->watches.count; i++) {
        struct kube_watch *watch = cluster->watches.items[i];

        if (watch->query.kind == change->kind || watch->query.follow)
            flush_soon(sim, watch);
    }
}

void sim_watches_stir(struct simulator *sim, struct kube_cluster *cluster)
{
    for (size_t i = 0; i < cluster->watches.count; i++)
        if (cluster->watches.items[i]->query.follow)
            flush_soon(sim, cluster->watches.items[i]);
}

void sim_history_clear(struct kube_cluster *cluster)
{
    for (size_t i = 0; i < cluster->history.count; i++)
        sim_blob_drop(cluster->history.items[i].blob);
    array_clear(&cluster->history);
}

static bool is_wanted(const struct watch_query *query, const struct change *change)
{
    return change->kind == query->kind &&
           (!query->name[0] || text_equal(query->name, change->name)) &&
           (!query->node_name[0] || text_equal(query->node_name, change->node_name));
}

/* The first change after a version: the history is sorted by it. */
static size_t first_after(const struct kube_cluster *cluster, uint64_t version)
{
    size_t low = 0, high = cluster->history.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (cluster->history.items[middle].version <= version)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_frame(struct text *frames, const struct watch_query *query,
                      const struct change *change)
{
    static const char *const types[] = { "ADDED", "MODIFIED", "DELETED" };
    bool arrives = query->node_name[0] && change->is_binding && change->type == CHANGE_MODIFIED;

    text_add(frames, "{\"type\":\"%s\",\"object\":", arrives ? "ADDED" : types[change->type]);
    text_add_bytes(frames, change->blob->chars, change->blob->size);
    text_add(frames, "}\n");
}

static void send_gone(struct kube_watch *watch)
{
    static const char frame[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
        "\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\","
        "\"code\":410}}\n";
    sim_watch_end_fn end = watch->end;
    void *context = watch->context;

    watch->send(watch->context, frame, sizeof frame - 1);
    if (watch->actor.is_gone)
        return;
    sim_watch_close(watch);
    end(context);
}

/* The lie that the watch takes part in: only one of all objects does. */
static const struct lie *lie_of(const struct simulator *sim, const struct watch_query *query)
{
    if (query->name[0] || query->node_name[0] || query->kind >= OBJECT_BUDGET || query->follow)
        return NULL;
    return sim_lie_about(sim, query->kind == OBJECT_NODE ? LIE_NODES : LIE_PODS,
                         query->cluster->index);
}

static void flush_follow(struct simulator *sim, struct kube_watch *watch)
{
    owned(text) struct text *frames = text_new(FRAMES_MAX);

    watch->is_flushing = false;
    sim_follow_frames(sim, watch->query.follow, frames);
    if (frames->length)
        watch->send(watch->context, frames->chars, frames->length);
}

static void flush(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_watch *watch = (struct kube_watch *)actor;
    struct kube_cluster *cluster = watch->query.cluster;
    const struct lie *lie = lie_of(sim, &watch->query);
    int64_t until_ms = sim_lie_time(sim, lie);
    owned(text) struct text *frames = text_new(FRAMES_MAX);

    (void)stamp;
    if (watch->query.follow) {
        flush_follow(sim, watch);
        return;
    }
    watch->is_flushing = false;
    if (watch->sent < cluster->history_floor ||
        sim_fault_now(sim, FAULT_WATCH_GAP, sim_watch_verb(watch->query.kind))) {
        send_gone(watch);
        return;
    }
    for (size_t i = first_after(cluster, watch->sent); i < cluster->history.count; i++) {
        const struct change *change = &cluster->history.items[i];

        if (change->at_ms > until_ms) { /* the others in time */
            if (watch->wakes_ms <= sim_now(sim)) {
                watch->wakes_ms = sim_now(sim) + change->at_ms - until_ms;
                sim_after(sim, change->at_ms - until_ms, flush, actor, 0);
            }
            break;
        }
        watch->sent = change->version;
        if (is_wanted(&watch->query, change) && !(lie && sim_lie_hides(lie, change->name)))
            add_frame(frames, &watch->query, change);
    }
    if (frames->length)
        watch->send(watch->context, frames->chars, frames->length);
}

static void send_bookmark(struct simulator *sim, struct kube_watch *watch)
{
    int64_t until_ms = sim_lie_time(sim, lie_of(sim, &watch->query));
    owned(text) struct text *frame = text_new(4096);

    if (watch->query.follow) {
        sim_follow_bookmark(sim, watch->query.follow, frame);
        watch->send(watch->context, frame->chars, frame->length);
        return;
    }
    if (until_ms == sim_now(sim))
        watch->sent = watch->query.cluster->version;
    text_add(frame,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"v1\","
             "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\",\"creationTimestamp\":null}}}\n",
             sim_kind_name(watch->query.kind), watch->sent);
    watch->send(watch->context, frame->chars, frame->length);
}

static void bookmark(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_watch *watch = (struct kube_watch *)actor;

    flush(sim, actor, stamp);
    if (actor->is_gone)
        return;
    send_bookmark(sim, watch);
    if (!actor->is_gone)
        sim_after(sim, BOOKMARK_MS, bookmark, actor, stamp);
}

static void timed_out(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_watch *watch = (struct kube_watch *)actor;

    flush(sim, actor, stamp);
    if (!actor->is_gone && watch->query.wants_bookmarks)
        send_bookmark(sim, watch);
    if (actor->is_gone)
        return;

    sim_watch_end_fn end = watch->end;
    void *context = watch->context;

    sim_watch_close(watch);
    end(context);
}

static void gap(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    (void)sim;
    (void)stamp;
    send_gone((struct kube_watch *)actor);
}

static void free_watch(struct actor *actor)
{
    sim_follow_free(((struct kube_watch *)actor)->query.follow);
    mem_free(actor);
}

struct kube_watch *sim_watch_open(struct simulator *sim, const struct watch_query *query,
                                  sim_frames_fn send, sim_watch_end_fn end, void *context)
{
    struct kube_watch *watch = mem_new(sizeof *watch);

    watch->actor.free = free_watch;
    watch->query = *query;
    watch->sent = query->version;
    watch->send = send;
    watch->end = end;
    watch->context = context;
    *array_add(&query->cluster->watches) = watch;
    if (query->has_gap) {
        sim_after(sim, 0, gap, &watch->actor, 0);
        return watch;
    }
    watch->is_flushing = true;
    sim_after(sim, 0, flush, &watch->actor, 0);
    if (query->wants_bookmarks)
        sim_after(sim, BOOKMARK_MS, bookmark, &watch->actor, 0);
    sim_after(sim, query->timeout_ms, timed_out, &watch->actor, 0);
    return watch;
}

void sim_watch_close(struct kube_watch *watch)
{
    struct kube_cluster *cluster = watch->query.cluster;

    for (size_t i = 0; i < cluster->watches.count; i++)
        if (cluster->watches.items[i] == watch) {
            array_remove(&cluster->watches, i);
            break;
        }
    sim_actor_end(&watch->actor);
}

void sim_watches_expire(struct kube_cluster *cluster, enum object_kind kind)
{
    for (size_t i = cluster->watches.count; i-- > 0;) {
        const struct watch_query *query = &cluster->watches.items[i]->query;

        /* Each that is sent away closes, and takes none but itself with it. */
        if (query->kind == kind && !query->name[0] && !query->node_name[0] && !query->follow)
            send_gone(cluster->watches.items[i]);
        if (i > cluster->watches.count)
            i = cluster->watches.count;
    }
}
