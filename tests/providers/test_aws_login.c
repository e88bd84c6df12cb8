/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys for AWS by transcript: where they are asked for and in which order, what answers mean, when
 * they are replaced, and that no error tells them.
 */
#include "providers/aws/aws_login.h"
#include "tests/clusters/scripted_http.h"
#include "tests/support/folder.h"

#include <stdlib.h>

#define STS "https://sts.eu-west-1.amazonaws.com/"
#define IMDS "http://169.254.169.254/latest/"
#define ROLES IMDS "meta-data/iam/security-credentials/"
#define AGENT "http://169.254.170.23/v1/credentials"
#define ARN "arn:aws:iam::1:role/r"
#define CREDENTIALS(id, ends)                                                                      \
    "<R><S><Credentials><AccessKeyId>" id                                                          \
    "</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey>"                                      \
    "<SessionToken>SESSION</SessionToken><Expiration>" ends "</Expiration></Credentials></S></R>"
#define KEYS(id, ends)                                                                             \
    "{\"Code\":\"Success\",\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"SECRET\","             \
    "\"Token\":\"SESSION\",\"Expiration\":\"" ends "\"}"
#define STS_ERROR(code)                                                                            \
    "<ErrorResponse><Error><Type>Sender</Type><Code>" code "</Code><Message>SECRET</Message>"      \
    "</Error></ErrorResponse>"
#define HOUR_ON "2026-11-16T01:00:00Z"

/* 2026-11-16T00:00:00Z */
static const struct wall_time midnight = { 1794787200000 };

static const char *const variables[] = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_SESSION_NAME",
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_ENDPOINT_URL_STS",
};

struct bench {
    char *folder;
    struct loop *loop;
    struct random random;
    struct world world;
    struct scripted_http *script;
    struct aws_login *login;
};

struct asker {
    struct aws_waiter waiter; /* first */
    int calls;
    char id[64];
    char token[64];
    struct error err;
};

static void hear(struct aws_waiter *waiter, const struct aws_keys *keys, const struct error *err)
{
    struct asker *asker = (struct asker *)waiter;

    asker->calls++;
    asker->err = err ? *err : (struct error){ 0 };
    text_copy(asker->id, sizeof asker->id, keys ? keys->id : "");
    text_copy(asker->token, sizeof asker->token, keys && keys->token ? keys->token : "");
}

static int no_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    setenv("HOME", "/nonexistent", 1);
    return 0;
}

static const struct aws_account plain = { .region = "eu-west-1" };

static void bench_open(struct bench *bench, const struct aws_account *account,
                       const struct script_step *steps, size_t count)
{
    bench->loop = loop_virtual_new(midnight);
    random_seed(&bench->random, 1);
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->login = aws_login_new(&bench->world, account);
}

static void bench_close(struct bench *bench)
{
    assert_int_equal(bench->script->in_flight, 0);
    aws_login_free(bench->login);
    http_free(&bench->script->http);
    loop_free(bench->loop);
}

/* Asks and runs until the word is there. */
static void ask(struct bench *bench, struct asker *asker)
{
    *asker = (struct asker){ .waiter.ready = hear };
    aws_login_ask(bench->login, &asker->waiter);
    assert_int_equal(asker->calls, 0);
    loop_run(bench->loop);
    assert_int_equal(asker->calls, 1);
    if (strstr(asker->err.text, "SECRET") || strstr(asker->err.text, "SESSION") ||
        strstr(asker->err.text, "JWT"))
        fail_msg("a secret is told: %s", asker->err.text);
}

static void expect_keys(struct bench *bench, const char *id)
{
    struct asker asker;

    ask(bench, &asker);
    if (asker.err.kind != ERROR_NONE || strcmp(asker.id, id) != 0)
        fail_msg("expected %s, have %s (%s)", id, asker.id, asker.err.text);
}

static struct script_step post(int status, const char *body)
{
    return (
        struct script_step){ .method = HTTP_POST, .url = STS, .status = status, .answer = body };
}

