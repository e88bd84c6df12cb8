/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See suspend.h.  Each suspension is level-triggered: a gang should be suspended while any transfer
 * that takes nodes from it drains; whether it is suspended is read from the owner.
 */
#include "broker/sides/kube/suspend.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "broker/sides/kube/kept_patch.h"
#include "broker/sides/kube/owner_search.h"
#include "broker/transfer/runner.h"
#include "clusters/kube_verbs.h"
#include "clusters/owner.h"

enum {
    PATIENCE_MS = 30 * SECOND_MS, /* for the owner to be found and stopped, and for it to begin */
    PATIENCE_EMERGENCY_MS = 5 * SECOND_MS, /* to delete its pods */
    BACKOFF_FIRST_MS = SECOND_MS,
    BACKOFF_MAX_MS = 60 * SECOND_MS,
    LOST_MS = 60 * SECOND_MS, /* after it no lost patch can arrive any more */
};

enum sight {
    OWNER_UNSEEN, /* to be read */
    OWNER_SEEN,
    OWNER_GONE,    /* deleted, or made again: not the suspended one */
    OWNER_REFUSED, /* the server did not allow it in time, or the kind cannot be suspended so */
};

struct suspension {
    struct suspensions *book;
    const struct config_cluster *cluster;
    char path[OWNER_PATH_SIZE];
    char *name;
    char uid[64];      /* of the owner that the record is about */
    json_t *transfers; /* ids of those that take nodes from the gang */
    uint64_t rev;      /* of the record; 0: nothing was promised */
    int told_count;    /* patches that stop it, but for those refused for certain */
    int64_t lost_ms;   /* when the answer to one was lost last; 0: never */
    bool was_told;     /* the event that it is stopped is written */
    bool is_restored;
    enum sight sight;
    struct owner owner; /* as seen */
    bool is_under_way;
    bool is_ending; /* no transfer wants it any more */
    int failures;
    int64_t not_before_ms;
    int64_t asked_ms;   /* since when a transfer waits for it */
    int64_t stopped_ms; /* when it was first seen stopped by us */
    char text[256];     /* the last failure */
};

struct suspensions {
    struct runner *runner;
    struct owner_searches *searches;
    struct map *all; /* "CLUSTER PATH" -> struct suspension */
    char why[512];
};

static void suspension_free(void *value)
{
    struct suspension *suspension = value;

    json_decref(suspension->transfers);
    mem_free(suspension->name);
    mem_free(suspension);
}

struct suspensions *suspensions_new(struct runner *runner)
{
    struct suspensions *book = mem_new(sizeof *book);

    book->runner = runner;
    book->searches = owner_searches_new(runner);
    book->all = map_new(suspension_free);
    return book;
}

void suspensions_free(struct suspensions *book)
{
    if (!book)
        return;
    owner_searches_free(book->searches);
    map_free(book->all);
    mem_free(book);
}

static int64_t now_ms(const struct suspensions *book)
{
    return loop_now(book->runner->world->loop);
}

static struct suspension *find_or_add(struct suspensions *book,
                                      const struct config_cluster *cluster, const char *path)
{
    owned(chars) char *key = text_format("%s %s", cluster->name, path);
    struct suspension *suspension = map_get(book->all, key);

    if (suspension)
        return suspension;
    suspension = mem_new(sizeof *suspension);
    suspension->book = book;
    suspension->cluster = cluster;
    suspension->transfers = json_array();
    suspension->name = owner_name(path);
    suspension->asked_ms = now_ms(book);
    text_copy(suspension->path, sizeof suspension->path, path);
    map_set(book->all, key, suspension);
    return suspension;
}

static bool is_ours(const struct suspension *suspension)
{
    return suspension->sight == OWNER_SEEN && suspension->owner.stopped_by[0] != '\0' &&
           suspension->owner.is_stopped;
}

