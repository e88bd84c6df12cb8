/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tokens for clusters of EKS: made without a program, right to the letter, and replaced in time.
 */
#include "base/array.h"
#include "base/crypto.h"
#include "base/log.h"
#include "broker/fleet/fleet.h"
#include "clusters/snapshot.h"
#include "providers/aws/aws_eks.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/simulator.h"

#include <stdlib.h>

#define STS "http://127.0.0.1:1/aws/sts"

static const char key_id[] = "AKIASIMULATED0000000";
static const char secret[] = "simulated/secret+of/the+simulator0000000";

/* A request that was passed on. */
struct passed {
    struct watched_http *http;
    http_chunk_fn on_chunk;
    http_done_fn done;
    void *context;
};

/* Passes requests on, and looks at the tokens that they show. */
struct watched_http {
    struct http http; /* first */
    struct http_verbs verbs;
    struct http *inner;
    struct loop *loop;
    char token[4096];
    int64_t since_ms;
    int64_t oldest_ms; /* the greatest age of a token that was shown */
    int tokens;
    int requests;
    int refused;
    ARRAY(struct passed *) passed;
};

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    const struct passed *passed = context;

    passed->http->refused += answer && answer->status == 401;
    passed->done(passed->context, answer, err);
}

static void on_chunk(void *context, const char *bytes, size_t size)
{
    const struct passed *passed = context;

    passed->on_chunk(passed->context, bytes, size);
}

static struct http_exchange *watched_send(struct http *http, const struct http_request *request,
                                          http_done_fn done, void *context)
{
    struct watched_http *watched = (struct watched_http *)http;
    const char *token = http_header_find(request->headers, request->header_count, "Authorization");

    if (token && text_starts_with(token, "Bearer ")) {
        watched->requests++;
        if (!text_equal(token, watched->token)) {
            assert_true(text_copy(watched->token, sizeof watched->token, token));
            watched->since_ms = loop_now(watched->loop);
            watched->tokens++;
        }
        if (loop_now(watched->loop) - watched->since_ms > watched->oldest_ms)
            watched->oldest_ms = loop_now(watched->loop) - watched->since_ms;
    }

    struct passed *passed = mem_new(sizeof *passed);

    struct http_request copy = *request;

    *passed = (struct passed){ watched, request->on_chunk, done, context };
    copy.on_chunk = request->on_chunk ? on_chunk : NULL;
    *array_add(&watched->passed) = passed;
    return watched->inner->verbs->send(watched->inner, &copy, on_answer, passed);
}

struct scene {
    char *folder;
    struct loop *loop;
    struct simulator *simulator;
    struct watched_http http;
    struct random random;
    struct world world;
    struct config *config;
    struct cluster *cluster;
};

static void ignore(void *context)
{
    (void)context;
}

static struct config *read_config(const struct scene *scene, const char *more)
{
    struct error err = { 0 };
    owned(chars) char *text = text_format(
        "time_zone: UTC\n"
        "clusters:\n"
        "  prod: {role: production, kubeconfig: prod.kubeconfig, eks: prod-1, region: us-east-1,\n"
        "         sts_endpoint: '" STS "'%s}\n"
        "reservations:\n"
        "  main: {machine: p5.48xlarge, region: us-east-1, zone: us-east-1a, gpus_per_node: 8,"
        " nodes: 4}\n"
        "providers:\n"
        "  amazon: {kind: aws, region: us-east-1}\n"
        "pools:\n"
        "  prod-main: {cluster: prod, reservation: main, provider: amazon, group: asg-prod}\n"
        "queues:\n"
        "  chat: {wait_target: 2s, service: 20s}\n"
        "workloads:\n"
        "  chat-8x: {queue: chat, gpus: 8, clusters: {prod: {}}}\n",
        more);
    owned(chars) char *path = test_folder_write(scene->folder, "sluice.yaml", text);
    struct config *config = config_read(path, &err);

    if (!config)
        fail_msg("%s", err.text);
    return config;
}

/* A kubeconfig as `aws eks update-kubeconfig` writes it: with a program that must not run. */
static void write_kubeconfig(const struct scene *scene)
{
    mem_free(test_folder_write(
        scene->folder, "prod.kubeconfig",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1/clusters/prod'}}]\n"
        "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1,\n"
        "  command: aws, args: [eks, get-token]}}}]\n"));
}

