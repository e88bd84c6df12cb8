/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Credential plugins over real sockets: run once for many requests, again when the server refuses
 * their token or before it expires, and a plugin that fails is a failure that says so.
 */
#include "base/log.h"
#include "base/world/http_server.h"
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"
#include "tests/support/folder.h"

/* Prints what the file `credential` holds and counts its runs. */
static const char plugin_script[] = "#!/bin/sh\n"
                                    "cd \"${0%/*}\" || exit 9\n"
                                    "echo run >> runs\n"
                                    "[ -n \"$KUBERNETES_EXEC_INFO\" ] || exit 8\n"
                                    "exec cat credential\n";

struct scene {
    char *folder;
    struct loop *loop;
    struct http_server *server;
    struct http *http;
    struct random random;
    struct world world;
    struct cluster *cluster;
    const char *good; /* the token that the server takes */
    int accepted;
    int refused;
    int wanted; /* answers to wait for */
    struct error err;
};

static void on_call(void *context, struct http_call *call)
{
    static const char node[] = "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}";
    static const char no[] =
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":401,\"reason\":\"Unauthorized\"}";
    struct scene *scene = context;
    owned(chars) char *want = text_format("Bearer %s", scene->good);
    bool is_good = text_equal(http_call_header(call, "Authorization"), want);

    if (is_good)
        scene->accepted++;
    else
        scene->refused++;
    http_call_answer(
        call, &(struct http_reply){ .status = is_good ? 200 : 401,
                                    .body = is_good ? node : no,
                                    .body_size = is_good ? sizeof node - 1 : sizeof no - 1 });
}

static void set_credential(const struct scene *scene, const char *token, int64_t expires_in_ms)
{
    struct wall_time expires = { loop_wall(scene->loop).ms + expires_in_ms };
    char text[WALL_TEXT_SIZE];
    owned(chars) char *credential = text_format(
        "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\","
        "\"status\":{\"token\":\"%s\",\"expirationTimestamp\":\"%s\"}}",
        token, wall_format(expires, text));

    bench_write(scene->folder, "credential", credential);
}

static int runs(const struct scene *scene)
{
    owned(chars) char *path = text_format("%s/runs", scene->folder);
    owned(text) struct text *file = file_read(path, 4096, NULL);

    return file ? (int)(file->length / strlen("run\n")) : 0;
}

