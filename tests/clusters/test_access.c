/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Credentials and authorities that are replaced while we run: by a script, and over real TLS.
 */
#include "base/log.h"
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"
#include "tests/support/folder.h"
#include "tests/support/identity.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <openssl/ssl.h>

#define NODE_URL SERVER "/api/v1/nodes/n"

static void write_token(const struct bench *bench, const char *server, const char *token)
{
    owned(chars) char *config = text_format(
        "current-context: it\ncontexts: [{name: it, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: '%s'}}]\nusers: [{name: u, user: {token: %s}}]\n",
        server, token);

    bench_write(bench->folder, "config", config);
}

static void patch_node(struct bench *bench)
{
    owned(json) json_t *patch = json_make("{ss}", "a", "b");

    cluster_patch_node(bench->cluster, "n", patch, bench_done, bench);
}

/* Refused, or never let in: a kubeconfig with something new is taken at once, and what surely did
   not happen is sent once more. */
static void a_renewed_kubeconfig_is_tried_once(void **state)
{
    static const struct {
        struct script_step first;
        bool is_repeated;
    } rows[] = {
        { { HTTP_PATCH, NODE_URL, 401, .answer = "{}" }, true },
        { { HTTP_PATCH, NODE_URL, .fails = ERROR_TRANSIENT }, true },
        { { HTTP_PATCH, NODE_URL, .fails = ERROR_INVALID }, true },
        { { HTTP_PATCH, NODE_URL, .fails = ERROR_UNKNOWN_OUTCOME }, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            rows[i].first,
            { HTTP_PATCH, NODE_URL, 200, .answer = "{}" },
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        write_token(&bench, SERVER, "inline");
        patch_node(&bench);
        loop_run(bench.loop);
        assert_int_equal(bench.calls, 1);
        assert_int_equal(bench.err.kind, rows[i].is_repeated ? ERROR_NONE : ERROR_UNKNOWN_OUTCOME);
        if (!rows[i].is_repeated)
            patch_node(&bench); /* it is taken all the same */
        loop_run(bench.loop);
        assert_string_equal(bench.script->authorization, "Bearer inline");
        assert_true(script_is_played(bench.script));
        bench_close(&bench);
    }
}

/* Two that were refused together are both sent again, though only the first has looked. */
static void all_that_were_refused_profit(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_PATCH, NODE_URL, 401, .answer = "{}" },
        { HTTP_PATCH, NODE_URL, 401, .answer = "{}" },
        { HTTP_PATCH, NODE_URL, 200, .answer = "{}" },
        { HTTP_PATCH, NODE_URL, 200, .answer = "{}" },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    write_token(&bench, SERVER, "inline");
    patch_node(&bench);
    patch_node(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 2);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    bench_close(&bench);
}

/* The one that is known stays; the failure says so; and it is looked at again a while later. */
static void a_broken_kubeconfig_changes_nothing(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_PATCH, NODE_URL, .fails = ERROR_TRANSIENT },
        { HTTP_PATCH, NODE_URL, .fails = ERROR_TRANSIENT },
        { HTTP_PATCH, NODE_URL, 404, .answer = "{}" },
        { HTTP_PATCH, NODE_URL, .fails = ERROR_TRANSIENT },
        { HTTP_PATCH, NODE_URL, 200, .answer = "{}" },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    bench_write(bench.folder, "config", "current-context: it\ncontexts: [{na");
    patch_node(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    assert_non_null(strstr(bench.err.text, "its kubeconfig cannot be read again"));
    assert_string_equal(bench.script->authorization, "Bearer first");

    write_token(&bench, SERVER, "inline"); /* too soon to be seen */
    patch_node(&bench);
    loop_run(bench.loop);
    assert_non_null(strstr(bench.err.text, "its kubeconfig cannot be read again"));
    patch_node(&bench); /* this has nothing to do with it */
    loop_run(bench.loop);
    assert_null(strstr(bench.err.text, "kubeconfig"));

    loop_run_until(bench.loop, loop_now(bench.loop) + 5 * SECOND_MS);
    patch_node(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 4);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_string_equal(bench.script->authorization, "Bearer inline");
    bench_close(&bench);
}

