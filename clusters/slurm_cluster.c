/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_cluster.h.  A list that fails ends its round: the snapshot stays, and gets older.
 */
#include "clusters/slurm_cluster.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "clusters/cluster_base.h"
#include "clusters/slurm/slurm_errors.h"
#include "clusters/slurm/slurm_machine.h"
#include "clusters/slurm/slurm_read.h"
#include "clusters/slurm/slurm_scripts.h"
#include "clusters/slurm_inspect.h"
#include "clusters/slurm_snapshot.h"

#include <stddef.h>
#include <string.h>

enum {
    PARTITIONS_MS = MINUTE_MS, /* between two lists of the partitions */
    PARTITIONS_TRIES = 6,      /* of the first list, before sluice does without */
    HURRY_MS = SECOND_MS,      /* between two rounds, however urgent */
    RETRY_MOST_MS = MINUTE_MS,
    SLOW_ROUNDS_MS = 30 * SECOND_MS, /* of two that may lie between a fact and the next one */
    TROUBLE_SIZE = 512,
};

struct slurm_settings {
    struct slurm_access access;
    char *machine;
    char *signal;
    int64_t checkpoint_ms;
    int64_t poll_ms;
};

struct slurm_cluster {
    struct cluster base;
    struct slurm_settings own;
    struct slurm_client *client;
    struct slurm_scripts *scripts;
    struct timer *timer;
    bool is_asking;
    int64_t round_ms;                  /* begin of the last round's lists, loop time */
    int partitions_tries;              /* that failed, of the first list */
    int64_t partitions_ms;             /* when the partitions were listed, or refused */
    char *preempts;                    /* PreemptType; NULL: it was never read */
    int64_t hurry_ms;                  /* a round that began before this is not enough */
    int failures;                      /* in a row */
    json_t *lists[SLURM_ACTION_COUNT]; /* of the round under way; partitions: the last ones */
    char trouble[TROUBLE_SIZE];
    struct slurm_inspection *inspection; /* NULL: there was none */
};

static struct slurm_cluster *of(struct cluster *cluster)
{
    require(cluster->kind == &cluster_slurm);
    return (struct slurm_cluster *)cluster;
}

static const struct slurm_cluster *seen(const struct cluster *cluster)
{
    require(cluster->kind == &cluster_slurm);
    return (const struct slurm_cluster *)cluster;
}

struct slurm_client *slurm_cluster_client(struct cluster *cluster)
{
    return of(cluster)->client;
}

int64_t slurm_cluster_checkpoint_ms(const struct cluster *cluster)
{
    return seen(cluster)->own.checkpoint_ms;
}

bool slurm_cluster_has_reservation(const struct cluster *cluster, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(seen(cluster)->lists[SLURM_LIST_RESERVATIONS], i, item) {
        struct slurm_reservation one;
        struct error err;

        if (slurm_read_reservation(item, &one, &err) == 0 && text_equal(one.name, name))
            return true;
    }
    return false;
}

void slurm_cluster_read_script(struct cluster *cluster, const char *job, const char *key)
{
    slurm_scripts_ask(of(cluster)->scripts, job, key);
}

/* ---- a round ---- */

static void ask_next(struct slurm_cluster *slurm, enum slurm_action action);

/* When the next round begins: later after failures. */
static void set_timer(struct slurm_cluster *slurm)
{
    int64_t delay_ms = slurm->own.poll_ms;

    for (int i = 0; i < slurm->failures && delay_ms < RETRY_MOST_MS; i++)
        delay_ms *= 2;
    if (delay_ms > RETRY_MOST_MS)
        delay_ms = RETRY_MOST_MS;
    if (slurm->failures == 0 && slurm->hurry_ms > slurm->round_ms)
        delay_ms = HURRY_MS;
    timer_set(slurm->timer, delay_ms);
}

static void end_round(struct slurm_cluster *slurm, const struct error *err)
{
    slurm->is_asking = false;
    slurm->failures = err ? slurm->failures + 1 : 0;
    if (err && !text_equal(slurm->trouble, err->text))
        log_warn("slurm_failed", FIELD_TEXT("cluster", slurm->base.name),
                 FIELD_TEXT("text", err->text));
    if (err)
        slurm_client_forget(slurm->client);
    text_copy(slurm->trouble, sizeof slurm->trouble, err ? err->text : "");
    set_timer(slurm);
    cluster_tell_news(&slurm->base);
}

