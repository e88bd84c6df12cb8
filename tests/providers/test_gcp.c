/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of a managed instance group against a script: bytes, pages, states, tokens.
 */
#include "base/world/world.h"
#include "providers/kinds.h"
#include "tests/clusters/scripted_http.h"
#include "tests/providers/gcp_bench.h"

#define SIXTY_FOUR "0123456789012345678901234567890123456789012345678901234567890123"

#define HOST "http://127.0.0.1:9"
#define TOKEN_URL "http://127.0.0.1:8/computeMetadata/v1/instance/service-accounts/default/token"
#define GROUP HOST "/compute/v1/projects/p%2F1/zones/z/instanceGroupManagers/g"
#define LIST GROUP "/listManagedInstances?maxResults=500"
#define REMOVE GROUP "/deleteInstances?requestId=r-1"
#define CREATE GROUP "/createInstances?requestId=r-1"
#define ASK(method_, url_, ...)                                                                    \
    {                                                                                              \
        .method = (method_), .url = (url_), .status = __VA_ARGS__                                  \
    }
#define TOKEN(name, life)                                                                          \
    ASK(HTTP_GET, TOKEN_URL, 200, .header = "Google",                                              \
        .answer = "{\"access_token\":\"" name "\",\"expires_in\":" life ",\"token_type\":"         \
                  "\"Bearer\"}")
#define DONE(url) ASK(HTTP_POST, url, 200, .answer = "{\"name\":\"op-1\",\"status\":\"PENDING\"}")

static const struct gcp_pool place = { .project = "p/1", .zone = "z", .group = "g" };

struct bench {
    struct loop *loop;
    struct scripted_http *script;
    struct random random;
    struct world world;
    struct provider *provider;
    int calls;
    struct error err;
    char operation[64];
    struct instance items[8];
    size_t count;
    char next[32];
    bool is_closing;
};

static void bench_open(struct bench *bench, const struct script_step *steps, size_t count)
{
    static const struct gcp_account account = {
        .endpoint = HOST "/",
        .whose = { .metadata = "http://127.0.0.1:8" },
    };
    struct error err = { 0 };
    *bench = (struct bench){ 0 };
    bench->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->provider = gcp_provider(&bench->world, &account, &err);
    if (!bench->provider)
        fail_msg("%s", err.text);
}

static void bench_close(struct bench *bench)
{
    provider_close(bench->provider);
    assert_int_equal(bench->script->in_flight, 0);
    http_free(&bench->script->http);
    loop_free(bench->loop);
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct bench *bench = context;
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    text_copy(bench->operation, sizeof bench->operation, operation);
    if (bench->is_closing)
        provider_close(steal(&bench->provider));
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct bench *bench = context;
    assert_true(!page != !err);
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    bench->count = page ? page->count : 0;
    for (size_t i = 0; i < bench->count; i++)
        bench->items[i] = page->items[i];
    text_copy(bench->next, sizeof bench->next, page && page->next ? page->next : "");
}

static void create(struct bench *bench)
{
    provider_create(
        bench->provider, address_of(&place),
        &(struct provider_order){ .request_key = "ab12", .request_id = "r-1", .progress = "" },
        on_done, bench);
}

static void list(struct bench *bench, const char *page)
{
    provider_list(bench->provider, address_of(&place), page, on_page, bench);
}