/* Writes or removes the record; event NULL: no event. */
static int store(struct suspension *suspension, bool stays, const char *event)
{
    struct runner *runner = suspension->book->runner;
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    owned(chars) char *id = text_format("%s %s", suspension->cluster->name, suspension->path);
    owned(json) json_t *transfers = json_copy(suspension->transfers); /* others may join */
    owned(json)
        json_t *value = json_make("{ss ss ss sO}", "cluster", suspension->cluster->name, "path",
                                  suspension->path, "uid", suspension->uid, "transfers", transfers);
    owned(json) json_t *story = json_make("{ss ss ss sO}", "event", event ?: "", "cluster",
                                          suspension->cluster->name, "owner", suspension->name,
                                          "transfers", transfers);
    struct error err;

    if (stays)
        journal_put(batch, "suspension", id, suspension->rev, value);
    else
        journal_remove(batch, "suspension", id, suspension->rev);
    if (event)
        journal_event(batch, runner_now(runner), story);
    if (journal_commit(runner->world->journal, &batch, &err) < 0) {
        runner_break(runner, &err);
        return -1;
    }
    suspension->rev = stays ? suspension->rev + 1 : 0;
    if (event)
        log_info(event, FIELD_TEXT("cluster", suspension->cluster->name),
                 FIELD_TEXT("owner", suspension->name));
    return 0;
}

/* The transfer that needs the gang suspended, a reclaim before others; NULL: none. */
static const struct transfer *wanted_by(const struct suspension *suspension)
{
    const struct transfer *first = NULL;
    const json_t *id;
    size_t i;

    json_array_foreach(suspension->transfers, i, id) {
        const struct transfer *transfer = runner_transfer(suspension->book->runner,
                                                          json_string_value(id));

        if (!transfer || transfer->state != TRANSFER_LIVE || transfer->is_undoing ||
            transfer->step < STEP_DRAIN || transfer->step > STEP_FORCE)
            continue;
        if (!first || (transfer->is_emergency && !first->is_emergency))
            first = transfer;
    }
    return first;
}

static void join(struct suspension *suspension, const struct transfer *transfer)
{
    const json_t *id;
    size_t i;

    json_array_foreach(suspension->transfers, i, id) {
        if (text_equal(json_string_value(id), transfer->id))
            return;
    }
    json_array_append_new(suspension->transfers, json_text(transfer->id));
    if (suspension->rev > 0)
        (void)store(suspension, true, NULL); /* a failure breaks the runner */
}

static void back_off(struct suspension *suspension, const struct error *err)
{
    int shift = suspension->failures < 6 ? suspension->failures : 6;
    int64_t wait_ms = (int64_t)BACKOFF_FIRST_MS << shift;

    if ((err->kind == ERROR_DENIED && suspension->is_ending) || err->kind == ERROR_INVALID ||
        wait_ms > BACKOFF_MAX_MS)
        wait_ms = BACKOFF_MAX_MS;
    if (err->retry_after_ms > wait_ms)
        wait_ms = err->retry_after_ms;
    if (suspension->failures++ == 0 && err->kind != ERROR_CONFLICT)
        log_warn("gang_not_told", FIELD_TEXT("cluster", suspension->cluster->name),
                 FIELD_TEXT("owner", suspension->name), FIELD_TEXT("text", err->text));
    text_copy(suspension->text, sizeof suspension->text, err->text);
    suspension->not_before_ms = now_ms(suspension->book) + wait_ms;
}

static int64_t patience_of(const struct transfer *transfer)
{
    return transfer && transfer->is_emergency ? PATIENCE_EMERGENCY_MS : PATIENCE_MS;
}

/* The state after a failed request.  A missing right may appear in a moment: a server that has just
   started denies, and has changed nothing. */
static enum sight sight_after(const struct suspension *suspension, enum error_kind kind)
{
    int64_t asked_ms = now_ms(suspension->book) - suspension->asked_ms;

    if (suspension->is_ending || (kind != ERROR_DENIED && kind != ERROR_INVALID))
        return OWNER_UNSEEN;
    if (kind == ERROR_DENIED && asked_ms < patience_of(wanted_by(suspension)))
        return suspension->sight;
    return OWNER_REFUSED;
}

/* Takes from an answer, to a read or a patch, what it shows of the owner. */
static void look(struct suspension *suspension, const json_t *body, const struct error *err)
{
    struct error bad = { 0 };

    require(suspension->is_under_way && !body == !!err);
    suspension->is_under_way = false;
    if (!err && owner_read(suspension->path, body, &suspension->owner, &bad) < 0)
        err = &bad;
    if (!err) {
        bool is_other = suspension->uid[0] != '\0' &&
                        !text_equal(suspension->uid, suspension->owner.uid);

        suspension->sight = is_other ? OWNER_GONE : OWNER_SEEN;
        suspension->failures = 0;
        suspension->text[0] = '\0';
        if (is_ours(suspension) && suspension->stopped_ms == 0)
            suspension->stopped_ms = now_ms(suspension->book);
    } else if (err->kind == ERROR_NOT_FOUND) {
        suspension->sight = OWNER_GONE;
    } else {
        back_off(suspension, err);
        suspension->sight = sight_after(suspension, err->kind);
    }
    runner_wake(suspension->book->runner);
}

