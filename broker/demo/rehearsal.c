/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See rehearsal.h.
 */
#include "broker/demo/rehearsal.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/journal/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The service's connection to the world.  After a kill nothing passes: no request that it would
   still send, and no answer. */
struct door {
    struct http http;
    struct rehearsal *rehearsal;
};

/* One exchange on its way through the door. */
struct passage {
    struct rehearsal *rehearsal;
    struct http_exchange *inner;
    http_chunk_fn on_chunk;
    http_done_fn done;
    void *context;
};

static void pass_chunk(void *context, const char *bytes, size_t size)
{
    struct passage *passage = context;

    if (!passage->rehearsal->is_dead)
        passage->on_chunk(passage->context, bytes, size);
}

static void pass_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct passage *passage = context;

    passage->inner = NULL;
    if (passage->rehearsal->is_dead)
        return; /* no service takes it; closing the service frees the passage */
    passage->done(passage->context, answer, err);
    mem_free(passage);
}

static struct http_exchange *door_send(struct http *http, const struct http_request *request,
                                       http_done_fn done, void *context)
{
    struct rehearsal *rehearsal = ((struct door *)http)->rehearsal;
    struct http_request inner = *request;
    struct passage *passage;

    if (rehearsal->is_dead)
        return NULL;
    passage = mem_new(sizeof *passage);
    *passage = (struct passage){
        .rehearsal = rehearsal,
        .on_chunk = request->on_chunk,
        .done = done,
        .context = context,
    };
    if (request->on_chunk)
        inner.on_chunk = pass_chunk;
    passage->inner = http_send(simulator_http(rehearsal->simulator), &inner, pass_answer, passage);
    return (struct http_exchange *)passage;
}

static void door_cancel(struct http_exchange *exchange)
{
    struct passage *passage = (struct passage *)exchange;

    http_cancel(simulator_http(passage->rehearsal->simulator), passage->inner);
    mem_free(passage);
}

static void door_free(struct http *http)
{
    mem_free(http);
}

static const struct http_verbs door_verbs = {
    .send = door_send,
    .cancel = door_cancel,
    .free = door_free,
};

static int gate(void *context)
{
    struct rehearsal *rehearsal = context;

    if (rehearsal->is_dead)
        return -1;
    rehearsal->commits++;
    require(rehearsal->kill_at == 0 || rehearsal->commits <= rehearsal->kill_at);
    if (rehearsal->kill_at == 0 || rehearsal->commits < rehearsal->kill_at)
        return 0;
    rehearsal->is_dead = true;
    loop_stop(rehearsal->loop);
    return rehearsal->dies_after ? 0 : -1;
}

/* Which intents allow which effect, beside those of its own name. */
static const struct {
    const char *verb;
    const char *kinds[5];
} promises[] = {
    { "patch_node", { "announce", "cordon", "restore", "welcome", "fence" } },
    { "delete_node", { "clear_node", "discard_node" } },
    { "evict_pod", { "evict" } },
    { "mark_pod", { "mark" } },
    { "delete_pod", { "delete_pod", "clear_pod" } },
    { "delete_instance", { "remove", "discard" } },
    { "create_instance", { "create" } },
    { "slurm_drain", { "slurm_park" } },
    { "slurm_delete", { "slurm_forget", "slurm_discard" } },
    { "slurm_unreserve", { "slurm_lift", "slurm_admit", "slurm_withdraw" } },
};

struct inquiry {
    const char *verb;
    const char *object;
    int found;
};

static int match_effect(void *context, const char *id, uint64_t rev, const json_t *value,
                        struct error *err)
{
    struct inquiry *inquiry = context;

    (void)id;
    (void)rev;
    (void)err;
    if (!text_equal(json_text_or(value, "name", ""), inquiry->object))
        return 0;
    for (size_t i = 0; i < COUNT_OF(promises); i++)
        for (size_t k = 0; k < COUNT_OF(promises[i].kinds) && promises[i].kinds[k]; k++)
            if (text_equal(promises[i].verb, inquiry->verb) &&
                text_equal(promises[i].kinds[k], json_text_or(value, "kind", "")))
                inquiry->found++;
    inquiry->found += text_equal(json_text_or(value, "kind", ""), inquiry->verb);
    return 0;
}

/* An order of a live transfer for one machine more in the pool, or what takes one back. */
static int match_growth(void *context, const char *id, uint64_t rev, const json_t *value,
                        struct error *err)
{
    struct inquiry *inquiry = context;
    const char *goal = json_is_true(json_object_get(value, "is_returning")) ? "source" : "target";

    (void)id;
    (void)rev;
    (void)err;
    inquiry->found += text_equal(json_text_or(value, goal, ""), inquiry->object) &&
                      text_equal(json_text_or(value, "state", ""), "live") &&
                      text_equal(json_text_or(value, "step", ""), "acquire");
    return 0;
}

static int match_scale(void *context, const char *id, uint64_t rev, const json_t *value,
                       struct error *err)
{
    struct inquiry *inquiry = context;
    const char *slash = strchr(inquiry->object, '/');

    (void)id;
    (void)rev;
    (void)err;
    inquiry->found += text_equal(json_text_or(value, "workload", ""),
                                 slash ? slash + 1 : inquiry->object);
    return 0;
}

