/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Machines and pools of Cluster API say, the decision by counting, and the bytes of a
 * cancelled order.
 */
#include "base/log.h"
#include "providers/capi/capi_group.h"
#include "providers/capi/capi_machine.h"
#include "tests/clusters/scripted_http.h"
#include "tests/providers/capi_bench.h"

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *object = json_parse(chars, strlen(chars), "test", &err);

    if (!object)
        fail_msg("%s", err.text);
    return object;
}

#define METADATA "\"metadata\":{\"name\":\"m\",\"uid\":\"u\"}"
#define GOING                                                                                      \
    "\"metadata\":{\"name\":\"m\",\"uid\":\"u\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}"
#define WITH_ID "\"spec\":{\"providerID\":\"aws:///z/i-1\"}"

static void phases_become_states(void **state)
{
    static const struct {
        const char *machine;
        enum instance_state want;
    } cases[] = {
        { "{" METADATA "}", INSTANCE_CREATING },
        { "{" METADATA ",\"status\":{\"phase\":\"Pending\"}}", INSTANCE_CREATING },
        { "{" METADATA ",\"status\":{\"phase\":\"Provisioning\"}}", INSTANCE_CREATING },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Provisioned\"}}", INSTANCE_RUNNING },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Running\"}}", INSTANCE_RUNNING },
        { "{" METADATA ",\"status\":{\"phase\":\"Running\"}}", INSTANCE_CREATING },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Deleting\"}}", INSTANCE_DELETING },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Deleted\"}}", INSTANCE_DELETING },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Failed\"}}", INSTANCE_OTHER },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Updating\"}}", INSTANCE_OTHER },
        { "{" METADATA "," WITH_ID ",\"status\":{\"phase\":\"Tomorrow's\"}}", INSTANCE_OTHER },
        { "{" GOING "," WITH_ID ",\"status\":{\"phase\":\"Running\"}}", INSTANCE_DELETING },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *machine = parse(cases[i].machine);
        struct instance read = { 0 };
        struct error err = { 0 };

        if (capi_read_machine(machine, &read, &err) < 0 || read.state != cases[i].want)
            fail_msg("%s: %s %s", cases[i].machine, instance_state_name(read.state), err.text);
    }
}

static void conditions_become_trouble(void **state)
{
    static const struct {
        const char *status;
        enum error_kind want;
    } cases[] = {
        { "\"phase\":\"Provisioning\",\"conditions\":[{\"type\":\"InfrastructureReady\",\"status\":"
          "\"False\",\"reason\":\"NotProvisioned\",\"message\":\"waiting\"}]",
          ERROR_NONE },
        { "\"phase\":\"Provisioning\",\"conditions\":[{\"type\":\"InfrastructureReady\",\"status\":"
          "\"False\",\"reason\":\"R\",\"message\":\"InsufficientInstanceCapacity: none\"}]",
          ERROR_NO_CAPACITY },
        { "\"phase\":\"Provisioning\",\"conditions\":[{\"type\":\"InfrastructureReady\",\"status\":"
          "\"True\",\"reason\":\"R\",\"message\":\"was InsufficientInstanceCapacity\"}]",
          ERROR_NONE },
        { "\"phase\":\"Provisioning\",\"conditions\":[{\"type\":\"InfrastructureReady\",\"status\":"
          "\"False\",\"severity\":\"Error\",\"reason\":\"R\",\"message\":\"odd\"}]",
          ERROR_TRANSIENT },
        { "\"phase\":\"Provisioning\",\"v1beta2\":{\"conditions\":[{\"type\":\"Ready\",\"status\":"
          "\"False\",\"reason\":\"R\",\"message\":\"QuotaExceeded\"}]}",
          ERROR_DENIED },
        { "\"phase\":\"Failed\",\"failureMessage\":\"Out of host capacity.\"", ERROR_NO_CAPACITY },
        { "\"phase\":\"Failed\",\"deprecated\":{\"v1beta1\":{\"failureMessage\":\"odd\"}}",
          ERROR_TRANSIENT },
        { "\"phase\":\"Failed\"", ERROR_TRANSIENT },
        { "\"phase\":\"Deleting\",\"failureMessage\":\"Out of host capacity.\"", ERROR_NONE },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *text = text_format("{" METADATA ",\"status\":{%s}}", cases[i].status);
        owned(json) json_t *machine = parse(text);
        struct instance read = { 0 };
        struct error err = { 0 };

        assert_int_equal(capi_read_machine(machine, &read, &err), 0);
        if (read.trouble.kind != cases[i].want)
            fail_msg("%s: %s", text, error_kind_name(read.trouble.kind));
    }
}

