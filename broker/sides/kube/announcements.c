/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See announcements.h.  The announcements made so far are kept by node and by transfer; an exchange
 * under way keeps its entry alive.
 */
#include "broker/sides/kube/announcements.h"

#include "base/crypto.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"
#include "clusters/kube_verbs.h"

#include <inttypes.h>
#include <string.h>

enum {
    REFILL_MS = 2 * SECOND_MS,
    EVENTS_A_REFILL = 20, /* of one cluster */
    QUEUE_MOST = 400,     /* announcements beyond that would be outdated when they are sent */
    TRIES_MOST = 3,
    AGAIN_MS = 30 * SECOND_MS,
    DENIED_MS = HOUR_MS,
    NEWS_MS = 10 * MINUTE_MS,
    KEPT_MOST = 5000,
};

enum told { TOLD_ANNOUNCED, TOLD_CLOSED, TOLD_EMPTY, TOLD_WITHDRAWN };

/* The conditions of one node. */
struct node_entry {
    struct listener *to;
    bool is_in_flight;
    int64_t not_before_ms;
    struct wall_time departure; /* of the last accepted message; 0: unknown, after a start */
    struct wall_time sent;      /* of the message under way */
};

struct event {
    struct listener *to;
    char name[96];
    char kind[8];
    char namespace[64];
    char object[254];
    char uid[64];
    char reason[32];
    char *message;
    bool is_warning;
    bool is_in_flight;
    int tries;
    int64_t not_before_ms;
};

/* The announcements to one cluster. */
struct listener {
    struct announcements *book;
    const struct config_cluster *config;
    struct map *nodes; /* node UID -> struct node_entry */
    ARRAY(struct event *) queue;
    int64_t refill_ms;
    int sent; /* since then */
    int64_t no_conditions_until_ms;
    int64_t no_events_until_ms;
    bool is_said; /* that something is refused */
};

struct announcements {
    struct runner *runner;
    struct listener *clusters; /* as config->clusters */
    struct map *told;          /* transfer id -> uint64_t: bits of enum told */
};

static void event_free(struct event *event)
{
    mem_free(event->message);
    mem_free(event);
}

struct announcements *announcements_new(struct runner *runner)
{
    struct announcements *book = mem_new(sizeof *book);
    const struct config *config = runner->config;

    book->runner = runner;
    book->told = map_new(mem_free);
    book->clusters = mem_new_array(config->cluster_count, sizeof *book->clusters);
    for (size_t i = 0; i < config->cluster_count; i++) {
        book->clusters[i].book = book;
        book->clusters[i].config = &config->clusters[i];
        book->clusters[i].nodes = map_new(mem_free);
    }
    return book;
}

void announcements_free(struct announcements *book)
{
    if (!book)
        return;
    for (size_t i = 0; i < book->runner->config->cluster_count; i++) {
        struct listener *to = &book->clusters[i];

        for (size_t k = 0; k < to->queue.count; k++)
            event_free(to->queue.items[k]);
        array_clear(&to->queue);
        map_free(to->nodes);
    }
    map_free(book->told);
    mem_free(book->clusters);
    mem_free(book);
}

static int64_t now_of(const struct listener *to)
{
    return loop_now(to->book->runner->world->loop);
}

static void say_once(struct listener *to, const char *what, const struct error *err)
{
    if (!to->is_said)
        log_warn("courtesy_refused", FIELD_TEXT("cluster", to->config->name),
                 FIELD_TEXT("what", what), FIELD_TEXT("text", err->text));
    to->is_said = true;
}

/* ---- conditions ---- */

static unsigned wanted_marks(const struct transfer *transfer)
{
    if (!transfer || transfer->state != TRANSFER_LIVE || transfer->is_undoing)
        return 0;
    if (transfer->step > STEP_FORCE)
        return 1u << NODE_MARK_PLANNED | 1u << NODE_MARK_DRAINED;
    if (transfer->cordoned.ms > 0)
        return 1u << NODE_MARK_PLANNED | 1u << NODE_MARK_DRAINING;
    return transfer->announced.ms > 0 ? 1u << NODE_MARK_PLANNED : 0;
}