static int match_transfer(void *context, const char *id, uint64_t rev, const json_t *value,
                          struct error *err)
{
    struct inquiry *inquiry = context;

    (void)id;
    (void)rev;
    (void)err;
    inquiry->found += text_equal(json_text_or(value, "node", ""), inquiry->object) &&
                      text_equal(json_text_or(value, "state", ""), "live");
    return 0;
}

/* In which records the intent of a verb is; verbs that are not here: in the effects. */
static const struct {
    const char *verb;
    const char *records;
    journal_record_fn match;
} evidence[] = {
    { "write_scale", "scale", match_scale },
    { "one_transfer", "transfer", match_transfer },
    { "grow_pool", "transfer", match_growth },
    { "shrink_pool", "transfer", match_growth },
};

static bool witness(void *context, const char *verb, const char *object)
{
    struct rehearsal *rehearsal = context;
    struct inquiry inquiry = { .verb = verb, .object = object };
    const char *records = "effect";
    journal_record_fn match = match_effect;
    struct error err;

    for (size_t i = 0; i < COUNT_OF(evidence); i++)
        if (text_equal(evidence[i].verb, verb)) {
            records = evidence[i].records;
            match = evidence[i].match;
        }
    if (journal_each(rehearsal->journal, records, match, &inquiry, &err) < 0)
        return false;
    return match == match_transfer ? inquiry.found <= 1 : inquiry.found > 0;
}

struct rehearsal *rehearsal_open(const char *config_path, const char *world_path,
                                 struct wall_time start, uint64_t seed, struct error *err)
{
    owned(rehearsal) struct rehearsal *rehearsal = mem_new(sizeof *rehearsal);
    struct door *door = mem_new(sizeof *door);

    door->http.verbs = &door_verbs;
    door->rehearsal = rehearsal;
    rehearsal->door = &door->http;
    rehearsal->seed = seed;
    rehearsal->loop = loop_virtual_new(start);
    rehearsal->journal = journal_memory_new();
    journal_set_gate(rehearsal->journal, gate, rehearsal);
    random_seed(&rehearsal->random, random_mix(seed, "broker", 0, 0));
    rehearsal->config = config_read(config_path, err);
    if (!rehearsal->config)
        return NULL;
    rehearsal->simulator = simulator_new(rehearsal->loop, config_path, world_path, err);
    if (!rehearsal->simulator)
        return NULL;
    simulator_set_witness(rehearsal->simulator, witness, rehearsal);
    rehearsal->world = (struct world){
        .loop = rehearsal->loop,
        .http = rehearsal->door,
        .random = &rehearsal->random,
        .journal = rehearsal->journal,
        .ssh = simulator_ssh(rehearsal->simulator),
    };
    return steal(&rehearsal);
}

void rehearsal_close(struct rehearsal *rehearsal)
{
    if (!rehearsal)
        return;
    service_close(rehearsal->service);
    simulator_free(rehearsal->simulator);
    http_free(rehearsal->door);
    journal_close(rehearsal->journal);
    config_free(rehearsal->config);
    loop_free(rehearsal->loop);
    mem_free(rehearsal);
}

void rehearsal_slow_disk(struct rehearsal *rehearsal, int64_t delay_ms)
{
    struct error err;

    if (journal_write_slowly(rehearsal->journal, rehearsal->loop, delay_ms, &err) < 0)
        require(false); /* in memory nothing fails */
}

int rehearsal_start(struct rehearsal *rehearsal, struct error *err)
{
    require(!rehearsal->service);
    rehearsal->is_dead = false;
    /* A new process knows only its machine's clock. */
    loop_wall_move(rehearsal->loop, loop_wall_apart(rehearsal->loop));
    rehearsal->service = service_open(&rehearsal->world, rehearsal->config, err);
    if (!rehearsal->service)
        return -1;
    service_start(rehearsal->service);
    return 0;
}

void rehearsal_kill(struct rehearsal *rehearsal)
{
    rehearsal->is_dead = true;
    rehearsal->kill_at = 0;
    service_close(rehearsal->service);
    rehearsal->service = NULL;
}

void rehearsal_kill_at_commit(struct rehearsal *rehearsal, int64_t at)
{
    require(at > 0 && !rehearsal->is_dead);
    rehearsal->kill_at = rehearsal->commits + at;
    rehearsal->dies_after = false;
}

void rehearsal_kill_after_commit(struct rehearsal *rehearsal, int64_t at)
{
    rehearsal_kill_at_commit(rehearsal, at);
    rehearsal->dies_after = true;
}

void rehearsal_run(struct rehearsal *rehearsal, int64_t duration_ms)
{
    require(duration_ms >= 0);
    loop_run_until(rehearsal->loop, loop_now(rehearsal->loop) + duration_ms);
}

size_t rehearsal_violations(const struct rehearsal *rehearsal)
{
    const struct referee *referee = simulator_referee(rehearsal->simulator);
    size_t count = referee_violation_count(referee);

    for (size_t i = 0; i < count && i < 20; i++) {
        const struct violation *violation = referee_violation(referee, i);

        fprintf(stderr, "violation at %" PRId64 " s: %s %s\n", violation->at_ms / SECOND_MS,
                violation->invariant, violation->sentence);
    }
    return count;
}
