/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See client.h.
 */
#include "broker/terminal/client.h"

#include "base/file.h"
#include "base/input/json.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/world/loop.h"
#include "broker/access/access.h"
#include "broker/api/answers.h"
#include "broker/terminal/output.h"
#include "broker/terminal/times.h"
#include "windows/allocation/schedule.h"
#include "windows/forecast/forecast_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THROTTLED_TRIES = 5 };
enum {
    CALL_TIMEOUT_MS = 30 * SECOND_MS,
    ANSWER_LIMIT = 64 << 20,
    PEM_LIMIT = 256 << 10,
    TOKEN_LIMIT = 16 << 10,
    SCHEDULE_LIMIT = 256 << 10
};

struct config *client_config(const struct command_call *call, int *ret_code)
{
    struct error err = { 0 };
    owned(chars) char *path = config_find(call_text(call, "config"), &err);
    struct config *config = path ? config_read(path, &err) : NULL;

    if (!config)
        *ret_code = call_fail(call, EXIT_ERROR, &err);
    return config;
}

static const char *option_or_environment(const struct command_call *call, const char *option,
                                         const char *variable)
{
    const char *value = call_text_or(call, option, getenv(variable));

    return value && value[0] != '\0' ? value : NULL;
}

/* Reads the PEM file that an option names.  false: it cannot be read. */
static bool read_pem(const char *path, char **ret_pem, struct error *err)
{
    struct text *text = path ? trust_read(path, PEM_LIMIT, err) : NULL;

    if (text)
        *ret_pem = text_take(text);
    return !path || text;
}

/* The one line of a token's file. */
static bool read_token(const char *path, char **ret_header, struct error *err)
{
    struct text *text = path ? trust_read(path, TOKEN_LIMIT, err) : NULL;
    size_t length = text ? strcspn(text->chars, "\r\n") : 0;

    if (!path)
        return true;
    if (text && (length == 0 || strspn(text->chars + length, "\r\n") + length != text->length))
        error_set(err, ERROR_INVALID, "%s: expected one line with a token", path);
    else if (text)
        *ret_header = text_format("Bearer %.*s", (int)length, text->chars);
    if (text)
        secret_free(text_take(text));
    return *ret_header != NULL;
}

static int find_remote(const struct command_call *call, struct config_remote *remote,
                       struct error *err)
{
    const char *url = option_or_environment(call, "server", "SLUICE_SERVER");
    size_t length = url ? strlen(url) : 0;

    if (!url)
        return 0;
    if (!text_starts_with(url, "https://") || strchr(url + strlen("https://"), '?') ||
        http_check_url(url, err) < 0)
        return error_set(err, ERROR_INVALID, "--server: expected https://HOST:PORT, found %.200s",
                         url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    remote->url = text_format("%.*s", (int)length, url);
    if (!read_pem(option_or_environment(call, "ca", "SLUICE_CA"), &remote->ca_pem, err) ||
        !read_pem(option_or_environment(call, "client-certificate", "SLUICE_CLIENT_CERTIFICATE"),
                  &remote->certificate_pem, err) ||
        !read_pem(option_or_environment(call, "client-key", "SLUICE_CLIENT_KEY"), &remote->key_pem,
                  err))
        return -1;
    if (!read_token(option_or_environment(call, "token", "SLUICE_TOKEN_FILE"),
                    &remote->authorization, err))
        return -1;
    if (!remote->certificate_pem != !remote->key_pem)
        return error_set(err, ERROR_INVALID,
                         "--client-certificate and --client-key belong together");
    return 0;
}

/* A service elsewhere has its own configuration: without a file here, --server alone will do. */
static struct config *read_near(const struct command_call *call, int *ret_code)
{
    struct error err = { 0 };
    owned(chars) char *path = config_find(call_text(call, "config"), &err);

    if (!path && err.kind == ERROR_NOT_FOUND && !call_text(call, "config") &&
        option_or_environment(call, "server", "SLUICE_SERVER"))
        return config_remote_only();
    return client_config(call, ret_code);
}

struct config *client_service(const struct command_call *call, int *ret_code)
{
    owned(config) struct config *config = read_near(call, ret_code);
    struct error err = { 0 };

