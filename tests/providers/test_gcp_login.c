/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of Google by transcript: which credentials are found where, what each of them sends, what
 * answers mean, and that no error tells a secret.
 */
#include "base/log.h"
#include "providers/gcp/gcp_token.h"
#include "tests/clusters/scripted_http.h"
#include "tests/support/folder.h"

#include <stdlib.h>
#include <unistd.h>

#define TOKEN_URL "http://127.0.0.1:8/token"
#define STS_URL "http://127.0.0.1:8/v1/token"
#define SUBJECT_URL "http://127.0.0.1:8/subject"
#define ACT_URL "http://127.0.0.1:8/v1/projects/-/serviceAccounts/a@b:generateAccessToken"
#define METADATA_PATH "/computeMetadata/v1/instance/service-accounts/default/token"
#define GRANT(name) "{\"access_token\":\"" name "\",\"expires_in\":3600,\"token_type\":\"Bearer\"}"
#define USER                                                                                       \
    "{\"type\":\"authorized_user\",\"client_id\":\"c.apps\",\"client_secret\":\"S/1\","            \
    "\"refresh_token\":\"1//R\",\"quota_project_id\":\"payer\",\"token_uri\":\"" TOKEN_URL "\"}"
#define EXTERNAL(rest)                                                                             \
    "{\"type\":\"external_account\",\"audience\":\"//iam/pool\",\"subject_token_type\":"           \
    "\"urn:ietf:params:oauth:token-type:jwt\",\"token_url\":\"" STS_URL "\"," rest "}"
#define FILE_SOURCE "\"credential_source\":{\"file\":\"%s\"}"
#define JSON_SOURCE                                                                                \
    "\"credential_source\":{\"file\":\"%s\",\"format\":{\"type\":\"json\","                        \
    "\"subject_token_field_name\":\"value\"}}"
#define URL_SOURCE                                                                                 \
    "\"credential_source\":{\"url\":\"" SUBJECT_URL "\",\"headers\":{\"X-Identity\":\"hi\"}}"
#define ACTS ",\"service_account_impersonation_url\":\"" ACT_URL "\""
#define STS_FORM(subject)                                                                          \
    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"                         \
    "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"                \
    "&audience=%2F%2Fiam%2Fpool&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform"    \
    "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&subject_token=" subject

static const struct wall_time start = { 1794787200000 }; /* 2026-11-16T00:00:00Z */

struct bench {
    char *folder;
    struct loop *loop;
    struct random random;
    struct world world;
    struct scripted_http *script;
    struct gcp_token *token;
};

struct asker {
    struct gcp_waiter waiter; /* first */
    int calls;
    char access[64];
    struct error err;
};

static int no_environment(void **state)
{
    (void)state;
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    unsetenv("CLOUDSDK_CONFIG");
    unsetenv("GCE_METADATA_HOST");
    setenv("HOME", "/nonexistent", 1);
    return 0;
}

static void hear(struct gcp_waiter *waiter, const char *token, const struct error *err)
{
    struct asker *asker = (struct asker *)waiter;

    asker->calls++;
    asker->err = err ? *err : (struct error){ 0 };
    text_copy(asker->access, sizeof asker->access, token ?: "");
}

static void bench_open(struct bench *bench, const struct gcp_identity *whose,
                       const struct script_step *steps, size_t count)
{
    struct error err = { 0 };

    bench->loop = loop_virtual_new(start);
    random_seed(&bench->random, 1);
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->token = gcp_token_new(&bench->world, whose, &err);
    if (!bench->token)
        fail_msg("%s", err.text);
}

static void bench_close(struct bench *bench)
{
    assert_true(script_is_played(bench->script));
    assert_int_equal(bench->script->in_flight, 0);
    gcp_token_free(bench->token);
    http_free(&bench->script->http);
    loop_free(bench->loop);
}

static struct asker ask(struct bench *bench)
{
    struct asker asker = { .waiter.ready = hear };
    struct error err = { 0 };

    assert_int_equal(gcp_token_ask(bench->token, &asker.waiter, &err), 0);
    loop_run(bench->loop);
    assert_int_equal(asker.calls, 1);
    if (strstr(asker.err.text, "S/1") || strstr(asker.err.text, "1//R") ||
        strstr(asker.err.text, "JWT"))
        fail_msg("a secret is told: %s", asker.err.text);
    return asker;
}