/* Of jobs that are gone, or have started again, no script is wanted any more. */
static void forget_scripts(struct slurm_cluster *slurm)
{
    owned(map) struct map *keys = map_new(NULL);
    void *value;

    for (size_t i = 0; map_next(slurm->base.snapshot.pods, &i, NULL, &value);) {
        const char *key = pod_annotation(value, SLURM_NOTE_RESTARTS);

        if (key)
            map_set(keys, key, slurm);
    }
    slurm_scripts_keep(slurm->scripts, keys);
}

static void adopt_round(struct slurm_cluster *slurm)
{
    struct snapshot *snapshot = &slurm->base.snapshot;
    const struct slurm_lists lists = { slurm->lists[SLURM_LIST_NODES],
                                       slurm->lists[SLURM_LIST_JOBS],
                                       slurm->lists[SLURM_LIST_RESERVATIONS],
                                       slurm->lists[SLURM_LIST_PARTITIONS] };
    const struct slurm_view view = { slurm->base.name, slurm->own.machine, slurm->own.signal,
                                     slurm->preempts, slurm_scripts_read(slurm->scripts) };
    struct error err;

    if (slurm_snapshot_fill(snapshot, &lists, &view, &err) < 0) {
        error_context(&err, "cluster %s", slurm->base.name);
        end_round(slurm, &err);
        return;
    }
    forget_scripts(slurm);
    snapshot->is_known = true;
    snapshot->devices_are_known = true; /* GRES are of the node itself */
    snapshot->nodes_seen_ms = snapshot->pods_seen_ms = slurm->round_ms;
    end_round(slurm, NULL);
}

/* The list of an answer.  An answer without its list is no empty list. */
static json_t *list_of(enum slurm_action action, const struct slurm_answer *answer,
                       struct error *err)
{
    const struct slurm_action_row *row = &slurm_actions[action];
    json_t *list = answer->format == SLURM_JSON ? json_object_get(answer->body, row->list) : NULL;

    if (answer->format == SLURM_LINES)
        return action == SLURM_LIST_PARTITIONS
                   ? slurm_read_lines(answer->text, "PartitionName", "No partitions", err)
                   : slurm_read_lines(answer->text, "ReservationName", "No reservations", err);
    if (json_is_array(list))
        return json_incref(list);
    (void)error_set(err, ERROR_CORRUPT, "%s: the answer has no list \"%s\"", row->name, row->list);
    return NULL;
}

static void take_list(struct slurm_cluster *slurm, enum slurm_action action,
                      const struct slurm_answer *answer, const struct error *err)
{
    struct error why = { 0 };
    json_t *list = answer ? list_of(action, answer, &why) : NULL;

    if (!list) {
        end_round(slurm, err ?: &why);
        return;
    }
    json_decref(slurm->lists[action]);
    slurm->lists[action] = list;
    if (action == SLURM_LIST_NODES)
        ask_next(slurm, SLURM_LIST_JOBS);
    else if (action == SLURM_LIST_JOBS)
        ask_next(slurm, SLURM_LIST_RESERVATIONS);
    else if (action == SLURM_LIST_RESERVATIONS &&
             slurm->round_ms - slurm->partitions_ms >= PARTITIONS_MS)
        ask_next(slurm, SLURM_LIST_PARTITIONS);
    else if (action == SLURM_LIST_PARTITIONS) /* whose mode depends on it */
        ask_next(slurm, SLURM_READ_CONFIG);
    else
        adopt_round(slurm);
}

static void on_nodes(void *context, const struct slurm_answer *answer, const struct error *err)
{
    take_list(context, SLURM_LIST_NODES, answer, err);
}

static void on_jobs(void *context, const struct slurm_answer *answer, const struct error *err)
{
    take_list(context, SLURM_LIST_JOBS, answer, err);
}

static void on_reservations(void *context, const struct slurm_answer *answer,
                            const struct error *err)
{
    take_list(context, SLURM_LIST_RESERVATIONS, answer, err);
}

/* Without partitions sluice does not know which jobs no other may displace: Slurm does not tell it
   by slurmrestd alone, or to this user.  After any other failure it asks again in the next round.
   Until then the last ones count; without any, nothing is known of the cluster, for a few rounds:
   transfers under way have to go on if the login node is out of reach for long. */