    times_begin(call_flag(call, "utc"));
    if (!config)
        return NULL;
    if (config->windows)
        times_use_zone(time_zone_name(config->windows->zone));
    if (find_remote(call, &config->remote, &err) < 0) {
        *ret_code = call_fail(call, EXIT_ERROR, &err);
        return NULL;
    }
    return steal(&config);
}

/* One exchange that is waited for. */
struct waiting {
    struct loop *loop;
    struct error *err;
    json_t *answer;
};

static void take_answer(struct waiting *waiting, const struct http_answer *answer)
{
    owned(json) json_t *body = json_parse(answer->body, answer->body_size, "answer of the service",
                                          waiting->err);

    if (!body)
        return;
    if (answer->status == 200) {
        times_use_zone(json_text_or(body, "time_zone", NULL));
        waiting->answer = steal(&body);
        return;
    }
    error_set(waiting->err, error_kind_of_name(json_text_or(body, "error/kind", "bug")), "%s",
              json_text_or(body, "error/text", "the service gave no reason"));
    if (text_equal(json_text_or(body, "error/cause", ""), access_not_allowed.name))
        error_because(waiting->err, &access_not_allowed);
    if (text_equal(json_text_or(body, "error/cause", ""), access_not_known.name))
        error_because(waiting->err, &access_not_known);
    error_wait(waiting->err, json_int_or(body, "error/retry_after_ms", 0));
}

static void answered(void *context, const struct http_answer *answer, const struct error *err)
{
    struct waiting *waiting = context;

    require(!answer == !!err && !waiting->answer); /* answered once */
    if (answer)
        take_answer(waiting, answer);
    else
        *waiting->err = *err;
    loop_stop(waiting->loop);
}

/* The request was not sent: either we may not open the socket, or no service is there. */
static void explain_silence(const struct config *config, struct error *err)
{
    if (config->remote.url)
        error_context(err, "no service answers at %s", config->remote.url);
    else if (http_socket_check(config->socket, err) < 0)
        error_because(err, &access_not_allowed);
    else
        error_set(err, ERROR_TRANSIENT,
                  "no service answers at %s: start it with `sluice serve --config %s`",
                  config->socket, config->path);
}

/* With TLS 1.3 a server refuses a client's certificate after the client has sent its request. */
static const char not_accepted[] = " (if that happens each time, it does not accept your "
                                   "certificate)";

static json_t *ask_once(const struct config *config, enum http_method method, const char *path,
                        const json_t *body, struct error *err)
{
    owned(loop) struct loop *loop = loop_libevent_new(err);
    owned(http) struct http *http = loop ? http_curl_new(loop, NULL, err) : NULL;
    owned(chars) char *text = body ? json_print(body) : NULL;
    const struct config_remote *remote = &config->remote;
    owned(chars) char *url = text_format("%s%s", remote->url ?: "http://localhost", path);
    const struct http_tls tls = { .ca_pem = remote->ca_pem,
                                  .certificate_pem = remote->certificate_pem,
                                  .key_pem = remote->key_pem };
    const struct http_header headers[] = { { "Content-Type", "application/json" },
                                           { "Authorization", remote->authorization } };
    struct waiting waiting = { .loop = loop, .err = err };
    struct http_request request = {
        .method = method,
        .url = url,
        .unix_socket = remote->url ? NULL : config->socket,
        .tls = &tls,
        .headers = headers,
        .header_count = remote->authorization ? 2 : 1,
        .body = text,
        .body_size = text ? strlen(text) : 0,
        .is_mutation = method != HTTP_GET,
        .timeout_ms = CALL_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    require(path[0] == '/');
    if (!http)
        return NULL;
    http_send(http, &request, answered, &waiting);
    loop_run(loop);
    if (!waiting.answer && err->kind == ERROR_UNKNOWN_OUTCOME)
        error_context(err, "the service at %s took the request and did not answer%s",
                      remote->url ?: config->socket, remote->url ? not_accepted : "");
    if (!waiting.answer && err->kind == ERROR_TRANSIENT)
        explain_silence(config, err);
    return waiting.answer;
}

json_t *client_ask(const struct config *config, enum http_method method, const char *path,
                   const json_t *body, struct error *err)
{
    for (int tries = 1;; tries++) {
        json_t *answer = ask_once(config, method, path, body, err);

        if (answer || err->kind != ERROR_THROTTLED || tries == THROTTLED_TRIES)
            return answer;
        client_rest(err->retry_after_ms); /* the service has done nothing */
    }
}

int client_fail(const struct command_call *call, const struct error *failure)
{
    owned(chars) char *text = times_local(failure->text);
    struct error copy = *failure;
    const struct error *err = &copy;

    require(err->kind != ERROR_NONE);
    text_tame(text, true);
    text_copy(copy.text, sizeof copy.text, text);
    if (err->cause == &access_not_allowed || err->cause == &access_not_known)
        return call_fail(call, EXIT_NOT_ALLOWED, err);
    switch (err->kind) {
    case ERROR_DENIED:
    case ERROR_CONFLICT:
        return call_fail(call, EXIT_REFUSED, err);
    case ERROR_NONE:
    case ERROR_TRANSIENT:
    case ERROR_THROTTLED:
    case ERROR_NO_CAPACITY:
    case ERROR_UNKNOWN_OUTCOME:
    case ERROR_NOT_FOUND:
    case ERROR_INVALID:
    case ERROR_CORRUPT:
    case ERROR_BUG:
    case ERROR_KIND_COUNT:
        break;
    }
    return call_fail(call, EXIT_ERROR, err);
}

bool client_wants_json(const struct command_call *call)
{
    const char *form = call_text_or(call, "output", "table");

    return text_equal(form, "json") || text_equal(form, "yaml");
}

void client_print_json(const struct command_call *call, const json_t *answer)
{
    owned(json) json_t *json = json_copy((json_t *)(uintptr_t)answer);
    owned(text) struct text *yaml = text_new(TEXT_UNBOUNDED);
    owned(chars) char *text = NULL;

    if (json_is_object(json)) /* also what no service has answered */
        json_object_set_new(json, "api_version", json_text(ANSWERS_API_VERSION));
    if (text_equal(call_text_or(call, "output", "table"), "yaml")) {
        yaml_print(json, yaml);
        fputs(yaml->chars, stdout);
        return;
    }
    text = json_print_pretty(json);
    fputs(text, stdout);
}

void client_show(const struct command_call *call, const json_t *json,
                 void (*print)(const json_t *json))
{
    if (client_wants_json(call))
        client_print_json(call, json);
    else
        print(json);
}

void client_tell(const struct command_call *call, const json_t *json,
                 void (*print)(const json_t *json, struct text *out))
{
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    if (client_wants_json(call)) {
        client_print_json(call, json);
        return;
    }
    print(json, out);
    output_print(call, out->chars);
}

/* What they were planned for, if the folder has it. */
static int add_forecast(const char *folder, json_t *schedules, struct error *err)
{
    owned(chars) char *path = text_format("%s/" FORECAST_FILE_NAME, folder);
    owned(text) struct text *text = NULL;
    owned(forecast_file) struct forecast_file *file = NULL;

    if (!file_exists(path))
        return 0;
    text = file_read(path, FORECAST_FILE_LIMIT, err);
    file = text ? forecast_file_parse(text->chars, text->length, path, err) : NULL;
    if (!file)
        return -1;
    json_put(schedules, FORECAST_FILE_NAME, json_text(text->chars));
    return 0;
}

json_t *client_schedules(const char *folder, struct error *err)
{
    struct file_list list;
    owned(json) json_t *schedules = json_object();

    if (file_list(folder, ".yaml", &list, err) < 0)
        return NULL;
    for (size_t i = 0; i < list.count; i++) {
        owned(chars) char *path = text_format("%s/%s", folder, list.names[i]);
        owned(chars) char *window = mem_copy_chars(list.names[i]);
        owned(text) struct text *text = file_read(path, SCHEDULE_LIMIT, err);
        owned(schedule) struct schedule *schedule =
            text ? schedule_parse(text->chars, text->length, path, err) : NULL;

        /* The service would refuse it as well, but could not name the file. */
        if (!schedule) {
            file_list_free(&list);
            return NULL;
        }
        window[strlen(window) - strlen(".yaml")] = '\0';
        json_put(schedules, window, json_text(text->chars));
    }
    file_list_free(&list);
    if (json_object_size(schedules) == 0) {
        error_set(err, ERROR_NOT_FOUND, "no schedule (*.yaml) in %s: `sluice allocate` writes them",
                  folder);
        return NULL;
    }
    return add_forecast(folder, schedules, err) < 0 ? NULL : steal(&schedules);
}

bool client_will_ask(const struct command_call *call)
{
    return !call_flag(call, "yes") && isatty(STDIN_FILENO);
}

bool client_confirm(const struct command_call *call, const char *what, const char *word)
{
    char line[256] = "";

    if (!client_will_ask(call))
        return true;
    {
        owned(chars) char *local = times_local(what);

        text_tame(local, true);
        fprintf(stderr, "%s\nType %s to go on: ", local, word);
    }
    if (fgets(line, sizeof line, stdin))
        line[strcspn(line, "\n")] = '\0';
    if (text_equal(line, word))
        return true;
    fprintf(stderr, "Nothing was done: \"%s\" is not %s.\n", line, word);
    return false;
}

int client_add_until(const struct command_call *call, int64_t usual_ms, json_t *request,
                     struct error *err)
{
    struct wall_time until;
    char text[WALL_TEXT_SIZE];
    int64_t for_ms = 0;

    if (call_text(call, "until")) {
        if (wall_parse(call_text(call, "until"), false, &until, err) < 0)
            return -1;
        return json_object_set_new(request, "until", json_text(wall_format(until, text)));
    }
    if (call_duration(call, "for", &for_ms, err) < 0)
        return -1;
    if (!call_text(call, "for"))
        for_ms = usual_ms;
    if (for_ms <= 0)
        return error_set(err, ERROR_INVALID, "say when it ends: --until TIME or --for DURATION");
    return json_object_set_new(request, "for_s",
                               json_integer((json_int_t)((for_ms + SECOND_MS - 1) / SECOND_MS)));
}

void client_rest(int64_t duration_ms)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);

    if (loop)
        loop_run_until(loop, loop_now(loop) + duration_ms);
}

int64_t client_now_ms(void)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);

    return loop ? loop_now(loop) : 0;
}

int client_hide(struct command_call *call, int (*run)(struct command_call *call))
{
    int code;

    mem_hide();
    code = run(call);
    mem_show();
    return code;
}