static void condition_answered(void *context, const json_t *body, const struct error *err)
{
    struct node_entry *entry = context;
    struct listener *to = entry->to;

    (void)body;
    require(entry->is_in_flight);
    entry->is_in_flight = false;
    entry->not_before_ms = now_of(to) + AGAIN_MS;
    if (!err)
        entry->departure = entry->sent;
    if (err && err->kind == ERROR_DENIED) {
        to->no_conditions_until_ms = now_of(to) + DENIED_MS;
        say_once(to, "nodes/status", err);
    }
}

static void tell_node(struct listener *to, const struct node *node, const struct transfer *transfer)
{
    unsigned marks = wanted_marks(transfer);
    struct node_conditions told = { .node = node->name, .uid = node->uid, .marks = marks };
    struct node_entry *entry = map_get(to->nodes, node->uid);
    struct wall_time departure = marks ? transfer->departure : (struct wall_time){ 0 };
    char text[WALL_TEXT_SIZE];

    /* an earlier process sent this message: the node shows its departure itself */
    if (node->marks == marks &&
        (!entry || entry->departure.ms == 0 || entry->departure.ms == departure.ms))
        return;
    if (!entry) {
        entry = mem_new(sizeof *entry);
        entry->to = to;
        map_set(to->nodes, node->uid, entry);
    }
    if (entry->is_in_flight || now_of(to) < entry->not_before_ms ||
        now_of(to) < to->no_conditions_until_ms)
        return;
    owned(chars) char *message = marks ? text_format("leaves at %s: transfer %s to pool %s",
                                                     wall_format(departure, text), transfer->id,
                                                     transfer->target->name)
                                       : mem_copy_chars("stays");

    told.message = message;
    entry->sent = departure;
    entry->is_in_flight = true;
    cluster_tell_node(fleet_cluster(to->book->runner->fleet, to->config), &told, condition_answered,
                      entry);
}

static const struct transfer *transfer_of(const struct runner *runner, const char *node_uid)
{
    for (size_t i = runner->transfers.count; i-- > 0;)
        if (text_equal(runner->transfers.items[i]->node_uid, node_uid))
            return runner->transfers.items[i];
    return NULL;
}

static void tell_nodes(struct listener *to)
{
    const struct snapshot *snapshot = fleet_snapshot(to->book->runner->fleet, to->config);
    const struct runner *runner = to->book->runner;
    const struct transfer *transfer;
    void *value;

    if (!snapshot->is_known || side_of(runner, to->config) != &side_kube)
        return;
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;

        if (node->marks != 0)
            tell_node(to, node, transfer_of(runner, node->uid));
    }
    for (size_t i = 0; (transfer = runner_next_live(runner, &i));) {
        const struct node *node = map_get(snapshot->nodes, transfer->node);

        if (transfer->source->cluster == to->config && node &&
            text_equal(node->uid, transfer->node_uid))
            tell_node(to, node, transfer);
    }
}

/* ---- events ---- */

/* The same announcement has the same name. */
static void name_event(struct event *event, const struct transfer *transfer)
{
    owned(chars) char *key = text_format("%s %s %s", transfer->id, event->reason, event->uid);
    char hash[SHA256_TEXT_SIZE];
    owned(chars) char *name = NULL;

    crypto_sha256_text(key, strlen(key), hash);
    name = text_format("sluice-%s-%.16s", transfer->id, hash);
    text_copy(event->name, sizeof event->name, name);
}

static struct event *add_event(struct listener *to, const struct transfer *transfer,
                               const struct pod *pod, const char *reason)
{
    struct event *event = mem_new(sizeof *event);

    event->to = to;
    text_copy(event->kind, sizeof event->kind, pod ? "Pod" : "Node");
    text_copy(event->namespace, sizeof event->namespace, pod ? pod->namespace : "");
    text_copy(event->object, sizeof event->object, pod ? pod->name : transfer->node);
    text_copy(event->uid, sizeof event->uid, pod ? pod->uid : transfer->node_uid);
    text_copy(event->reason, sizeof event->reason, reason);
    name_event(event, transfer);
    *array_add(&to->queue) = event;
    return event;
}

