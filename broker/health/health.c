/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See health.h.  A condition is the same one in the next look if its kind and what it is about are
 * the same; its sentence may have changed, because numbers do.
 */
#include "broker/health/health.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/map.h"
#include "base/text.h"

struct finding {
    struct condition is; /* owns its texts */
    char *text;
    char *key;     /* by which it is found again */
    bool is_quiet; /* it may pass before anyone is to see it */
};

struct findings {
    ARRAY(struct finding) list;
    struct map *by_key; /* -> place in the list + 1, as uintptr_t */
};

struct health {
    struct findings held;   /* of the last look */
    struct findings former; /* while a look is under way: of the one before */
    struct findings told;   /* of the last look that told */
    struct map *said;       /* sentences of the look under way */
};

static void clear(struct findings *findings)
{
    for (size_t i = 0; i < findings->list.count; i++) {
        struct finding *finding = &findings->list.items[i];

        mem_free((char *)(uintptr_t)finding->is.what);
        mem_free((char *)(uintptr_t)finding->is.cluster);
        mem_free((char *)(uintptr_t)finding->is.advice);
        mem_free(finding->text);
        mem_free(finding->key);
    }
    array_clear(&findings->list);
    map_free(findings->by_key);
    *findings = (struct findings){ 0 };
}

static const struct finding *find(const struct findings *findings, const char *key)
{
    uintptr_t at = findings->by_key ? (uintptr_t)map_get(findings->by_key, key) : 0;

    return at == 0 ? NULL : &findings->list.items[at - 1];
}

struct health *health_new(void)
{
    return mem_new(sizeof(struct health));
}

void health_free(struct health *health)
{
    if (!health)
        return;
    clear(&health->held);
    clear(&health->former);
    clear(&health->told);
    map_free(health->said);
    mem_free(health);
}

void health_begin(struct health *health)
{
    require(!health->said);
    health->former = health->held;
    health->held = (struct findings){ 0 };
    health->said = map_new(NULL);
}

void health_add(struct health *health, const struct condition *condition, char *text)
{
    const struct condition_row *row = condition_row(condition->kind);
    struct finding *finding;

    require(health->said); /* a look is under way */
    if (map_get(health->said, text)) {
        mem_free(text);
        return;
    }
    map_set(health->said, text, health);
    finding = array_add(&health->held.list);
    finding->is = *condition;
    finding->is.what = mem_copy_chars(condition->what ?: "");
    finding->is.cluster = mem_copy_chars(condition->cluster ?: "");
    finding->is.advice = mem_copy_chars(condition->advice ?: row->advice);
    finding->text = text;
    finding->key = text_format("%s/%s/%s", row->id, finding->is.cluster, finding->is.what);
}

bool health_holds(const struct health *health, enum condition_kind kind, const char *what)
{
    for (size_t i = 0; what[0] != '\0' && i < health->held.list.count; i++)
        if (health->held.list.items[i].is.kind == kind &&
            text_equal(health->held.list.items[i].is.what, what))
            return true;
    return false;
}

/* Of one that may only await an answer: it calls nobody at night. */
static enum severity severity_of(const struct finding *finding)
{
    enum severity severity = condition_row(finding->is.kind)->severity;

    return finding->is.is_early && severity > SEVERITY_WARNING ? SEVERITY_WARNING : severity;
}

enum { QUIET = -1 }; /* below each severity */

/* By the severity that is told, then by the place of its kind in the table; those of one kind stay
   in the order of the look, and quiet ones come last.  All faces take the first for the worst. */
static void sort(struct findings *findings)
{
    struct findings sorted = { 0 };

    for (int severity = SEVERITY_CRITICAL; severity >= QUIET; severity--)
        for (int kind = 0; kind < CONDITION_KINDS; kind++)
            for (size_t i = 0; i < findings->list.count; i++) {
                const struct finding *finding = &findings->list.items[i];

                if (finding->is.kind == (enum condition_kind)kind &&
                    (finding->is_quiet ? QUIET : (int)severity_of(finding)) == severity)
                    *array_add(&sorted.list) = *finding;
            }
    require(sorted.list.count == findings->list.count);
    array_clear(&findings->list);
    sorted.by_key = map_new(NULL);
    for (size_t i = 0; i < sorted.list.count; i++)
        if (!map_get(sorted.by_key, sorted.list.items[i].key))
            map_set(sorted.by_key, sorted.list.items[i].key, (void *)(uintptr_t)(i + 1));
    *findings = sorted;
}

