/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See dry_runs.h.  An inquiry is one plan that a caller waits for; a question is one exchange:
 * which webhooks and policies a cluster has, and then a dry run for a pod.
 */
#include "broker/sides/kube/dry_runs.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/sides/kube/blockers.h"
#include "broker/sides/kube/gate.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/transfer/runner.h"
#include "clusters/kube_verbs.h"

enum { AT_ONCE = 4, PER_NODE = 3 };

/* Whether a cluster's webhooks and policies are asked about evictions. */
struct view {
    bool is_looked_at;
    bool knows_dry_runs;
    int reads_to_come;
    bool sees_evictions; /* also true when the cluster did not say */
};

struct inquiry {
    struct dry_runs *dry_runs;
    json_t *answer; /* the plan, whose blockers are completed; borrowed */
    side_asked_fn done;
    void *context;
    struct timer *timer;
    struct view *views; /* as config->clusters */
    size_t open;        /* questions */
    int asked;          /* evictions */
    int unanswered;
};

struct question {
    struct dry_runs *dry_runs;
    struct inquiry *inquiry; /* NULL: no caller waits for it any more */
    const struct config_cluster *cluster;
    const char *admission; /* the resource that is read; NULL: an eviction is tried */
    char *uid;             /* of the pod; NULL with admission */
    json_t *blockers;      /* of the pod's node, in the inquiry's answer */
    bool is_sent;
    bool is_settled; /* the next sweep takes it away */
};

struct dry_runs {
    struct runner *runner;
    ARRAY(struct inquiry *) inquiries;
    ARRAY(struct question *) line; /* sent or not; in the order of asking */
    int *in_flight;                /* as config->clusters: a server that hangs delays no other */
};

static void pump(struct dry_runs *dry_runs);

struct dry_runs *dry_runs_new(struct runner *runner)
{
    struct dry_runs *dry_runs = mem_new(sizeof *dry_runs);

    dry_runs->runner = runner;
    dry_runs->in_flight = mem_new_array(runner->config->cluster_count, sizeof *dry_runs->in_flight);
    return dry_runs;
}

static void question_free(struct question *question)
{
    mem_free(question->uid);
    mem_free(question);
}

static void inquiry_free(struct inquiry *inquiry)
{
    timer_free(inquiry->timer);
    mem_free(inquiry->views);
    mem_free(inquiry);
}

void dry_runs_free(struct dry_runs *dry_runs)
{
    if (!dry_runs)
        return;
    for (size_t i = 0; i < dry_runs->line.count; i++)
        question_free(dry_runs->line.items[i]);
    array_clear(&dry_runs->line);
    for (size_t i = 0; i < dry_runs->inquiries.count; i++)
        inquiry_free(dry_runs->inquiries.items[i]);
    array_clear(&dry_runs->inquiries);
    mem_free(dry_runs->in_flight);
    mem_free(dry_runs);
}

static void sweep(struct dry_runs *dry_runs)
{
    size_t kept = 0;

    for (size_t i = 0; i < dry_runs->line.count; i++) {
        struct question *question = dry_runs->line.items[i];

        if (question->is_settled)
            question_free(question);
        else
            dry_runs->line.items[kept++] = question;
    }
    dry_runs->line.count = kept;
}

/* The clusters that could not be asked about pods: their webhooks and policies could not be listed
   in time, or the server may be too old for a dry run. */
static json_t *unheard(const struct inquiry *inquiry)
{
    const struct config *config = inquiry->dry_runs->runner->config;
    json_t *names = json_array();

    for (size_t i = 0; i < config->cluster_count; i++) {
        const struct view *view = &inquiry->views[i];

        if (view->is_looked_at && (!view->knows_dry_runs || view->reads_to_come > 0))
            json_array_append_new(names, json_text(config->clusters[i].name));
    }
    return names;
}

/* Gives the answer as it is now.  Questions that were not sent are dropped, and late answers are
   ignored. */
static void finish(struct dry_runs *dry_runs, struct inquiry *inquiry)
{
    json_t *answer = inquiry->answer;

    for (size_t i = 0; i < dry_runs->line.count; i++) {
        struct question *question = dry_runs->line.items[i];

        if (question->inquiry != inquiry)
            continue;
        inquiry->unanswered += !question->is_settled && question->uid;
        question->inquiry = NULL;
        question->is_settled |= !question->is_sent;
    }
    for (size_t i = 0; i < dry_runs->inquiries.count; i++)
        if (dry_runs->inquiries.items[i] == inquiry) {
            array_remove(&dry_runs->inquiries, i);
            break;
        }
    side_count_dry_runs(answer, inquiry->asked, inquiry->unanswered, unheard(inquiry));
    inquiry->done(inquiry->context);
    inquiry_free(inquiry);
}