static struct script_step get(const char *url, int status, const char *body)
{
    return (struct script_step){ .method = HTTP_GET, .url = url, .status = status, .answer = body };
}

static const struct script_step session = {
    .method = HTTP_PUT,
    .url = IMDS "api/token",
    .status = 200,
    .answer = "IMDS-SESSION",
};

static void the_places_are_looked_at_in_their_order(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *token = test_folder_write(folder, "token", "JWT\n");
    owned(chars) char *files = test_folder_write(folder, "credentials",
                                                 "[default]\naws_access_key_id=FILE\n"
                                                 "aws_secret_access_key=SECRET\n");
    const struct script_step steps[] = {
        post(200, CREDENTIALS("WEB", HOUR_ON)),
        get(AGENT, 200, KEYS("AGENT", HOUR_ON)),
        session,
        get(ROLES, 200, "node-role\n"),
        get(ROLES "node-role", 200, KEYS("NODE", HOUR_ON)),
    };
    static const char *const want[] = { "ENV", "WEB", "FILE", "AGENT", "NODE" };

    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct bench bench = { 0 };

        no_environment(state);
        if (i == 0) {
            setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
            setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
        }
        if (i <= 1) {
            setenv("AWS_ROLE_ARN", ARN, 1);
            setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
        }
        if (i <= 2)
            setenv("AWS_SHARED_CREDENTIALS_FILE", files, 1);
        if (i <= 3)
            setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", AGENT, 1);
        bench_open(&bench, &plain, steps, COUNT_OF(steps));
        expect_keys(&bench, want[i]);
        bench_close(&bench);
    }
    no_environment(state);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);

    struct bench bench = { 0 };
    struct asker asker;

    bench_open(&bench, &plain, NULL, 0);
    ask(&bench, &asker);
    assert_int_equal(asker.err.kind, ERROR_DENIED);
    assert_non_null(strstr(asker.err.text, "no keys in the environment"));
    assert_non_null(strstr(asker.err.text, "/nonexistent/.aws/credentials"));
    bench_close(&bench);
}

static void a_web_identity_is_read_again_and_exchanged_once_for_all(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *token = test_folder_write(folder, "token", "JWT/1\n");
    struct script_step steps[] = { post(200, CREDENTIALS("ONE", HOUR_ON)),
                                   post(200, CREDENTIALS("TWO", "2026-11-16T02:00:00Z")) };
    struct asker askers[3] = { { .waiter.ready = hear },
                               { .waiter.ready = hear },
                               { .waiter.ready = hear } };
    struct bench bench = { 0 };

    no_environment(state);
    setenv("AWS_ROLE_ARN", ARN, 1);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
    steps[0].delay_ms = 100;
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(askers); i++)
        aws_login_ask(bench.login, &askers[i].waiter);
    aws_login_forget(bench.login, &askers[1].waiter);
    loop_run(bench.loop);
    assert_string_equal(askers[0].id, "ONE");
    assert_int_equal(askers[1].calls, 0);
    assert_string_equal(askers[2].token, "SESSION");
    assert_string_equal(bench.script->body,
                        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3A"
                        "iam%3A%3A1%3Arole%2Fr&RoleSessionName=sluice&DurationSeconds=3600&"
                        "WebIdentityToken=JWT%2F1");
    assert_string_equal(bench.script->authorization, ""); /* it is not signed */
    loop_run_until(bench.loop, loop_now(bench.loop) + 54 * MINUTE_MS);
    expect_keys(&bench, "ONE");
    mem_free(test_folder_write(folder, "token", "JWT/2"));
    loop_run_until(bench.loop, loop_now(bench.loop) + MINUTE_MS); /* less than five are left */
    expect_keys(&bench, "TWO");
    assert_non_null(strstr(bench.script->body, "WebIdentityToken=JWT%2F2"));
    bench_close(&bench);
}