static void on_partitions(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_cluster *slurm = context;
    bool is_never_told = err && (err->kind == ERROR_INVALID || err->kind == ERROR_DENIED);

    if (!err || is_never_told)
        slurm->partitions_ms = slurm->round_ms;
    if (err && !is_never_told && !slurm->lists[SLURM_LIST_PARTITIONS] &&
        ++slurm->partitions_tries < PARTITIONS_TRIES)
        end_round(slurm, err);
    else if (err)
        adopt_round(slurm);
    else
        take_list(slurm, SLURM_LIST_PARTITIONS, answer, err);
}

/* Without it the last one counts. */
static void on_config(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_cluster *slurm = context;
    char *preempts = err ? NULL : slurm_read_setting(answer->text, "PreemptType");

    if (preempts) {
        mem_free(slurm->preempts);
        slurm->preempts = preempts;
    }
    adopt_round(slurm);
}

static void ask_next(struct slurm_cluster *slurm, enum slurm_action action)
{
    static const slurm_done_fn dones[SLURM_ACTION_COUNT] = {
        [SLURM_LIST_NODES] = on_nodes,
        [SLURM_LIST_JOBS] = on_jobs,
        [SLURM_LIST_RESERVATIONS] = on_reservations,
        [SLURM_LIST_PARTITIONS] = on_partitions,
        [SLURM_READ_CONFIG] = on_config,
    };
    const struct slurm_blanks none = { 0 };

    slurm_ask(slurm->client, action, &none, dones[action], slurm);
}

/* What the lists show is not older than this moment, however long the discovery took. */
static void on_discovered(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct slurm_cluster *slurm = context;

    (void)answer;
    if (err) {
        end_round(slurm, err);
        return;
    }
    slurm->round_ms = loop_now(slurm->base.world->loop);
    ask_next(slurm, SLURM_LIST_NODES);
}

static void begin_round(void *context)
{
    struct slurm_cluster *slurm = context;

    if (slurm->is_asking)
        return;
    slurm->is_asking = true;
    slurm->round_ms = loop_now(slurm->base.world->loop);
    if (slurm_client_is_known(slurm->client))
        ask_next(slurm, SLURM_LIST_NODES);
    else
        slurm_client_discover(slurm->client, on_discovered, slurm);
}

void slurm_cluster_hurry(struct cluster *cluster, int64_t since_ms)
{
    struct slurm_cluster *slurm = of(cluster);

    if (since_ms > slurm->hurry_ms)
        slurm->hurry_ms = since_ms;
    if (!slurm->is_asking && slurm->round_ms < slurm->hurry_ms && slurm->failures == 0)
        timer_set_sooner(slurm->timer, HURRY_MS);
}

static void on_script(void *context)
{
    struct slurm_cluster *slurm = context;

    slurm_cluster_hurry(&slurm->base, loop_now(slurm->base.world->loop));
}

/* ---- the kind ---- */

#define IN(member) offsetof(struct slurm_settings, member)

static const struct setting own_settings[] = {
    { "rest", SETTING_TEXT, IN(access.rest), "", 0, 0,
      "slurmrestd: a URL, or `unix:` and the path of its socket" },
    { "rest_user", SETTING_TEXT, IN(access.rest_user), "", 0, 0,
      "user that the token is for; absent: the token says it" },
    { "token", SETTING_PATH, IN(access.token), "", 0, 0,
      "file with a JSON Web Token of Slurm (`scontrol token`), read before each request" },
    { "ca", SETTING_PATH, IN(access.ca), "", 0, 0,
      "file with the certificate authority of slurmrestd; absent: the system's authorities" },
    SSH_PLACE_SETTINGS("ssh_", struct slurm_settings, access.place),
    SSH_ACCESS_SETTINGS("ssh_", struct slurm_settings, access.ssh),
    { "path", SETTING_TEXT, IN(access.path), "", 0, 0,
      "folder with Slurm's commands on that machine; absent: as its shell finds them" },
    { "conf", SETTING_TEXT, IN(access.conf), "", 0, 0,
      "path of slurm.conf on that machine; absent: Slurm's own choice" },
    { "machine", SETTING_TEXT, IN(machine), "", 0, 0,
      "provider ID of a node's machine, with members of the node: {name}, {address}, {hostname}, "
      "{instance_id}, {extra}, {comment}; for example `gce://project/zone/{name}`; may be absent "
      "if "
      "no pool is of this cluster" },
    { "checkpoint_signal", SETTING_TEXT, IN(signal), "", 0, 0,
      "signal that asks a batch script for a checkpoint, if neither its job's comment nor the "
      "script "
      "names one; a script without a trap for it ends, and its job fails; absent: none is sent" },
    { "checkpoint_lead", SETTING_DURATION, IN(checkpoint_ms), "2m", 0, HOUR_MS,
      "how long before a job must go its signal is sent" },
    { "poll", SETTING_DURATION, IN(poll_ms), "5s", SECOND_MS, MINUTE_MS,
      "pause between two rounds of questions" },
};

