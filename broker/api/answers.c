/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See answers.h.
 */
#include "broker/api/answers.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/text.h"
#include "broker/api/browser.h"
#include "broker/api/departure_calendar.h"
#include "broker/api/metrics.h"

#include <string.h>

struct kept {
    char *target;
    enum answer_form form;
    char *body;
    size_t size;
    int64_t made_ms;
};

struct answers {
    struct loop *loop;
    uint64_t revision;
    ARRAY(struct kept) kept; /* the oldest first */
};

static const struct http_header calendar_headers[] = {
    { "Cache-Control", "no-store" },
    { "X-Content-Type-Options", "nosniff" },
    { "Content-Disposition", "attachment; filename=\"departures.ics\"" },
};

struct answers *answers_new(struct loop *loop)
{
    struct answers *answers = mem_new(sizeof *answers);

    answers->loop = loop;
    return answers;
}

static void forget_oldest(struct answers *answers)
{
    mem_free(answers->kept.items[0].target);
    mem_free(answers->kept.items[0].body);
    array_remove(&answers->kept, 0);
}

void answers_forget(struct answers *answers)
{
    while (answers->kept.count > 0)
        forget_oldest(answers);
}

void answers_free(struct answers *answers)
{
    if (!answers)
        return;
    answers_forget(answers);
    array_clear(&answers->kept);
    mem_free(answers);
}

void answers_follow(struct answers *answers, uint64_t revision)
{
    if (answers->revision != revision)
        answers_forget(answers);
    answers->revision = revision;
}

char *answers_print(const json_t *json)
{
    owned(json) json_t *stamped = json_copy((json_t *)(uintptr_t)json);

    json_object_set_new(stamped, "api_version", json_text(ANSWERS_API_VERSION));
    return json_print(stamped);
}

static char *print(enum answer_form form, const json_t *json)
{
    owned(text) struct text *calendar = NULL;

    switch (form) {
    case ANSWER_METRICS:
        return metrics_print(json, METRICS_TEXT);
    case ANSWER_METRICS_OPEN:
        return metrics_print(json, METRICS_OPEN);
    case ANSWER_CALENDAR:
        calendar = text_new(TEXT_UNBOUNDED);
        departures_ical(json, calendar);
        return text_take(steal(&calendar));
    case ANSWER_JSON:
        break;
    }
    return answers_print(json);
}

static const char *content_type(enum answer_form form)
{
    switch (form) {
    case ANSWER_METRICS:
        return metrics_content_type(METRICS_TEXT);
    case ANSWER_METRICS_OPEN:
        return metrics_content_type(METRICS_OPEN);
    case ANSWER_CALENDAR:
        return "text/calendar; charset=utf-8";
    case ANSWER_JSON:
        break;
    }
    return "application/json";
}

static void send_body(struct http_call *call, enum answer_form form, const char *body, size_t size)
{
    bool is_calendar = form == ANSWER_CALENDAR;

    http_call_answer(call,
                     &(struct http_reply){
                         .status = 200,
                         .content_type = content_type(form),
                         .headers = is_calendar ? calendar_headers : browser_headers,
                         .header_count = is_calendar ? COUNT_OF(calendar_headers) : BROWSER_HEADERS,
                         .body = body,
                         .body_size = size });
}

void answers_send(struct http_call *call, enum answer_form form, json_t *json)
{
    owned(chars) char *body = print(form, json);

    require(json_is_object(json));
    send_body(call, form, body, strlen(body));
    json_decref(json);
}

void answers_share(struct answers *answers, struct http_call *call, enum answer_form form,
                   json_t *json)
{
    struct kept kept = { .target = mem_copy_chars(http_call_target(call)),
                         .form = form,
                         .body = print(form, json),
                         .made_ms = loop_now(answers->loop) };

    require(json_is_object(json));
    json_decref(json);
    kept.size = strlen(kept.body);
    if (answers->kept.count >= ANSWERS_MOST)
        forget_oldest(answers);
    *array_add(&answers->kept) = kept;
    send_body(call, form, kept.body, kept.size);
}

bool answers_repeat(const struct answers *answers, struct http_call *call, enum answer_form form)
{
    int64_t now_ms = loop_now(answers->loop);

    for (size_t i = answers->kept.count; i-- > 0;) {
        const struct kept *kept = &answers->kept.items[i];

        if (now_ms - kept->made_ms >= ANSWERS_KEPT_MS)
            return false; /* the others are older */
        if (kept->form != form || !text_equal(kept->target, http_call_target(call)))
            continue;
        send_body(call, form, kept->body, kept->size);
        return true;
    }
    return false;
}