static void owner_came(void *context, const json_t *body, const struct error *err)
{
    look(context, body, err);
}

static void stop_answered(void *context, const json_t *body, const struct error *err)
{
    struct suspension *suspension = context;

    if (err && err->kind == ERROR_UNKNOWN_OUTCOME)
        suspension->lost_ms = now_ms(suspension->book);
    else if (err)
        suspension->told_count--;
    look(suspension, body, err);
    /* A server whose kind does not have the member drops it, and answers with success. */
    if (!err && suspension->sight == OWNER_SEEN && !suspension->owner.is_stopped)
        suspension->sight = OWNER_REFUSED;
}

static void restore_answered(void *context, const json_t *body, const struct error *err)
{
    struct suspension *suspension = context;

    suspension->is_restored = suspension->is_restored || !err;
    look(suspension, body, err);
}

static void read_owner(struct suspension *suspension)
{
    suspension->is_under_way = true;
    cluster_read_at(fleet_cluster(suspension->book->runner->fleet, suspension->cluster),
                    suspension->path, owner_came, suspension);
}

static void patch_owner(struct suspension *suspension, json_t *change, cluster_done_fn done)
{
    const struct object_patch patch = { .cluster = suspension->cluster,
                                        .path = suspension->path,
                                        .change = change };

    require(!suspension->is_under_way && suspension->rev > 0); /* promised before it is sent */
    suspension->is_under_way = true;
    kept_patch(suspension->book->runner, &patch, done, suspension);
}

/* A transfer wants the gang suspended: asks for the missing part. */
static void hold(struct suspension *suspension, const struct transfer *transfer)
{
    struct runner *runner = suspension->book->runner;
    owned(json) json_t *patch = NULL;
    struct error err;

    if (suspension->is_ending) {
        suspension->is_ending = suspension->is_restored = suspension->was_told = false;
        suspension->sight = OWNER_UNSEEN;
        suspension->stopped_ms = 0;
        suspension->asked_ms = now_ms(suspension->book);
    }
    if (suspension->sight == OWNER_UNSEEN)
        read_owner(suspension);
    if (suspension->sight != OWNER_SEEN)
        return;
    text_copy(suspension->uid, sizeof suspension->uid, suspension->owner.uid);
    if (is_ours(suspension)) {
        if (!suspension->was_told)
            suspension->was_told = store(suspension, true, "gang_suspended") == 0;
        return;
    }
    if (suspension->owner.is_stopped)
        return; /* a person suspended it, and decides when it goes on */
    if (guard_allows_effect(runner->guard, suspension->cluster, transfer->is_emergency, &err) < 0) {
        suspension->asked_ms = now_ms(suspension->book);
        return;
    }
    if (suspension->rev == 0 && store(suspension, true, NULL) < 0)
        return;
    patch = owner_stop_patch(suspension->path, &suspension->owner, transfer->id);
    suspension->told_count++;
    patch_owner(suspension, patch, stop_answered);
}

/* No transfer wants the suspension any more: true when the owner is as it was before. */
static bool let_go(struct suspension *suspension)
{
    int64_t since_lost_ms = now_ms(suspension->book) - suspension->lost_ms;
    owned(json) json_t *patch = NULL;

    if (suspension->rev == 0)
        return true;
    if (!suspension->is_ending) {
        suspension->is_ending = true;
        suspension->failures = 0;
        suspension->sight = OWNER_UNSEEN;
    }
    if (suspension->told_count == 0 && !suspension->was_told)
        return store(suspension, false, NULL) == 0;
    if (suspension->sight == OWNER_UNSEEN) {
        read_owner(suspension);
        return false;
    }
    if (suspension->sight == OWNER_SEEN && suspension->owner.stopped_by[0] != '\0') {
        patch = owner_restore_patch(suspension->path, &suspension->owner);
        patch_owner(suspension, patch, restore_answered);
        return false;
    }
    if (suspension->sight == OWNER_SEEN && !suspension->is_restored && suspension->lost_ms > 0 &&
        since_lost_ms < LOST_MS) {
        suspension->sight = OWNER_UNSEEN;
        suspension->not_before_ms = suspension->lost_ms + LOST_MS;
        return false;
    }
    return store(suspension, false, suspension->is_restored ? "gang_resumed" : "gang_left") == 0;
}