static void scene_open(struct scene *scene, const char *more)
{
    static const struct wall_time start = { 1790000000000 };
    struct error err = { 0 };

    *scene = (struct scene){ .folder = test_folder_new() };
    setenv("AWS_ACCESS_KEY_ID", key_id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    unsetenv("AWS_SESSION_TOKEN");
    scene->config = read_config(scene, more);
    write_kubeconfig(scene);

    owned(chars) char *world = test_folder_write(scene->folder, "world.yaml",
                                                 "pools: {prod-main: {nodes: 2}}\n");

    scene->loop = loop_virtual_new(start);
    scene->simulator = simulator_new(scene->loop, scene->config->path, world, &err);
    if (!scene->simulator)
        fail_msg("%s", err.text);
    scene->http.inner = simulator_http(scene->simulator);
    scene->http.verbs = *scene->http.inner->verbs;
    scene->http.verbs.send = watched_send;
    scene->http.http.verbs = &scene->http.verbs;
    scene->http.loop = scene->loop;
    random_seed(&scene->random, 1);
    scene->world = (struct world){ scene->loop, &scene->http.http, &scene->random, NULL, NULL };
    scene->cluster = fleet_open_cluster(&scene->world, scene->config, &scene->config->clusters[0],
                                        &err);
    if (!scene->cluster)
        fail_msg("%s", err.text);
}

static void scene_close(struct scene *scene)
{
    cluster_close(scene->cluster);
    simulator_free(scene->simulator);
    for (size_t i = 0; i < scene->http.passed.count; i++)
        mem_free(scene->http.passed.items[i]);
    array_clear(&scene->http.passed);
    loop_free(scene->loop);
    config_free(scene->config);
    owned_test_folder(&scene->folder);
}

/* Each quarter of an hour brings a new token before the old one is refused. */
static void expect_hours(const char *more, int hours)
{
    struct scene scene;

    scene_open(&scene, more);
    cluster_watch(scene.cluster, ignore, NULL);
    for (int64_t ms = 0; ms < hours * HOUR_MS; ms += MINUTE_MS) {
        loop_run_until(scene.loop, loop_now(scene.loop) + MINUTE_MS);
        if (cluster_trouble(scene.cluster)[0])
            fail_msg("after %d min: %s", (int)(ms / MINUTE_MS), cluster_trouble(scene.cluster));
    }
    assert_int_equal((int)map_count(cluster_snapshot(scene.cluster)->nodes), 2);
    assert_int_equal(scene.http.refused, 0);
    assert_in_range(scene.http.oldest_ms, 5 * MINUTE_MS, 14 * MINUTE_MS);
    assert_in_range(scene.http.tokens, hours * 60 / 14, hours * 60 / 5);
    assert_true(scene.http.requests > 2 * scene.http.tokens);
    scene_close(&scene);
}

static void a_token_is_replaced_in_time(void **state)
{
    (void)state;
    expect_hours("", 3);
}

/* Keys of a role end after an hour, and tokens with them. */
static void a_token_of_a_role_is_replaced_in_time(void **state)
{
    (void)state;
    expect_hours(", iam_role: 'arn:aws:iam::123456789012:role/sluice'", 3);
}

static void on_token(void *context, const char *chars, int64_t ends_ms, const struct error *err)
{
    (void)err;
    assert_non_null(chars);
    *(int64_t *)context = ends_ms;
}

/* Keys of a role are good for an hour here, and are replaced five minutes before. */
static void a_token_ends_with_its_keys(void **state)
{
    static char eks[] = "prod-1", region[] = "us-east-1", sts[] = STS;
    static char role[] = "arn:aws:iam::123456789012:role/sluice";
    static const struct kube_login_settings settings = {
        .eks = eks, .region = region, .role = role, .sts_endpoint = sts
    };
    struct scene scene;
    struct kube_login *login;
    int64_t ends_ms = 0;

    (void)state;
    scene_open(&scene, "");
    login = aws_eks_log_in(&scene.world, &settings);
    login->ask(login, on_token, &ends_ms);
    loop_run_until(scene.loop, 50 * MINUTE_MS);
    assert_in_range(ends_ms, 14 * MINUTE_MS, 15 * MINUTE_MS);
    login->ask(login, on_token, &ends_ms);
    loop_run_until(scene.loop, 51 * MINUTE_MS);
    assert_in_range(ends_ms, 59 * MINUTE_MS, 61 * MINUTE_MS);
    login->ask(login, on_token, &ends_ms);
    login->free(login); /* and nothing comes */
    loop_run_until(scene.loop, 52 * MINUTE_MS);
    scene_close(&scene);
}

/* Computed by another implementation of the signature. */
static void a_token_is_a_signed_url(void **state)
{
    static const struct {
        const char *token;
        const char *signature;
    } vectors[] = {
        { NULL, "1d3211f8bae739d5d574a18798bd2c9de093465d1d00a7982ecb9fe3af5376e8" },
        { "SESSION/+=", "f4bdae380e107d9e17696ef1ae7b8d15e03727addfc74b2a7529c0603dff42ee" },
    };
    const struct aws_scope scope = { "eu-west-1", "sts", { 1794787200000 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        char id[] = "AKID", secret_of_it[] = "SECRET", session[] = "SESSION/+=";
        const struct aws_keys keys = { id, secret_of_it, vectors[i].token ? session : NULL };
        struct error err = { 0 };
        owned(chars) char *token = aws_eks_token(
            &keys, &scope, "https://sts.eu-west-1.amazonaws.com", "prod", &err);
        owned(text) struct text *wanted = text_new(TEXT_UNBOUNDED);
        owned(chars) char *url = text_format(
            "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
            "&X-Amz-Expires=60&X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKID%%2F20261116%%2Feu-west-1%%2Fsts%%2Faws4_request"
            "&X-Amz-Date=20261116T000000Z&X-Amz-SignedHeaders=host%%3Bx-k8s-aws-id%s"
            "&X-Amz-Signature=%s",
            vectors[i].token ? "&X-Amz-Security-Token=SESSION%2F%2B%3D" : "", vectors[i].signature);

        assert_non_null(token);
        text_add(wanted, "k8s-aws-v1.");
        crypto_add_base64url(wanted, url, strlen(url));
        assert_string_equal(token, wanted->chars);
    }
}

/* The simulator is as strict as the service: else the tests above would show nothing. */
static void a_wrong_token_is_refused(void **state)
{
    static const struct {
        const char *cluster, *secret, *service, *sts;
        int64_t age_ms;
        bool is_good;
    } tokens[] = {
        { "prod-1", secret, "sts", STS, 0, true },
        { "prod-1", secret, "sts", STS, 14 * MINUTE_MS, true },
        { "prod-1", secret, "sts", STS, 15 * MINUTE_MS, false },
        { "prod-1", secret, "sts", STS, -6 * MINUTE_MS, false },
        { "prod-2", secret, "sts", STS, 0, false },
        { "prod-1", "another", "sts", STS, 0, false },
        { "prod-1", secret, "eks", STS, 0, false },
        { "prod-1", secret, "sts", STS "/x?a=b&", 0, false },
    };
    struct scene scene;

    (void)state;
    scene_open(&scene, "");
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        owned(chars) char *id = mem_copy_chars(key_id);
        owned(chars) char *with = mem_copy_chars(tokens[i].secret);
        const struct aws_keys keys = { id, with, NULL };
        const struct aws_scope scope = { "us-east-1",
                                         tokens[i].service,
                                         { loop_wall(scene.loop).ms - tokens[i].age_ms } };
        struct error err = { 0 };
        owned(chars) char *token = aws_eks_token(&keys, &scope, tokens[i].sts, tokens[i].cluster,
                                                 &err);
        owned(chars) char *padded = text_format("%s=", token);
        owned(chars) char *cut = text_format("%.*s", (int)strlen(token) - 4, token);

        assert_int_equal(sim_eks_token_is_good(scene.simulator, token, "prod-1"),
                         tokens[i].is_good);
        assert_false(sim_eks_token_is_good(scene.simulator, padded, "prod-1"));
        assert_false(sim_eks_token_is_good(scene.simulator, cut, "prod-1"));
    }
    assert_false(sim_eks_token_is_good(scene.simulator, "sim-prod", "prod-1"));
    scene_close(&scene);
}

/* Keys that are wrong are named, and nothing hangs. */
static void keys_that_lack_are_a_trouble(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, ", profile: nobody, credentials: nowhere");
    cluster_watch(scene.cluster, ignore, NULL);
    loop_run_until(scene.loop, loop_now(scene.loop) + MINUTE_MS);
    assert_string_not_equal(cluster_trouble(scene.cluster), "");
    if (!strstr(cluster_trouble(scene.cluster), "nowhere"))
        fail_msg("%s", cluster_trouble(scene.cluster));
    assert_int_equal(scene.http.requests, 0);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_a_signed_url),
        cmocka_unit_test(a_wrong_token_is_refused),
        cmocka_unit_test(a_token_is_replaced_in_time),
        cmocka_unit_test(a_token_of_a_role_is_replaced_in_time),
        cmocka_unit_test(a_token_ends_with_its_keys),
        cmocka_unit_test(keys_that_lack_are_a_trouble),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
