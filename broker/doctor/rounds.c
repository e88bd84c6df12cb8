/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See rounds.h.
 */
#include "broker/doctor/rounds.h"

#include "base/array.h"
#include "base/text.h"
#include "broker/doctor/doctor.h"

enum { LOOK_MS = 500 };

struct note { /* a finding that is not right; owns its texts */
    char *key;
    char *what;    /* "pool prod-a-east: size" */
    char *cluster; /* whose state it changes; "": none */
    char *pool;    /* "": of none */
    char *text;
    char *remedy;
    bool is_wrong;
    struct wall_time since; /* of the first of the rounds in a row that found it */
    bool counts;            /* the round before found it, too */
    bool is_said;           /* the service said so itself meanwhile: it may be over by now */
};

struct notes {
    ARRAY(struct note) list;
};

struct rounds {
    struct world *world;
    const struct config *config;
    struct doctor *doctor; /* NULL: between two rounds */
    struct timer *timer;
    struct notes found;  /* by the round under way */
    struct notes former; /* by the last one */
    int64_t began_ms;
};

static void clear(struct notes *notes)
{
    for (size_t i = 0; i < notes->list.count; i++) {
        struct note *note = &notes->list.items[i];

        mem_free(note->key);
        mem_free(note->what);
        mem_free(note->cluster);
        mem_free(note->pool);
        mem_free(note->text);
        mem_free(note->remedy);
    }
    array_clear(&notes->list);
}

static const struct note *find(const struct notes *notes, const char *key)
{
    for (size_t i = 0; i < notes->list.count; i++)
        if (text_equal(notes->list.items[i].key, key))
            return &notes->list.items[i];
    return NULL;
}

static void add_row(void *context, const struct doctor_row *row)
{
    struct rounds *rounds = context;
    bool is_wrong = row->finding.verdict == FINDING_WRONG;
    const struct config_pool *pool = text_equal(row->part, "pool")
                                         ? config_pool(rounds->config, row->name)
                                         : NULL;
    const char *cluster = pool                               ? pool->cluster->name
                          : text_equal(row->part, "cluster") ? row->name
                                                             : "";
    owned(chars) char *key = text_format("%s %s %s %d", row->part, row->name, row->finding.subject,
                                         is_wrong);
    struct note *note;

    if (row->finding.verdict == FINDING_RIGHT || find(&rounds->found, key))
        return;
    note = array_add(&rounds->found.list);
    note->key = steal(&key);
    note->what = text_format("%s %s: %s", row->part, row->name, row->finding.subject);
    note->cluster = mem_copy_chars(cluster);
    note->pool = mem_copy_chars(pool ? pool->name : "");
    note->text = mem_copy_chars(row->finding.text);
    note->remedy = mem_copy_chars(row->finding.remedy);
    note->is_wrong = is_wrong;
}

static void begin(struct rounds *rounds)
{
    rounds->began_ms = loop_now(rounds->world->loop);
    rounds->doctor = doctor_open(rounds->world, rounds->config, add_row, rounds);
    timer_set(rounds->timer, LOOK_MS);
}

static void end(struct rounds *rounds)
{
    struct wall_time now = loop_wall(rounds->world->loop);

    doctor_close(steal(&rounds->doctor));
    for (size_t i = 0; i < rounds->found.list.count; i++) {
        struct note *note = &rounds->found.list.items[i];
        const struct note *before = find(&rounds->former, note->key);

        note->counts = before && !before->is_said;
        note->since = before ? before->since : now;
    }
    clear(&rounds->former);
    rounds->former = rounds->found;
    rounds->found = (struct notes){ 0 };
    timer_set(rounds->timer, rounds->former.list.count > 0 ? ROUNDS_AGAIN_MS : ROUNDS_WELL_MS);
}

static void on_timer(void *context)
{
    struct rounds *rounds = context;

    if (!rounds->doctor) {
        begin(rounds);
        return;
    }
    if (loop_now(rounds->world->loop) - rounds->began_ms >= ROUNDS_PATIENCE_MS)
        doctor_give_up(rounds->doctor, ROUNDS_PATIENCE_MS);
    if (doctor_is_done(rounds->doctor))
        end(rounds);
    else
        timer_set(rounds->timer, LOOK_MS);
}

struct rounds *rounds_new(struct world *world, const struct config *config)
{
    struct rounds *rounds = mem_new(sizeof *rounds);

    rounds->world = world;
    rounds->config = config;
    rounds->timer = timer_new(world->loop, on_timer, rounds);
    timer_set(rounds->timer, ROUNDS_FIRST_MS);
    return rounds;
}

void rounds_free(struct rounds *rounds)
{
    if (!rounds)
        return;
    timer_free(rounds->timer);
    doctor_close(rounds->doctor);
    clear(&rounds->found);
    clear(&rounds->former);
    mem_free(rounds);
}

/* The service sees more of it, and sooner. */
static bool is_said(const struct note *note, const struct health *health)
{
    return health_holds(health, CONDITION_CLUSTER_UNREACHABLE, note->cluster) ||
           health_holds(health, CONDITION_POOL_STALE, note->pool);
}

void rounds_look(void *context, struct health *health)
{
    struct rounds *rounds = context;
    size_t told = 0, left = 0;

    for (size_t i = 0; i < rounds->former.list.count; i++) {
        struct note *note = &rounds->former.list.items[i];
        const struct condition condition = {
            .kind = note->is_wrong ? CONDITION_DOCTOR_WRONG : CONDITION_DOCTOR_DOUBTFUL,
            .since = note->since,
            .what = note->what,
            .cluster = note->cluster,
            .advice = note->remedy[0] ? note->remedy : NULL,
        };

        note->is_said |= is_said(note, health);
        if (!note->counts || note->is_said)
            continue;
        if (told++ < ROUNDS_TOLD_MAX)
            health_add(health, &condition, text_format("%s: %s", note->what, note->text));
        else
            left++;
    }
    if (left > 0)
        health_add(health, &(struct condition){ .kind = CONDITION_DOCTOR_WRONG, .what = "more" },
                   text_format("the doctor found %zu more things that are not right", left));
}