static bool is_draining(const struct runner *runner)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(runner, &i));)
        if (transfer->step >= STEP_DRAIN && transfer->step <= STEP_FORCE)
            return true;
    return false;
}

bool suspensions_tick(struct suspensions *book)
{
    int64_t now = now_ms(book);
    bool is_open = owner_searches_tick(book->searches);
    const char *key;
    void *value;

    for (size_t i = 0; map_next(book->all, &i, &key, &value) && !book->runner->is_broken;) {
        struct suspension *suspension = value;
        const struct transfer *transfer = wanted_by(suspension);

        if (suspension->is_under_way || now < suspension->not_before_ms)
            continue;
        if (transfer)
            hold(suspension, transfer);
        else if (let_go(suspension))
            map_remove(book->all, key);
    }
    is_open = is_open || map_count(book->all) > 0;
    if (!is_open && !is_draining(book->runner))
        owner_searches_forget(book->searches);
    return is_open;
}

static bool say(struct suspensions *book, const char **ret_why)
{
    *ret_why = book->why;
    return false;
}

bool suspend_is_settled(struct suspensions *book, struct transfer *transfer, const struct pod *pod,
                        const char **ret_why)
{
    int64_t patience_ms = patience_of(transfer);
    const struct config_cluster *cluster = transfer->source->cluster;
    const char *path = NULL;
    struct suspension *suspension;

    if (!book->runner->config->drain.suspends_gangs)
        return true;
    switch (owner_search(book->searches, transfer, pod, patience_ms, &path)) {
    case OWNER_NONE:
        return true;
    case OWNER_UNKNOWN:
        text_print(book->why, sizeof book->why, "the owner of pod %.120s/%.120s to be read",
                   pod->namespace, pod->name);
        return say(book, ret_why);
    case OWNER_FOUND:
        break;
    }
    suspension = find_or_add(book, cluster, path);
    join(suspension, transfer);
    if (suspension->sight == OWNER_GONE || suspension->sight == OWNER_REFUSED ||
        (suspension->sight == OWNER_SEEN && suspension->owner.is_stopped && !is_ours(suspension)))
        return true;
    if (is_ours(suspension)) {
        text_print(book->why, sizeof book->why, "%.300s is stopped: its pods to leave",
                   suspension->name);
        return !owner_deletes_pods(path) || now_ms(book) - suspension->stopped_ms >= patience_ms ||
               say(book, ret_why);
    }
    text_print(book->why, sizeof book->why, "%.200s to stop as a whole%s%.250s", suspension->name,
               suspension->text[0] != '\0' ? ": " : "", suspension->text);
    return now_ms(book) - suspension->asked_ms >= patience_ms || say(book, ret_why);
}

json_t *suspensions_describe(const struct suspensions *book)
{
    json_t *rows = json_array();
    void *value;

    for (size_t i = 0; map_next(book->all, &i, NULL, &value);) {
        const struct suspension *suspension = value;

        if (suspension->rev > 0)
            json_array_append_new(
                rows, json_make("{ss ss sO sb ss}", "cluster", suspension->cluster->name, "owner",
                                suspension->name, "transfers", suspension->transfers, "is_ending",
                                suspension->is_ending, "text", suspension->text));
    }
    return rows;
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct suspensions *book = context;
    const struct config_cluster *cluster;
    const char *name;
    const char *path;
    const char *uid;
    json_t *transfers;
    struct suspension *suspension;

    if (json_need_text(value, "cluster", &name, err) < 0 ||
        json_need_text(value, "path", &path, err) < 0 ||
        json_need_text(value, "uid", &uid, err) < 0 ||
        json_need_array(value, "transfers", &transfers, err) < 0)
        return error_context(err, "suspension %s", id);
    cluster = config_cluster(book->runner->config, name);
    if (!cluster) {
        log_warn("suspension_ignored", FIELD_TEXT("suspension", id),
                 FIELD_TEXT("text", "its cluster is not in the configuration"));
        return 0;
    }
    suspension = find_or_add(book, cluster, path);
    text_copy(suspension->uid, sizeof suspension->uid, uid);
    json_array_extend(suspension->transfers, transfers);
    suspension->rev = rev;
    suspension->told_count = 1; /* whether it was, the owner says */
    suspension->lost_ms = now_ms(book);
    return 0;
}

int suspensions_load(struct suspensions *book, struct error *err)
{
    return journal_load(book->runner->world->journal, "suspension", load_one, book, err);
}
