/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is told, when, and in which form: messages made of pictures, their bodies, and signatures by
 * the vector of the specification.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/webhooks/compose.h"
#include "broker/webhooks/message.h"
#include "broker/webhooks/post.h"
#include "broker/webhooks/signature.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct wall_time noon = { 1763380800000 }; /* 2025-11-17T12:00:00Z */

/* ---- the signature ---- */

static char *secret_file(const char *folder, const char *text)
{
    char *path = test_folder_write(folder, "secret", text);

    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

/* Of the specification's own libraries: libraries/go/webhook_symmetric_test.go. */
static void the_signature_is_that_of_the_specification(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = secret_file(folder, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    struct config_webhook hook = { .secret_file = path };
    owned(webhook_access) struct webhook_access access = { 0 };
    struct error err = { 0 };
    owned(chars) char *signature = NULL;

    (void)state;
    assert_int_equal(webhook_access_read(&hook, &access, &err), 0);
    signature = webhook_signature(&access, "msg_p5jXN8AQM9LWM0D4loKWxJek",
                                  (struct wall_time){ 1614265330000 }, "{\"test\": 2432232314}");
    assert_string_equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

static void with_two_secrets_each_signs(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = secret_file(folder, "\n whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz \r\n"
                                                  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    struct config_webhook hook = { .secret_file = path };
    owned(webhook_access) struct webhook_access access = { 0 };
    struct error err = { 0 };
    owned(chars) char *signature = NULL;

    (void)state;
    assert_int_equal(webhook_access_read(&hook, &access, &err), 0);
    signature = webhook_signature(&access, "msg_p5jXN8AQM9LWM0D4loKWxJek",
                                  (struct wall_time){ 1614265330999 }, "{\"test\": 2432232314}");
    assert_true(text_starts_with(signature, "v1,"));
    assert_non_null(strstr(signature, " v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
}

/* No error says what the file holds. */
static void files_of_another_form_are_refused(void **state)
{
    static const struct {
        const char *text;
        unsigned mode;
        bool is_url;
        const char *why;
    } cases[] = {
        { "whsec_c2hvcnQ=\n", 0600, false, "expected one or two lines" },
        { "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0600, false, "expected one or two lines" },
        { "whsec_Hunter2Hunter2Hunter2Hunter2!\n", 0600, false, "expected one or two lines" },
        { "\n\n", 0600, false, "expected one or two lines" },
        { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0644, false, "every user may read" },
        { "https://Hunter2@hooks.example.com/\n", 0600, true, "expected one line" },
        { "http://hooks.example.com/Hunter2\n", 0600, true, "expected one line" },
        { "https://169.254.169.254/Hunter2\n", 0600, true, "expected one line" },
        { "https://hooks.example.com/Hunter2\nhttps://a.example.com/\n", 0600, true,
          "expected one line" },
        { "", 0600, true, "expected one line" },
        { "https://hooks.example.com/services/Hunter2\n", 0604, true, "every user may read" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *path = secret_file(folder, cases[i].text);
        struct config_webhook hook = { .secret_file = cases[i].is_url ? NULL : path,
                                       .url_file = cases[i].is_url ? path : NULL };
        struct webhook_access access = { 0 };
        struct error err = { 0 };

        assert_int_equal(chmod(path, cases[i].mode), 0);
        assert_int_equal(webhook_access_read(&hook, &access, &err), -1);
        if (!strstr(err.text, cases[i].why) || strstr(err.text, "Hunter2") ||
            strstr(err.text, "MfKQ"))
            fail_msg("case %zu: %s", i, err.text);
        assert_null(access.url);
        assert_null(access.secrets[0]);
    }
}

static void an_url_may_stand_in_a_file(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = secret_file(folder, "https://hooks.example.com/services/T0/B0/x\n");
    struct config_webhook hook = { .url_file = path };
    owned(webhook_access) struct webhook_access access = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(webhook_access_read(&hook, &access, &err), 0);
    assert_string_equal(access.url, "https://hooks.example.com/services/T0/B0/x");
}

/* ---- what an answer means ---- */

static void answers_mean_what_the_specification_says(void **state)
{
    static const struct {
        int status;
        enum post_result result;
    } cases[] = {
        { 0, POST_AGAIN },     { 200, POST_ACCEPTED }, { 204, POST_ACCEPTED },
        { 301, POST_REFUSED }, { 302, POST_REFUSED },  { 307, POST_REFUSED },
        { 400, POST_REFUSED }, { 401, POST_REFUSED },  { 403, POST_REFUSED },
        { 404, POST_REFUSED }, { 408, POST_AGAIN },    { 410, POST_GONE },
        { 413, POST_REFUSED }, { 425, POST_AGAIN },    { 429, POST_AGAIN },
        { 500, POST_AGAIN },   { 502, POST_AGAIN },    { 503, POST_AGAIN },
        { 504, POST_AGAIN },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct http_answer answer = { .status = cases[i].status };

        assert_int_equal(post_result_of(cases[i].status > 0 ? &answer : NULL), cases[i].result);
    }
}

static void only_a_word_of_an_answer_is_shown(void **state)
{
    static const struct {
        const char *body;
        const char *want;
    } cases[] = {
        { "", "404" },
        { "no_service", "404 no_service" },
        { "channel_is_archived", "404 channel_is_archived" },
        { "Cannot POST /services/T0/B0/Hunter2", "404" },
        { "hunter2", "404" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "404" },
        { "\x1b[31m", "404" },
    };
    char text[POST_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct http_answer answer = { .status = 404, .body = cases[i].body };

        assert_string_equal(post_text(&answer, NULL, text), cases[i].want);
    }
}

/* ---- what is told ---- */

static const char move_head[] =
    "\"pool\":\"research-a-east\",\"cluster\":\"research-a\",\"to\":\"prod-a\","
    "\"reason\":\"window day\",\"due\":null";

static json_t *parse(const char *text)
{
    struct error err = { 0 };
    json_t *json = json_parse(text, strlen(text), "picture", &err);

    if (!json)
        fail_msg("%s in %s", err.text, text);
    return json;
}

/* A picture of one move. */
static json_t *moving(const char *departure, const char *leaving, const char *left,
                      const char *staying)
{
    owned(chars) char *text = text_format(
        "{\"moves\":{\"m-1\":{%s,\"departure\":\"%s\",\"is_emergency\":false,\"leaving\":[%s],"
        "\"left\":[%s],\"staying\":[%s]}},\"reclaims\":{},\"conditions\":{}}",
        move_head, departure, leaving, left, staying);

    return parse(text);
}

static json_t *holding(const char *conditions)
{
    owned(chars) char *text = text_format("{\"moves\":{},\"reclaims\":{},\"conditions\":{%s}}",
                                          conditions);

    return parse(text);
}

/* The types of what a look tells at that time (ms), and frees the picture. */
static char *told_of(struct compose *compose, json_t *picture, int64_t at_ms, json_t *all)
{
    owned(json) json_t *events = compose_look(compose, picture, at_ms,
                                              (struct wall_time){ noon.ms + at_ms });
    struct text *out = text_new(4096);
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event) {
        text_add(out, "%s%s", i > 0 ? " " : "", json_text_or(event, "type", ""));
        assert_string_equal(json_text_or(event, "event", ""), "message");
        if (all)
            json_array_append(all, event);
    }
    json_decref(picture);
    return text_take(out);
}

static void expect(struct compose *compose, json_t *picture, int64_t at_ms, const char *want)
{
    owned(chars) char *told = told_of(compose, picture, at_ms, NULL);

    assert_string_equal(told, want);
}

#define AT "2025-11-17T12:30:00Z"

static void a_move_is_told_as_a_whole(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);

    (void)state;
    expect(compose, moving(AT, "\"n1\"", "", ""), 0, "");
    expect(compose, moving(AT, "\"n1\",\"n2\"", "", ""), 10 * SECOND_MS, "");
    expect(compose, moving(AT, "\"n1\",\"n2\",\"n3\"", "", ""), 15 * SECOND_MS,
           "departure.announced");
    expect(compose, moving(AT, "\"n1\",\"n2\",\"n3\"", "", ""), 60 * SECOND_MS, "");
    /* A node after the other leaves: told when the last has. */
    expect(compose, moving(AT, "\"n2\",\"n3\"", "\"n1\"", ""), 120 * SECOND_MS, "");
    expect(compose, moving(AT, "\"n3\"", "\"n1\",\"n2\"", ""), 180 * SECOND_MS, "");
    expect(compose, moving(AT, "", "\"n1\",\"n2\",\"n3\"", ""), 240 * SECOND_MS, "departure.left");
    /* Its transfers are known for a while after that. */
    expect(compose, moving(AT, "", "\"n1\",\"n2\",\"n3\"", ""), 300 * SECOND_MS, "");
    expect(compose, holding(""), 360 * SECOND_MS, "");
}

static void a_changed_departure_is_told_when_it_stays_changed(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);

    (void)state;
    expect(compose, moving(AT, "\"n1\",\"n2\"", "", ""), 0, "");
    expect(compose, moving(AT, "\"n1\",\"n2\"", "", ""), 15000, "departure.announced");
    /* A few seconds are no news, nor what passes. */
    expect(compose, moving("2025-11-17T12:30:20Z", "\"n1\",\"n2\"", "", ""), 20000, "");
    expect(compose, moving("2025-11-17T12:30:20Z", "\"n1\",\"n2\"", "", ""), 60000, "");
    expect(compose, moving("2025-11-17T12:50:00Z", "\"n1\",\"n2\"", "", ""), 70000, "");
    expect(compose, moving(AT, "\"n1\",\"n2\"", "", ""), 80000, "");
    expect(compose, moving("2025-11-17T12:50:00Z", "\"n1\",\"n2\"", "", ""), 90000, "");
    expect(compose, moving("2025-11-17T12:50:00Z", "\"n1\",\"n2\"", "", ""), 105000,
           "departure.changed");
    expect(compose, moving("2025-11-17T12:50:00Z", "\"n1\"", "", "\"n2\""), 110000, "");
    expect(compose, moving("2025-11-17T12:50:00Z", "\"n1\"", "", "\"n2\""), 125000,
           "departure.changed");
    expect(compose, moving("2025-11-17T12:50:00Z", "", "", "\"n1\",\"n2\""), 130000,
           "departure.withdrawn");
}

static void an_emergency_is_told_at_once(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);
    json_t *picture = moving(AT, "\"n1\"", "", "");

    (void)state;
    json_object_set_new(json_at(picture, "moves/m-1"), "is_emergency", json_true());
    json_object_set_new(json_object_get(picture, "reclaims"), "r-1",
                        parse("{\"cluster\":\"prod-a\",\"nodes\":1,\"reason\":\"launch\","
                              "\"by\":\"alice\",\"until\":\"2025-11-17T18:00:00Z\"}"));
    expect(compose, picture, 0, "reclaim.began departure.announced");
    expect(compose, holding(""), 60000, "reclaim.ended departure.left");
}

#define CONDITION(id, severity, what)                                                              \
    "\"" id "/prod-a/" what "\":{\"id\":\"" id "\",\"severity\":\"" severity "\",\"what\":\"" what \
    "\",\"cluster\":\"prod-a\",\"since\":\"" AT "\",\"text\":\"the text of " id                    \
    "\",\"advice\":\"do it\"}"
#define CLOSED CONDITION("pool_closed", "warning", "east")
#define SHORT CONDITION("production_short", "critical", "prod-a")
#define LATE CONDITION("move_late", "warning", "")
#define BLOCKED CONDITION("reclaim_blocked", "critical", "r-1")

static void a_condition_is_told_when_it_lasts(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);

    (void)state;
    expect(compose, holding(CLOSED), 0, "");
    expect(compose, holding(""), 20000, ""); /* it passed */
    expect(compose, holding(CLOSED), 25000, "");
    expect(compose, holding(CLOSED), 50000, "");
    expect(compose, holding(CLOSED), 55000, "health.changed");
    expect(compose, holding(CLOSED), 90000, "");
    expect(compose, holding(""), 100000, ""); /* its end lasts a minute */
    expect(compose, holding(CLOSED), 150000, "");
    expect(compose, holding(""), 160000, "");
    expect(compose, holding(""), 220000, "health.changed");
}

#define SUSPECT CONDITION("production_short", "warning", "prod-a")

/* A receiver may page only for critical ones, so it is told when a warning has become one. */
static void a_condition_is_told_again_with_another_severity(void **state)
{
    static const struct {
        const char *present;
        int64_t at_ms;
        const char *want, *severity, *says;
    } looks[] = {
        { SUSPECT, 0, "", "", "" },
        { SUSPECT, 30000, "health.changed", "warning", "Health was ok and is warning. Began: " },
        { SHORT, 35000, "health.changed", "critical",
          "Health was warning and is critical. Now critical: the text of production_short" },
        { SHORT, 100000, "", "", "" },
        { SUSPECT, 110000, "", "", "" }, /* that it is better lasts a minute */
        { SHORT, 140000, "", "", "" },
        { SUSPECT, 150000, "", "", "" },
        { SUSPECT, 210000, "health.changed", "warning",
          "Health was critical and is warning. Now warning: the text of production_short" },
        { "", 220000, "", "", "" },
        { "", 280000, "health.changed", "ok", "Health was warning and is ok. Ended: " },
    };
    owned(compose) struct compose *compose = compose_new(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(looks); i++) {
        owned(json) json_t *all = json_array();
        owned(chars) char *told = told_of(compose, holding(looks[i].present), looks[i].at_ms, all);
        const json_t *event = json_array_get(all, 0);
        const json_t *began = json_array_get(json_at(event, "data/began"), 0);

        assert_string_equal(told, looks[i].want);
        assert_string_equal(json_text_or(event, "data/severity", ""), looks[i].severity);
        if (!text_starts_with(json_text_or(event, "text", ""), looks[i].says))
            fail_msg("%s", json_text_or(event, "text", ""));
        if (began)
            assert_string_equal(json_text_or(began, "severity", ""), looks[i].severity);
    }
}

/* Its own topic tells it again, too. */
static void a_stalled_reclaim_is_told_again_as_critical(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);

    (void)state;
    expect(compose, holding(CONDITION("reclaim_blocked", "warning", "r-1")), 0, "");
    expect(compose, holding(CONDITION("reclaim_blocked", "warning", "r-1")), 30000,
           "reclaim.stalled health.changed");
    expect(compose, holding(BLOCKED), 40000, "reclaim.stalled health.changed");
    expect(compose, holding(BLOCKED), 50000, "");
}

static void conditions_of_one_look_are_one_message(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);
    owned(json) json_t *all = json_array();
    owned(chars) char *told = NULL;

    (void)state;
    expect(compose, holding(CLOSED "," SHORT "," LATE "," BLOCKED), 0, "");
    told = told_of(compose, holding(CLOSED "," SHORT "," LATE "," BLOCKED), 30000, all);
    assert_string_equal(told, "margin.late reclaim.stalled health.changed");
    assert_string_equal(json_text_or(json_array_get(all, 2), "data/severity", ""), "critical");
    assert_string_equal(json_text_or(json_array_get(all, 2), "data/severity_before", ""), "ok");
    assert_int_equal(json_int_or(json_array_get(all, 2), "data/began_conditions", 0), 4);
    expect(compose, holding(CLOSED), 40000, "");
    expect(compose, holding(CLOSED), 100000, "margin.kept reclaim.resumed health.changed");
}

/* A new process knows what the one before has told, and nothing else. */
static void a_restart_tells_nothing_twice(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);
    owned(compose) struct compose *next = NULL;

    (void)state;
    expect(compose, holding(CLOSED), 0, "");
    expect(compose, holding(CLOSED), 30000, "health.changed");
    expect(compose, moving(AT, "\"n1\"", "", ""), 31000, "");
    next = compose_new(compose_told(compose));
    expect(next, holding(CLOSED), 0, "");
    expect(next, holding(CLOSED), 60000, "");
    expect(next, holding(""), 61000, "");
    expect(next, holding(""), 121000, "health.changed");
}