/* The texts are copied: the configuration may be replaced. */
static struct slurm_settings copy_settings(const struct slurm_settings *from)
{
    struct slurm_settings own = *from;

    for (size_t i = 0; i < COUNT_OF(own_settings); i++) {
        enum setting_type type = own_settings[i].type;
        char **text = (char **)(void *)((char *)&own + own_settings[i].offset);

        if (type == SETTING_TEXT || type == SETTING_PATH)
            *text = mem_copy_chars(*text);
    }
    return own;
}

static struct cluster *open_slurm(struct world *world, const struct cluster_settings *settings,
                                  struct error *err)
{
    struct slurm_cluster *slurm = mem_new(sizeof *slurm);

    slurm->own = copy_settings(settings->own);
    cluster_init(&slurm->base, &cluster_slurm, world, settings);
    if (slurm->base.silent_ms < 2 * slurm->own.poll_ms + SLOW_ROUNDS_MS)
        slurm->base.silent_ms = 2 * slurm->own.poll_ms + SLOW_ROUNDS_MS;
    slurm->client = slurm_client_new(world, slurm->base.name, &slurm->own.access, err);
    slurm->partitions_ms = -PARTITIONS_MS; /* never */
    slurm->timer = timer_new(world->loop, begin_round, slurm);
    if (!slurm->client) {
        error_context(err, "cluster %s", settings->name);
        cluster_close(&slurm->base);
        return NULL;
    }
    slurm->scripts = slurm_scripts_new(slurm->client, on_script, slurm);
    return &slurm->base;
}

static void close_slurm(struct cluster *cluster)
{
    struct slurm_cluster *slurm = of(cluster);

    slurm_inspection_free(slurm->inspection);
    if (slurm->client)
        slurm_client_free(slurm->client);
    slurm_scripts_free(slurm->scripts);
    for (int i = 0; i < SLURM_ACTION_COUNT; i++)
        json_decref(slurm->lists[i]);
    mem_free(slurm->preempts);
    timer_free(slurm->timer);
    settings_clear(own_settings, COUNT_OF(own_settings), &slurm->own);
    cluster_clear(cluster);
    mem_free(slurm);
}

static void watch(struct cluster *cluster)
{
    timer_set(of(cluster)->timer, 0);
}

static void nothing(struct cluster *cluster)
{
    (void)cluster;
}

/* Neither slurmrestd nor the commands tell their clock. */
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

static void inspect(struct cluster *cluster, const struct cluster_needs *needs,
                    const struct cluster_inspector *inspector)
{
    struct slurm_cluster *slurm = of(cluster);

    slurm_inspection_free(slurm->inspection);
    slurm->inspection = slurm_inspection_new(slurm->client, needs, inspector);
}

static int check_settings(const void *object, const char **ret_key, struct error *err)
{
    const struct slurm_settings *own = object;

    if (slurm_access_check(&own->access, ret_key, err) < 0)
        return -1;
    *ret_key = "checkpoint_signal";
    if (own->signal &&
        strspn(own->signal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != strlen(own->signal))
        return error_set(err, ERROR_INVALID, "expected a signal like USR1, found \"%.40s\"",
                         own->signal);
    *ret_key = "machine";
    return own->machine ? slurm_machine_check(own->machine, err) : 0;
}

const struct cluster_kind cluster_slurm = {
    .settings = { .name = "slurm",
                  .maker = "Slurm",
                  .settings = own_settings,
                  .count = COUNT_OF(own_settings),
                  .size = sizeof(struct slurm_settings),
                  .check = check_settings },
    .may_lodge = true,
    .pools_need = "machine",
    .open = open_slurm,
    .close = close_slurm,
    .watch = watch,
    .watch_more = nothing,
    .ask_clock = nothing,
    .clock = read_clock,
    .held = held,
    .trouble = trouble,
    .is_heard = is_heard,
    .inspect = inspect,
};