static void names_that_do_not_fit_are_refused(void **state)
{
    static const char *const cases[] = {
        "{\"metadata\":{\"uid\":\"u\"}}",
        "{\"metadata\":{\"name\":\"\",\"uid\":\"u\"}}",
        "{\"metadata\":{\"name\":\"m\"}}",
        "{\"metadata\":{\"name\":7,\"uid\":\"u\"}}",
        "{" METADATA ",\"spec\":{\"providerID\":{}}}",
    };
    char longest[INSTANCE_NAME_SIZE + 1];
    struct instance read = { .state = INSTANCE_PARKED };
    struct error err = { 0 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *machine = parse(cases[i]);

        assert_int_equal(capi_read_machine(machine, &read, &err), -1);
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    owned(json)
        json_t *machine = json_make("{s:{s:s, s:s}}", "metadata", "name", longest, "uid", "u");
    assert_int_equal(capi_read_machine(machine, &read, &err), -1);
    assert_int_equal(read.state, INSTANCE_PARKED); /* untouched */
}

#define SIZE(generation, rest)                                                                     \
    "{\"metadata\":{\"generation\":" generation                                                    \
    ",\"resourceVersion\":\"9\"},\"spec\":{\"replicas\":3},\"status\":{\"observedGeneration\":2,"  \
    "\"replicas\":3" rest "}}"

static void a_pool_says_when_it_is_busy(void **state)
{
    static const struct {
        const char *pool;
        const char *want; /* ""; NULL: it is refused */
    } cases[] = {
        { SIZE("2", ",\"upToDateReplicas\":3"), "" },
        { SIZE("2", ",\"updatedReplicas\":3"), "" },
        { SIZE("2", ""), "" },                        /* a MachinePool in v1beta1 does not tell */
        { SIZE("3", ",\"upToDateReplicas\":3"), "" }, /* it lags */
        { SIZE("2", ",\"upToDateReplicas\":2"), "1 of 3" },
        { SIZE("2", ",\"updatedReplicas\":2"), "1 of 3" },
        { SIZE("2", ",\"updatedReplicas\":3,\"v1beta2\":{\"upToDateReplicas\":1}"), "2 of 3" },
        { "{\"metadata\":{\"generation\":1,\"resourceVersion\":\"\"},\"spec\":{\"replicas\":3}}",
          NULL },
        { "{\"metadata\":{\"generation\":1,\"resourceVersion\":\"1\"},\"spec\":{}}", NULL },
        { "{\"metadata\":{\"generation\":1,\"resourceVersion\":\"1\"},\"spec\":{\"replicas\":-1}}",
          NULL },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *pool = parse(cases[i].pool);
        struct capi_group group = { 0 };
        struct error err = { 0 };
        int result = capi_read_group(pool, &group, &err);

        assert_int_equal(result, cases[i].want ? 0 : -1);
        if (cases[i].want && ((cases[i].want[0] == '\0') != (group.busy[0] == '\0') ||
                              !strstr(group.busy, cases[i].want)))
            fail_msg("%s: %s", cases[i].pool, group.busy);
        if (result == 0)
            assert_int_equal(group.is_lagging, text_equal(group.generation, "3"));
    }
}

/* Of a Machine that leaves, and whose pool has the size that it had when it was marked. */
static void a_machine_deleted_by_hand_is_counted(void **state)
{
    static const struct {
        int wanted, staying, leaving;
        const char *busy;
        enum capi_removal want;
    } cases[] = {
        { 3, 2, 1, "", CAPI_REMOVAL_WRITE },
        { 2, 2, 1, "", CAPI_REMOVAL_DONE },
        { 3, 3, 1, "", CAPI_REMOVAL_DONE },     /* it is replaced already */
        { 3, 2, 1, "lags", CAPI_REMOVAL_WAIT }, /* its controller may delete another one */
        { 3, 2, 1, "rolling", CAPI_REMOVAL_WAIT },
        { 3, 2, 2, "", CAPI_REMOVAL_WAIT },  /* for one of two it was made smaller */
        { 3, 1, 2, "", CAPI_REMOVAL_WRITE }, /* for none of them */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct capi_group group = { .wanted = cases[i].wanted };
        struct capi_count count = { .staying = cases[i].staying, .leaving = cases[i].leaving };
        char why[CAPI_BUSY_SIZE] = "";

        group.is_lagging = text_equal(cases[i].busy, "lags");
        if (!group.is_lagging)
            text_copy(group.busy, sizeof group.busy, cases[i].busy);
        if (capi_leaving_step(&group, &count, why) != cases[i].want)
            fail_msg("case %zu: %s", i, why);
        assert_int_equal(why[0] != '\0', cases[i].want == CAPI_REMOVAL_WAIT);
    }
}

static void one_more_goes_only_if_it_must(void **state)
{
    static const struct {
        int wanted, staying, leaving;
        bool is_marked;
        const char *other;
        const char *busy;
        enum capi_removal want;
    } cases[] = {
        { 3, 3, 0, false, "", "", CAPI_REMOVAL_WRITE },
        { 3, 3, 0, true, "", "", CAPI_REMOVAL_WRITE },
        { 3, 3, 2, true, "", "", CAPI_REMOVAL_WRITE }, /* those go besides */
        { 2, 3, 0, true, "", "", CAPI_REMOVAL_DONE },  /* it goes by itself */
        { 0, 3, 0, true, "", "", CAPI_REMOVAL_DONE },
        { 2, 3, 0, false, "", "", CAPI_REMOVAL_WAIT }, /* another one goes */
        { 4, 3, 0, true, "", "", CAPI_REMOVAL_WAIT },  /* is still getting larger */
        { 3, 2, 1, true, "", "", CAPI_REMOVAL_WAIT },  /* one died, and is not replaced yet */
        { 3, 3, 0, true, "x", "", CAPI_REMOVAL_WAIT }, /* two would share one place */
        { 3, 3, 0, true, "", "paused", CAPI_REMOVAL_WAIT },
        { 3, 3, 0, true, "", "lags", CAPI_REMOVAL_WAIT },
        { 2, 3, 0, true, "", "lags", CAPI_REMOVAL_DONE },
        { 2, 3, 0, true, "", "rolling", CAPI_REMOVAL_WAIT },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct capi_group group = { .wanted = cases[i].wanted };
        struct capi_count count = { .staying = cases[i].staying, .leaving = cases[i].leaving };
        char why[CAPI_BUSY_SIZE] = "";

        group.is_lagging = text_equal(cases[i].busy, "lags");
        if (!group.is_lagging)
            text_copy(group.busy, sizeof group.busy, cases[i].busy);
        text_copy(count.marked, sizeof count.marked, cases[i].other);
        if (capi_removal_step(&group, &count, cases[i].is_marked, why) != cases[i].want)
            fail_msg("case %zu: %s", i, why);
        assert_int_equal(why[0] != '\0', cases[i].want == CAPI_REMOVAL_WAIT);
    }
}

/* ---- transcripts ---- */

#define HOST "http://127.0.0.1:1/capi/mgmt"
#define GROUP HOST "/apis/cluster.x-k8s.io"
#define PLACE GROUP "/v1beta1/namespaces/infra"
#define SERVED                                                                                     \
    {                                                                                              \
        HTTP_GET, GROUP, 200,                                                                      \
            .answer = "{\"kind\":\"APIGroup\",\"versions\":[{\"version\":\"v1beta1\"}]}"           \
    }
#define LIST "/machines?labelSelector=cluster.x-k8s.io%2Fdeployment-name%3Dgpu&limit=500"

struct play {
    struct loop *loop;
    struct scripted_http *script;
    struct capi_bench bench; /* only its provider, and what calls bring */
};

static void play_open(struct play *it, const struct script_step *steps, size_t count)
{
    *it = (struct play){ .bench.folder = "/tmp/sluice-capi-XXXXXX" };
    it->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    it->script = scripted_http_new(it->loop, steps, count);
    it->bench.loop = it->loop;
    it->bench.world = (struct world){ it->loop, &it->script->http, &it->bench.random, NULL, NULL };
    assert_non_null(mkdtemp(it->bench.folder));
    capi_write_kubeconfig(&it->bench, "sim");
    capi_open_provider(&it->bench);
}

static void play_close(struct play *it)
{
    owned(chars) char *path = text_format("%s/sim.kubeconfig", it->bench.folder);

    provider_close(it->bench.provider);
    assert_int_equal(it->script->in_flight, 0);
    http_free(&it->script->http);
    loop_free(it->loop);
    unlink(path);
    rmdir(it->bench.folder);
}

static void an_order_is_cancelled_only_if_no_machine_came(void **state)
{
    static const char wants_four[] =
        "{\"metadata\":{\"generation\":5,\"resourceVersion\":\"77\"},\"spec\":{\"replicas\":4},"
        "\"status\":{\"observedGeneration\":5,\"replicas\":1,\"updatedReplicas\":1}}";
    static const char one[] = "{\"items\":[{" METADATA "}],\"metadata\":{}}";
    static const char four[] = "{\"items\":[{" METADATA "},{" METADATA "},{" METADATA "},{" GOING
                               "}],\"metadata\":{}}";
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, PLACE "/machinedeployments/gpu", 200, .answer = wants_four },
        { HTTP_GET, PLACE LIST, 200, .answer = one },
        { HTTP_GET, PLACE "/machinedeployments/gpu", 200, .answer = wants_four },
        { HTTP_GET, PLACE LIST, 200, .answer = one },
        { HTTP_PATCH, PLACE "/machinedeployments/gpu/scale", 200, .answer = "{}" },
        { HTTP_GET, PLACE "/machinedeployments/gpu", 200, .answer = wants_four },
        { HTTP_GET, PLACE LIST, 200, .answer = four },
    };
    static const enum error_kind want[] = { ERROR_TRANSIENT, ERROR_NONE, ERROR_CONFLICT };
    struct play it;
    (void)state;
    play_open(&it, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        owned(chars) char *progress = mem_copy_chars(i < 2 ? it.bench.progress : "");

        provider_cancel(it.bench.provider, capi_address(&capi_place),
                        &(struct provider_order){ .request_id = "r-1", .progress = progress },
                        capi_on_done, &it.bench);
        assert_int_equal(capi_answer(&it.bench), want[i]);
        if (i == 0)
            assert_string_equal(it.bench.progress, "4>3@5");
        if (i == 1)
            assert_non_null(strstr(it.script->transcript->chars,
                                   "PATCH " PLACE "/machinedeployments/gpu/scale {\"metadata\":{"
                                   "\"resourceVersion\":\"77\"},\"spec\":{\"replicas\":3}}\n"));
    }
    play_close(&it);
}

