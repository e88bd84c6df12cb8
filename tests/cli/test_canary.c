/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Secrets of every kind are planted, and servers repeat whatever they are sent: in sentences, in
 * objects, in damaged bodies, in streams, in headers.  The service on real sockets meets all of
 * them; then none of the secrets is in its log, its status, its events, its answers or its journal.
 */
#include "base/log.h"
#include "base/world/http_server.h"
#include "broker/api/api.h"
#include "broker/journal/journal.h"
#include "broker/service/service.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"
#include "tests/support/folder.h"

enum { TIMES = 8, LIMIT_MS = 60 * SECOND_MS, LOOK_MS = 100 };

/* Found by their middle, so that a part of one is found as well. */
#define CANARY "tyger.burning-bright"
static const char *const planted[] = { "kube." CANARY ".token", "file." CANARY ".token",
                                       "cloud." CANARY ".token" };

struct scene {
    char *folder;
    struct loop *loop;
    struct http_server *servers, *door;
    struct http *http;
    struct random random;
    struct world world;
    struct config *config;
    struct service *service;
    struct access *access;
    struct api *api;
    struct text *seen; /* log and answers: all that anybody can read */
    size_t parroted[COUNT_OF(planted)];
    int answers;
};

/* What is said, in the place of each @. */
static char *fill(const char *form, const char *said)
{
    struct text *text = text_new(TEXT_UNBOUNDED);

    for (; *form; form++)
        if (*form == '@')
            text_add(text, "%s", said);
        else
            text_add(text, "%.1s", form);
    return text_take(text);
}

/* The last is a watch's or a list's first piece, cut within the secret. */
static void parrot(struct http_call *call, const char *said, size_t turn)
{
    static const struct {
        int status;
        const char *form;
    } forms[] = {
        { 403, "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"
               "\"message\":\"@ may not\",\"error\":{\"message\":\"@ may not\"}}" },
        { 500, "@: internal error of @" },
        { 200,
          "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":"
          "{\"name\":\"@\",\"uid\":\"@\"},\"spec\":7}]}" },
        { 200, "@ {\"a\": @" },
        { 429, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":429,\"message\":\"@\","
               "\"details\":{\"causes\":[{\"message\":\"@\"}]}}" },
        { 200, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":"
               "\"@ @\"}}\n" },
        { 404, "{\"error\":{\"code\":404,\"status\":\"@\",\"message\":\"@\"}}" },
    };
    size_t form = turn % (COUNT_OF(forms) + 1);
    struct http_header echo = { "WWW-Authenticate", said };
    owned(chars) char *body = NULL;

    if (form < COUNT_OF(forms)) {
        body = fill(forms[form].form, said);
        http_call_answer(call, &(struct http_reply){ .status = forms[form].status,
                                                     .headers = &echo,
                                                     .header_count = 1,
                                                     .body = body,
                                                     .body_size = strlen(body) });
        return;
    }
    body = text_format("{\"type\":\"%s", said);
    http_call_stream_begin(call, NULL, NULL, NULL);
    http_call_stream_send(call, body, strlen(body) - 9);
    http_call_stream_send(call, body + strlen(body) - 9, 9);
    http_call_stream_end(call);
}

static void answer(void *context, struct http_call *call)
{
    static const struct http_header flavor = { "Metadata-Flavor", "Google" };
    struct scene *scene = context;
    const char *said = http_call_header(call, "Authorization");
    owned(chars) char *token = text_format("{\"access_token\":\"%s\",\"expires_in\":3600}",
                                           planted[2]);

    for (size_t i = 0; said && i < COUNT_OF(planted); i++)
        if (strstr(said, planted[i]))
            return parrot(call, said, scene->parroted[i]++);
    http_call_answer(call, &(struct http_reply){ .status = 200,
                                                 .headers = &flavor,
                                                 .header_count = 1,
                                                 .body = token,
                                                 .body_size = strlen(token) });
}

static void hear(void *context, const char *line)
{
    struct scene *scene = context;

    text_add(scene->seen, "%s\n", line);
}

static void write_files(struct scene *scene, int port)
{
    owned(text) struct text *config = text_new(1 << 16);
    owned(chars) char *first = text_format(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
        "users: [{name: u, user: {token: %s}}]\n",
        port, planted[0]);
    owned(chars) char *second = text_format(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
        "users: [{name: u, user: {tokenFile: token}}]\n",
        port);

    for (const char *at = small_config; *at; at++)
        if (strncmp(at, "127.0.0.1:1/", 12) == 0) {
            text_add(config, "127.0.0.1:%d", port);
            at += strlen("127.0.0.1:1") - 1;
        } else if (strncmp(at, "':memory:'", 10) == 0) {
            text_add(config, "sluice.db\npoll: 1s");
            at += strlen("':memory:'") - 1;
        } else {
            text_add(config, "%.1s", at);
        }
    mem_free(test_folder_write(scene->folder, "sluice.yaml", config->chars));
    mem_free(test_folder_write(scene->folder, "prod-a.kubeconfig", first));
    mem_free(test_folder_write(scene->folder, "research-a.kubeconfig", second));
    mem_free(test_folder_write(scene->folder, "token", planted[1]));
}