static void names_and_conditions_are_bounded(void **state)
{
    owned(compose) struct compose *compose = compose_new(NULL);
    owned(json) json_t *all = json_array();
    json_t *picture = moving(AT, "", "", "");
    owned(chars) char *told = NULL;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        owned(chars) char *name = text_format("node-%d", i);
        owned(chars) char *key = text_format("pool_closed//%d", i);

        json_array_append_new(json_at(picture, "moves/m-1/leaving"), json_text(name));
        json_object_set_new(
            json_object_get(picture, "conditions"), key,
            json_make("{ss ss ss}", "id", "pool_closed", "severity", "warning", "text", key));
    }
    expect(compose, json_incref(picture), 0, "");
    told = told_of(compose, picture, 30000, all);
    assert_string_equal(told, "departure.announced health.changed");
    assert_int_equal(json_int_or(json_array_get(all, 0), "data/leaving_nodes", 0), 5000);
    assert_int_equal(json_array_size(json_at(json_array_get(all, 0), "data/leaving")), 50);
    assert_int_equal(json_array_size(json_at(json_array_get(all, 1), "data/began")), 20);
    assert_non_null(strstr(json_text_or(json_array_get(all, 1), "text", ""), "4980 more"));
}

/* ---- who wants it, and the bodies ---- */