static void the_mark_is_of_one_machine(void **state)
{
    static const char machine[] =
        "{\"metadata\":{\"name\":\"m\",\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{"
        "\"cluster.x-k8s.io/deployment-name\":\"gpu\"}}}";
    static const char again[] =
        "{\"metadata\":{\"name\":\"m\",\"uid\":\"other\",\"resourceVersion\":\"5\",\"labels\":{"
        "\"cluster.x-k8s.io/deployment-name\":\"gpu\"}}}";
    static const char elsewhere[] =
        "{\"metadata\":{\"name\":\"m\",\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{"
        "\"cluster.x-k8s.io/deployment-name\":\"cpu\"}}}";
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, PLACE "/machines/m", 200, .answer = machine },
        { HTTP_GET, PLACE "/machinedeployments/gpu", 200,
          .answer = "{\"metadata\":{\"generation\":1,\"resourceVersion\":\"77\"},\"spec\":{"
                    "\"replicas\":1},\"status\":{\"observedGeneration\":1,\"replicas\":1}}" },
        { HTTP_GET, PLACE LIST, 200, .answer = "{\"items\":[{" METADATA "}],\"metadata\":{}}" },
        { HTTP_PATCH, PLACE "/machines/m", 200, .answer = "{}" },
        { HTTP_GET, PLACE "/machines/m", 200, .answer = again },
        { HTTP_GET, PLACE "/machines/m", 200, .answer = elsewhere },
    };
    static const enum error_kind want[] = { ERROR_TRANSIENT, ERROR_NOT_FOUND, ERROR_INVALID };
    struct play it;
    (void)state;
    play_open(&it, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        assert_int_equal(capi_remove_once(&it.bench, "m", "r-1"), want[i]);
        assert_string_equal(it.bench.progress, "marked u 1");
    }
    assert_non_null(strstr(it.script->transcript->chars,
                           "PATCH " PLACE "/machines/m {\"metadata\":{\"uid\":\"u\","
                           "\"resourceVersion\":\"5\",\"annotations\":{"
                           "\"cluster.x-k8s.io/delete-machine\":\"r-1\"}}}\n"));
    assert_string_equal(it.script->authorization, "Bearer sim-mgmt");
    play_close(&it);
}

