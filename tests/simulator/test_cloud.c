/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cloud's wire: tokens, groups, the two levels of asynchrony, stock-out, full reservations.
 */
#include "tests/simulator/bench.h"

#define UUID(digit) "0000000" digit "-0000-4000-8000-000000000000"
#define DELETE_BODY(name)                                                                          \
    "{\"instances\":[\"zones/zone-a/instances/" name "\"],\"skipInstancesOnValidationError\":"     \
    "true}"
#define FORM "application/x-www-form-urlencoded"

static int open_bench(void **state)
{
    struct bench *bench = mem_new(sizeof *bench);

    bench_open(bench, bench_config, bench_world, NULL);
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

static struct bench_answer list_of(struct bench *bench, const char *group)
{
    owned(chars) char *path = text_format(
        "/gcp/compute/v1/projects/acme/zones/zone-a/instanceGroupManagers/%s/listManagedInstances",
        group);

    return bench_cloud(bench, HTTP_POST, path, NULL);
}

/* The name of the group's first instance. */
static char *first_of(struct bench *bench, const char *group)
{
    owned(bench_answer) struct bench_answer list = list_of(bench, group);

    return mem_copy_chars(
        json_text_or(json_array_get(json_at(list.body, "managedInstances"), 0), "name", ""));
}

static struct bench_answer delete_one(struct bench *bench, const char *name, const char *query)
{
    owned(chars) char *path = text_format(GROUP_URL("lab-grp") "/deleteInstances%s", query);
    owned(chars) char *body = text_format(DELETE_BODY("%s"), name);

    return bench_cloud(bench, HTTP_POST, path, body);
}

static struct bench_answer create_one(struct bench *bench, const char *name, const char *query)
{
    owned(chars) char *path = text_format(GROUP_URL("prod-grp") "/createInstances%s", query);
    owned(chars) char *body = text_format("{\"instances\":[{\"name\":\"%s\"}]}", name);

    return bench_cloud(bench, HTTP_POST, path, body);
}

static void test_wire_of_refusals(void **state)
{
    static const struct {
        const char *name;
        enum http_method method;
        const char *path;
        const char *body;
        int status;
        const char *reason;
    } cases[] = {
        { "unknown group", HTTP_GET, GROUP_URL("nobody"), NULL, 404, "notFound" },
        { "unknown method", HTTP_POST, GROUP_URL("lab-grp") "/explode", "{}", 404, "notFound" },
        { "list by GET", HTTP_GET, GROUP_URL("lab-grp") "/listManagedInstances", NULL, 404,
          "notFound" },
        { "page too long", HTTP_POST, GROUP_URL("lab-grp") "/listManagedInstances?maxResults=501",
          NULL, 400, "invalid" },
        { "page token of nobody", HTTP_POST,
          GROUP_URL("lab-grp") "/listManagedInstances?pageToken=x", NULL, 400, "invalid" },
        { "delete without a list", HTTP_POST, GROUP_URL("lab-grp") "/deleteInstances", "{}", 400,
          "invalid" },
        { "requestId is no UUID", HTTP_POST, GROUP_URL("lab-grp") "/deleteInstances?requestId=7",
          DELETE_BODY("x"), 400, "invalid" },
        { "name with capitals", HTTP_POST, GROUP_URL("prod-grp") "/createInstances",
          "{\"instances\":[{\"name\":\"Gpu\"}]}", 400, "invalid" },
        { "one name twice", HTTP_POST, GROUP_URL("prod-grp") "/createInstances",
          "{\"instances\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", 400, "invalid" },
        { "unknown operation", HTTP_GET, "/gcp/compute/v1/projects/acme/zones/zone-a/operations/o",
          NULL, 404, "notFound" },
        { "unknown instance", HTTP_GET, "/gcp/compute/v1/projects/acme/zones/zone-a/instances/i",
          NULL, 404, "notFound" },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = bench_cloud(bench, cases[i].method,
                                                                     cases[i].path, cases[i].body);
        json_t *first = json_array_get(json_at(answer.body, "error/errors"), 0);

        print_message("%s\n", cases[i].name);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(json_text_or(first, "reason", ""), cases[i].reason);
        assert_int_equal(json_int_or(answer.body, "error/code", 0), cases[i].status);
    }
}

static void test_tokens(void **state)
{
    static const struct {
        const char *name, *type, *body;
        int status;
        const char *error;
    } cases[] = {
        { "not a form", "application/json", "{}", 400, "invalid_request" },
        { "other grant", FORM, "grant_type=password&assertion=a.b.c", 400,
          "unsupported_grant_type" },
        { "two parts", FORM,
          "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b", 400,
          "invalid_grant" },
        { "right", FORM,
          "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c", 200,
          "" },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = bench_ask(
            bench, &(struct bench_request){ .method = HTTP_POST,
                                            .path = "/gcp/token",
                                            .type = cases[i].type,
                                            .body = cases[i].body });

        print_message("%s\n", cases[i].name);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(json_text_or(answer.body, "error", ""), cases[i].error);
    }
}

static void test_a_token_ends_after_an_hour(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *token = bench_token(bench);
    owned(bench_answer) struct bench_answer before = bench_ask(
        bench, &(struct bench_request){
                   .method = HTTP_GET, .path = GROUP_URL("lab-grp"), .bearer = token });

    assert_int_equal(before.status, 200);
    bench_wait(bench, HOUR_MS);

    owned(bench_answer) struct bench_answer after = bench_ask(
        bench, &(struct bench_request){
                   .method = HTTP_GET, .path = GROUP_URL("lab-grp"), .bearer = token });

    assert_int_equal(after.status, 401);
}

static void test_the_metadata_server_wants_its_header_and_sends_it(void **state)
{
    struct bench *bench = *state;
    static const char path[] = "http://127.0.0.1:1/gcp/computeMetadata/v1/instance/"
                               "service-accounts/default/token";
    const struct http_header header = { "Metadata-Flavor", "Google" };
    struct http_request request = {
        .url = path, .headers = &header, .header_count = 1, .timeout_ms = 1000
    };
    owned(bench_answer) struct bench_answer with = { 0 };
    owned(bench_answer) struct bench_answer without = { 0 };

    http_send(simulator_http(bench->simulator), &request, bench_done, &with);
    request.header_count = 0;
    http_send(simulator_http(bench->simulator), &request, bench_done, &without);
    bench_wait(bench, SECOND_MS);
    assert_int_equal(with.status, 200);
    assert_string_equal(with.flavor, "Google");
    assert_string_equal(json_text_or(with.body, "token_type", ""), "Bearer");
    assert_int_equal(without.status, 403);
}

static void test_pages_hold_every_instance_once(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *token = NULL;
    int seen = 0, pages = 0;

    do {
        owned(chars) char *path = text_format(
            GROUP_URL("prod-grp") "/listManagedInstances?maxResults=3%s%s",
            token ? "&pageToken=" : "", token ? token : "");
        owned(bench_answer) struct bench_answer answer = bench_cloud(bench, HTTP_POST, path, NULL);

        assert_int_equal(answer.status, 200);
        seen += (int)json_array_size(json_at(answer.body, "managedInstances"));
        mem_free(token);
        token = mem_copy_chars(json_text_or(answer.body, "nextPageToken", NULL));
        pages++;
    } while (token);
    assert_int_equal(seen, 4);
    assert_int_equal(pages, 2);
}

static void test_done_means_scheduled_not_gone(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *name = first_of(bench, "lab-grp");
    owned(bench_answer) struct bench_answer answer = delete_one(bench, name,
                                                                "?requestId=" UUID("1"));
    owned(chars) char *path = text_format(
        "/gcp/compute/v1/projects/acme/zones/zone-a/operations/%s",
        json_text_or(answer.body, "name", ""));

    assert_int_equal(answer.status, 200);
    assert_string_equal(json_text_or(answer.body, "status", ""), "RUNNING");
    assert_int_equal(simulator_pool_target(bench->simulator, "lab-east"), 1);
    bench_wait(bench, 5 * SECOND_MS);

    owned(bench_answer) struct bench_answer operation = bench_cloud(bench, HTTP_GET, path, NULL);

    assert_string_equal(json_text_or(operation.body, "status", ""), "DONE");
    assert_string_equal(json_text_or(operation.body, "clientOperationId", ""), UUID("1"));

    owned(bench_answer) struct bench_answer during = list_of(bench, "lab-grp");

    assert_string_equal(json_text_or(bench_find(during.body, "managedInstances", "name", name),
                                     "currentAction", ""),
                        "DELETING");
    bench_wait(bench, MINUTE_MS);

    owned(bench_answer) struct bench_answer after = list_of(bench, "lab-grp");

    assert_null(bench_find(after.body, "managedInstances", "name", name));
    assert_int_equal(json_array_size(json_at(after.body, "managedInstances")), 1);
}

static void test_a_request_id_acts_once(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *name = first_of(bench, "lab-grp");
    owned(bench_answer) struct bench_answer first = delete_one(bench, name,
                                                               "?requestId=" UUID("1"));
    owned(bench_answer) struct bench_answer again = delete_one(bench, name,
                                                               "?requestId=" UUID("1"));
    owned(bench_answer) struct bench_answer other = delete_one(bench, "another",
                                                               "?requestId=" UUID("1"));

    assert_string_equal(json_text_or(first.body, "name", "a"),
                        json_text_or(again.body, "name", "b"));
    assert_int_equal(simulator_pool_target(bench->simulator, "lab-east"), 1);
    assert_int_equal(other.status, 400);
}

static void test_deleting_a_stranger_is_harmless_when_skipping(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer skipping = delete_one(bench, "stranger", "");
    owned(bench_answer) struct bench_answer strict = bench_cloud(
        bench, HTTP_POST, GROUP_URL("lab-grp") "/deleteInstances",
        "{\"instances\":[\"zones/zone-a/instances/stranger\"]}");

    assert_int_equal(skipping.status, 200);
    assert_int_equal(simulator_pool_target(bench->simulator, "lab-east"), 2);
    assert_int_equal(strict.status, 200);
    bench_wait(bench, 5 * SECOND_MS);

    owned(chars) char *path = text_format(
        "/gcp/compute/v1/projects/acme/zones/zone-a/operations/%s",
        json_text_or(strict.body, "name", ""));
    owned(bench_answer) struct bench_answer operation = bench_cloud(bench, HTTP_GET, path, NULL);

    assert_string_equal(json_text_or(operation.body, "status", ""), "DONE");
    assert_int_equal(json_array_size(json_at(operation.body, "error/errors")), 1);
}

static void test_a_name_that_exists_is_a_conflict(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *name = first_of(bench, "lab-grp"); /* of another group in the zone, too */
    owned(bench_answer) struct bench_answer answer = create_one(bench, name, "");
    json_t *first = json_array_get(json_at(answer.body, "error/errors"), 0);

    assert_int_equal(answer.status, 409);
    assert_string_equal(json_text_or(first, "reason", ""), "alreadyExists");
    assert_int_equal(simulator_pool_target(bench->simulator, "prod-east"), 4);
}

/* The whole way of one node: out of one group, into the other, joined with its GPUs. */
static void test_a_full_reservation_waits_for_the_slot(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *old = first_of(bench, "lab-grp");
    owned(bench_answer) struct bench_answer create = create_one(bench, "prod-grp-new", "");

    assert_int_equal(create.status, 200);
    bench_wait(bench, 5 * SECOND_MS);

    owned(bench_answer) struct bench_answer full = list_of(bench, "prod-grp");
    json_t *entry = bench_find(full.body, "managedInstances", "name", "prod-grp-new");
    json_t *trouble = json_array_get(json_at(entry, "lastAttempt/errors/errors"), 0);

    assert_string_equal(json_text_or(entry, "currentAction", ""), "CREATING");
    assert_null(json_at(entry, "instanceStatus"));
    assert_null(json_at(entry, "id"));
    assert_non_null(strstr(json_text_or(trouble, "message", ""),
                           "Specified reservation 'east' does not have available resources"));

    owned(bench_answer) struct bench_answer delete = delete_one(bench, old, "");

    assert_int_equal(delete.status, 200);
    bench_wait(bench, 60 * SECOND_MS + 30 * SECOND_MS);
    assert_int_equal(simulator_pool_running(bench->simulator, "prod-east"), 4);
    bench_wait(bench, 125 * SECOND_MS);
    assert_int_equal(simulator_pool_running(bench->simulator, "prod-east"), 5);
}

static void test_a_stockout_is_retried_until_it_is_called_off(void **state)
{
    static const struct {
        const char *name;
        bool recovers;
    } cases[] = { { "the zone recovers", true }, { "the broker gives up", false } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench here, *bench = &here;
        owned(chars) char *world = text_format(
            "%sstockouts: [ { zone: zone-a, from: 0s, to: 10m } ]\n", bench_world);

        print_message("%s\n", cases[i].name);
        bench_open(bench, bench_config, world, NULL);

        owned(chars) char *old = first_of(bench, "lab-grp");
        owned(bench_answer) struct bench_answer delete = delete_one(bench, old, "");

        assert_int_equal(delete.status, 200);

        bench_wait(bench, 2 * MINUTE_MS);

        owned(bench_answer) struct bench_answer create = create_one(bench, "prod-grp-new", "");

        assert_int_equal(create.status, 200);

        bench_wait(bench, MINUTE_MS);

        owned(bench_answer) struct bench_answer list = list_of(bench, "prod-grp");
        json_t *entry = bench_find(list.body, "managedInstances", "name", "prod-grp-new");
        json_t *trouble = json_array_get(json_at(entry, "lastAttempt/errors/errors"), 0);

        assert_string_equal(json_text_or(trouble, "code", ""), "ZONE_RESOURCE_POOL_EXHAUSTED");
        if (cases[i].recovers) {
            bench_wait(bench, 10 * MINUTE_MS);
            assert_int_equal(simulator_pool_running(bench->simulator, "prod-east"), 5);
        } else {
            owned(bench_answer) struct bench_answer off = bench_cloud(
                bench, HTTP_POST, GROUP_URL("prod-grp") "/deleteInstances",
                DELETE_BODY("prod-grp-new"));

            assert_int_equal(off.status, 200);
            assert_int_equal(simulator_pool_target(bench->simulator, "prod-east"), 4);
            bench_wait(bench, 15 * MINUTE_MS);
            assert_int_equal(simulator_pool_running(bench->simulator, "prod-east"), 4);
        }
        bench_close(bench);
    }
}

static void test_a_new_machine_joins_in_stages(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *old = first_of(bench, "lab-grp");
    owned(bench_answer) struct bench_answer delete = delete_one(bench, old, "");

    assert_int_equal(delete.status, 200);

    bench_wait(bench, 70 * SECOND_MS);

    owned(bench_answer) struct bench_answer create = create_one(bench, "prod-grp-new", "");

    assert_int_equal(create.status, 200);

    static const struct {
        const char *name;
        int64_t wait_ms;
        int status;       /* of GET node */
        const char *gpus; /* "": absent */
        size_t taints;
    } stages[] = {
        { "boots", 30 * SECOND_MS, 404, "", 0 },
        { "runs, has not joined", 100 * SECOND_MS, 404, "", 0 },
        { "joined", 55 * SECOND_MS, 200, "", 2 },
        { "ready", 10 * SECOND_MS, 200, "", 1 },
        { "has its GPUs", 30 * SECOND_MS, 200, "8", 1 },
    };

    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        bench_wait(bench, stages[i].wait_ms);

        owned(bench_answer) struct bench_answer node = bench_ask(
            bench, &(struct bench_request){ .method = HTTP_GET,
                                            .path = "/clusters/prod/api/v1/nodes/prod-grp-new",
                                            .bearer = "sim-prod" });
        json_t *gpus = json_object_get(json_at(node.body, "status/allocatable"), "nvidia.com/gpu");

        print_message("%s\n", stages[i].name);
        assert_int_equal(node.status, stages[i].status);
        assert_string_equal(gpus ? json_string_value(gpus) : "", stages[i].gpus);
        assert_int_equal(json_array_size(json_at(node.body, "spec/taints")), stages[i].taints);
        if (node.status == 200)
            assert_string_equal(json_text_or(node.body, "spec/providerID", ""),
                                "gce://acme/zone-a/prod-grp-new");
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)
    const struct CMUnitTest tests[] = {
        CASE(test_wire_of_refusals),
        CASE(test_tokens),
        CASE(test_a_token_ends_after_an_hour),
        CASE(test_the_metadata_server_wants_its_header_and_sends_it),
        CASE(test_pages_hold_every_instance_once),
        CASE(test_done_means_scheduled_not_gone),
        CASE(test_a_request_id_acts_once),
        CASE(test_deleting_a_stranger_is_harmless_when_skipping),
        CASE(test_a_name_that_exists_is_a_conflict),
        CASE(test_a_full_reservation_waits_for_the_slot),
        cmocka_unit_test(test_a_stockout_is_retried_until_it_is_called_off),
        CASE(test_a_new_machine_joins_in_stages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
