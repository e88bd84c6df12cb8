/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See notices.h.  What was told already is kept by node and by transfer; an exchange under way
 * keeps its entry alive.
 */
#include "broker/service/notices.h"

#include "base/crypto.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/pod_wishes.h"
#include "clusters/kube_verbs.h"

#include <inttypes.h>
#include <string.h>

enum {
    REFILL_MS = 2 * SECOND_MS,
    EVENTS_A_REFILL = 20, /* of one cluster */
    QUEUE_MOST = 400,     /* what waits beyond is news of yesterday */
    TRIES_MOST = 3,
    AGAIN_MS = 30 * SECOND_MS,
    DENIED_MS = HOUR_MS,
    NEWS_MS = 10 * MINUTE_MS,
    KEPT_MOST = 5000,
};

enum told { TOLD_ANNOUNCED, TOLD_CLOSED, TOLD_EMPTY, TOLD_WITHDRAWN };

/* The conditions of one node. */
struct placard {
    struct house *house;
    bool is_in_flight;
    int64_t not_before_ms;
    struct wall_time departure; /* of the last message that was accepted; 0: of an earlier life */
    struct wall_time sent;      /* of the message under way */
};

struct letter {
    struct house *house;
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

/* What one cluster is told. */
struct house {
    struct notices *notices;
    const struct config_cluster *config;
    struct map *placards; /* node UID -> struct placard */
    ARRAY(struct letter *) letters;
    int64_t refill_ms;
    int sent; /* since then */
    int64_t no_conditions_until_ms;
    int64_t no_events_until_ms;
    bool is_said; /* that something is refused */
};

struct notices {
    struct service *service;
    struct house *houses; /* as config->clusters */
    struct map *told;     /* transfer id -> uint64_t: bits of enum told */
};

static void letter_free(struct letter *letter)
{
    mem_free(letter->message);
    mem_free(letter);
}

struct notices *notices_new(struct service *service)
{
    struct notices *notices = mem_new(sizeof *notices);
    const struct config *config = service->config;

    notices->service = service;
    notices->told = map_new(mem_free);
    notices->houses = mem_new_array(config->cluster_count, sizeof *notices->houses);
    for (size_t i = 0; i < config->cluster_count; i++) {
        notices->houses[i].notices = notices;
        notices->houses[i].config = &config->clusters[i];
        notices->houses[i].placards = map_new(mem_free);
    }
    return notices;
}

void notices_free(struct notices *notices)
{
    if (!notices)
        return;
    for (size_t i = 0; i < notices->service->config->cluster_count; i++) {
        struct house *house = &notices->houses[i];

        for (size_t k = 0; k < house->letters.count; k++)
            letter_free(house->letters.items[k]);
        array_clear(&house->letters);
        map_free(house->placards);
    }
    map_free(notices->told);
    mem_free(notices->houses);
    mem_free(notices);
}

static int64_t now_of(const struct house *house)
{
    return loop_now(house->notices->service->world->loop);
}

static struct cluster *cluster_of(const struct house *house)
{
    return fleet_cluster(house->notices->service->fleet, house->config);
}

static void say_once(struct house *house, const char *what, const struct error *err)
{
    if (!house->is_said)
        log_warn("courtesy_refused", FIELD_TEXT("cluster", house->config->name),
                 FIELD_TEXT("what", what), FIELD_TEXT("text", err->text));
    house->is_said = true;
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
    struct placard *placard = context;
    struct house *house = placard->house;

    (void)body;
    placard->is_in_flight = false;
    placard->not_before_ms = now_of(house) + AGAIN_MS;
    if (!err)
        placard->departure = placard->sent;
    if (err && err->kind == ERROR_DENIED) {
        house->no_conditions_until_ms = now_of(house) + DENIED_MS;
        say_once(house, "nodes/status", err);
    }
}

static void tell_node(struct house *house, const struct node *node, const struct transfer *transfer)
{
    unsigned marks = wanted_marks(transfer);
    struct placard *placard = map_get(house->placards, node->uid);
    struct wall_time departure = marks ? transfer->departure : (struct wall_time){ 0 };
    char text[WALL_TEXT_SIZE];
    owned(chars) char *message = NULL;

    /* the message of an earlier life is taken to be right: the node tells its departure itself */
    if (node->marks == marks &&
        (!placard || placard->departure.ms == 0 || placard->departure.ms == departure.ms))
        return;
    if (!placard) {
        placard = mem_new(sizeof *placard);
        placard->house = house;
        map_set(house->placards, node->uid, placard);
    }
    if (placard->is_in_flight || now_of(house) < placard->not_before_ms ||
        now_of(house) < house->no_conditions_until_ms)
        return;
    message = marks
                  ? text_format("leaves at %s: transfer %s to pool %s",
                                wall_format(departure, text), transfer->id, transfer->target->name)
                  : mem_copy_chars("stays");
    placard->sent = departure;
    placard->is_in_flight = true;
    cluster_tell_node(cluster_of(house), node->name, node->uid, marks, message, condition_answered,
                      placard);
}

static const struct transfer *transfer_of(const struct notices *notices, const char *node_uid)
{
    const struct runner *runner = notices->service->runner;

    for (size_t i = runner->transfers.count; i-- > 0;)
        if (text_equal(runner->transfers.items[i]->node_uid, node_uid))
            return runner->transfers.items[i];
    return NULL;
}

static void tell_nodes(struct house *house)
{
    const struct snapshot *snapshot = fleet_snapshot(house->notices->service->fleet, house->config);
    const struct runner *runner = house->notices->service->runner;
    void *value;

    if (!snapshot->is_known)
        return;
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;

        if (node->marks != 0)
            tell_node(house, node, transfer_of(house->notices, node->uid));
    }
    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];
        const struct node *node = map_get(snapshot->nodes, transfer->node);

        if (transfer->state == TRANSFER_LIVE && transfer->source->cluster == house->config &&
            node && text_equal(node->uid, transfer->node_uid))
            tell_node(house, node, transfer);
    }
}