static struct question *ask(struct dry_runs *dry_runs, struct inquiry *inquiry,
                            const struct config_cluster *cluster)
{
    struct question *question = mem_new(sizeof *question);

    question->dry_runs = dry_runs;
    question->inquiry = inquiry;
    question->cluster = cluster;
    inquiry->open++;
    *array_add(&dry_runs->line) = question;
    return question;
}

static bool is_same_owner(const struct pod *left, const struct pod *right)
{
    return left->gang.kind == right->gang.kind && text_equal(left->gang.key, right->gang.key) &&
           text_equal(left->owner_name, right->owner_name);
}

/* The pods of the node to ask about, at most PER_NODE: first those whose answer cannot be computed,
   then one of each owner for the webhooks. */
static size_t choose(const struct snapshot *snapshot, const struct leaving *leaving,
                     const char *node, bool sees_evictions, const struct pod *chosen[PER_NODE])
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);
    size_t found = 0;

    for (int pass = 0; pass < (sees_evictions ? 2 : 1); pass++) {
        for (size_t i = 0; i < count && found < PER_NODE; i++) {
            const struct pod *pod = pods[i];
            /* A protected or terminating pod is not evicted anyway. */
            bool is_wanted = pod_must_leave(pod) && pod->deletion.ms == 0 && !pod_is_protected(pod);

            for (size_t k = 0; pass == 1 && k < found; k++)
                is_wanted = is_wanted && !is_same_owner(pod, chosen[k]);
            if (is_wanted && (pass == 1) != blockers_are_unsure(leaving, pod))
                chosen[found++] = pod;
        }
    }
    require(found <= PER_NODE);
    return found;
}

static const struct config_cluster *cluster_of(const struct dry_runs *dry_runs,
                                               const json_t *transfer)
{
    return config_pool(dry_runs->runner->config, json_text_or(transfer, "from", ""))->cluster;
}

/* The cluster's webhooks and policies are known: now asks about the pods of its nodes. */
static void ask_for_pods(struct dry_runs *dry_runs, struct inquiry *inquiry,
                         const struct config_cluster *cluster, bool sees_evictions)
{
    const struct runner *runner = dry_runs->runner;
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, cluster);
    owned(leaving) struct leaving *leaving = leaving_new(
        snapshot, runner->config->drain.deadline_ms, loop_wall(runner->world->loop));
    size_t i;
    json_t *transfer;

    json_array_foreach(json_object_get(inquiry->answer, "transfers"), i, transfer) {
        const struct pod *chosen[PER_NODE];
        size_t count = 0;

        if (cluster_of(dry_runs, transfer) == cluster)
            count = choose(snapshot, leaving, json_text_or(transfer, "node", ""), sees_evictions,
                           chosen);
        for (size_t k = 0; k < count; k++) {
            struct question *question = ask(dry_runs, inquiry, cluster);

            question->uid = mem_copy_chars(chosen[k]->uid);
            question->blockers = json_object_get(transfer, "blockers");
        }
    }
}

static void hear_admission(struct question *question, const json_t *body, const struct error *err)
{
    const struct config *config = question->dry_runs->runner->config;
    struct view *view = &question->inquiry->views[question->cluster - config->clusters];

    /* A server without this resource has no such object; a server that does not answer may have
       one. */
    view->sees_evictions = view->sees_evictions || (err && !cluster_serves_none(err)) ||
                           (body && cluster_admission_sees_evictions(body));
    if (--view->reads_to_come == 0)
        ask_for_pods(question->dry_runs, question->inquiry, question->cluster,
                     view->sees_evictions);
}

static const struct pod *pod_of(const struct question *question)
{
    return map_get(fleet_snapshot(question->dry_runs->runner->fleet, question->cluster)->pods,
                   question->uid);
}

static void hear_dry_run(struct question *question, const struct error *err)
{
    const struct pod *pod = pod_of(question);
    int64_t deadline_ms = question->dry_runs->runner->config->drain.deadline_ms;

    question->inquiry->unanswered += err && cluster_dry_run_of(err) == DRY_RUN_UNKNOWN;
    if (pod)
        blockers_hear(question->blockers, pod, deadline_ms, err);
}

/* The question was answered, by its cluster or by ourselves. */
static void settle(struct question *question, const json_t *body, const struct error *err)
{
    struct dry_runs *dry_runs = question->dry_runs;
    struct inquiry *inquiry = question->inquiry;

    if (inquiry && question->admission)
        hear_admission(question, body, err);
    else if (inquiry)
        hear_dry_run(question, err);
    require(!question->is_settled && (!inquiry || inquiry->open > 0));
    question->is_settled = true;
    if (inquiry && --inquiry->open == 0)
        finish(dry_runs, inquiry);
}