static void what_is_on_the_wire(void **state)
{
    static const struct script_step steps[] = { TOKEN("one", "3600"), DONE(CREATE), DONE(REMOVE),
                                                ASK(HTTP_POST, LIST, 200, .answer = "{}") };
    static const char want[] = "000000 GET " TOKEN_URL "\n"
                               "000000 POST " CREATE " {\"instances\":[{\"name\":\"g-ab12\"}]}\n"
                               "000000 POST " REMOVE
                               " {\"instances\":[\"zones/z/instances/g-ab12\"],"
                               "\"skipInstancesOnValidationError\":true}\n"
                               "000000 POST " LIST "\n";
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench);
    assert_int_equal(bench.calls, 0);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_string_equal(bench.operation, "op-1");
    assert_true(bench.script->is_mutation);
    assert_string_equal(bench.script->authorization, "Bearer one");
    assert_string_equal(bench.script->content_type, "application/json");

    provider_remove(
        bench.provider, address_of(&place),
        &(struct provider_order){ .instance = "g-ab12", .request_id = "r-1", .progress = "" },
        on_done, &bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 2);
    assert_true(bench.script->is_mutation);

    list(&bench, NULL);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 3);
    assert_int_equal(bench.count, 0);
    assert_string_equal(bench.next, "");
    assert_false(bench.script->is_mutation);
    assert_string_equal(bench.script->content_type, "");
    assert_string_equal(bench.script->transcript->chars, want);
    bench_close(&bench);
}