/* What is told by now; one that only awaits an answer is, if it was told before. */
static void copy(const struct findings *from, const struct findings *former, struct findings *to)
{
    to->by_key = map_new(NULL);
    for (size_t i = 0; i < from->list.count; i++) {
        const struct finding *finding = &from->list.items[i];
        struct finding *own;

        if (finding->is_quiet || (finding->is.is_early && !find(former, finding->key)))
            continue;
        own = array_add(&to->list);
        *own = *finding;
        own->is.is_early = false;
        own->is.what = mem_copy_chars(finding->is.what);
        own->is.cluster = mem_copy_chars(finding->is.cluster);
        own->is.advice = mem_copy_chars(finding->is.advice);
        own->text = mem_copy_chars(finding->text);
        own->key = mem_copy_chars(finding->key);
        if (!map_get(to->by_key, own->key))
            map_set(to->by_key, own->key, (void *)(uintptr_t)to->list.count);
    }
}

/* Those of `mine` that `others` lack, each key once. */
static void tell(const struct findings *mine, const struct findings *others, bool holds,
                 health_told_fn told, void *context)
{
    for (size_t i = 0; i < mine->list.count; i++) {
        const struct finding *finding = &mine->list.items[i];

        if (!finding->is.is_early && !finding->is_quiet && !find(others, finding->key) &&
            find(mine, finding->key) == finding)
            told(context, &finding->is, finding->text, holds);
    }
}

/* A clock that was set back makes nothing young. */
static bool is_younger(const struct finding *finding, struct wall_time now, int64_t ms)
{
    int64_t age_ms = now.ms - finding->is.since.ms;

    return age_ms >= 0 && age_ms < ms;
}

void health_end(struct health *health, struct wall_time now, health_told_fn told, void *context)
{
    require(health->said);
    for (size_t i = 0; i < health->held.list.count; i++) {
        struct finding *finding = &health->held.list.items[i];
        const struct finding *before = find(&health->former, finding->key);

        if (finding->is.since.ms == 0)
            finding->is.since = before ? before->is.since : now;
        finding->is.is_early |= is_younger(finding, now, finding->is.early_ms);
        finding->is_quiet = is_younger(finding, now, finding->is.quiet_ms);
    }
    sort(&health->held);
    if (told) {
        tell(&health->told, &health->held, false, told, context);
        tell(&health->held, &health->told, true, told, context);
        struct findings former = health->told;

        health->told = (struct findings){ 0 };
        copy(&health->held, &former, &health->told);
        clear(&former);
    }
    clear(&health->former);
    map_free(steal(&health->said));
}

static void move_clock(struct findings *findings, int64_t by_ms)
{
    for (size_t i = 0; i < findings->list.count; i++)
        findings->list.items[i].is.since.ms += by_ms;
}

void health_move_clock(struct health *health, int64_t by_ms)
{
    require(!health->said);
    move_clock(&health->held, by_ms);
    move_clock(&health->told, by_ms);
}

static json_t *describe(const struct finding *finding)
{
    const struct condition_row *row = condition_row(finding->is.kind);
    char since[WALL_TEXT_SIZE];

    return json_make("{ss ss ss ss ss ss ss ss ss}", "id", row->id, "severity",
                     severity_name(severity_of(finding)), "word", row->word, "since",
                     wall_format(wall_whole_second(finding->is.since.ms), since), "what",
                     finding->is.what, "cluster", finding->is.cluster, "affects", row->affects,
                     "text", finding->text, "advice", finding->is.advice);
}

json_t *health_describe(const struct health *health)
{
    const struct finding *worst = NULL;
    json_t *rows = json_array();

    require(!health->said);
    for (size_t i = 0; i < health->held.list.count && !health->held.list.items[i].is_quiet; i++) {
        worst = worst ?: &health->held.list.items[i];
        json_array_append_new(rows, describe(&health->held.list.items[i]));
    }
    return json_make("{ss ss so}", "severity", worst ? severity_name(severity_of(worst)) : "ok",
                     "word", worst ? condition_row(worst->is.kind)->word : "", "conditions", rows);
}
