/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tokens for Azure by transcript: which credential is used, what is sent, what answers mean, when a
 * token is replaced, and that no error tells a secret.
 */
#include "providers/azure/azure_token.h"
#include "tests/clusters/scripted_http.h"
#include "tests/support/folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#define AUTHORITY "https://login.example"
#define TOKEN_URL AUTHORITY "/t-1/oauth2/v2.0/token"
#define METADATA                                                                                   \
    "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"                 \
    "&resource=https%3A%2F%2Farm.example%2F"
#define FORM_START                                                                                 \
    "grant_type=client_credentials&client_id=c-1&scope=https%3A%2F%2Farm.example%2F.default"
#define ASSERTION                                                                                  \
    "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"      \
    "&client_assertion="
#define TOKEN(name, life)                                                                          \
    "{\"token_type\":\"Bearer\",\"expires_in\":" life ",\"access_token\":\"" name "\"}"
#define POST_STEP(...)                                                                             \
    {                                                                                              \
        .method = HTTP_POST, .url = TOKEN_URL, __VA_ARGS__                                         \
    }
#define GET_STEP(url_, ...)                                                                        \
    {                                                                                              \
        .method = HTTP_GET, .url = (url_), __VA_ARGS__                                             \
    }

static const char *const variables[] = { "AZURE_TENANT_ID", "AZURE_CLIENT_ID",
                                         "AZURE_AUTHORITY_HOST", "AZURE_CLIENT_SECRET",
                                         "AZURE_FEDERATED_TOKEN_FILE" };

struct bench {
    char *folder;
    struct loop *loop;
    struct random random;
    struct world world;
    struct scripted_http *script;
    struct azure_identity whose;
    struct token_cache *cache;
};

struct asker {
    struct token_waiter waiter; /* first */
    int calls;
    char token[64];
    struct error err;
};

static void hear(struct token_waiter *waiter, const char *token, const struct error *err)
{
    struct asker *asker = (struct asker *)waiter;

    asker->calls++;
    asker->err = err ? *err : (struct error){ 0 };
    text_copy(asker->token, sizeof asker->token, token ?: "");
}

static int no_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    return 0;
}

static void bench_open(struct bench *bench, const struct script_step *steps, size_t count)
{
    struct error err = { 0 };

    bench->folder = test_folder_new();
    bench->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->whose.audience = "https://arm.example";
    bench->cache = azure_token_new(&bench->world, &bench->whose, &err);
    if (!bench->cache)
        fail_msg("%s", err.text);
}

static void bench_close(struct bench *bench)
{
    assert_true(script_is_played(bench->script));
    assert_int_equal(bench->script->in_flight, 0);
    token_cache_free(bench->cache);
    http_free(&bench->script->http);
    loop_free(bench->loop);
    test_folder_free(bench->folder);
    no_environment(NULL);
}

static void ask(struct bench *bench, struct asker *asker)
{
    struct error err = { 0 };

    *asker = (struct asker){ .waiter.ready = hear };
    assert_int_equal(token_cache_ask(bench->cache, &asker->waiter, &err), 0);
    assert_int_equal(asker->calls, 0);
    loop_run(bench->loop);
    assert_int_equal(asker->calls, 1);
    if (strstr(asker->err.text, "SECRET"))
        fail_msg("a secret is told: %s", asker->err.text);
}

static void expect_token(struct bench *bench, const char *token)
{
    struct asker asker;

    ask(bench, &asker);
    if (asker.err.kind != ERROR_NONE)
        fail_msg("%s", asker.err.text);
    assert_string_equal(asker.token, token);
}

static void a_secret_from_a_file(void **state)
{
    static const struct script_step steps[] = {
        POST_STEP(.status = 200, .answer = TOKEN("one", "3599")),
        POST_STEP(.status = 200, .answer = TOKEN("two", "3599")),
    };
    struct bench bench = { .whose = {
                               .tenant = "t-1", .client_id = "c-1", .authority = AUTHORITY "/" } };
    char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "secret", "SECRET~1&x\n");

    (void)state;
    assert_int_equal(chmod(path, 0600), 0);
    setenv("AZURE_CLIENT_SECRET", "SECRET-of-environment", 1);
    bench.whose.client_secret = path;
    bench_open(&bench, steps, COUNT_OF(steps));
    expect_token(&bench, "one");
    assert_string_equal(bench.script->body, FORM_START "&client_secret=SECRET~1%26x");
    assert_string_equal(bench.script->content_type, "application/x-www-form-urlencoded");
    expect_token(&bench, "one"); /* kept */

    mem_free(test_folder_write(folder, "secret", "SECRET2"));
    loop_run_until(bench.loop, loop_now(bench.loop) + 55 * MINUTE_MS);
    expect_token(&bench, "two"); /* within five minutes of its end */
    assert_string_equal(bench.script->body, FORM_START "&client_secret=SECRET2");
    bench_close(&bench);
    test_folder_free(folder);
}

