/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Time in which nothing can be asked of a node's pods is not the pods' to lose: whatever stood
 * still longer than a drain may take, they are evicted and not deleted.
 */
#include "broker/transfer/effect.h"
#include "tests/cli/stepwise.h"

enum { LONG_MS = 20 * MINUTE_MS }; /* the drain has five minutes, a cordon ten */

static int64_t done_so_far(struct rehearsal *rehearsal, const char *what)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);
    owned(chars) char *path = text_format("effects/%s", what);

    return json_int_or(report, path, -1);
}

static void freeze(struct rehearsal *rehearsal)
{
    freeze_for(rehearsal, "", LONG_MS);
}

static void go_away(struct rehearsal *rehearsal)
{
    struct error err = { 0 };

    rehearsal_kill(rehearsal);
    rehearsal_run(rehearsal, LONG_MS);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

static void cut_off(struct rehearsal *rehearsal)
{
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, LONG_MS);
    simulator_cut_off(rehearsal->simulator, NULL);
}

static const struct {
    const char *name;
    enum transfer_step step; /* at which it happens */
    void (*happen)(struct rehearsal *rehearsal);
} disturbances[] = {
    { "a freeze at the cordon", STEP_CORDON, freeze },
    { "a freeze in the drain", STEP_DRAIN, freeze },
    { "the broker is away in the drain", STEP_DRAIN, go_away },
    { "the server is not heard in the drain", STEP_DRAIN, cut_off },
};

static void what_stood_still_is_evicted_all_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(disturbances); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 21, "");

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 10, 10);
        assert_non_null(run_to(rehearsal, disturbances[i].step));
        disturbances[i].happen(rehearsal);
        rehearsal_run(rehearsal, 90 * MINUTE_MS);
        if (done_so_far(rehearsal, "evictions") < 4 || done_so_far(rehearsal, "pod_deletes") > 0)
            fail_msg("%s: %lld evictions, %lld deletes", disturbances[i].name,
                     (long long)done_so_far(rehearsal, "evictions"),
                     (long long)done_so_far(rehearsal, "pod_deletes"));
        expect_rest(rehearsal, 10);
    }
}

/* A way out on which one node is never there to be closed. */
static struct http *open_way;
static char absent[TRANSFER_NAME_SIZE];

static struct http_exchange *send_but_for_it(struct http *http, const struct http_request *request,
                                             http_done_fn done, void *context)
{
    const char *node = strstr(request->url, "/api/v1/nodes/");
    bool is_cordon = request->method == HTTP_PATCH && node && absent[0] != '\0' &&
                     strstr(node, absent) && request->body &&
                     strstr(request->body, "\"unschedulable\":true");
    struct http_request changed = *request;
    owned(chars) char *url = NULL;

    (void)http;
    if (is_cordon) {
        url = text_format("%.*s/api/v1/nodes/nobody", (int)(node - request->url), request->url);
        changed.url = url;
    }
    return http_send(open_way, &changed, done, context);
}

static void cancel_there(struct http_exchange *exchange)
{
    http_cancel(open_way, exchange);
}

static const struct http_verbs narrow = { .send = send_but_for_it, .cancel = cancel_there };

/* It gives up after ten minutes; the others of its move have their whole drain then. */
static void who_waits_for_a_node_of_its_move_loses_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 3, "");
    struct http way = { &narrow };
    const struct transfer *first;
    struct error err = { 0 };

    (void)state;
    open_way = rehearsal->door;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = &way;
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 10);
    first = run_to(rehearsal, STEP_NOTICE);
    assert_non_null(first);
    text_copy(absent, sizeof absent, first->node);
    rehearsal_run(rehearsal, HOUR_MS);
    absent[0] = '\0';
    assert_int_equal(first->state, TRANSFER_UNDONE);
    assert_true(done_so_far(rehearsal, "evictions") >= 3);
    assert_int_equal(done_so_far(rehearsal, "pod_deletes"), 0);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 10);
    rehearsal_kill(rehearsal);
    rehearsal->world.http = rehearsal->door;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stood_still_is_evicted_all_the_same),
        cmocka_unit_test(who_waits_for_a_node_of_its_move_loses_nothing),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