static void old_keys_serve_while_new_ones_cannot_be_had(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *token = test_folder_write(folder, "token", "JWT");
    const struct script_step steps[] = { post(200, CREDENTIALS("ONE", HOUR_ON)), post(503, ""),
                                         post(500, ""),
                                         post(200, CREDENTIALS("TWO", "2026-11-16T02:00:00Z")) };
    struct bench bench = { 0 };
    struct asker asker;

    no_environment(state);
    setenv("AWS_ROLE_ARN", ARN, 1);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    expect_keys(&bench, "ONE");
    loop_run_until(bench.loop, loop_now(bench.loop) + 56 * MINUTE_MS);
    expect_keys(&bench, "ONE"); /* 503 */
    expect_keys(&bench, "ONE"); /* too early to ask again */
    loop_run_until(bench.loop, loop_now(bench.loop) + 5 * MINUTE_MS);
    ask(&bench, &asker); /* 500, and they have ended */
    assert_int_equal(asker.err.kind, ERROR_TRANSIENT);
    expect_keys(&bench, "TWO");
    bench_close(&bench);
}

/* The setting first, then the environment, then the region's own. */
static void a_token_service_can_be_named(void **state)
{
    static const char other[] = "http://127.0.0.1:9/sts";
    struct script_step step = post(200, CREDENTIALS("ROLE", HOUR_ON));
    struct aws_account account = { .region = "eu-west-1", .role = ARN, .sts_endpoint = other };
    struct bench bench = { 0 };

    no_environment(state);
    setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
    setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9/environment", 1);
    step.url = other;
    bench_open(&bench, &account, &step, 1);
    expect_keys(&bench, "ROLE");
    bench_close(&bench);

    account.sts_endpoint = NULL;
    step.url = "http://127.0.0.1:9/environment";
    bench_open(&bench, &account, &step, 1);
    expect_keys(&bench, "ROLE");
    bench_close(&bench);

    unsetenv("AWS_ENDPOINT_URL_STS");
    account.region = "cn-north-1";
    step.url = "https://sts.cn-north-1.amazonaws.com.cn/";
    bench_open(&bench, &account, &step, 1);
    expect_keys(&bench, "ROLE");
    bench_close(&bench);
}

static void refused_keys_are_replaced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *token = test_folder_write(folder, "token", "JWT");
    const struct script_step steps[] = { post(200, CREDENTIALS("ONE", HOUR_ON)),
                                         post(200, CREDENTIALS("TWO", HOUR_ON)) };
    struct bench bench = { 0 };

    no_environment(state);
    setenv("AWS_ROLE_ARN", ARN, 1);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    expect_keys(&bench, "ONE");
    assert_true(aws_login_reject(bench.login, "OTHER"));
    expect_keys(&bench, "ONE");
    assert_true(aws_login_reject(bench.login, "ONE"));
    expect_keys(&bench, "TWO");
    bench_close(&bench);
}

static const struct {
    const char *name;
    const char *token;
    int status; /* 0: nothing is asked */
    const char *body;
    enum error_kind kind;
    const char *want;
} identities[] = {
    { "an empty token file", " \n", 0, NULL, ERROR_TRANSIENT, "token: is empty" },
    { "two tokens", "JWT\nJWT\n", 0, NULL, ERROR_INVALID, "one token and nothing else" },
    { "an expired token", "JWT", 400, STS_ERROR("ExpiredTokenException"), ERROR_DENIED,
      "AssumeRoleWithWebIdentity: refused: 400 ExpiredTokenException" },
    { "another issuer", "JWT", 400, STS_ERROR("InvalidIdentityToken"), ERROR_DENIED, "Invalid" },
    { "a role for others", "JWT", 403, STS_ERROR("AccessDenied"), ERROR_DENIED, "AccessDenied" },
    { "an issuer out of reach", "JWT", 400, STS_ERROR("IDPCommunicationError"), ERROR_TRANSIENT,
      "IDPCommunicationError" },
    { "too many calls", "JWT", 400, STS_ERROR("Throttling"), ERROR_THROTTLED, "Throttling" },
    { "a busy service", "JWT", 503, "", ERROR_TRANSIENT, "503" },
    { "no XML", "JWT", 200, "{\"SECRET\":1}", ERROR_CORRUPT, "no whole set of keys" },
    { "cut XML", "JWT", 200, "<AccessKeyId>A</AccessKeyId><SecretAccessKey>SECRET", ERROR_CORRUPT,
      "no whole set of keys" },
    { "an element within a key", "JWT", 200, CREDENTIALS("<b>A</b>", HOUR_ON), ERROR_CORRUPT,
      "no whole set of keys" },
    { "an empty key", "JWT", 200, CREDENTIALS("", HOUR_ON), ERROR_CORRUPT, "no whole set" },
    { "no end", "JWT", 200, CREDENTIALS("A", "soon"), ERROR_CORRUPT, "when its keys end" },
    { "an end in the past", "JWT", 200, CREDENTIALS("A", "2026-11-15T23:59:59Z"), ERROR_TRANSIENT,
      "end as they come" },
};