static json_t *row_of(const char *topic, const char *type, json_t *data)
{
    return json_make("{si sI ss s{ss ss ss ss ss so}}", "seq", 7, "at", (json_int_t)noon.ms, "hash",
                     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "event",
                     "event", "message", "topic", topic, "type", type, "subject", "m-1", "text",
                     "2 nodes of <research> & co leave at " AT, "data", data);
}

static void a_condition_with_its_own_topic_is_told_there(void **state)
{
    static const struct {
        bool late;
        bool health;
        const char *began; /* IDs */
        const char *after;
        bool is_wanted;
    } cases[] = {
        { false, true, "move_late", "warning", true },
        { true, true, "move_late", "warning", false },
        { true, true, "move_late", "critical", true }, /* the whole is worse */
        { true, true, "pool_closed", "warning", true },
        { true, false, "pool_closed", "warning", false },
        { true, true, "reclaim_behind", "warning", true }, /* its topic is not wanted */
        { true, true, "webhook_failing", "critical", false },
    };
    static char name[] = "east";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config_webhook hook = {
            .name = name,
            .wants = { [WEBHOOK_LATE] = cases[i].late, [WEBHOOK_HEALTH] = cases[i].health }
        };
        struct config_webhook other = hook;
        owned(json) json_t *row = row_of(
            "health", "health.changed",
            json_make("{ss ss s[{ss ss}] s[]}", "severity", cases[i].after, "severity_before",
                      "warning", "began", "id", cases[i].began, "what", "east", "ended"));

        assert_int_equal(message_is_wanted(&hook, row), cases[i].is_wanted);
        other.name = NULL;
        if (text_equal(cases[i].began, "webhook_failing"))
            assert_true(message_is_wanted(&other, row));
    }
}