static void another_server_is_not_gone_to(void **state)
{
    static const struct script_step steps[] = { { HTTP_PATCH, NODE_URL, 401, .answer = "{}" } };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    write_token(&bench, "https://elsewhere.example", "inline");
    patch_node(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    assert_non_null(strstr(bench.err.text, "leads to another server now"));
    bench_close(&bench);
}

/* Its file is gone: what took its place is in the kubeconfig. */
static void a_token_that_is_not_to_be_had_is_looked_for(void **state)
{
    static const struct script_step steps[] = { { HTTP_PATCH, NODE_URL, 200, .answer = "{}" } };
    struct bench bench;
    owned(chars) char *token = NULL;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    token = text_format("%s/token", bench.folder);
    unlink(token);
    write_token(&bench, SERVER, "inline");
    patch_node(&bench);
    loop_run(bench.loop);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_string_equal(bench.script->authorization, "Bearer inline");
    bench_close(&bench);
}

/* A server with TLS that answers each request with the name of who asked. */
struct scene {
    char *folder;
    struct loop *loop;
    struct evconnlistener *listener;
    SSL_CTX *tls; /* of connections to come */
    struct bufferevent *connections[16];
    int connection_count;
    struct http *http;
    struct random random;
    struct world world;
    struct cluster *cluster;
    int answers;
    char said[64]; /* by the server */
    struct error err;
};

static void on_request(struct bufferevent *connection, void *context)
{
    struct evbuffer *input = bufferevent_get_input(connection);
    X509 *peer = SSL_get1_peer_certificate(bufferevent_openssl_get_ssl(connection));
    char name[64] = "nobody";
    owned(chars) char *body = NULL;

    (void)context;
    if (peer)
        X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof name);
    X509_free(peer);
    if (evbuffer_search(input, "\r\n\r\n", 4, NULL).pos < 0)
        return;
    evbuffer_drain(input, evbuffer_get_length(input));
    body = text_format("{\"name\":\"%s\"}", name);
    evbuffer_add_printf(bufferevent_get_output(connection),
                        "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *context)
{
    struct scene *scene = context;
    struct bufferevent *connection = bufferevent_openssl_socket_new(
        evconnlistener_get_base(listener), fd, SSL_new(scene->tls), BUFFEREVENT_SSL_ACCEPTING,
        BEV_OPT_CLOSE_ON_FREE);

    (void)address;
    (void)size;
    bufferevent_openssl_set_allow_dirty_shutdown(connection, 1);
    require(scene->connection_count < (int)COUNT_OF(scene->connections));
    scene->connections[scene->connection_count++] = connection;
    bufferevent_setcb(connection, on_request, NULL, NULL, scene);
    bufferevent_enable(connection, EV_READ | EV_WRITE);
}

/* Who serves from now on, and whose clients it lets in; all connections end. */
static void serve_as(struct scene *scene, const struct identity *server,
                     const struct identity *authority)
{
    while (scene->connection_count > 0)
        bufferevent_free(scene->connections[--scene->connection_count]);
    SSL_CTX_free(scene->tls);
    scene->tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(scene->tls, server->certificate);
    SSL_CTX_use_PrivateKey(scene->tls, server->key);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(scene->tls), authority->certificate);
    SSL_CTX_set_verify(scene->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_session_id_context(scene->tls, (const unsigned char *)"test", 4);
}

static void write_pems(const struct scene *scene, const struct identity *authority,
                       const struct identity *client)
{
    bench_write(scene->folder, "ca.pem", authority->certificate_pem);
    bench_write(scene->folder, "cert.pem", client->certificate_pem);
    bench_write(scene->folder, "key.pem", client->key_pem);
}

static void scene_begin(struct scene *scene)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    struct error err = { 0 };

    *scene = (struct scene){ .folder = test_folder_new() };
    scene->loop = loop_libevent_new(&err);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    scene->listener = evconnlistener_new_bind(loop_event_base(scene->loop), on_accept, scene,
                                              LEV_OPT_CLOSE_ON_FREE, 16,
                                              (struct sockaddr *)&address, sizeof address);
    require(scene->listener && getsockname(evconnlistener_get_fd(scene->listener),
                                           (struct sockaddr *)&address, &size) == 0);
    scene->http = http_curl_new(scene->loop, NULL, &err);
    random_seed(&scene->random, 1);
    scene->world = (struct world){ scene->loop, scene->http, &scene->random, NULL, NULL };

    owned(chars) char *config = text_format(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%d', "
        "certificate-authority: ca.pem}}]\n"
        "users: [{name: u, user: {client-certificate: cert.pem, client-key: key.pem}}]\n",
        ntohs(address.sin_port));
    bench_write(scene->folder, "config", config);
}

static void scene_open(struct scene *scene)
{
    owned(chars) char *path = text_format("%s/config", scene->folder);
    const struct kube_cluster_settings own = { .kubeconfig = path };
    const struct cluster_settings settings = { .name = "east",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    struct error err = { 0 };

    scene->cluster = cluster_open(&scene->world, &settings, &err);
    if (!scene->cluster)
        fail_msg("%s", err.text);
}

static void scene_end(struct scene *scene)
{
    cluster_close(scene->cluster);
    http_free(scene->http);
    while (scene->connection_count > 0)
        bufferevent_free(scene->connections[--scene->connection_count]);
    evconnlistener_free(scene->listener);
    SSL_CTX_free(scene->tls);
    loop_free(scene->loop);
    owned_test_folder(&scene->folder);
}

static void on_read(void *context, const json_t *body, const struct error *err)
{
    struct scene *scene = context;

    scene->answers++;
    scene->err = err ? *err : (struct error){ 0 };
    text_copy(scene->said, sizeof scene->said, json_text_or(body, "name", ""));
    loop_stop(scene->loop);
}

/* What the server says; fails the test when it cannot be asked and should be. */
static const char *ask(struct scene *scene, bool is_wanted)
{
    int answers = scene->answers;

    cluster_read_node(scene->cluster, "n", on_read, scene);
    loop_run_until(scene->loop, loop_now(scene->loop) + 2 * MINUTE_MS);
    assert_int_equal(scene->answers, answers + 1);
    if (is_wanted != (scene->err.kind == ERROR_NONE))
        fail_msg("%s", scene->err.text);
    return scene->said;
}

static void authorities_and_certificates_are_replaced(void **state)
{
    struct identity old = identity_make("old", NULL, NULL);
    struct identity new = identity_make("new", NULL, NULL);
    struct identity old_server = identity_make("server", "IP:127.0.0.1", &old);
    struct identity new_server = identity_make("server", "IP:127.0.0.1", &new);
    struct identity old_client = identity_make("old-client", NULL, &old);
    struct identity new_client = identity_make("new-client", NULL, &new);
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    serve_as(&scene, &old_server, &old);
    write_pems(&scene, &old, &old_client);
    scene_open(&scene);
    assert_string_equal(ask(&scene, true), "old-client");

    /* The server's certificate, before its authority has reached us. */
    serve_as(&scene, &new_server, &old);
    ask(&scene, false);
    loop_skip(scene.loop, 5100);
    write_pems(&scene, &new, &old_client);
    assert_string_equal(ask(&scene, true), "old-client");
    assert_int_equal(scene.connection_count, 3); /* two that failed, and the second try */

    /* Our own: under TLS 1.3 the alert comes after the request has left. */
    loop_skip(scene.loop, 5100);
    write_pems(&scene, &new, &new_client);
    serve_as(&scene, &new_server, &new);
    for (int i = 0; i < 3 && (i == 0 || scene.err.kind != ERROR_NONE); i++) {
        cluster_read_node(scene.cluster, "n", on_read, &scene);
        loop_run_until(scene.loop, loop_now(scene.loop) + 2 * MINUTE_MS);
    }
    assert_string_equal(scene.said, "new-client");
    assert_string_equal(ask(&scene, true), "new-client");
    scene_end(&scene);

    struct identity *all[] = { &old, &new, &old_server, &new_server, &old_client, &new_client };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        identity_clear(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renewed_kubeconfig_is_tried_once),
        cmocka_unit_test(all_that_were_refused_profit),
        cmocka_unit_test(a_broken_kubeconfig_changes_nothing),
        cmocka_unit_test(another_server_is_not_gone_to),
        cmocka_unit_test(a_token_that_is_not_to_be_had_is_looked_for),
        cmocka_unit_test(authorities_and_certificates_are_replaced),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
