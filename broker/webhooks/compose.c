/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See compose.h.  Names and conditions in a message are bounded; their number is always said.
 */
#include "broker/webhooks/compose.h"

#include "base/input/json.h"
#include "base/map.h"
#include "base/text.h"
#include "broker/health/conditions.h"
#include "broker/webhooks/sentence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOVE_MS = 15 * SECOND_MS,
    BEGIN_MS = 30 * SECOND_MS,
    END_MS = MINUTE_MS,
    SHIFT_MS = 30 * SECOND_MS, /* a departure that moves by less is the same */
    NAMES_MOST = 50,
};

struct compose {
    json_t *told;
    struct map *waiting; /* differences: key -> int64_t *, since when (loop time) */
};

/* A look under way. */
struct look {
    struct compose *compose;
    const json_t *picture;
    struct map *waiting; /* of the next look */
    int64_t now_ms;
    struct wall_time now;
    json_t *events;
};

static const char *const sections[] = { "moves", "reclaims", "conditions" };

struct compose *compose_new(const json_t *told)
{
    struct compose *compose = mem_new(sizeof *compose);

    compose->told = told ? json_deep_copy(told) : json_object();
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (!json_is_object(json_object_get(compose->told, sections[i])))
            json_object_set_new(compose->told, sections[i], json_object());
    compose->waiting = map_new(mem_free);
    return compose;
}

void compose_free(struct compose *compose)
{
    if (!compose)
        return;
    json_decref(compose->told);
    map_free(compose->waiting);
    mem_free(compose);
}

const json_t *compose_told(const struct compose *compose)
{
    return compose->told;
}

/* Whether the difference has lasted for so long; it is looked for again otherwise. */
static bool has_lasted(struct look *look, const char *what, const char *key, int64_t wait_ms)
{
    owned(chars) char *name = text_format("%s %s", what, key);
    const int64_t *known = map_get(look->compose->waiting, name);
    int64_t since_ms = known ? *known : look->now_ms;
    int64_t *kept;

    if (look->now_ms - since_ms >= wait_ms)
        return true;
    kept = mem_new(sizeof *kept);
    *kept = since_ms;
    map_set(look->waiting, name, kept);
    return false;
}

struct headline {
    enum webhook_topic topic;
    const char *type;
    const char *subject;
};

/* Takes the text and the data. */
static void add(struct look *look, const struct headline *headline, char *text, json_t *data)
{
    json_array_append_new(look->events,
                          json_make("{ss ss ss ss ss so}", "event", "message", "topic",
                                    webhook_topic_name(headline->topic), "type", headline->type,
                                    "subject", headline->subject, "text", text, "data", data));
    mem_free(text);
}

/* ---- departures ---- */

static size_t count(const json_t *move, const char *fate)
{
    return json_array_size(json_object_get(move, fate));
}

static size_t count_all(const json_t *move)
{
    return count(move, "leaving") + count(move, "left") + count(move, "staying");
}

static json_t *names(const json_t *move, const char *fate)
{
    const json_t *all = json_object_get(move, fate);
    json_t *some = json_array();

    for (size_t i = 0; i < json_array_size(all) && i < NAMES_MOST; i++)
        json_array_append(some, json_array_get(all, i));
    return some;
}

static json_t *move_data(const char *id, const json_t *move)
{
    json_t *data = json_make("{ss}", "move", id);
    static const char *const members[] = { "pool",      "cluster", "to",          "reason",
                                           "departure", "due",     "is_emergency" };
    static const char *const fates[] = { "leaving", "left", "staying" };

    for (size_t i = 0; i < COUNT_OF(members); i++)
        json_object_set(data, members[i], json_object_get(move, members[i]));
    for (size_t i = 0; i < COUNT_OF(fates); i++) {
        owned(chars) char *number = text_format("%s_nodes", fates[i]);

        json_object_set_new(data, number, json_integer((json_int_t)count(move, fates[i])));
        json_object_set_new(data, fates[i], names(move, fates[i]));
    }
    return data;
}

static void announce(struct look *look, const char *id, const json_t *move)
{
    owned(chars) char *when = sentence_when(move);

    add(look, &(struct headline){ WEBHOOK_DEPARTURES, "departure.announced", id },
        sentence_leaving(move, when), move_data(id, move));
}

static void change(struct look *look, const char *id, const json_t *move, const json_t *told)
{
    owned(chars) char *when = sentence_when(move);
    owned(chars) char *text = sentence_leaving(move, when);
    owned(chars) char *staying = sentence_staying(move);
    json_t *data = move_data(id, move);

    json_object_set(data, "departure_before", json_object_get(told, "departure"));
    add(look, &(struct headline){ WEBHOOK_DEPARTURES, "departure.changed", id },
        text_format("Changed: %s%s", text, staying), data);
}