static void only_messages_are_wanted(void **state)
{
    const struct config_webhook hook = { .wants = { true, true, true, true } };
    owned(json) json_t *step = json_make("{si s{ss ss}}", "seq", 1, "event", "event", "step",
                                         "topic", "departures");
    owned(json) json_t *later = row_of("weather", "weather.changed", json_object());
    owned(json) json_t *message = row_of("departures", "departure.left", json_object());

    (void)state;
    assert_false(message_is_wanted(&hook, step));
    assert_false(message_is_wanted(&hook, later)); /* of a newer version */
    assert_true(message_is_wanted(&hook, message));
}

static void add_bodies(struct text *out, json_t *picture)
{
    static char source[] = "/sluice";
    const struct config_webhook cloud = { .form = WEBHOOK_CLOUDEVENTS, .source = source };
    const struct config_webhook slack = { .form = WEBHOOK_SLACK };
    owned(compose) struct compose *compose = compose_new(NULL);
    owned(json) json_t *events = json_array();
    json_t *event;
    size_t i;

    mem_free(told_of(compose, json_incref(picture), 0, events));
    mem_free(told_of(compose, picture, 30000, events));
    mem_free(told_of(compose, holding(""), 60000, events));
    mem_free(told_of(compose, holding(""), 130000, events));
    json_array_foreach(events, i, event) {
        owned(json) json_t *row = json_make(
            "{si sI ss sO}", "seq", (int)i + 1, "at", (json_int_t)noon.ms, "hash",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123", "event", event);
        char id[MESSAGE_ID_SIZE];
        struct error err;

        message_id(row, id);
        owned(chars) char *one = message_body(&cloud, id, row);
        owned(chars) char *other = message_body(&slack, id, row);
        owned(json) json_t *parsed = json_parse(one, strlen(one), "body", &err);
        owned(chars) char *pretty = json_print_pretty(parsed);

        assert_non_null(parsed);
        text_add(out, "%s%s\n\n", pretty, other);
    }
}

static void bodies_are_what_receivers_get(void **state)
{
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    json_t *picture = moving(AT, "\"n1\",\"n2\"", "", "");

    (void)state;
    add_bodies(out, picture);
    add_bodies(out, parse("{\"moves\":{},\"reclaims\":{\"r-1\":{\"cluster\":\"prod-a\",\"nodes\":4,"
                          "\"from\":\"research-b\",\"reason\":\"launch <b>\",\"by\":\"alice\","
                          "\"until\":\"2025-11-17T18:00:00Z\"}},\"conditions\":{}}"));
    add_bodies(out, holding(CLOSED "," LATE));
    golden_check("golden/webhooks/bodies.txt", out->chars);
}

static void the_page_has_each_type(void **state)
{
    static const char *const types[] = {
        "departure.announced", "departure.changed", "departure.left", "departure.withdrawn",
        "margin.late",         "margin.kept",       "reclaim.began",  "reclaim.ended",
        "reclaim.stalled",     "reclaim.resumed",   "health.changed",
    };
    owned(text) struct text *page = test_file_read("docs/webhooks.md");
    owned(text) struct text *code = test_file_read("broker/webhooks/compose.c");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        owned(chars) char *shown = text_format("`%s`", types[i]);
        owned(chars) char *made = text_format("\"%s\"", types[i]);

        assert_non_null(strstr(page->chars, shown));
        assert_non_null(strstr(code->chars, made));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_signature_is_that_of_the_specification),
        cmocka_unit_test(with_two_secrets_each_signs),
        cmocka_unit_test(files_of_another_form_are_refused),
        cmocka_unit_test(an_url_may_stand_in_a_file),
        cmocka_unit_test(answers_mean_what_the_specification_says),
        cmocka_unit_test(only_a_word_of_an_answer_is_shown),
        cmocka_unit_test(a_move_is_told_as_a_whole),
        cmocka_unit_test(a_changed_departure_is_told_when_it_stays_changed),
        cmocka_unit_test(an_emergency_is_told_at_once),
        cmocka_unit_test(a_condition_is_told_when_it_lasts),
        cmocka_unit_test(a_condition_is_told_again_with_another_severity),
        cmocka_unit_test(a_stalled_reclaim_is_told_again_as_critical),
        cmocka_unit_test(conditions_of_one_look_are_one_message),
        cmocka_unit_test(a_restart_tells_nothing_twice),
        cmocka_unit_test(names_and_conditions_are_bounded),
        cmocka_unit_test(a_condition_with_its_own_topic_is_told_there),
        cmocka_unit_test(only_messages_are_wanted),
        cmocka_unit_test(bodies_are_what_receivers_get),
        cmocka_unit_test(the_page_has_each_type),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