static int *in_flight(const struct question *question)
{
    const struct dry_runs *dry_runs = question->dry_runs;

    return &dry_runs->in_flight[question->cluster - dry_runs->runner->config->clusters];
}

static void answered(void *context, const json_t *body, const struct error *err)
{
    struct question *question = context;
    struct dry_runs *dry_runs = question->dry_runs;

    require(*in_flight(question) > 0);
    --*in_flight(question);
    if (err) /* a question that only informs must not keep a server busy */
        gate_slow(kube_side_of(dry_runs->runner)->gate, question->cluster, err);
    settle(question, body, err);
    pump(dry_runs);
}

static void send_question(struct question *question)
{
    struct dry_runs *dry_runs = question->dry_runs;
    struct cluster *cluster = fleet_cluster(dry_runs->runner->fleet, question->cluster);
    struct error err = { 0 };
    const struct pod *pod;
    struct pod_ref asked;

    require(!question->is_sent && *in_flight(question) < AT_ONCE);
    question->is_sent = true;
    ++*in_flight(question);
    if (question->admission) {
        cluster_read_admission(cluster, question->admission, answered, question);
        return;
    }
    pod = pod_of(question);
    asked = pod ? pod_ref_of(pod) : (struct pod_ref){ 0 };
    if (pod && cluster_try_eviction(cluster, &asked, answered, question, &err) == 0) {
        question->inquiry->asked++;
        return;
    }
    --*in_flight(question);
    settle(question, NULL, pod ? &err : NULL);
}

/* Sends as many questions as allowed.  A server busy with real evictions is not asked at all: a
   plan does not wait for it. */
static void pump(struct dry_runs *dry_runs)
{
    struct gate *gate = kube_side_of(dry_runs->runner)->gate;

    for (size_t i = 0; i < dry_runs->line.count; i++) { /* it may grow */
        struct question *question = dry_runs->line.items[i];
        const char *why;

        if (question->is_sent || question->is_settled || *in_flight(question) >= AT_ONCE)
            continue;
        if (gate_is_free(gate, question->cluster, &why))
            send_question(question);
        else
            settle(question, NULL, &(struct error){ .kind = ERROR_THROTTLED, .text = "not asked" });
    }
    sweep(dry_runs);
}

static void on_late(void *context)
{
    struct inquiry *inquiry = context;
    struct dry_runs *dry_runs = inquiry->dry_runs;

    finish(dry_runs, inquiry);
    sweep(dry_runs);
}

static void ask_for_admission(struct dry_runs *dry_runs, struct inquiry *inquiry,
                              const struct config_cluster *cluster)
{
    static const char *const resources[] = { "validatingwebhookconfigurations",
                                             "mutatingwebhookconfigurations",
                                             "validatingadmissionpolicies" };
    struct view *view = &inquiry->views[cluster - dry_runs->runner->config->clusters];

    if (view->is_looked_at)
        return;
    view->is_looked_at = true;
    view->knows_dry_runs = cluster_knows_dry_runs(fleet_cluster(dry_runs->runner->fleet, cluster));
    if (!view->knows_dry_runs)
        return;
    view->reads_to_come = COUNT_OF(resources);
    for (size_t i = 0; i < COUNT_OF(resources); i++)
        ask(dry_runs, inquiry, cluster)->admission = resources[i];
}

void dry_runs_ask(struct dry_runs *dry_runs, json_t *answer, side_asked_fn done, void *context)
{
    struct runner *runner = dry_runs->runner;
    struct inquiry *inquiry = mem_new(sizeof *inquiry);
    size_t i;
    json_t *transfer;

    *inquiry = (struct inquiry){
        .dry_runs = dry_runs,
        .answer = answer,
        .done = done,
        .context = context,
        .timer = timer_new(runner->world->loop, on_late, inquiry),
        .views = mem_new_array(runner->config->cluster_count, sizeof *inquiry->views),
        .open = 1, /* until all is asked */
    };
    *array_add(&dry_runs->inquiries) = inquiry;
    timer_set(inquiry->timer, CLUSTER_QUESTION_MS);
    json_array_foreach(json_object_get(answer, "transfers"), i, transfer)
        if (side_of(runner, cluster_of(dry_runs, transfer)) == &side_kube)
            ask_for_admission(dry_runs, inquiry, cluster_of(dry_runs, transfer));
    pump(dry_runs);
    if (--inquiry->open == 0)
        finish(dry_runs, inquiry);
}
