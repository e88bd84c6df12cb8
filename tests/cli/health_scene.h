/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the status and the log of a rehearsal say of its health.
 */
#pragma once

#include "tests/cli/small_world.h"

static inline json_t *health_of(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    return json_incref(json_object_get(status, "health"));
}

/* "SHORT FROZEN ": all states of the cluster. */
static inline char *states_of(struct rehearsal *rehearsal, const char *cluster)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    struct text *out = text_new(4096);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "clusters"), i, row) {
        const json_t *state;
        size_t k;

        if (!text_equal(json_text_or(row, "cluster", ""), cluster))
            continue;
        json_array_foreach(json_object_get(row, "states"), k, state)
            text_add(out, "%s ", json_string_value(state));
        if (json_array_size(json_object_get(row, "states")) == 0)
            text_add(out, "%s ", json_text_or(row, "state", "-"));
    }
    return text_take(out);
}

static inline void expect_states(struct rehearsal *rehearsal, const char *cluster,
                                 const char *wanted)
{
    owned(chars) char *states = states_of(rehearsal, cluster);

    assert_string_equal(states, wanted);
}

/* "" when the condition does not hold. */
static inline char *condition_member(struct rehearsal *rehearsal, const char *id,
                                     const char *member)
{
    owned(json) json_t *health = health_of(rehearsal);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(health, "conditions"), i, row) {
        if (text_equal(json_text_or(row, "id", ""), id))
            return mem_copy_chars(json_text_or(row, member, ""));
    }
    return mem_copy_chars("");
}

static inline void expect_condition(struct rehearsal *rehearsal, const char *id, const char *says)
{
    owned(chars) char *text = condition_member(rehearsal, id, "text");

    if (says ? !strstr(text, says) : text[0] != '\0')
        fail_msg("%s: \"%s\" is not \"%s\"", id, text, says ?: "");
}

static inline void expect_member(struct rehearsal *rehearsal, const char *id, const char *member,
                                 const char *is)
{
    owned(chars) char *text = condition_member(rehearsal, id, member);

    assert_string_equal(text, is);
}

static inline void expect_advice(struct rehearsal *rehearsal, const char *id, const char *says)
{
    owned(chars) char *advice = condition_member(rehearsal, id, "advice");

    if (!strstr(advice, says))
        fail_msg("%s: \"%s\" is not \"%s\"", id, advice, says);
}

static inline void expect_severity(struct rehearsal *rehearsal, const char *severity)
{
    owned(json) json_t *health = health_of(rehearsal);
    owned(chars) char *chars = json_print_pretty(health);

    if (!text_equal(json_text_or(health, "severity", ""), severity))
        fail_msg("not %s: %s", severity, chars);
}

static int told_lines; /* of the log that name `listened_for` */
static const char *listened_for;

static inline void hear(void *context, const char *line)
{
    (void)context;
    told_lines += strstr(line, listened_for) != NULL;
}

static inline void listen_for(const char *id)
{
    told_lines = 0;
    listened_for = id;
    log_setup(LOG_INFO, LOG_FORM_TEXT);
    log_set_sink(hear, NULL);
}

static inline int lines_told(void)
{
    log_set_sink(NULL, NULL);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return told_lines;
}