static void tell_pods(struct listener *to, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(to->book->runner->fleet, to->config);
    owned(map) struct map *gangs = map_new(NULL);
    char departure[WALL_TEXT_SIZE];
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);

    wall_format(transfer->departure, departure);
    for (size_t i = 0; i < count; i++) {
        owned(chars) char *gang = text_format("%d %s", (int)pods[i]->gang.kind, pods[i]->gang.key);
        struct event *event;

        if (!pod_must_leave(pods[i]) || map_get(gangs, gang))
            continue;
        event = add_event(to, transfer, pods[i], "NodeLeaves");
        event->message = text_format(
            "node %s leaves at %s: its pods are evicted then. Annotation " SLUICE_NOTE_READY
            "=\"true\" says that no more time is needed",
            transfer->node, departure);
        map_set(gangs, gang, event);
    }
}

static bool is_new(struct announcements *book, const struct transfer *transfer, enum told told)
{
    uint64_t *bits = map_get(book->told, transfer->id);

    if (!bits) {
        bits = mem_new(sizeof *bits);
        map_set(book->told, transfer->id, bits);
    }
    if (*bits & 1u << told)
        return false;
    *bits |= 1u << told;
    return true;
}

/* A service that starts again finds transfers that ended days ago: these are no news. */
static bool is_news(const struct announcements *book, const struct transfer *transfer)
{
    const struct wall_time now = runner_now(book->runner);

    return transfer->state == TRANSFER_LIVE ||
           (transfer->state == TRANSFER_UNDONE && now.ms - transfer->ended.ms < NEWS_MS);
}

static void tell_transfer(struct listener *to, const struct transfer *transfer)
{
    struct announcements *book = to->book;
    bool was_told = transfer->announced.ms > 0 || transfer->cordoned.ms > 0;
    char departure[WALL_TEXT_SIZE];

    if (!is_news(book, transfer) || side_of(book->runner, to->config) != &side_kube)
        return;
    wall_format(transfer->departure, departure);
    if (transfer->is_undoing || transfer->state == TRANSFER_UNDONE) {
        if (was_told && is_new(book, transfer, TOLD_WITHDRAWN))
            add_event(to, transfer, NULL, "DepartureWithdrawn")->message = text_format(
                "the node stays: transfer %s goes back", transfer->id);
        return;
    }
    if (transfer->announced.ms > 0 && transfer->step <= STEP_NOTICE &&
        is_new(book, transfer, TOLD_ANNOUNCED)) {
        add_event(to, transfer, NULL, "DepartureAnnounced")->message = text_format(
            "leaves at %s for pool %s: %s", departure, transfer->target->name, transfer->reason);
        tell_pods(to, transfer);
    }
    if (transfer->cordoned.ms > 0 && is_new(book, transfer, TOLD_CLOSED))
        add_event(to, transfer, NULL, "DepartureBegins")->message = text_format(
            "cordoned and drained: transfer %s", transfer->id);
    if (transfer->step > STEP_FORCE && is_new(book, transfer, TOLD_EMPTY))
        add_event(to, transfer, NULL, "DepartureDrained")->message = text_format(
            "no pod is left to wait for: transfer %s", transfer->id);
}

static bool was_accepted(const struct effect *effect)
{
    return effect && effect->answered_ms > 0 && effect->outcome == ERROR_NONE;
}

/* Why the pod will end other than by its own wish; NULL: it will not. */
static char *end_of_pod(const struct transfer *transfer, const struct pod *pod,
                        const char **ret_reason)
{
    const struct effect *forced = effect_find(transfer, &kube_effect_delete_pod, pod->uid);
    const struct effect *evicted = effect_find(transfer, &kube_effect_evict, pod->uid);

    if (was_accepted(forced)) {
        *ret_reason = "ForcedDelete";
        return forced->grace_s > 0
                   ? text_format("was not gone in time and is deleted with %" PRId64 " s of its"
                                 " %" PRId64 " s to stop: node %s leaves",
                                 forced->grace_s, pod->grace_s, transfer->node)
                   : text_format("was not gone in time and is deleted: node %s leaves",
                                 transfer->node);
    }
    if (was_accepted(evicted) && evicted->grace_s > 0) {
        *ret_reason = "GraceCut";
        return text_format("is evicted with %" PRId64 " s of its %" PRId64 " s to stop: node %s"
                           " leaves",
                           evicted->grace_s, pod->grace_s, transfer->node);
    }
    return NULL;
}