static void what_is_wrong_with_an_identity_is_said(void **state)
{
    for (size_t i = 0; i < COUNT_OF(identities); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *token = test_folder_write(folder, "token", identities[i].token);
        const struct script_step step = post(identities[i].status, identities[i].body);
        struct bench bench = { 0 };
        struct asker asker;

        no_environment(state);
        setenv("AWS_ROLE_ARN", ARN, 1);
        setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
        bench_open(&bench, &plain, &step, identities[i].status > 0);
        ask(&bench, &asker);
        if (asker.err.kind != identities[i].kind || !strstr(asker.err.text, identities[i].want))
            fail_msg("%s: %s, %s", identities[i].name, error_kind_name(asker.err.kind),
                     asker.err.text);
        bench_close(&bench);
    }
}

static const struct {
    const char *name;
    const char *url;
    const char *token; /* in a file; NULL: none */
    int status;        /* 0: nothing is asked */
    const char *body;
    enum error_kind kind;
    const char *want; /* of the error, or the id */
} agents[] = {
    { "an agent of EKS", AGENT, "JWT\n", 200, KEYS("A", HOUR_ON), ERROR_NONE, "A" },
    { "by its address of six", "http://[fd00:ec2::23]/v1/credentials", "JWT", 200,
      KEYS("A", HOUR_ON), ERROR_NONE, "A" },
    { "on this machine", "http://127.0.0.1:51/x", NULL, 200, KEYS("A", HOUR_ON), ERROR_NONE, "A" },
    { "anywhere over https", "https://keys.example.com/x", NULL, 200, KEYS("A", HOUR_ON),
      ERROR_NONE, "A" },
    { "anywhere in plain", "http://keys.example.com/x", "JWT", 0, NULL, ERROR_INVALID,
      "plain http to keys.example.com" },
    { "a name that begins like loopback", "http://127.example.com/x", "JWT", 0, NULL, ERROR_INVALID,
      "plain http" },
    { "the metadata server", "http://169.254.169.254/x", "JWT", 0, NULL, ERROR_INVALID,
      "plain http" },
    { "no URL", "keys", NULL, 0, NULL, ERROR_INVALID, "AWS_CONTAINER_CREDENTIALS_FULL_URI" },
    { "an empty token", AGENT, "\n", 0, NULL, ERROR_TRANSIENT, "token: is empty" },
    { "a refusal", AGENT, "JWT", 403, "{\"code\":\"AccessDeniedException\"}", ERROR_DENIED,
      "the container's agent: refused: 403 AccessDeniedException" },
    { "a failure", AGENT, "JWT", 500, "SECRET", ERROR_TRANSIENT, "refused: 500" },
    { "no JSON", AGENT, "JWT", 200, "{\"AccessKeyId\":\"SECRET", ERROR_CORRUPT, "no JSON" },
    { "half of it", AGENT, "JWT", 200, "{\"AccessKeyId\":\"A\"}", ERROR_CORRUPT, "no whole set" },
    { "another type", AGENT, "JWT", 200, "[1]", ERROR_CORRUPT, "no whole set" },
    { "a line end in a key", AGENT, "JWT", 200, KEYS("A\\r\\nX", HOUR_ON), ERROR_CORRUPT,
      "no whole set" },
};