static void a_list_comes_in_pages(void **state)
{
    static const struct script_step steps[] = {
        TOKEN("one", "3600"),
        ASK(HTTP_POST, LIST, 200,
            .answer = "{\"managedInstances\":[{\"instance\":\"https://x/zones/z/instances/g-1\","
                      "\"currentAction\":\"NONE\",\"instanceStatus\":\"RUNNING\",\"id\":\"123\"}],"
                      "\"nextPageToken\":\"a/b\"}"),
        ASK(HTTP_POST, LIST "&pageToken=a%2Fb", 200,
            .answer = "{\"managedInstances\":[{\"name\":\"g-2\",\"currentAction\":\"CREATING\","
                      "\"lastAttempt\":{\"errors\":{\"errors\":[{\"code\":\"QUOTA_EXCEEDED\","
                      "\"message\":\"no\"}]}}}]}"),
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    list(&bench, NULL);
    loop_run(bench.loop);
    assert_int_equal(bench.count, 1);
    assert_string_equal(bench.items[0].name, "g-1");
    assert_string_equal(bench.items[0].id, "123");
    assert_int_equal(bench.items[0].state, INSTANCE_RUNNING);
    assert_int_equal(bench.items[0].trouble.kind, ERROR_NONE);
    assert_string_equal(bench.next, "a/b");
    list(&bench, "a/b");
    loop_run(bench.loop);
    assert_int_equal(bench.count, 1);
    assert_string_equal(bench.items[0].name, "g-2");
    assert_string_equal(bench.items[0].id, "");
    assert_int_equal(bench.items[0].state, INSTANCE_CREATING);
    assert_int_equal(bench.items[0].trouble.kind, ERROR_DENIED);
    assert_string_equal(bench.next, "");
    bench_close(&bench);
}

/* A machine that is read by its name, and what is made of the answer. */
struct reading {
    int status;
    const char *answer;
    enum error_kind error;
    const char *want; /* of the callback, in bench->operation */
};

static void check_readings(const struct reading *cases, size_t count,
                           void (*ask)(struct bench *bench))
{
    for (size_t i = 0; i < count; i++) {
        const struct script_step steps[] = {
            TOKEN("one", "3600"),
            ASK(HTTP_GET, HOST "/compute/v1/projects/p%2F1/zones/z/instances/g-1", cases[i].status,
                .answer = cases[i].answer),
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        ask(&bench);
        loop_run(bench.loop);
        assert_int_equal(bench.calls, 1);
        assert_int_equal(bench.err.kind, cases[i].error);
        assert_string_equal(bench.operation, cases[i].want);
        assert_false(bench.script->is_mutation);
        bench_close(&bench);
    }
}

static void on_host(void *context, const char *host, const struct error *err)
{
    struct bench *bench = context;
    assert_true(!host != !err);
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    text_copy(bench->operation, sizeof bench->operation, host ? host : "-");
}

static void ask_host(struct bench *bench)
{
    assert_true(provider_tells_host(bench->provider));
    provider_host(bench->provider, address_of(&place), "g-1", on_host, bench);
}

static void where_a_machine_is(void **state)
{
    static const struct reading cases[] = {
        { 200, "{\"resourceStatus\":{\"physicalHost\":\"b/s/h\"}}", ERROR_NONE, "b/s/h" },
        { 200, "{\"resourceStatus\":{}}", ERROR_NONE, "" },
        { 200, "{\"name\":\"g-1\"}", ERROR_NONE, "" },
        { 200, "{\"resourceStatus\":{\"physicalHost\":7}}", ERROR_CORRUPT, "-" },
        { 404, "{}", ERROR_NOT_FOUND, "-" },
        { 503, "{}", ERROR_TRANSIENT, "-" },
    };
    (void)state;
    check_readings(cases, COUNT_OF(cases), ask_host);
}

static void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct bench *bench = context;
    assert_true(!instance || !err);
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    text_copy(bench->operation, sizeof bench->operation,
              instance ? instance_state_name(instance->state) : "-");
}

static void ask_look(struct bench *bench)
{
    assert_true(provider_can_look(bench->provider));
    provider_look(bench->provider, address_of(&place), "g-1", on_look, bench);
}

/* Only the API's own word says that there is no such machine: not a proxy's 404. */
static void a_machine_read_by_its_name(void **state)
{
    static const struct reading cases[] = {
        { 200, "{\"name\":\"g-1\",\"status\":\"RUNNING\"}", ERROR_NONE, "running" },
        { 200, "{\"name\":\"g-1\",\"status\":\"PROVISIONING\"}", ERROR_NONE, "creating" },
        { 200, "{\"name\":\"g-1\",\"status\":\"STOPPING\"}", ERROR_NONE, "deleting" },
        { 200, "{\"name\":\"g-1\",\"status\":\"TERMINATED\"}", ERROR_NONE, "other" },
        { 200, "{\"name\":\"g-1\"}", ERROR_CORRUPT, "-" },
        { 404, "{\"error\":{\"code\":404,\"message\":\"no\"}}", ERROR_NONE, "-" },
        { 404, "<html>", ERROR_NOT_FOUND, "-" },
        { 403, "{\"error\":{\"code\":403,\"message\":\"no\"}}", ERROR_DENIED, "-" },
    };
    (void)state;
    check_readings(cases, COUNT_OF(cases), ask_look);
}

static void what_a_provider_id_tells(void **state)
{
    static const struct {
        const char *group;
        const char *provider_id;
        const char *name; /* NULL: of another place, or no machine at all */
        bool is_claimed;
    } cases[] = {
        { "gke-a-pool-1f-grp", "gce://p/z/gke-a-pool-1f-x7k2", "gke-a-pool-1f-x7k2", true },
        { "gke-a-pool-1f-grp", "gce://p/z/gke-a-pool-1f-grp-0a1b2c3d", "gke-a-pool-1f-grp-0a1b2c3d",
          true },
        { "gke-a-pool-1f-grp", "gce://p/z/gke-a-pool-1fx7k2", "gke-a-pool-1fx7k2", false },
        { "pool", "gce://p/z/pool-1", "pool-1", true },
        { "pool", "gce://p/z/pool", "pool", false },
        { "pool", "gce://p/z/other-1", "other-1", false },
        { "-grp", "gce://p/z/-grp-1", "-grp-1", true },
        { "pool", "gce://p/z/", NULL, false },
        { "pool", "gce://p/z", NULL, false },
        { "pool", "gce://p/zz/pool-1", NULL, false },
        { "pool", "gce://pp/z/pool-1", NULL, false },
        { "pool", "aws:///z/pool-1", NULL, false },
        { "pool", "", NULL, false },
        { "pool", "gce://p/z/pool-" SIXTY_FOUR SIXTY_FOUR, NULL, false },
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gcp_pool one = { .project = "p", .zone = "z", .group = cases[i].group };
        char name[INSTANCE_NAME_SIZE] = "";
        size_t claim = 0;
        bool is_ours = provider_read_id(bench.provider, address_of(&one), cases[i].provider_id,
                                        name, &claim);
        if (is_ours != (cases[i].name != NULL) || (is_ours && !text_equal(name, cases[i].name)) ||
            claim != (cases[i].is_claimed ? strlen(cases[i].group) : 0))
            fail_msg("%s: %d, %s, %zu", cases[i].provider_id, is_ours, name, claim);
    }
    bench_close(&bench);
}

/* The list says which Node is the machine's, by its URL; another form of it says nothing. */
static void the_provider_id_is_of_the_list(void **state)
{
    static const struct {
        const char *url;
        const char *provider_id;
        const char *zone;
        const char *name; /* as the row has it; NULL: it has none but the URL's */
    } cases[] = {
        { "https://www.googleapis.com/compute/v1/projects/p/zones/z-a/instances/g-1",
          "gce://p/z-a/g-1", "z-a", NULL },
        { "projects/example.com:p/zones/z/instances/g-1", "", "", NULL },
        { "https://x/projects/example.com:p/zones/z/instances/g-1", "gce://example.com:p/z/g-1",
          "z", NULL },
        { "https://x/projects/p/regions/r/instances/g-1", "", "", NULL },
        { "https://x/zones/z/instances/g-1", "", "", NULL },
        { "https://x/projects/p/zones/z/instances/g-1", "gce://p/z/g-1", "z", "g-1" },
        /* another machine's URL, and one that goes on after the name */
        { "https://x/projects/p/zones/z/instances/g-2", "", "", "g-1" },
        { "https://x/projects/p/zones/z/instances/g-12", "", "", "g-1" },
        { "https://x/projects/p/zones/z/instances/g-1/x", "", "", "g-1" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *name = cases[i].name ? text_format("\"name\":\"%s\",", cases[i].name)
                                                : mem_copy_chars("");
        owned(chars) char *answer = text_format(
            "{\"managedInstances\":[{%s\"instance\":\"%s\",\"currentAction\":\"NONE\","
            "\"instanceStatus\":\"RUNNING\"}]}",
            name, cases[i].url);
        const struct script_step steps[] = { TOKEN("one", "3600"),
                                             ASK(HTTP_POST, LIST, 200, .answer = answer) };
        struct bench bench;
        bench_open(&bench, steps, COUNT_OF(steps));
        list(&bench, NULL);
        loop_run(bench.loop);
        assert_string_equal(bench.items[0].name, "g-1");
        assert_string_equal(bench.items[0].provider_id, cases[i].provider_id);
        assert_string_equal(bench.items[0].zone, cases[i].zone);
        bench_close(&bench);
    }
}

static void states_of_an_instance(void **state)
{
    static const struct {
        const char *action;
        const char *status;
        enum instance_state want;
        bool is_in_trouble; /* with an error of the last attempt in the list */
    } cases[] = {
        { "NONE", "RUNNING", INSTANCE_RUNNING, false },
        { "VERIFYING", "RUNNING", INSTANCE_RUNNING, false },
        { "NONE", "STAGING", INSTANCE_CREATING, true },
        { "VERIFYING", "PROVISIONING", INSTANCE_CREATING, true },
        { "CREATING", "", INSTANCE_CREATING, true },
        { "CREATING", "RUNNING", INSTANCE_CREATING, false },
        { "CREATING_WITHOUT_RETRIES", "", INSTANCE_CREATING, true },
        { "DELETING", "RUNNING", INSTANCE_DELETING, false },
        { "DELETING", "", INSTANCE_DELETING, true },
        { "NONE", "TERMINATED", INSTANCE_OTHER, false },
        { "NONE", "STOPPING", INSTANCE_OTHER, false },
        { "RECREATING", "RUNNING", INSTANCE_OTHER, false },
        { "RESTARTING", "RUNNING", INSTANCE_OTHER, false },
        { "ABANDONING", "RUNNING", INSTANCE_OTHER, false },
        { "A_NEW_ONE", "RUNNING", INSTANCE_OTHER, false },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *answer = text_format(
            "{\"managedInstances\":[{\"name\":\"g-1\",\"currentAction\":\"%s\","
            "\"instanceStatus\":\"%s\",\"lastAttempt\":{\"errors\":{\"errors\":[{\"code\":"
            "\"RESOURCE_POOL_EXHAUSTED\",\"message\":\"none\"}]}}}]}",
            cases[i].action, cases[i].status);
        const struct script_step steps[] = { TOKEN("one", "3600"),
                                             ASK(HTTP_POST, LIST, 200, .answer = answer) };
        struct bench bench;
        bench_open(&bench, steps, COUNT_OF(steps));
        list(&bench, NULL);
        loop_run(bench.loop);
        if (bench.count != 1 || bench.items[0].state != cases[i].want ||
            (bench.items[0].trouble.kind == ERROR_NO_CAPACITY) != cases[i].is_in_trouble)
            fail_msg("%s %s: %s, %s", cases[i].action, cases[i].status,
                     instance_state_name(bench.items[0].state), bench.items[0].trouble.text);
        bench_close(&bench);
    }
}

/* After a good token, one answer to one verb. */
static void one_answer(bool is_list, const struct script_step *step, enum error_kind want)
{
    const struct script_step steps[] = { TOKEN("one", "3600"), *step };
    struct bench bench;
    bench_open(&bench, steps, COUNT_OF(steps));
    if (is_list)
        list(&bench, NULL);
    else
        create(&bench);
    loop_run(bench.loop);
    if (bench.calls != 1 || bench.err.kind != want || !strstr(bench.err.text, " of g in z"))
        fail_msg("%d %s: %s, %s", step->status, step->answer ?: "", error_kind_name(bench.err.kind),
                 bench.err.text);
    bench_close(&bench);
}

static void answers_that_are_failures(void **state)
{
    static const struct {
        bool is_list;
        struct script_step step;
        enum error_kind want;
    } cases[] = {
        { true, ASK(HTTP_POST, LIST, 200, .answer = "{\"items\":[]}"), ERROR_CORRUPT },
        { true, ASK(HTTP_POST, LIST, 200, .answer = "{\"managedInstances\":{}}"), ERROR_CORRUPT },
        { true, ASK(HTTP_POST, LIST, 200, .answer = "{\"managedInstances\":[{\"name\":\"a\"}]}"),
          ERROR_CORRUPT },
        { true,
          ASK(HTTP_POST, LIST, 200,
              .answer = "{\"managedInstances\":[{\"currentAction\":\"NONE\"}]}"),
          ERROR_CORRUPT },
        { true,
          ASK(HTTP_POST, LIST, 200,
              .answer = "{\"managedInstances\":[{\"currentAction\":\"NONE\",\"name\":"
                        "\"" SIXTY_FOUR SIXTY_FOUR "\"}]}"),
          ERROR_CORRUPT },
        { true, ASK(HTTP_POST, LIST, 500, .answer = ""), ERROR_TRANSIENT },
        { true, ASK(HTTP_POST, LIST, 0, .fails = ERROR_UNKNOWN_OUTCOME), ERROR_TRANSIENT },
        { true, ASK(HTTP_POST, LIST, 404, .answer = "{}"), ERROR_NOT_FOUND },
        { false, ASK(HTTP_POST, CREATE, 200, .answer = "{}"), ERROR_UNKNOWN_OUTCOME },
        { false, ASK(HTTP_POST, CREATE, 0, .fails = ERROR_UNKNOWN_OUTCOME), ERROR_UNKNOWN_OUTCOME },
        { false, ASK(HTTP_POST, CREATE, 0, .fails = ERROR_CORRUPT), ERROR_UNKNOWN_OUTCOME },
        { false, ASK(HTTP_POST, CREATE, 0, .fails = ERROR_TRANSIENT), ERROR_TRANSIENT },
        { false,
          ASK(HTTP_POST, CREATE, 200,
              .answer = "{\"name\":\"op\",\"status\":\"DONE\",\"error\":{\"errors\":[{\"code\":"
                        "\"QUOTA_EXCEEDED\",\"message\":\"m\"}]}}"),
          ERROR_DENIED },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        one_answer(cases[i].is_list, &cases[i].step, cases[i].want);
}

static void one_token_is_fetched_for_all_who_wait(void **state)
{
    static const struct script_step steps[] = { TOKEN("one", "3600"), DONE(CREATE), DONE(CREATE),
                                                DONE(CREATE) };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench);
    create(&bench);
    create(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 3);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void a_token_near_its_end_is_replaced(void **state)
{
    static const struct script_step steps[] = { TOKEN("one", "600"), DONE(CREATE), DONE(CREATE),
                                                TOKEN("two", "600"), DONE(CREATE) };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench);
    loop_run(bench.loop);
    loop_run_until(bench.loop, loop_now(bench.loop) + 299 * SECOND_MS);
    create(&bench);
    loop_run(bench.loop);
    assert_string_equal(bench.script->authorization, "Bearer one");
    loop_run_until(bench.loop, loop_now(bench.loop) + 2 * SECOND_MS);
    create(&bench);
    loop_run(bench.loop);
    assert_string_equal(bench.script->authorization, "Bearer two");
    assert_int_equal(bench.calls, 3);
    bench_close(&bench);
}

static void a_token_that_cannot_be_replaced_is_used_to_its_end(void **state)
{
    static const struct script_step steps[] = {
        TOKEN("one", "600"),
        DONE(CREATE),
        ASK(HTTP_GET, TOKEN_URL, 503, .answer = "later"),
        DONE(CREATE),
        ASK(HTTP_GET, TOKEN_URL, 503, .answer = "later"),
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench);
    loop_run(bench.loop);
    loop_run_until(bench.loop, loop_now(bench.loop) + 400 * SECOND_MS);
    create(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    loop_run_until(bench.loop, loop_now(bench.loop) + 190 * SECOND_MS);
    create(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 3);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    bench_close(&bench);
}

static void a_401_forces_one_refresh_and_one_retry(void **state)
{
    static const struct script_step steps[] = {
        TOKEN("one", "3600"),
        ASK(HTTP_POST, CREATE, 401, .answer = "{}"),
        ASK(HTTP_POST, CREATE, 401, .answer = "{}"),
        TOKEN("two", "3600"),
        DONE(CREATE),
        DONE(CREATE),
    };
    static const struct script_step twice[] = {
        TOKEN("one", "3600"),
        ASK(HTTP_POST, CREATE, 401, .answer = "{}"),
        TOKEN("two", "3600"),
        ASK(HTTP_POST, CREATE, 401, .answer = "{}"),
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench); /* two at once share the one refresh */
    create(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 2);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_string_equal(bench.script->authorization, "Bearer two");
    assert_true(script_is_played(bench.script));
    bench_close(&bench);

    bench_open(&bench, twice, COUNT_OF(twice));
    create(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    bench_close(&bench);
}

static void no_token_means_that_nothing_happened(void **state)
{
    static const struct {
        struct script_step step;
        enum error_kind want;
    } cases[] = {
        { ASK(HTTP_GET, TOKEN_URL, 404, .answer = "no account"), ERROR_DENIED },
        { ASK(HTTP_GET, TOKEN_URL, 429, .retry_after = "4"), ERROR_THROTTLED },
        { ASK(HTTP_GET, TOKEN_URL, 500), ERROR_TRANSIENT },
        { ASK(HTTP_GET, TOKEN_URL, 0, .fails = ERROR_UNKNOWN_OUTCOME), ERROR_TRANSIENT },
        { ASK(HTTP_GET, TOKEN_URL, 200, .answer = "{\"access_token\":\"x\",\"expires_in\":9}"),
          ERROR_DENIED }, /* it was no metadata server */
        { ASK(HTTP_GET, TOKEN_URL, 200, .header = "Google", .answer = "{\"expires_in\":9}"),
          ERROR_CORRUPT },
        { ASK(HTTP_GET, TOKEN_URL, 200, .header = "Google",
              .answer = "{\"access_token\":\"x\",\"expires_in\":0}"),
          ERROR_CORRUPT },
        { ASK(HTTP_GET, TOKEN_URL, 200, .header = "Google",
              .answer = "{\"access_token\":\"a\\r\\nb\",\"expires_in\":60}"),
          ERROR_CORRUPT },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench bench;
        bench_open(&bench, &cases[i].step, 1);
        bench.is_closing = true; /* the caller may close from inside */
        create(&bench);
        create(&bench);
        loop_run(bench.loop);
        if (bench.calls != 1 || bench.err.kind != cases[i].want)
            fail_msg("%zu: %d calls, %s, %s", i, bench.calls, error_kind_name(bench.err.kind),
                     bench.err.text);
        bench_close(&bench);
    }
}

static void too_many_who_wait_are_told_so(void **state)
{
    static const struct script_step steps[] = { ASK(HTTP_GET, TOKEN_URL, 200, .hangs = true) };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    for (int i = 0; i < 1025; i++)
        create(&bench);
    assert_int_equal(bench.calls, 0);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    bench_close(&bench);
    assert_int_equal(bench.calls, 1); /* closing ends the others in silence */
}

static void closing_ends_what_is_in_flight(void **state)
{
    static const struct script_step steps[] = { TOKEN("one", "3600"),
                                                ASK(HTTP_POST, CREATE, 200, .hangs = true) };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.script->in_flight, 1);
    bench_close(&bench);
    assert_int_equal(bench.calls, 0);
}

static void names(void **state)
{
    const struct gcp_pool one = { .project = "p", .zone = "z-a", .group = "g" };
    const struct pool_address *address = address_of(&one);
    struct bench bench;
    (void)state;
    assert_null(provider_kind_find("abacus"));
    assert_ptr_equal(provider_kind_find("gcp"), &gcp_kind);
    assert_null(provider_account_kind(provider_kind_count));

    owned(chars) char *where = provider_place(&gcp_kind, NULL, address);
    assert_string_equal(where, "group g of project p in zone z-a");

    bench_open(&bench, NULL, 0);
    char name[INSTANCE_NAME_SIZE];
    gcp_kind.name_machine(address, "0a1b2c3d", name);
    assert_string_equal(name, "g-0a1b2c3d");
    assert_string_equal(instance_state_name(INSTANCE_OTHER), "other");
    assert_string_equal(instance_state_name(INSTANCE_PARKED), "parked");
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_on_the_wire),
        cmocka_unit_test(a_list_comes_in_pages),
        cmocka_unit_test(where_a_machine_is),
        cmocka_unit_test(states_of_an_instance),
        cmocka_unit_test(answers_that_are_failures),
        cmocka_unit_test(one_token_is_fetched_for_all_who_wait),
        cmocka_unit_test(a_token_near_its_end_is_replaced),
        cmocka_unit_test(a_token_that_cannot_be_replaced_is_used_to_its_end),
        cmocka_unit_test(a_401_forces_one_refresh_and_one_retry),
        cmocka_unit_test(no_token_means_that_nothing_happened),
        cmocka_unit_test(too_many_who_wait_are_told_so),
        cmocka_unit_test(closing_ends_what_is_in_flight),
        cmocka_unit_test(a_machine_read_by_its_name),
        cmocka_unit_test(what_a_provider_id_tells),
        cmocka_unit_test(the_provider_id_is_of_the_list),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