static void scene_begin(struct scene *scene)
{
    struct error err = { 0 };
    int port = 0;

    *scene = (struct scene){ .folder = test_folder_new(), .seen = text_new(TEXT_UNBOUNDED) };
    scene->loop = loop_libevent_new(&err);
    scene->http = http_curl_new(scene->loop, NULL, &err);
    scene->servers = http_server_new(scene->loop, answer, scene);
    assert_int_equal(http_server_listen_loopback(scene->servers, 0, &port, &err), 0);
    write_files(scene, port);
    random_seed(&scene->random, 1);
    log_setup(LOG_DEBUG, LOG_FORM_TEXT);
    log_set_sink(hear, scene);

    owned(chars) char *path = text_format("%s/sluice.yaml", scene->folder);

    scene->config = config_read(path, &err);
    if (!scene->config)
        fail_msg("%s", err.text);
    scene->world = (struct world){ scene->loop, scene->http, &scene->random,
                                   journal_sqlite_open(scene->config->journal, &err), NULL };
    scene->service = service_open(&scene->world, scene->config, &err);
    if (!scene->service)
        fail_msg("%s", err.text);
    scene->access = access_new(&(struct access_rules){ 0 }, NULL);
    scene->api = api_new(scene->service, scene->access, scene->loop);
    scene->door = http_server_new(scene->loop, api_handle, scene->api);
    assert_int_equal(http_server_listen_unix(scene->door, scene->config->socket, 0600, &err), 0);
}

static void keep_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct scene *scene = context;

    scene->answers++;
    assert_null(err);
    text_add_bytes(scene->seen, answer->body, answer->body_size);
}

/* Everything that the socket tells, and a plan and a reclaim that cannot be. */
static void ask_everything(struct scene *scene)
{
    static const struct {
        enum http_method method;
        const char *path, *body;
    } calls[] = {
        { HTTP_GET, "/v1/status", NULL },
        { HTTP_GET, "/v1/events?count=1000", NULL },
        { HTTP_GET, "/v1/transfers?all=true", NULL },
        { HTTP_GET, "/v1/departures", NULL },
        { HTTP_GET, "/v1/hosts", NULL },
        { HTTP_POST, "/v1/plan", "{}" },
        { HTTP_POST, "/v1/reclaim",
          "{\"cluster\":\"prod-a\",\"nodes\":1,\"reason\":\"x\",\"is_dry_run\":true}" },
    };

    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        owned(chars) char *url = text_format("http://localhost%s", calls[i].path);
        struct http_request request = { .method = calls[i].method,
                                        .url = url,
                                        .unix_socket = scene->config->socket,
                                        .body = calls[i].body,
                                        .body_size = calls[i].body ? strlen(calls[i].body) : 0,
                                        .timeout_ms = 10 * SECOND_MS };

        http_send(scene->http, &request, keep_answer, scene);
    }
    while (scene->answers < (int)COUNT_OF(calls))
        loop_run_until(scene->loop, loop_now(scene->loop) + LOOK_MS);
}

static void scene_end(struct scene *scene)
{
    http_server_free(scene->door);
    service_close(scene->service);
    api_free(scene->api);
    access_free(scene->access);
    journal_close(scene->world.journal);
    http_free(scene->http);
    http_server_free(scene->servers);
    loop_free(scene->loop);
    log_set_sink(NULL, NULL);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    config_free(scene->config);
}

static void no_canary_is_seen(const struct text *text, const char *where)
{
    const char *found = memmem(text->chars, text->length, CANARY, strlen(CANARY));

    if (found)
        fail_msg("%s: ...%.300s", where, found - text->chars > 100 ? found - 100 : text->chars);
}

/* Each of them in each of the forms. */
static bool was_repeated(const struct scene *scene, size_t times)
{
    for (size_t i = 0; i < COUNT_OF(planted); i++)
        if (scene->parroted[i] < times)
            return false;
    return true;
}

static void no_secret_is_told_to_anybody(void **state)
{
    static const char *const files[] = { "sluice.db", "sluice.db-wal" };
    struct scene scene;
    int64_t end_ms;

    (void)state;
    scene_begin(&scene);
    service_start(scene.service);
    end_ms = loop_now(scene.loop) + LIMIT_MS;
    while (!was_repeated(&scene, TIMES) && loop_now(scene.loop) < end_ms)
        loop_run_until(scene.loop, loop_now(scene.loop) + LOOK_MS);
    ask_everything(&scene);
    assert_true(was_repeated(&scene, TIMES));
    no_canary_is_seen(scene.seen, "log and answers");
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        owned(chars) char *path = text_format("%s/%s", scene.folder, files[i]);
        owned(text) struct text *bytes = file_read(path, 64 << 20, NULL);

        if (bytes)
            no_canary_is_seen(bytes, files[i]);
    }
    /* What the servers said did come through. */
    assert_non_null(strstr(scene.seen->chars, "[redacted] may not"));
    scene_end(&scene);
    text_free(scene.seen);
    test_folder_free(scene.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_secret_is_told_to_anybody),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