static void a_containers_agent_is_asked_where_that_is_safe(void **state)
{
    for (size_t i = 0; i < COUNT_OF(agents); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *token = test_folder_write(folder, "token", agents[i].token ?: "");
        const struct script_step step = get(agents[i].url, agents[i].status, agents[i].body);
        struct bench bench = { 0 };
        struct asker asker;

        no_environment(state);
        setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agents[i].url, 1);
        if (agents[i].token)
            setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token, 1);
        bench_open(&bench, &plain, &step, agents[i].status > 0);
        ask(&bench, &asker);
        if (asker.err.kind != agents[i].kind ||
            !strstr(asker.err.kind == ERROR_NONE ? asker.id : asker.err.text, agents[i].want))
            fail_msg("%s: %s, %s", agents[i].name, error_kind_name(asker.err.kind), asker.err.text);
        if (agents[i].token && agents[i].status > 0)
            assert_string_equal(bench.script->authorization, "JWT");
        bench_close(&bench);
    }
}

static void a_metadata_server_is_asked_in_three_steps(void **state)
{
    static const struct {
        const char *name;
        int statuses[3]; /* 0: not asked; -1: no answer */
        const char *bodies[3];
        enum error_kind kind;
        const char *want;
    } rows[] = {
        { "all well",
          { 200, 200, 200 },
          { "T", "node-role", KEYS("A", HOUR_ON) },
          ERROR_NONE,
          "A" },
        { "no answer", { -1 }, { NULL }, ERROR_TRANSIENT, "hop limit of 2" },
        { "no second version", { 404 }, { "" }, ERROR_DENIED, "the metadata server: refused: 404" },
        { "a failure", { 500 }, { "" }, ERROR_TRANSIENT, "refused: 500" },
        { "an empty token", { 200 }, { "" }, ERROR_CORRUPT, "no token" },
        { "no role", { 200, 404 }, { "T", "" }, ERROR_DENIED, "the instance has no role" },
        { "a page", { 200, 200 }, { "T", "<html> error" }, ERROR_CORRUPT, "no name of a role" },
        { "a path", { 200, 200 }, { "T", "../x" }, ERROR_CORRUPT, "no name of a role" },
        { "an expired session", { 200, 401 }, { "T", "" }, ERROR_DENIED, "refused: 401" },
        { "a failed role",
          { 200, 200, 200 },
          { "T", "node-role", "{\"Code\":\"AssumeRoleUnauthorizedAccess\"}" },
          ERROR_TRANSIENT,
          "failed: AssumeRoleUnauthorizedAccess" },
        { "no JSON", { 200, 200, 200 }, { "T", "node-role", "<xml/>" }, ERROR_CORRUPT, "no JSON" },
        { "gone", { 200, 200, 503 }, { "T", "node-role", "" }, ERROR_TRANSIENT, "refused: 503" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct script_step steps[3] = { session, get(ROLES, 0, NULL),
                                        get(ROLES "node-role", 0, NULL) };
        struct bench bench = { 0 };
        struct asker asker;
        size_t count = 0;

        for (; count < 3 && rows[i].statuses[count] != 0; count++) {
            steps[count].status = rows[i].statuses[count] < 0 ? 0 : rows[i].statuses[count];
            steps[count].answer = rows[i].bodies[count];
            if (rows[i].statuses[count] < 0)
                steps[count].fails = ERROR_TRANSIENT;
        }
        no_environment(state);
        bench_open(&bench, &plain, steps, count);
        ask(&bench, &asker);
        if (asker.err.kind != rows[i].kind ||
            !strstr(asker.err.kind == ERROR_NONE ? asker.id : asker.err.text, rows[i].want))
            fail_msg("%s: %s, %s", rows[i].name, error_kind_name(asker.err.kind), asker.err.text);
        assert_true(script_is_played(bench.script));
        bench_close(&bench);
    }
}

static const char config_file[] = "[default]\nregion = x\n"
                                  "[profile role]\ns3 =\n  role_arn = nested\nrole_arn = " ARN
                                  "\nsource_profile = base\n"
                                  "external_id = a/b\nrole_session_name = me\n"
                                  "[profile itself]\nrole_arn=" ARN "\nsource_profile=itself\n"
                                  "aws_access_key_id=SELF\naws_secret_access_key=SECRET\n"
                                  "[profile web]\nrole_arn=" ARN "\n"
                                  "web_identity_token_file=@/token\n"
                                  "[profile node]\nrole_arn=" ARN "\n"
                                  "credential_source=Ec2InstanceMetadata\n"
                                  "[profile bad]\nrole_arn=" ARN "\ncredential_source=Nowhere\n"
                                  "[profile alone]\nrole_arn=" ARN "\n"
                                  "[profile a]\nrole_arn=" ARN "\nsource_profile=b\n"
                                  "[profile b]\nrole_arn=" ARN "\nsource_profile=a\n"
                                  "[profile lost]\nrole_arn=" ARN "\nsource_profile=gone\n";

static const struct {
    const char *profile;
    const char *asked; /* part of the transcript */
    const char *signer;
    enum error_kind kind;
    const char *want;
} profiles[] = {
    { "base", "", "", ERROR_NONE, "BASE" },
    { "role", "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3A",
      "Credential=BASE/20261116/eu-west-1/sts/", ERROR_NONE, "TAKEN" },
    { "role", "&RoleSessionName=me&DurationSeconds=3600&ExternalId=a%2Fb", "Credential=BASE/",
      ERROR_NONE, "TAKEN" },
    { "itself", "Action=AssumeRole&", "Credential=SELF/", ERROR_NONE, "TAKEN" },
    { "web", "Action=AssumeRoleWithWebIdentity&", "", ERROR_NONE, "TAKEN" },
    { "node", "Action=AssumeRole&", "Credential=NODE/", ERROR_NONE, "TAKEN" },
    { "bad", "", "", ERROR_DENIED, "credential_source Nowhere gives nothing" },
    { "alone", "", "", ERROR_INVALID, "no source_profile, credential_source" },
    { "a", "", "", ERROR_INVALID, "too many source_profiles" },
    { "lost", "", "", ERROR_DENIED, "has no profile gone" },
    { "default", "", "", ERROR_DENIED, "in profile default" },
    { "nobody", "", "", ERROR_DENIED, "has no profile nobody" },
};

static void profiles_take_on_roles(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *token = test_folder_write(folder, "token", "JWT");
    const char *at = strstr(config_file, "@/token");
    owned(chars) char *text = text_format("%.*s%s%s", (int)(at - config_file), config_file, token,
                                          at + strlen("@/token"));
    owned(chars) char *config = test_folder_write(folder, "config", text);
    owned(chars) char *credentials = test_folder_write(folder, "credentials",
                                                       "[base]\naws_access_key_id = BASE\n"
                                                       "aws_secret_access_key = SECRET\n");
    const struct script_step steps[] = {
        post(200, CREDENTIALS("TAKEN", HOUR_ON)),
        session,
        get(ROLES, 200, "node-role"),
        get(ROLES "node-role", 200, KEYS("NODE", HOUR_ON)),
    };

    no_environment(state);
    setenv("AWS_CONFIG_FILE", config, 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", credentials, 1);
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        struct aws_account account = plain;
        struct bench bench = { 0 };
        struct asker asker;

        account.profile = profiles[i].profile;
        bench_open(&bench, &account, steps, COUNT_OF(steps));
        ask(&bench, &asker);
        if (asker.err.kind != profiles[i].kind ||
            !strstr(asker.err.kind == ERROR_NONE ? asker.id : asker.err.text, profiles[i].want) ||
            !strstr(bench.script->transcript->chars, profiles[i].asked) ||
            !strstr(bench.script->authorization, profiles[i].signer))
            fail_msg("%s: %s, %s\n%s", profiles[i].profile, error_kind_name(asker.err.kind),
                     asker.err.text, bench.script->transcript->chars);
        bench_close(&bench);
    }
}

/* The role of the configuration comes last: after a web identity it is signed with its keys. */
static void the_configured_role_is_taken_on_last(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *token = test_folder_write(folder, "token", "JWT");
    const struct script_step steps[] = { post(200, CREDENTIALS("WEB", HOUR_ON)),
                                         post(200, CREDENTIALS("OTHER", HOUR_ON)) };
    struct aws_account account = plain;
    struct bench bench = { 0 };

    no_environment(state);
    setenv("AWS_ROLE_ARN", ARN, 1);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
    account.role = "arn:aws:iam::2:role/other";
    account.external_id = "e";
    bench_open(&bench, &account, steps, COUNT_OF(steps));
    expect_keys(&bench, "OTHER");
    assert_non_null(strstr(bench.script->authorization, "Credential=WEB/"));
    assert_non_null(strstr(bench.script->authorization, "x-amz-security-token"));
    assert_non_null(strstr(bench.script->body, "RoleArn=arn%3Aaws%3Aiam%3A%3A2%3Arole%2Fother"));
    assert_non_null(strstr(bench.script->body, "&ExternalId=e"));
    bench_close(&bench);
}

static void a_wrong_clock_is_corrected_once(void **state)
{
    struct script_step steps[] = { post(400, STS_ERROR("RequestTimeTooSkewed")),
                                   post(200, CREDENTIALS("A", "2026-11-16T08:00:00Z")),
                                   post(400, STS_ERROR("RequestTimeTooSkewed")),
                                   post(400, STS_ERROR("RequestTimeTooSkewed")) };
    struct aws_account account = plain;
    struct bench bench = { 0 };
    struct asker asker;

    no_environment(state);
    setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
    account.role = ARN;
    steps[0].date = "Mon, 16 Nov 2026 07:00:00 GMT";
    steps[2].date = "Mon, 16 Nov 2026 03:00:00 GMT";
    steps[3].date = "Mon, 16 Nov 2026 05:00:00 GMT";
    bench_open(&bench, &account, steps, COUNT_OF(steps));
    expect_keys(&bench, "A");
    assert_string_equal(bench.script->aws_time, "20261116T070000Z");
    assert_int_equal(aws_login_clock(bench.login)->ahead_ms, 7 * HOUR_MS);
    assert_true(aws_login_reject(bench.login, "A"));
    ask(&bench, &asker);
    assert_string_equal(bench.script->aws_time, "20261116T030000Z");
    assert_int_equal(asker.err.kind, ERROR_DENIED);
    assert_non_null(strstr(asker.err.text, "RequestTimeTooSkewed"));
    bench_close(&bench);
}

static void a_login_may_be_freed_while_it_asks(void **state)
{
    struct script_step step = session;
    struct asker asker = { .waiter.ready = hear };
    struct bench bench = { 0 };

    no_environment(state);
    step.hangs = true;
    bench_open(&bench, &plain, &step, 1);
    aws_login_ask(bench.login, &asker.waiter);
    loop_run_until(bench.loop, loop_now(bench.loop) + 100);
    assert_int_equal(bench.script->in_flight, 1);
    aws_login_free(bench.login);
    bench.login = NULL;
    bench_close(&bench);
    assert_int_equal(asker.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_places_are_looked_at_in_their_order),
        cmocka_unit_test(a_web_identity_is_read_again_and_exchanged_once_for_all),
        cmocka_unit_test(old_keys_serve_while_new_ones_cannot_be_had),
        cmocka_unit_test(a_token_service_can_be_named),
        cmocka_unit_test(refused_keys_are_replaced),
        cmocka_unit_test(what_is_wrong_with_an_identity_is_said),
        cmocka_unit_test(a_containers_agent_is_asked_where_that_is_safe),
        cmocka_unit_test(a_metadata_server_is_asked_in_three_steps),
        cmocka_unit_test(profiles_take_on_roles),
        cmocka_unit_test(the_configured_role_is_taken_on_last),
        cmocka_unit_test(a_wrong_clock_is_corrected_once),
        cmocka_unit_test(a_login_may_be_freed_while_it_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