static void a_federated_token_is_read_again_each_time(void **state)
{
    static const struct script_step steps[] = {
        POST_STEP(.status = 200, .answer = TOKEN("one", "3599")),
        POST_STEP(.status = 200, .answer = TOKEN("two", "3599")),
    };
    struct bench bench = { 0 };
    char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "jwt", "a.SECRET.c\n");

    (void)state;
    setenv("AZURE_TENANT_ID", "t-1", 1);
    setenv("AZURE_CLIENT_ID", "c-1", 1);
    setenv("AZURE_AUTHORITY_HOST", AUTHORITY "/", 1);
    setenv("AZURE_FEDERATED_TOKEN_FILE", path, 1);
    bench_open(&bench, steps, COUNT_OF(steps));
    expect_token(&bench, "one");
    assert_string_equal(bench.script->body, FORM_START ASSERTION "a.SECRET.c");
    mem_free(test_folder_write(folder, "jwt", "d.SECRET.f"));
    token_cache_reject(bench.cache, "one");
    expect_token(&bench, "two");
    assert_string_equal(bench.script->body, FORM_START ASSERTION "d.SECRET.f");
    bench_close(&bench);
    test_folder_free(folder);
}

static void a_managed_identity_has_numbers_as_texts(void **state)
{
    static const struct script_step steps[] = {
        GET_STEP(METADATA, .status = 404, .answer = "{\"error\":\"not_found\"}"),
        GET_STEP(METADATA, .status = 429, .answer = "", .retry_after = "7"),
        GET_STEP(METADATA, .status = 200, .answer = TOKEN("one", "\"86400\"")),
    };
    struct bench bench = { 0 };
    struct asker asker;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    ask(&bench, &asker);
    assert_int_equal(asker.err.kind, ERROR_TRANSIENT); /* the identity is being set up */
    ask(&bench, &asker);
    assert_int_equal(asker.err.kind, ERROR_THROTTLED);
    assert_int_equal(asker.err.retry_after_ms, 7000);
    expect_token(&bench, "one");
    loop_run_until(bench.loop, loop_now(bench.loop) + 23 * HOUR_MS);
    expect_token(&bench, "one");
    bench_close(&bench);
}

/* As people copy it from Azure's own pages. */
static void an_audience_may_end_in_a_slash(void **state)
{
    static const struct script_step steps[] = {
        GET_STEP(METADATA, .status = 200, .answer = TOKEN("one", "3599")),
        POST_STEP(.status = 200, .answer = TOKEN("two", "3599")),
    };
    struct bench bench = { .whose = { .tenant = "t-1", .authority = AUTHORITY } };

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    bench.whose.audience = "https://arm.example/";
    expect_token(&bench, "one");
    token_cache_reject(bench.cache, "one");
    setenv("AZURE_CLIENT_ID", "c-1", 1);
    setenv("AZURE_CLIENT_SECRET", "SECRET", 1);
    expect_token(&bench, "two");
    assert_string_equal(bench.script->body, FORM_START "&client_secret=SECRET");
    bench_close(&bench);
}

static void which_managed_identity(void **state)
{
    static const struct script_step steps[] = {
        GET_STEP(METADATA "&client_id=c%2F1", .status = 200, .answer = TOKEN("one", "3599")),
    };
    struct bench bench = { .whose = { .client_id = "c/1" } };

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    expect_token(&bench, "one");
    bench_close(&bench);
}

/* An old token serves while no new one can be had; one that was refused never does. */
static void an_old_token_serves_until_its_end(void **state)
{
    static const struct script_step steps[] = {
        GET_STEP(METADATA, .status = 200, .answer = TOKEN("one", "3600")),
        GET_STEP(METADATA, .status = 500, .answer = ""),
        GET_STEP(METADATA, .status = 500, .answer = ""),
        GET_STEP(METADATA, .status = 0, .fails = ERROR_UNKNOWN_OUTCOME),
    };
    struct bench bench = { 0 };
    struct asker asker;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    expect_token(&bench, "one");
    loop_run_until(bench.loop, loop_now(bench.loop) + 56 * MINUTE_MS);
    expect_token(&bench, "one");
    expect_token(&bench, "one"); /* no second attempt so soon */
    token_cache_reject(bench.cache, "another");
    expect_token(&bench, "one");
    token_cache_reject(bench.cache, "one");
    ask(&bench, &asker);
    assert_int_equal(asker.err.kind, ERROR_TRANSIENT);
    ask(&bench, &asker);
    assert_int_equal(asker.err.kind, ERROR_TRANSIENT);
    bench_close(&bench);
}