/* ---- events ---- */

/* The same news has the same name. */
static void name_letter(struct letter *letter, const struct transfer *transfer)
{
    owned(chars) char *key = text_format("%s %s %s", transfer->id, letter->reason, letter->uid);
    char hash[SHA256_TEXT_SIZE];
    owned(chars) char *name = NULL;

    crypto_sha256_text(key, strlen(key), hash);
    name = text_format("sluice-%s-%.16s", transfer->id, hash);
    text_copy(letter->name, sizeof letter->name, name);
}

static struct letter *add_letter(struct house *house, const struct transfer *transfer,
                                 const struct pod *pod, const char *reason)
{
    struct letter *letter = mem_new(sizeof *letter);

    letter->house = house;
    text_copy(letter->kind, sizeof letter->kind, pod ? "Pod" : "Node");
    text_copy(letter->namespace, sizeof letter->namespace, pod ? pod->namespace : "");
    text_copy(letter->object, sizeof letter->object, pod ? pod->name : transfer->node);
    text_copy(letter->uid, sizeof letter->uid, pod ? pod->uid : transfer->node_uid);
    text_copy(letter->reason, sizeof letter->reason, reason);
    name_letter(letter, transfer);
    *array_add(&house->letters) = letter;
    return letter;
}

static void tell_pods(struct house *house, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(house->notices->service->fleet, house->config);
    owned(map) struct map *gangs = map_new(NULL);
    char departure[WALL_TEXT_SIZE];
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);

    wall_format(transfer->departure, departure);
    for (size_t i = 0; i < count; i++) {
        owned(chars) char *gang = text_format("%d %s", (int)pods[i]->gang.kind, pods[i]->gang.key);
        struct letter *letter;

        if (!pod_must_leave(pods[i]) || map_get(gangs, gang))
            continue;
        letter = add_letter(house, transfer, pods[i], "NodeLeaves");
        letter->message = text_format(
            "node %s leaves at %s: its pods are evicted then. Annotation " SLUICE_NOTE_READY
            "=\"true\" says that no more time is needed",
            transfer->node, departure);
        map_set(gangs, gang, letter);
    }
}

static bool is_new(struct notices *notices, const struct transfer *transfer, enum told told)
{
    uint64_t *bits = map_get(notices->told, transfer->id);

    if (!bits) {
        bits = mem_new(sizeof *bits);
        map_set(notices->told, transfer->id, bits);
    }
    if (*bits & 1u << told)
        return false;
    *bits |= 1u << told;
    return true;
}

/* A service that starts again finds the story of days. */
static bool is_news(const struct notices *notices, const struct transfer *transfer)
{
    const struct wall_time now = runner_now(notices->service->runner);

    return transfer->state == TRANSFER_LIVE ||
           (transfer->state == TRANSFER_UNDONE && now.ms - transfer->ended.ms < NEWS_MS);
}

static void tell_transfer(struct house *house, const struct transfer *transfer)
{
    struct notices *notices = house->notices;
    bool was_told = transfer->announced.ms > 0 || transfer->cordoned.ms > 0;
    char departure[WALL_TEXT_SIZE];

    if (!is_news(notices, transfer))
        return;
    wall_format(transfer->departure, departure);
    if (transfer->is_undoing || transfer->state == TRANSFER_UNDONE) {
        if (was_told && is_new(notices, transfer, TOLD_WITHDRAWN))
            add_letter(house, transfer, NULL, "DepartureWithdrawn")->message = text_format(
                "the node stays: transfer %s goes back", transfer->id);
        return;
    }
    if (transfer->announced.ms > 0 && transfer->step <= STEP_HOLD &&
        is_new(notices, transfer, TOLD_ANNOUNCED)) {
        add_letter(house, transfer, NULL, "DepartureAnnounced")->message = text_format(
            "leaves at %s for pool %s: %s", departure, transfer->target->name, transfer->reason);
        tell_pods(house, transfer);
    }
    if (transfer->cordoned.ms > 0 && is_new(notices, transfer, TOLD_CLOSED))
        add_letter(house, transfer, NULL, "DepartureBegins")->message = text_format(
            "cordoned and drained: transfer %s", transfer->id);
    if (transfer->step > STEP_FORCE && is_new(notices, transfer, TOLD_EMPTY))
        add_letter(house, transfer, NULL, "DepartureDrained")->message = text_format(
            "no pod is left to wait for: transfer %s", transfer->id);
}

