/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See message.h.
 */
#include "broker/webhooks/message.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/health/conditions.h"
#include "broker/webhooks/compose.h"

#include <string.h>

bool message_is(const json_t *row)
{
    return text_equal(json_text_or(row, "event/event", ""), "message");
}

static int topic_of(const json_t *row)
{
    for (int topic = 0; topic < WEBHOOK_TOPICS; topic++)
        if (text_equal(json_text_or(row, "event/topic", ""),
                       webhook_topic_name((enum webhook_topic)topic)))
            return topic;
    return WEBHOOK_TOPICS;
}

/* Whether all of them say that this webhook fails: it would learn that last. */
static bool are_own_failures(const struct config_webhook *hook, const json_t *conditions)
{
    const char *failing = condition_row(CONDITION_WEBHOOK_FAILING)->id;
    const json_t *row;
    size_t i;

    json_array_foreach(conditions, i, row) {
        if (!text_equal(json_text_or(row, "id", ""), failing) ||
            !text_equal(json_text_or(row, "what", ""), hook->name))
            return false;
    }
    return true;
}

/* Whether each of them is told in another topic that the webhook wants. */
static bool are_told_elsewhere(const struct config_webhook *hook, const json_t *conditions)
{
    const json_t *row;
    size_t i;

    json_array_foreach(conditions, i, row) {
        enum webhook_topic topic = compose_topic_of(row);

        if (topic == WEBHOOK_HEALTH || !hook->wants[topic])
            return false;
    }
    return true;
}

static bool is_news(const struct config_webhook *hook, const json_t *data)
{
    const json_t *began = json_object_get(data, "began");
    const json_t *ended = json_object_get(data, "ended");

    if (are_own_failures(hook, began) && are_own_failures(hook, ended))
        return false;
    return !text_equal(json_text_or(data, "severity", ""),
                       json_text_or(data, "severity_before", "")) ||
           !are_told_elsewhere(hook, began) || !are_told_elsewhere(hook, ended);
}

bool message_is_wanted(const struct config_webhook *hook, const json_t *row)
{
    int topic = message_is(row) ? topic_of(row) : WEBHOOK_TOPICS;

    if (topic == WEBHOOK_TOPICS || !hook->wants[topic])
        return false;
    return topic != WEBHOOK_HEALTH || is_news(hook, json_at(row, "event/data"));
}

void message_id(const json_t *row, char out[MESSAGE_ID_SIZE])
{
    text_print(out, MESSAGE_ID_SIZE, "msg_%.32s", json_text_or(row, "hash", ""));
}

const char *message_type(const json_t *row)
{
    return json_text_or(row, "event/type", "");
}

static char *cloud_event(const struct config_webhook *hook, const char *id, const json_t *row)
{
    owned(chars) char *type = text_format("dev.sluice.%s", message_type(row));
    json_t *data = json_make("{ss}", "text", json_text_or(row, "event/text", ""));
    owned(json) json_t *event = NULL;
    char time[WALL_TEXT_SIZE];

    json_object_update(data, json_at(row, "event/data"));
    wall_format((struct wall_time){ json_int_or(row, "at", 0) }, time);
    event = json_make("{ss ss ss ss ss ss ss so}", "specversion", "1.0", "id", id, "source",
                      hook->source, "type", type, "subject", json_text_or(row, "event/subject", ""),
                      "time", time, "datacontenttype", "application/json", "data", data);
    return json_print(event);
}

/* What these three begin is markup: links, names of people and channels. */
static char *slack_text(const json_t *row)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    owned(chars) char *plain = NULL;
    owned(json) json_t *body = NULL;

    for (const char *at = json_text_or(row, "event/text", ""); *at; at++) {
        if (*at == '&')
            text_add(out, "&amp;");
        else if (*at == '<')
            text_add(out, "&lt;");
        else if (*at == '>')
            text_add(out, "&gt;");
        else
            text_add_bytes(out, at, 1);
    }
    plain = text_take(out);
    body = json_make("{ss}", "text", plain);
    return json_print(body);
}

char *message_body(const struct config_webhook *hook, const char *id, const json_t *row)
{
    return hook->form == WEBHOOK_SLACK ? slack_text(row) : cloud_event(hook, id, row);
}

const char *message_media_type(const struct config_webhook *hook)
{
    return hook->form == WEBHOOK_SLACK ? "application/json"
                                       : "application/cloudevents+json; charset=UTF-8";
}
