/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers that many ask for: one is made for all of half a second, and none is older than what its
 * reader was told or did.
 */
#include "base/input/json.h"
#include "broker/api/answers.h"
#include "tests/base/http_fixture.h"

enum { TRIES_MOST = 200 };

static struct answers *answers;
static int made;
static enum answer_form form;

static void answer(void *context, struct http_call *call)
{
    (void)context;
    if (answers_repeat(answers, call, form))
        return;
    answers_share(answers, call, form, json_make("{si}", "made", ++made));
}

/* How many answers were made for this question: 0 or 1. */
static int ask(struct http_fixture *fixture, const char *target)
{
    owned(chars) char *url = text_format("http://sluice%s", target);
    struct result *result = &fixture->results[0];
    int before = made, count = result->count;

    http_send(fixture->http,
              &(struct http_request){
                  .url = url, .unix_socket = fixture->path, .timeout_ms = FIXTURE_HANGS_MS },
              fixture_done, result);
    while (result->count == count)
        fixture_run_for(fixture, 5);
    assert_int_equal(result->status, 200);
    return made - before;
}

/* Asks until one answer was sent twice: on a busy machine half a second may pass between two. */
static void ask_until_kept(struct http_fixture *fixture, const char *target)
{
    for (int i = 0; i < TRIES_MOST; i++)
        if (ask(fixture, target) == 0)
            return;
    fail_msg("no answer to %s is kept", target);
}

static void an_answer_serves_many_for_half_a_second(void **state)
{
    struct http_fixture *fixture = *state;

    ask_until_kept(fixture, "/v1/status");
    loop_skip(fixture->loop, ANSWERS_KEPT_MS);
    assert_int_equal(ask(fixture, "/v1/status"), 1);
}

static void another_question_has_another_answer(void **state)
{
    struct http_fixture *fixture = *state;

    ask_until_kept(fixture, "/v1/status");
    assert_int_equal(ask(fixture, "/v1/status?all=true"), 1);
    ask_until_kept(fixture, "/v1/status");
    form = ANSWER_METRICS;
    assert_int_equal(ask(fixture, "/v1/status"), 1);
    form = ANSWER_JSON;
}

static void who_acts_or_is_told_sees_no_older_state(void **state)
{
    struct http_fixture *fixture = *state;

    answers_follow(answers, 7);
    ask_until_kept(fixture, "/v1/status");
    answers_forget(answers);
    assert_int_equal(ask(fixture, "/v1/status"), 1);
    ask_until_kept(fixture, "/v1/status");
    answers_follow(answers, 8);
    assert_int_equal(ask(fixture, "/v1/status"), 1);
    ask_until_kept(fixture, "/v1/status");
    answers_follow(answers, 8);
    ask_until_kept(fixture, "/v1/status");
}

static void only_so_many_are_kept(void **state)
{
    struct http_fixture *fixture = *state;

    for (int i = 0; i < 2 * ANSWERS_MOST; i++) {
        owned(chars) char *target = text_format("/v1/events?count=%d", i);

        assert_int_equal(ask(fixture, target), 1);
    }
    assert_int_equal(ask(fixture, "/v1/events?count=0"), 1);
}

static int set_up(void **state)
{
    struct http_fixture *fixture;

    fixture_set_up(state);
    fixture = *state;
    fixture->handler = answer;
    answers = answers_new(fixture->loop);
    return 0;
}

static int tear_down(void **state)
{
    answers_free(answers);
    return fixture_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_serves_many_for_half_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_question_has_another_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_acts_or_is_told_sees_no_older_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_so_many_are_kept, set_up, tear_down),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