static bool was_accepted(const struct effect *effect)
{
    return effect && effect->answered_ms > 0 && effect->outcome == ERROR_NONE;
}

/* What the pod reads of an end that is not its own: NULL: nothing. */
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

/* Once.  Takes the message. */
static void tell_pod(struct house *house, const struct transfer *transfer, const struct pod *pod,
                     const char *reason, char *message)
{
    owned(chars) char *key = text_format("%s %s %s", transfer->id, reason, pod->uid);
    owned(chars) char *text = message;
    struct letter *letter;

    if (map_get(house->notices->told, key))
        return;
    map_set(house->notices->told, key, mem_new(sizeof(uint64_t)));
    letter = add_letter(house, transfer, pod, reason);
    letter->is_warning = true;
    letter->message = steal(&text);
}

/* Pods that have less time than they asked for, or are told past their own deadline. */
static void tell_forced(struct house *house, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(house->notices->service->fleet, house->config);
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
            tell_pod(house, transfer, pods[i], reason, steal(&message));
    }
}

static void event_answered(void *context, const json_t *body, const struct error *err)
{
    struct letter *letter = context;
    struct house *house = letter->house;

    (void)body;
    letter->is_in_flight = false;
    letter->not_before_ms = now_of(house) + AGAIN_MS;
    if (!err || err->kind == ERROR_CONFLICT || err->kind == ERROR_NOT_FOUND ||
        err->kind == ERROR_INVALID)
        letter->tries = TRIES_MOST;
    if (err && err->kind == ERROR_DENIED) {
        house->no_events_until_ms = now_of(house) + DENIED_MS;
        letter->tries = TRIES_MOST;
        say_once(house, "events", err);
    }
}

static void send_letter(struct house *house, struct letter *letter)
{
    struct kube_event event = {
        .name = letter->name,
        .kind = letter->kind,
        .namespace = letter->namespace,
        .object = letter->object,
        .uid = letter->uid,
        .reason = letter->reason,
        .message = letter->message,
        .is_warning = letter->is_warning,
    };

    letter->tries++;
    letter->is_in_flight = true;
    house->sent++;
    cluster_post_event(cluster_of(house), &event, event_answered, letter);
}

/* Sends what may be sent; forgets what was, what is not wanted, and what is too much. */
static void send_letters(struct house *house)
{
    int64_t now = now_of(house);

    if (now - house->refill_ms >= REFILL_MS) {
        house->refill_ms = now;
        house->sent = 0;
    }
    for (size_t i = 0; i < house->letters.count;) {
        struct letter *letter = house->letters.items[i];

        if (!letter->is_in_flight &&
            (letter->tries >= TRIES_MOST || i >= QUEUE_MOST || now < house->no_events_until_ms)) {
            letter_free(letter);
            array_remove(&house->letters, i);
            continue;
        }
        if (!letter->is_in_flight && now >= letter->not_before_ms && house->sent < EVENTS_A_REFILL)
            send_letter(house, letter);
        i++;
    }
}

/* What is forgotten is told again under the same name, or shown by the node already. */
static void forget(struct notices *notices)
{
    const size_t cluster_count = notices->service->config->cluster_count;

    if (map_count(notices->told) > KEPT_MOST) {
        map_free(notices->told);
        notices->told = map_new(mem_free);
    }
    for (size_t i = 0; i < cluster_count; i++) {
        struct house *house = &notices->houses[i];
        bool is_busy = false;
        void *value;

        for (size_t k = 0; map_next(house->placards, &k, NULL, &value);)
            is_busy |= ((const struct placard *)value)->is_in_flight;
        if (is_busy || map_count(house->placards) <= KEPT_MOST)
            continue;
        map_free(house->placards);
        house->placards = map_new(mem_free);
    }
}

void notices_advance(struct notices *notices)
{
    const struct config *config = notices->service->config;
    const struct runner *runner = notices->service->runner;

    forget(notices);
    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];
        struct house *house = &notices->houses[transfer->source->cluster - config->clusters];

        tell_transfer(house, transfer);
        tell_forced(house, transfer);
    }
    for (size_t i = 0; i < config->cluster_count; i++) {
        tell_nodes(&notices->houses[i]);
        send_letters(&notices->houses[i]);
    }
}
