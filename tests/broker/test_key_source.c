/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The issuer's keys from its URL: when they are asked for, and what stays in use while it gives
 * none.  The issuer is a server on this machine.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/http_server.h"
#include "broker/access/key_source.h"
#include "tests/support/unit.h"

#include <string.h>

#define KEY(kid)                                                                                   \
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"" kid "\","                                       \
    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","                                       \
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}"

struct scene {
    struct world world;
    struct http_server *issuer;
    int port;
    char *url;
    int status;
    const char *body;
    int asked;
};

static void answer(void *context, struct http_call *call)
{
    struct scene *scene = context;

    scene->asked++;
    assert_string_equal(http_call_target(call), "/keys");
    http_call_answer(call, &(struct http_reply){ .status = scene->status,
                                                 .body = scene->body,
                                                 .body_size = strlen(scene->body) });
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct error err = { 0 };

    scene->world.loop = loop_libevent_new(&err);
    scene->world.http = http_curl_new(scene->world.loop, NULL, &err);
    scene->issuer = http_server_new(scene->world.loop, answer, scene);
    assert_int_equal(http_server_listen_loopback(scene->issuer, 0, &scene->port, &err), 0);
    scene->url = text_format("http://127.0.0.1:%d/keys", scene->port);
    scene->status = 200;
    scene->body = "{\"keys\":[" KEY("a") "]}";
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    http_free(scene->world.http);
    http_server_free(scene->issuer);
    loop_free(scene->world.loop);
    mem_free(scene->url);
    mem_free(scene);
    return 0;
}

/* After so long, until the issuer was asked so often in all, and its answer has come. */
static void run(struct scene *scene, int64_t later_ms, int asked)
{
    loop_skip(scene->world.loop, later_ms);
    for (int i = 0; i < 1000 && scene->asked < asked; i++)
        loop_run_until(scene->world.loop, loop_now(scene->world.loop) + 5);
    for (int i = 0; i < 20; i++)
        loop_run_until(scene->world.loop, loop_now(scene->world.loop) + 1);
    assert_int_equal(scene->asked, asked);
}

static void expect(const struct key_source *source, const char *kid, const char *trouble)
{
    const struct web_keys *keys = key_source_keys(source);
    struct wall_time since;
    struct error err = { 0 };
    int result = key_source_check(source, &since, &err);

    assert_int_equal(result, trouble ? -1 : 0);
    if (trouble && !strstr(err.text, trouble))
        fail_msg("%s is not: %s", trouble, err.text);
    assert_int_equal(keys != NULL, kid != NULL);
    assert_int_equal(since.ms != 0, kid != NULL);
    if (kid)
        assert_true(web_keys_has(keys, "ES256", kid));
}

static void keys_are_fetched_every_hour(void **state)
{
    struct scene *scene = *state;
    owned(key_source) struct key_source *source = key_source_new(&scene->world, scene->url);

    expect(source, NULL, "has not answered yet");
    run(scene, 0, 1);
    expect(source, "a", NULL);
    scene->body = "{\"keys\":[" KEY("b") "]}";
    run(scene, 59 * MINUTE_MS, 1);
    expect(source, "a", NULL);
    run(scene, MINUTE_MS, 2);
    expect(source, "b", NULL);
}

static void count(void *context)
{
    ++*(int *)context;
}

/* Who was let in by keys of before has to show a token again. */
static void another_set_is_told_once(void **state)
{
    struct scene *scene = *state;
    owned(key_source) struct key_source *source = key_source_new(&scene->world, scene->url);
    int told = 0;

    key_source_watch(source, count, &told);
    run(scene, 0, 1);
    assert_int_equal(told, 1);
    run(scene, HOUR_MS, 2);
    assert_int_equal(told, 1);
    scene->body = "{\"keys\":[" KEY("b") "]}";
    run(scene, HOUR_MS, 3);
    assert_int_equal(told, 2);
    scene->status = 500;
    run(scene, HOUR_MS, 4);
    assert_int_equal(told, 2);
}

/* Tokens with made-up keys must not become as many questions to the issuer. */
static void an_unknown_key_asks_once_in_thirty_seconds(void **state)
{
    struct scene *scene = *state;
    owned(key_source) struct key_source *source = key_source_new(&scene->world, scene->url);

    run(scene, 0, 1);
    for (int i = 0; i < 100; i++)
        key_source_miss(source);
    run(scene, SECOND_MS, 1);
    scene->body = "{\"keys\":[" KEY("a") "," KEY("b") "]}";
    run(scene, 30 * SECOND_MS, 1);
    for (int i = 0; i < 100; i++)
        key_source_miss(source);
    run(scene, 0, 2);
    expect(source, "b", NULL);
    key_source_miss(source);
    run(scene, SECOND_MS, 2);
}

static void old_keys_stay_while_the_issuer_gives_none(void **state)
{
    static const struct {
        int status;
        const char *body, *says;
    } rows[] = {
        { 500, "{}", "answers with status 500" },
        { 302, "", "answers with status 302" },
        { 200, "{\"keys\":[]}", "has no key for RS256 or ES256" },
        { 200, "<html>", "keys" },
    };
    struct scene *scene = *state;
    owned(key_source) struct key_source *source = key_source_new(&scene->world, scene->url);
    int asked = 1;

    run(scene, 0, asked);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *good = scene->body;

        scene->status = rows[i].status;
        scene->body = rows[i].body;
        run(scene, HOUR_MS, ++asked);
        expect(source, "a", rows[i].says);
        run(scene, 4 * SECOND_MS, asked);
        run(scene, SECOND_MS, ++asked); /* after 5 s, then after 10 */
        run(scene, 9 * SECOND_MS, asked);
        run(scene, SECOND_MS, ++asked);
        expect(source, "a", rows[i].says);
        scene->status = 200;
        scene->body = good;
        run(scene, 20 * SECOND_MS, ++asked);
        expect(source, "a", NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_are_fetched_every_hour, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_set_is_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_key_asks_once_in_thirty_seconds, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(old_keys_stay_while_the_issuer_gives_none, set_up,
                                        tear_down),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