/* One credentials file, its exchanges, and the token at the end. */
static void expect_token(const char *file, const struct script_step *steps, size_t count,
                         const char *want)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "credentials.json", file);
    const struct gcp_identity whose = { .credentials = path };
    struct bench bench = { 0 };
    struct asker asker;

    bench_open(&bench, &whose, steps, count);
    asker = ask(&bench);
    if (asker.err.kind != ERROR_NONE || strcmp(asker.access, "one") != 0)
        fail_msg("have %s (%s)", asker.access, asker.err.text);
    assert_string_equal(bench.script->transcript->chars, want);
    bench_close(&bench);
}

static struct script_step step(enum http_method method, const char *url, int status,
                               const char *answer)
{
    return (struct script_step){ .method = method, .url = url, .status = status, .answer = answer };
}

static void a_users_refresh_token_is_exchanged(void **state)
{
    const struct script_step steps[] = { step(HTTP_POST, TOKEN_URL, 200, GRANT("one")) };

    (void)state;
    expect_token(USER, steps, COUNT_OF(steps),
                 "000000 POST " TOKEN_URL " grant_type=refresh_token&client_id=c.apps"
                 "&client_secret=S%2F1&refresh_token=1%2F%2FR\n");
}

static void a_file_of_another_issuer_is_exchanged(void **state)
{
    static const char *const sources[][2] = {
        { EXTERNAL(FILE_SOURCE), "JWT.A.B\n" },
        { EXTERNAL(JSON_SOURCE), "{\"value\":\"JWT.A.B\",\"other\":1}" },
    };
    const struct script_step steps[] = { step(HTTP_POST, STS_URL, 200, GRANT("one")) };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *subject = test_folder_write(folder, "subject", sources[i][1]);
        const char *split = strstr(sources[i][0], "%s");
        owned(chars) char *file = text_format("%.*s%s%s", (int)(split - sources[i][0]),
                                              sources[i][0], subject, split + 2);

        expect_token(file, steps, COUNT_OF(steps),
                     "000000 POST " STS_URL " " STS_FORM("JWT.A.B") "\n");
    }
}

static void a_url_of_another_issuer_and_a_role_to_act_in(void **state)
{
    const struct script_step steps[] = {
        step(HTTP_GET, SUBJECT_URL, 200, "JWT.C.D\n"),
        step(HTTP_POST, STS_URL, 200, GRANT("federated")),
        step(HTTP_POST, ACT_URL, 200,
             "{\"accessToken\":\"one\",\"expireTime\":\"2026-11-16T01:00:00Z\"}"),
    };

    (void)state;
    expect_token(EXTERNAL(URL_SOURCE ACTS), steps, COUNT_OF(steps),
                 "000000 GET " SUBJECT_URL "\n"
                 "000000 POST " STS_URL " " STS_FORM(
                     "JWT.C.D") "\n"
                                "000000 POST " ACT_URL
                                " {\"scope\":[\"https://www.googleapis.com/auth/cloud-platform\"],"
                                "\"lifetime\":\"3600s\"}\n");
}

