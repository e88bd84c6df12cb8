/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Servers whose lists have no end, in the middle of a transfer: what is asked has a bound, the
 * server is named, and when it lists as it should the transfer goes on.
 */
#include "tests/cli/stepwise.h"

/* One way to have no end. */
struct endless {
    const char *path;  /* a part of the URLs that are meant */
    const char *token; /* what of the URL names the page */
    const char *next;  /* member of the answer: parent and name, or a name alone */
    bool is_cycle;     /* else ever new */
};

static struct http *open_way;
static const struct endless *lie; /* NULL: the truth */
static int asked;

struct bent {
    http_done_fn done;
    void *context;
};

static void on_bent(void *context, const struct http_answer *answer, const struct error *err)
{
    struct bent *bent = context;
    http_done_fn done = bent->done;
    void *whom = bent->context;

    mem_free(bent);
    if (!answer || answer->status != 200) {
        done(whom, answer, err);
        return;
    }

    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", NULL);
    owned(chars) char *token = text_format("page-%d", lie->is_cycle ? asked % 3 : asked);
    json_t *parent = text_equal(lie->next, "continue") ? json_object_get(body, "metadata") : body;
    struct http_answer other = *answer;

    json_object_set_new(parent, lie->next, json_string(token));
    owned(chars) char *chars = json_print(body);
    other.body = chars;
    other.body_size = strlen(chars);
    done(whom, &other, NULL);
}

static struct http_exchange *bent_send(struct http *http, const struct http_request *request,
                                       http_done_fn done, void *context)
{
    struct http_request first = *request;
    owned(chars) char *url = mem_copy_chars(request->url);
    struct bent *bent;

    (void)http;
    if (!lie || !strstr(request->url, lie->path))
        return http_send(open_way, request, done, context);
    asked++;
    if (strstr(url, lie->token))
        *strstr(url, lie->token) = '\0';
    first.url = url;
    bent = mem_new(sizeof *bent);
    *bent = (struct bent){ done, context };
    return http_send(open_way, &first, on_bent, bent);
}

static void bent_cancel(struct http_exchange *exchange)
{
    http_cancel(open_way, exchange);
}

static const struct http_verbs bent_verbs = { .send = bent_send, .cancel = bent_cancel };

static struct http bent_http = { &bent_verbs };

static void go_through(struct rehearsal *rehearsal)
{
    struct error err = { 0 };

    open_way = rehearsal->door;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = &bent_http;
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, MINUTE_MS);
    asked = 0;
}

static void stop(struct rehearsal *rehearsal)
{
    lie = NULL;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = rehearsal->door;
}

static void a_look_without_end_ends(void **state)
{
    static const struct endless lies[] = {
        { "spec.nodeName", "&continue=", "continue", true },
        { "spec.nodeName", "&continue=", "continue", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41, "");
        const struct transfer *transfer;

        go_through(rehearsal);
        apply(rehearsal, 7, 7);
        transfer = run_to(rehearsal, STEP_DRAIN);
        assert_non_null(transfer);
        lie = &lies[i];
        rehearsal_run(rehearsal, 20 * MINUTE_MS);
        assert_int_equal(rehearsal->simulator->machines_deleted, 0);
        if (asked > (lies[i].is_cycle ? 20 * 10 : 20 * 30))
            fail_msg("%d requests in 20 minutes", asked);
        if (!strstr(transfer->waiting, "cluster research-a: pods of node"))
            fail_msg("%d requests: %s", asked, transfer->waiting);
        lie = NULL;
        rehearsal_run(rehearsal, HOUR_MS);
        expect_rest(rehearsal, 7);
        stop(rehearsal);
    }
}

static void a_list_of_machines_without_end_ends(void **state)
{
    static const struct {
        struct endless lie;
        const char *text;
    } cases[] = {
        { { "research-a-east/listManagedInstances", "&pageToken=", "nextPageToken", true },
          "repeats a page" },
        { { "research-a-east/listManagedInstances", "&pageToken=", "nextPageToken", false },
          "more than 20 pages" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41, "");
        const struct config *config = rehearsal->service->config;

        go_through(rehearsal);
        config = rehearsal->service->config;
        lie = &cases[i].lie;
        rehearsal_run(rehearsal, 20 * MINUTE_MS);
        for (size_t k = 0; k < config->pool_count; k++) {
            const struct fleet_pool *pool = fleet_pool(rehearsal->service->fleet,
                                                       &config->pools[k]);

            if (!text_equal(config->pools[k].name, "research-a-east"))
                assert_int_equal(pool->trouble.kind, ERROR_NONE);
            else if (!strstr(pool->trouble.text, "provider google: pool research-a-east: ") ||
                     !strstr(pool->trouble.text, cases[i].text))
                fail_msg("%d requests: %s", asked, pool->trouble.text);
        }
        if (asked > 20 * 4 * 20) /* a list has 20 pages, and there are four a minute */
            fail_msg("%d requests in 20 minutes", asked);
        lie = NULL;
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 7, 7);
        rehearsal_run(rehearsal, HOUR_MS);
        expect_rest(rehearsal, 7);
        stop(rehearsal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_without_end_ends),
        cmocka_unit_test(a_list_of_machines_without_end_ends),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