static void scene_begin(struct scene *scene)
{
    struct error err = { 0 };
    int port = 0;

    *scene = (struct scene){ .folder = test_folder_new() };
    scene->loop = loop_libevent_new(&err);
    scene->server = http_server_new(scene->loop, on_call, scene);
    assert_int_equal(http_server_listen_loopback(scene->server, 0, &port, &err), 0);
    scene->http = http_curl_new(scene->loop, NULL, &err);
    random_seed(&scene->random, 1);
    scene->world = (struct world){ scene->loop, scene->http, &scene->random, NULL, NULL };

    owned(chars) char *plugin = text_format("%s/get-token", scene->folder);
    owned(chars) char *path = text_format("%s/config", scene->folder);
    owned(chars) char *config = text_format(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
        "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1,\n"
        "  command: get-token, interactiveMode: Never}}}]\n",
        port);
    assert_int_equal(file_write(plugin, plugin_script, strlen(plugin_script), 0700, &err), 0);
    bench_write(scene->folder, "config", config);
    const struct kube_cluster_settings own = { .kubeconfig = path, .plugin = plugin };
    const struct cluster_settings settings = { .name = "east",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    scene->cluster = cluster_open(&scene->world, &settings, &err);
    if (!scene->cluster)
        fail_msg("%s", err.text);
}

static void scene_end(struct scene *scene)
{
    cluster_close(scene->cluster);
    http_free(scene->http);
    http_server_free(scene->server);
    loop_free(scene->loop);
    owned_test_folder(&scene->folder);
}

static void on_read(void *context, const json_t *body, const struct error *err)
{
    struct scene *scene = context;

    (void)body;
    if (err)
        scene->err = *err;
    if (--scene->wanted == 0)
        loop_stop(scene->loop);
}

/* So many reads at once, until all are answered. */
static void read_nodes(struct scene *scene, int count)
{
    scene->wanted = count;
    scene->err = (struct error){ 0 };
    for (int i = 0; i < count; i++)
        cluster_read_node(scene->cluster, "a", on_read, scene);
    loop_run_until(scene->loop, loop_now(scene->loop) + 2 * MINUTE_MS);
    assert_int_equal(scene->wanted, 0);
}

static void one_run_serves_many_requests(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    set_credential(&scene, "one", HOUR_MS);
    scene.good = "one";
    read_nodes(&scene, 8);
    read_nodes(&scene, 8);
    assert_int_equal(scene.accepted, 16);
    assert_int_equal(runs(&scene), 1);
    scene_end(&scene);
}

/* It is run again, but not forever: a server that takes no token does not make us run it again
   and again. */
static void a_refused_token_is_renewed_once_in_a_while(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    set_credential(&scene, "one", HOUR_MS);
    scene.good = "two";
    read_nodes(&scene, 3);
    assert_int_equal(scene.err.kind, ERROR_DENIED);
    assert_int_equal(scene.refused, 3); /* too soon after its first run */
    assert_int_equal(runs(&scene), 1);

    loop_skip(scene.loop, 5100);
    set_credential(&scene, "two", HOUR_MS);
    read_nodes(&scene, 3);
    assert_int_equal(scene.err.kind, ERROR_NONE);
    assert_int_equal(scene.accepted, 3);
    assert_int_equal(runs(&scene), 2);
    scene_end(&scene);
}

static void a_token_that_is_about_to_expire_is_renewed_first(void **state)
{
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    set_credential(&scene, "one", MINUTE_MS + 5 * SECOND_MS);
    scene.good = "one";
    read_nodes(&scene, 1);
    assert_int_equal(runs(&scene), 1);
    set_credential(&scene, "two", HOUR_MS);
    scene.good = "two";
    loop_skip(scene.loop, 5100);
    read_nodes(&scene, 2);
    assert_int_equal(scene.accepted, 3);
    assert_int_equal(scene.refused, 0);
    assert_int_equal(runs(&scene), 2);
    scene_end(&scene);
}

static void what_a_plugin_may_print_wrong(void **state)
{
#define V1 "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\","
    static const struct {
        const char *credential;
        const char *says;
    } rows[] = {
        { "", "the plugin's output" },
        { "token", "the plugin's output" },
        { "{}", "no ExecCredential of client.authentication.k8s.io/v1beta1" },
        { "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\"}",
          "no ExecCredential of client.authentication.k8s.io/v1beta1" },
        { V1 "\"status\":{}}", "gave no token" },
        { V1 "\"status\":{\"token\":\"a\\nb\"}}", "not one line" },
        { V1 "\"status\":{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}}",
          "expirationTimestamp" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;

        scene_begin(&scene);
        bench_write(scene.folder, "credential", rows[i].credential);
        scene.good = "one";
        read_nodes(&scene, 2);
        assert_int_equal(scene.err.kind, ERROR_TRANSIENT);
        if (!strstr(scene.err.text, rows[i].says) || !strstr(scene.err.text, "credential plugin"))
            fail_msg("%s: %s", rows[i].credential, scene.err.text);
        assert_int_equal(scene.accepted + scene.refused, 0);
        assert_int_equal(runs(&scene), 1);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_serves_many_requests),
        cmocka_unit_test(a_refused_token_is_renewed_once_in_a_while),
        cmocka_unit_test(a_token_that_is_about_to_expire_is_renewed_first),
        cmocka_unit_test(what_a_plugin_may_print_wrong),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