/* A move that ended long ago has no transfers left to count. */
static void end_move(struct look *look, const char *id, const json_t *move, const json_t *told)
{
    const char *cluster = json_text_or(told, "cluster", "?");
    size_t left = count(move, "left");
    bool is_withdrawn = move && left == 0;
    owned(chars) char *staying = sentence_staying(move);
    json_t *data = move_data(id, move ?: told);
    char *text;

    if (!move)
        text = text_format("The departure of nodes of %s is over (move %s)", cluster, id);
    else if (is_withdrawn)
        text = text_format("No node of %s leaves: the departure was withdrawn", cluster);
    else
        text = text_format("%zu node%s of %s left for %s%s", left, sentence_plural(left), cluster,
                           json_text_or(told, "to", "?"), staying);
    json_object_set(data, "departure", json_object_get(told, "departure"));
    add(look,
        &(struct headline){ WEBHOOK_DEPARTURES,
                            is_withdrawn ? "departure.withdrawn" : "departure.left", id },
        text, data);
}

static int64_t time_of(const json_t *move)
{
    struct wall_time wall = { 0 };

    return wall_parse(json_text_or(move, "departure", ""), false, &wall, NULL) == 0 ? wall.ms : 0;
}

static bool has_changed(const json_t *move, const json_t *told)
{
    return llabs(time_of(move) - time_of(told)) >= SHIFT_MS ||
           count(move, "staying") > count(told, "staying") || count_all(move) > count_all(told);
}

static void look_at_move(struct look *look, const char *id, const json_t *move)
{
    json_t *moves = json_object_get(look->compose->told, "moves");
    json_t *told = json_object_get(moves, id);
    bool is_over = count(move, "leaving") == 0;
    int64_t wait_ms = json_bool_or(move, "is_emergency", false) ? 0 : MOVE_MS;

    if (is_over && told)
        end_move(look, id, move, told);
    else if (!is_over && !told && has_lasted(look, "move", id, wait_ms))
        announce(look, id, move);
    else if (!is_over && told && has_changed(move, told) && has_lasted(look, "move", id, wait_ms))
        change(look, id, move, told);
    else
        return;
    if (is_over)
        json_object_del(moves, id);
    else
        json_object_set_new(moves, id, json_deep_copy(move));
}

/* ---- reclaims ---- */

static json_t *with_id(const char *member, const char *id, const json_t *row)
{
    json_t *data = json_make("{ss}", member, id);

    json_object_update(data, (json_t *)(uintptr_t)row);
    return data;
}

static void begin_reclaim(struct look *look, const char *id, const json_t *row)
{
    int64_t nodes = json_int_or(row, "nodes", 0);
    const char *from = json_text_or(row, "from", "");

    add(look, &(struct headline){ WEBHOOK_RECLAIMS, "reclaim.began", id },
        text_format("%s reclaims %" PRId64 " node%s%s%s for %s until %s: %s",
                    json_text_or(row, "by", "?"), nodes, sentence_plural((size_t)nodes),
                    from[0] ? " of " : "", from, json_text_or(row, "cluster", "?"),
                    json_text_or(row, "until", "?"), json_text_or(row, "reason", "")),
        with_id("reclaim", id, row));
}

static void end_reclaim(struct look *look, const char *id, const json_t *row)
{
    struct wall_time until = { 0 };
    bool is_early = wall_parse(json_text_or(row, "until", ""), false, &until, NULL) == 0 &&
                    look->now.ms < until.ms;
    json_t *data = with_id("reclaim", id, row);

    json_object_set_new(data, "is_early", json_boolean(is_early));
    add(look, &(struct headline){ WEBHOOK_RECLAIMS, "reclaim.ended", id },
        text_format("The reclaim for %s %s: %s", json_text_or(row, "cluster", "?"),
                    is_early ? "was ended before its time" : "is over",
                    json_text_or(row, "reason", "")),
        data);
}

/* ---- conditions ---- */

enum webhook_topic compose_topic_of(const json_t *row)
{
    const char *id = json_text_or(row, "id", "");

    if (text_equal(id, condition_row(CONDITION_MOVE_LATE)->id))
        return WEBHOOK_LATE;
    return text_equal(id, condition_row(CONDITION_RECLAIM_BLOCKED)->id) ||
                   text_equal(id, condition_row(CONDITION_RECLAIM_BEHIND)->id)
               ? WEBHOOK_RECLAIMS
               : WEBHOOK_HEALTH;
}

static void tell_own_topic(struct look *look, const json_t *row, bool holds)
{
    enum webhook_topic topic = compose_topic_of(row);
    const char *type = topic == WEBHOOK_LATE ? (holds ? "margin.late" : "margin.kept")
                                             : (holds ? "reclaim.stalled" : "reclaim.resumed");
    const char *what = json_text_or(row, "what", "");
    const char *text = json_text_or(row, "text", "");
    json_t *data;

    if (topic == WEBHOOK_HEALTH)
        return;
    data = json_deep_copy(row);
    json_object_del(data, "text"); /* the message has its own */
    add(look, &(struct headline){ topic, type, what[0] != '\0' ? what : "margin" },
        holds ? text_format("%s; %s", text, json_text_or(row, "advice", ""))
              : text_format("Over: %s", text),
        data);
}