/* Projected tokens are renewed, so the second exchange must send the second one. */
static void a_subject_is_read_again_for_each_exchange(void **state)
{
    const struct script_step steps[] = {
        step(HTTP_POST, STS_URL, 200, GRANT("first")),
        step(HTTP_POST, STS_URL, 200, GRANT("second")),
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *subject = test_folder_write(folder, "subject", "JWT.1.1");
    owned(chars) char *file = text_format(EXTERNAL(FILE_SOURCE), subject);
    owned(chars) char *path = test_folder_write(folder, "credentials.json", file);
    const struct gcp_identity whose = { .credentials = path };
    struct bench bench = { 0 };

    (void)state;
    bench_open(&bench, &whose, steps, COUNT_OF(steps));
    assert_string_equal(ask(&bench).access, "first");
    test_file_write(subject, "JWT.2.2", 7);
    gcp_token_reject(bench.token, "first");
    assert_string_equal(ask(&bench).access, "second");
    assert_non_null(strstr(bench.script->transcript->chars, "subject_token=JWT.1.1\n"));
    assert_non_null(strstr(bench.script->transcript->chars, "subject_token=JWT.2.2\n"));
    bench_close(&bench);
}

/* The end of the acting token counts from when it was asked for. */
static void an_acting_token_ends_when_it_says(void **state)
{
    const struct script_step steps[] = {
        step(HTTP_POST, STS_URL, 200, GRANT("federated")),
        step(HTTP_POST, ACT_URL, 200,
             "{\"accessToken\":\"first\",\"expireTime\":\"2026-11-16T00:20:00Z\"}"),
        step(HTTP_POST, STS_URL, 200, GRANT("federated")),
        step(HTTP_POST, ACT_URL, 200,
             "{\"accessToken\":\"second\",\"expireTime\":\"2026-11-16T01:00:00Z\"}"),
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *subject = test_folder_write(folder, "subject", "JWT");
    owned(chars) char *file = text_format(EXTERNAL(FILE_SOURCE ACTS), subject);
    owned(chars) char *path = test_folder_write(folder, "credentials.json", file);
    const struct gcp_identity whose = { .credentials = path };
    struct bench bench = { 0 };

    (void)state;
    bench_open(&bench, &whose, steps, COUNT_OF(steps));
    assert_string_equal(ask(&bench).access, "first");
    assert_string_equal(bench.script->authorization, "Bearer federated");
    loop_run_until(bench.loop, 14 * MINUTE_MS);
    assert_string_equal(ask(&bench).access, "first");
    loop_run_until(bench.loop, 16 * MINUTE_MS);
    assert_string_equal(ask(&bench).access, "second");
    bench_close(&bench);
}

static void failures_have_their_kinds(void **state)
{
    static const struct {
        int status;
        const char *answer;
        enum error_kind kind;
        const char *says;
    } cases[] = {
        { 400, "{\"error\":\"invalid_grant\",\"error_description\":\"Token has been revoked.\"}",
          ERROR_DENIED, "token: refused: 400 Token has been revoked." },
        { 429, "{}", ERROR_THROTTLED, "429" },
        { 503, "<html>", ERROR_TRANSIENT, "503" },
        { 200, "<html>", ERROR_CORRUPT, "answer" },
        { 200, "{\"access_token\":\"a\\nb\",\"expires_in\":3600}", ERROR_CORRUPT, "no sense" },
        { 200, "{\"access_token\":\"a\",\"expires_in\":-1}", ERROR_CORRUPT, "no sense" },
        { 200, "{\"expires_in\":3600}", ERROR_CORRUPT, "access_token" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *path = test_folder_write(folder, "credentials.json", USER);
        const struct gcp_identity whose = { .credentials = path };
        const struct script_step steps[] = { step(HTTP_POST, TOKEN_URL, cases[i].status,
                                                  cases[i].answer) };
        struct bench bench = { 0 };
        struct asker asker;

        bench_open(&bench, &whose, steps, COUNT_OF(steps));
        asker = ask(&bench);
        if (asker.err.kind != cases[i].kind || !strstr(asker.err.text, cases[i].says))
            fail_msg("%d %s: %s (%s)", cases[i].status, cases[i].answer, asker.err.text,
                     error_kind_name(asker.err.kind));
        bench_close(&bench);
    }
}

static void a_subject_that_is_not_there_yet_is_awaited(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *subject = test_folder_write(folder, "subject", "\n");
    owned(chars) char *file = text_format(EXTERNAL(FILE_SOURCE), subject);
    owned(chars) char *path = test_folder_write(folder, "credentials.json", file);
    const struct gcp_identity whose = { .credentials = path };
    struct bench bench = { 0 };

    (void)state;
    bench_open(&bench, &whose, NULL, 0);
    assert_int_equal(ask(&bench).err.kind, ERROR_TRANSIENT);
    test_file_write(subject, "JWT1 JWT2", 9);
    assert_int_equal(ask(&bench).err.kind, ERROR_INVALID);
    /* Not as "there is no such machine". */
    assert_int_equal(unlink(subject), 0);
    assert_int_equal(ask(&bench).err.kind, ERROR_TRANSIENT);
    bench_close(&bench);
}

/* Each place is looked at only when the ones before it are empty. */
static void the_places_are_looked_at_in_their_order(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *named = test_folder_write(folder, "named.json", USER);
    owned(chars) char *usual = test_folder_write(
        folder, "application_default_credentials.json",
        "{\"type\":\"authorized_user\",\"client_id\":\"usual\",\"client_secret\":\"s\","
        "\"refresh_token\":\"r\",\"token_uri\":\"" TOKEN_URL "\"}");
    static const struct {
        enum { NAMED, USUAL, HOST, NOTHING } place;
        const char *metadata;
        const char *want;
    } cases[] = {
        { NAMED, NULL, "client_id=c.apps" },
        { USUAL, NULL, "client_id=usual" },
        { HOST, NULL, "GET http://127.0.0.1:7" METADATA_PATH },
        { NOTHING, NULL, "GET http://169.254.169.254" METADATA_PATH },
        { NAMED, "http://127.0.0.1:6", "GET http://127.0.0.1:6" METADATA_PATH },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct gcp_identity whose = { .metadata = cases[i].metadata };
        const struct script_step steps[] = {
            step(HTTP_POST, TOKEN_URL, 200, GRANT("one")),
            step(HTTP_GET, "http://127.0.0.1:7" METADATA_PATH, 503, ""),
            step(HTTP_GET, "http://127.0.0.1:6" METADATA_PATH, 503, ""),
            step(HTTP_GET, "http://169.254.169.254" METADATA_PATH, 503, ""),
        };
        struct bench bench = { 0 };

        no_environment(NULL);
        if (cases[i].place == NAMED)
            setenv("GOOGLE_APPLICATION_CREDENTIALS", named, 1);
        if (cases[i].place <= USUAL)
            setenv("CLOUDSDK_CONFIG", folder, 1);
        if (cases[i].place <= HOST)
            setenv("GCE_METADATA_HOST", "127.0.0.1:7", 1);
        bench_open(&bench, &whose, steps, COUNT_OF(steps));
        ask(&bench);
        if (!strstr(bench.script->transcript->chars, cases[i].want))
            fail_msg("%s: %s", cases[i].want, bench.script->transcript->chars);
        gcp_token_free(bench.token);
        http_free(&bench.script->http);
        loop_free(bench.loop);
    }
    no_environment(NULL);
    mem_free(steal(&usual));
}

static void files_that_are_refused(void **state)
{
    static const struct {
        const char *file;
        const char *want;
    } cases[] = {
        { "{\"type\":\"impersonated_service_account\"}", "found \"impersonated_service_account\"" },
        { "{\"type\":\"authorized_user\",\"client_id\":\"c\"}", "client_secret" },
        { EXTERNAL("\"credential_source\":{\"executable\":{}}"), "other sources are not known" },
        { EXTERNAL("\"credential_source\":{\"file\":\"f\",\"url\":\"" SUBJECT_URL "\"}"),
          "\"file\" or \"url\"" },
        { EXTERNAL("\"credential_source\":{\"url\":\"http://issuer.example/t\"}"),
          "plain http is refused for issuer.example" },
        { EXTERNAL("\"credential_source\":{\"file\":\"f\"},\"service_account_impersonation_url\":"
                   "\"http://iam.example/x\""),
          "plain http is refused for iam.example" },
        { EXTERNAL("\"credential_source\":{\"file\":\"f\",\"format\":{\"type\":\"xml\"}}"),
          "known: text, json" },
        { EXTERNAL("\"credential_source\":{\"file\":\"f\",\"format\":{\"type\":\"json\"}}"),
          "subject_token_field_name" },
        { EXTERNAL("\"credential_source\":{\"url\":\"" SUBJECT_URL
                   "\",\"headers\":{\"a\":\"b\\r\\nc: d\"}}"),
          "headers" },
        { "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\","
          "\"refresh_token\":\"r\",\"token_uri\":\"http://oauth2.example/token\"}",
          "plain http is refused for oauth2.example" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *path = test_folder_write(folder, "credentials.json", cases[i].file);
        const struct gcp_identity whose = { .credentials = path };
        struct error err = { 0 };
        struct world world = { 0 };

        assert_null(gcp_token_new(&world, &whose, &err));
        if (err.kind != ERROR_INVALID || !strstr(err.text, cases[i].want) ||
            !strstr(err.text, path))
            fail_msg("%s: %s", cases[i].file, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_users_refresh_token_is_exchanged),
        cmocka_unit_test(a_file_of_another_issuer_is_exchanged),
        cmocka_unit_test(a_url_of_another_issuer_and_a_role_to_act_in),
        cmocka_unit_test(a_subject_is_read_again_for_each_exchange),
        cmocka_unit_test(an_acting_token_ends_when_it_says),
        cmocka_unit_test(failures_have_their_kinds),
        cmocka_unit_test(a_subject_that_is_not_there_yet_is_awaited),
        cmocka_unit_test(the_places_are_looked_at_in_their_order),
        cmocka_unit_test(files_that_are_refused),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, no_environment, NULL);
}