static void a_machine_pool_without_machines_is_no_pool(void **state)
{
    static const struct capi_pool pool = { .namespace = "infra",
                                           .machine_pool = "gpu",
                                           .zone = "r-a" };
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, PLACE "/machines?labelSelector=cluster.x-k8s.io%2Fpool-name%3Dgpu&limit=500",
          200, .answer = "{\"items\":[],\"metadata\":{}}" },
        { HTTP_GET, PLACE "/machinepools/gpu", 200,
          .answer = "{\"metadata\":{\"generation\":1,\"resourceVersion\":\"77\"},\"spec\":{"
                    "\"replicas\":2},\"status\":{\"observedGeneration\":1,\"replicas\":2}}" },
    };
    struct play it;
    (void)state;
    play_open(&it, steps, COUNT_OF(steps));
    provider_list(it.bench.provider, capi_address(&pool), NULL, capi_on_page, &it.bench);
    assert_int_equal(capi_answer(&it.bench), ERROR_INVALID);
    assert_non_null(strstr(it.bench.err.text, "makes no Machines"));
    play_close(&it);
}

static void a_pool_is_one_of_the_two(void **state)
{
    static const struct {
        struct capi_pool pool;
        const char *key; /* NULL: it is right */
    } cases[] = {
        { { .machine_deployment = "a" }, NULL },
        { { .machine_pool = "a" }, NULL },
        { { .machine_deployment = "a", .machine_pool = "b" }, "machine_pool" },
        { { 0 }, "machine_deployment" },
        { { .machine_deployment = "0123456789012345678901234567890123456789012345678901234567890"
                                  "123" },
          "machine_deployment" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *key = NULL;
        struct error err = { 0 };
        int result = capi_kind.pool.check(&cases[i].pool, &key, &err);

        assert_int_equal(result, cases[i].key ? -1 : 0);
        if (cases[i].key)
            assert_string_equal(key, cases[i].key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_become_states),
        cmocka_unit_test(conditions_become_trouble),
        cmocka_unit_test(names_that_do_not_fit_are_refused),
        cmocka_unit_test(a_pool_says_when_it_is_busy),
        cmocka_unit_test(one_more_goes_only_if_it_must),
        cmocka_unit_test(a_machine_deleted_by_hand_is_counted),
        cmocka_unit_test(an_order_is_cancelled_only_if_no_machine_came),
        cmocka_unit_test(the_mark_is_of_one_machine),
        cmocka_unit_test(a_machine_pool_without_machines_is_no_pool),
        cmocka_unit_test(a_pool_is_one_of_the_two),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