/* Sends an Event to the pod, once.  Takes the message. */
static void tell_pod(struct listener *to, const struct transfer *transfer, const struct pod *pod,
                     const char *reason, char *message)
{
    owned(chars) char *key = text_format("%s %s %s", transfer->id, reason, pod->uid);
    owned(chars) char *text = message;
    struct event *event;

    if (map_get(to->book->told, key))
        return;
    map_set(to->book->told, key, mem_new(sizeof(uint64_t)));
    event = add_event(to, transfer, pod, reason);
    event->is_warning = true;
    event->message = steal(&text);
}

/* Sends Events to pods with less time than they asked for, or past their own deadline. */
static void tell_forced(struct listener *to, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(to->book->runner->fleet, to->config);
    size_t count;
    const struct pod *const *pods;

    if (transfer->state != TRANSFER_LIVE || transfer->step < STEP_DRAIN ||
        transfer->step > STEP_FORCE)
        return;
    pods = snapshot_pods_on(snapshot, transfer->node, &count);
    for (size_t i = 0; i < count; i++) {
        const char *reason = "";
        owned(chars) char *message = end_of_pod(transfer, pods[i], &reason);

        if (message)
            tell_pod(to, transfer, pods[i], reason, steal(&message));
    }
}

static void event_answered(void *context, const json_t *body, const struct error *err)
{
    struct event *event = context;
    struct listener *to = event->to;

    (void)body;
    require(event->is_in_flight);
    event->is_in_flight = false;
    event->not_before_ms = now_of(to) + AGAIN_MS;
    if (!err || err->kind == ERROR_CONFLICT || err->kind == ERROR_NOT_FOUND ||
        err->kind == ERROR_INVALID)
        event->tries = TRIES_MOST;
    if (err && err->kind == ERROR_DENIED) {
        to->no_events_until_ms = now_of(to) + DENIED_MS;
        event->tries = TRIES_MOST;
        say_once(to, "events", err);
    }
}

static void send_event(struct listener *to, struct event *event)
{
    struct kube_event post = {
        .name = event->name,
        .kind = event->kind,
        .namespace = event->namespace,
        .object = event->object,
        .uid = event->uid,
        .reason = event->reason,
        .message = event->message,
        .is_warning = event->is_warning,
    };

    event->tries++;
    event->is_in_flight = true;
    to->sent++;
    cluster_post_event(fleet_cluster(to->book->runner->fleet, to->config), &post, event_answered,
                       event);
}

/* Sends as many entries as allowed; drops those that are sent, unwanted, or too many. */
static void send_event_entries(struct listener *to)
{
    int64_t now = now_of(to);

    if (now - to->refill_ms >= REFILL_MS) {
        to->refill_ms = now;
        to->sent = 0;
    }
    for (size_t i = 0; i < to->queue.count;) {
        struct event *event = to->queue.items[i];

        if (!event->is_in_flight &&
            (event->tries >= TRIES_MOST || i >= QUEUE_MOST || now < to->no_events_until_ms)) {
            event_free(event);
            array_remove(&to->queue, i);
            continue;
        }
        if (!event->is_in_flight && now >= event->not_before_ms && to->sent < EVENTS_A_REFILL)
            send_event(to, event);
        i++;
    }
}

/* A dropped entry is sent again under the same name, or the node shows it already. */
static void forget(struct announcements *book)
{
    const size_t cluster_count = book->runner->config->cluster_count;

    if (map_count(book->told) > KEPT_MOST) {
        map_free(book->told);
        book->told = map_new(mem_free);
    }
    for (size_t i = 0; i < cluster_count; i++) {
        struct listener *to = &book->clusters[i];
        bool is_busy = false;
        void *value;

        for (size_t k = 0; map_next(to->nodes, &k, NULL, &value);)
            is_busy |= ((const struct node_entry *)value)->is_in_flight;
        if (is_busy || map_count(to->nodes) <= KEPT_MOST)
            continue;
        map_free(to->nodes);
        to->nodes = map_new(mem_free);
    }
}

void announcements_advance(struct announcements *book)
{
    const struct config *config = book->runner->config;
    const struct runner *runner = book->runner;

    forget(book);
    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];
        struct listener *to = &book->clusters[transfer->source->cluster - config->clusters];

        tell_transfer(to, transfer);
        tell_forced(to, transfer);
    }
    for (size_t i = 0; i < config->cluster_count; i++) {
        tell_nodes(&book->clusters[i]);
        send_event_entries(&book->clusters[i]);
    }
}