static void refusals(void **state)
{
    static const struct {
        int status;
        const char *answer;
        enum error_kind want;
        const char *text;
    } cases[] = {
        { 401,
          "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: Invalid client "
          "secret provided.\",\"error_codes\":[7000215]}",
          ERROR_DENIED, "token: refused: 401 AADSTS7000215: Invalid client secret provided." },
        { 400, "{\"error\":\"unauthorized_client\"}", ERROR_DENIED,
          "token: refused: 400 unauthorized_client" },
        { 503, "busy", ERROR_TRANSIENT, "token: refused: 503 busy" },
        { 200, "{\"access_token\":\"\",\"expires_in\":\"3599\"}", ERROR_CORRUPT,
          "token: the answer makes no sense" },
        { 200, TOKEN("a\\r\\nb", "3599"), ERROR_CORRUPT, "token: the answer makes no sense" },
        { 200, TOKEN("one", "0"), ERROR_CORRUPT, "token: the answer makes no sense" },
        { 200, TOKEN("one", "\"soon\""), ERROR_CORRUPT, "token: expires_in: expected seconds" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct script_step step = GET_STEP(METADATA, .status = cases[i].status,
                                                 .answer = cases[i].answer);
        struct bench bench = { 0 };
        struct asker asker;

        bench_open(&bench, &step, 1);
        ask(&bench, &asker);
        assert_int_equal(asker.err.kind, cases[i].want);
        assert_string_equal(asker.err.text, cases[i].text);
        bench_close(&bench);
    }
}

/* No verb may take a missing file of credentials for a missing machine. */
static void credentials_that_lack_something(void **state)
{
    static const struct {
        const char *file; /* of the federated token */
        const char *tenant;
        enum error_kind want;
        const char *text;
    } cases[] = {
        { NULL, "t", ERROR_DENIED, "No such file" },
        { " \n", "t", ERROR_TRANSIENT, "is empty" },
        { "SECRET SECRET", "t", ERROR_INVALID, "expected one secret" },
        { "SECRET", NULL, ERROR_DENIED, "there is no tenant" },
        { "SECRET", "t", ERROR_DENIED, "there is no client" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = test_folder_new();
        owned(chars) char *path = cases[i].file ? test_folder_write(folder, "jwt", cases[i].file)
                                                : mem_copy_chars("/nonexistent/jwt");
        struct bench bench = { .whose.tenant = cases[i].tenant };
        struct asker asker;

        setenv("AZURE_FEDERATED_TOKEN_FILE", path, 1);
        bench_open(&bench, NULL, 0);
        ask(&bench, &asker);
        assert_int_equal(asker.err.kind, cases[i].want);
        assert_non_null(strstr(asker.err.text, cases[i].text));
        bench_close(&bench);
        test_folder_free(folder);
    }
}

static void a_wrong_file_is_reported_at_once(void **state)
{
    const struct azure_identity whose = { .client_secret = "/nonexistent/secret",
                                          .audience = "https://arm.example" };
    struct world world = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_null(azure_token_new(&world, &whose, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void many_wait_for_one(void **state)
{
    static const struct script_step steps[] = {
        GET_STEP(METADATA, .status = 200, .answer = TOKEN("one", "3600"), .delay_ms = 100),
    };
    struct bench bench = { 0 };
    struct asker askers[3];
    struct error err = { 0 };

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    for (size_t i = 0; i < 3; i++) {
        askers[i] = (struct asker){ .waiter.ready = hear };
        assert_int_equal(token_cache_ask(bench.cache, &askers[i].waiter, &err), 0);
    }
    token_cache_forget(bench.cache, &askers[2].waiter);
    token_cache_forget(bench.cache, &askers[2].waiter);
    loop_run(bench.loop);
    assert_string_equal(askers[0].token, "one");
    assert_string_equal(askers[1].token, "one");
    assert_int_equal(askers[2].calls, 0);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_from_a_file),
        cmocka_unit_test(a_federated_token_is_read_again_each_time),
        cmocka_unit_test(a_managed_identity_has_numbers_as_texts),
        cmocka_unit_test(an_audience_may_end_in_a_slash),
        cmocka_unit_test(which_managed_identity),
        cmocka_unit_test(an_old_token_serves_until_its_end),
        cmocka_unit_test(refusals),
        cmocka_unit_test(credentials_that_lack_something),
        cmocka_unit_test(a_wrong_file_is_reported_at_once),
        cmocka_unit_test(many_wait_for_one),
    };

    return cmocka_run_group_tests(tests, no_environment, NULL);
}