/* "critical", "warning" or "ok": of those that were told. */
static const char *severity_told(const struct compose *compose)
{
    const char *worst = "ok";
    const char *key;
    json_t *row;

    json_object_foreach(json_object_get(compose->told, "conditions"), key, row) {
        const char *severity = json_text_or(row, "severity", "");

        if (text_equal(severity, severity_name(SEVERITY_CRITICAL)) || text_equal(worst, "ok"))
            worst = severity;
    }
    return worst;
}

static json_t *some_of(const json_t *rows)
{
    json_t *some = json_array();

    for (size_t i = 0; i < json_array_size(rows) && i < SENTENCE_CONDITIONS_MOST; i++)
        json_array_append(some, json_array_get(rows, i));
    return some;
}

static void tell_health(struct look *look, const char *before, const json_t *began,
                        const json_t *ended)
{
    const char *after = severity_told(look->compose);
    json_t *data = json_make("{ss ss so so sI sI}", "severity", after, "severity_before", before,
                             "began", some_of(began), "ended", some_of(ended), "began_conditions",
                             (json_int_t)json_array_size(began), "ended_conditions",
                             (json_int_t)json_array_size(ended));

    add(look, &(struct headline){ WEBHOOK_HEALTH, "health.changed", "health" },
        sentence_health(&(struct sentence_change){ before, after, began, ended }), data);
}

/* How long a condition must hold before it is told; -1: it was told, with this severity. */
static int64_t begin_wait(const json_t *row, const json_t *told)
{
    const char *severity = json_text_or(row, "severity", "");

    if (!told)
        return BEGIN_MS;
    if (text_equal(severity, json_text_or(told, "severity", "")))
        return -1;
    return text_equal(severity, severity_name(SEVERITY_CRITICAL)) ? 0 : END_MS;
}

/* Returns those that began or have another severity than was told, and takes them as told. */
static json_t *find_begun(struct look *look)
{
    json_t *told = json_object_get(look->compose->told, "conditions");
    json_t *begun = json_array();
    json_t *row;
    const char *key;

    json_object_foreach(json_object_get(look->picture, "conditions"), key, row) {
        const json_t *known = json_object_get(told, key);
        int64_t wait_ms = begin_wait(row, known);
        json_t *shown;

        if (wait_ms < 0 || !has_lasted(look, "begin", key, wait_ms))
            continue;
        shown = json_copy(row);
        json_object_set(shown, "severity_before", json_object_get(known, "severity"));
        json_array_append_new(begun, shown);
        json_object_set(told, key, row);
    }
    return begun;
}

static json_t *find_ended(struct look *look)
{
    json_t *told = json_object_get(look->compose->told, "conditions");
    const json_t *present = json_object_get(look->picture, "conditions");
    json_t *ended = json_array();
    void *next;
    json_t *row;
    const char *key;

    json_object_foreach_safe(told, next, key, row) {
        if (json_object_get(present, key) || !has_lasted(look, "end", key, END_MS))
            continue;
        json_array_append(ended, row);
        json_object_del(told, key);
    }
    return ended;
}

static void look_at_conditions(struct look *look)
{
    owned(chars) char *before = mem_copy_chars(severity_told(look->compose));
    owned(json) json_t *began = find_begun(look);
    owned(json) json_t *ended = find_ended(look);
    const json_t *row;
    size_t i;

    json_array_foreach(began, i, row)
        tell_own_topic(look, row, true);
    json_array_foreach(ended, i, row)
        tell_own_topic(look, row, false);
    if (json_array_size(began) + json_array_size(ended) > 0)
        tell_health(look, before, began, ended);
}

/* ---- */

/* What was told and is not in the picture any more. */
static void look_at_vanished(struct look *look, const char *section,
                             void (*end)(struct look *look, const char *id, const json_t *told))
{
    json_t *told = json_object_get(look->compose->told, section);
    const json_t *present = json_object_get(look->picture, section);
    void *next;
    json_t *row;
    const char *id;

    json_object_foreach_safe(told, next, id, row) {
        if (json_object_get(present, id))
            continue;
        end(look, id, row);
        json_object_del(told, id);
    }
}

static void end_forgotten(struct look *look, const char *id, const json_t *told)
{
    end_move(look, id, NULL, told);
}

static void look_at_reclaims(struct look *look)
{
    json_t *told = json_object_get(look->compose->told, "reclaims");
    json_t *row;
    const char *id;

    look_at_vanished(look, "reclaims", end_reclaim);
    json_object_foreach(json_object_get(look->picture, "reclaims"), id, row) {
        if (json_object_get(told, id))
            continue;
        begin_reclaim(look, id, row);
        json_object_set(told, id, row);
    }
}

json_t *compose_look(struct compose *compose, const json_t *picture, int64_t now_ms,
                     struct wall_time now)
{
    struct look look = { compose, picture, map_new(mem_free), now_ms, now, json_array() };
    json_t *row;
    const char *id;

    look_at_reclaims(&look);
    look_at_vanished(&look, "moves", end_forgotten);
    json_object_foreach(json_object_get(picture, "moves"), id, row)
        look_at_move(&look, id, row);
    look_at_conditions(&look);
    map_free(compose->waiting);
    compose->waiting = look.waiting;
    return look.events;
}
