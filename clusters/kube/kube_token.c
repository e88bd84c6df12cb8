/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See kube_token.h.
 */
#include "clusters/kube/kube_token.h"

#include "base/file.h"
#include "base/input/json.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/world/program.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/kube_login.h"

#include <string.h>

enum {
    FILE_AGE_MS = 30 * SECOND_MS,
    TOKEN_SIZE_LIMIT = 64 * 1024,
    PLUGIN_LIMIT_MS = 30 * SECOND_MS,
    PLUGIN_PAUSE_MS = 5 * SECOND_MS, /* between two runs, whatever the first one gave */
    RENEWED_BEFORE_MS = MINUTE_MS,
};

struct kube_token {
    struct world *world;
    const struct kube_config *config;
    struct kube_login *login; /* NULL: none */
    kube_token_news_fn news;
    void *context;
    char *chars; /* of the file, the plugin or the login; NULL: not asked yet */
    int64_t read_ms;
    int64_t ends_ms;         /* of the plugin's token, in loop time; INT64_MAX: the plugin gave
                                none */
    struct program *program; /* the plugin, while it runs */
    bool is_asked;           /* the login */
    struct error failure;    /* of the last run; ERROR_NONE */
};

struct kube_token *kube_token_new(struct world *world, const struct kube_config *config,
                                  struct kube_login *login, kube_token_news_fn news, void *context)
{
    struct kube_token *token = mem_new(sizeof *token);

    token->world = world;
    token->config = config;
    token->login = login;
    token->news = news;
    token->context = context;
    token->read_ms = INT64_MIN / 2;
    return token;
}

void kube_token_free(struct kube_token *token)
{
    if (!token)
        return;
    program_cancel(token->program);
    if (token->is_asked)
        token->login->cancel(token->login);
    secret_free(steal(&token->chars));
    mem_free(token);
}

static enum kube_token_state read_file(struct kube_token *token, struct error *err)
{
    owned(text) struct text *file = file_read(token->config->token_file, TOKEN_SIZE_LIMIT, err);

    if (!file) {
        if (err)
            err->kind = ERROR_TRANSIENT;
        error_context(err, "token");
        return KUBE_TOKEN_FAILED;
    }
    while (file->length > 0 && strchr(" \t\r\n", file->chars[file->length - 1]))
        file->chars[--file->length] = '\0';
    if (file->length == 0 || strpbrk(file->chars, "\r\n")) {
        error_set(err, ERROR_TRANSIENT, "token: %s holds no token", token->config->token_file);
        return KUBE_TOKEN_FAILED;
    }
    secret_free(steal(&token->chars));
    token->chars = mem_copy_chars(file->chars);
    token->read_ms = loop_now(token->world->loop);
    return KUBE_TOKEN_READY;
}

char *kube_token_decode(const json_t *credential, const char *api_version,
                        struct wall_time *ret_expires, struct error *err)
{
    const char *said = json_text_or(credential, "apiVersion", "");
    const json_t *status = json_object_get(credential, "status");
    const char *chars = json_text_or(status, "token", "");
    const char *expires = json_text_or(status, "expirationTimestamp", "");

    if (!text_equal(json_text_or(credential, "kind", ""), "ExecCredential") ||
        !text_equal(said, api_version)) {
        error_set(err, ERROR_TRANSIENT, "the plugin printed no ExecCredential of %s", api_version);
        return NULL;
    }
    if (chars[0] == '\0') {
        error_set(err, ERROR_TRANSIENT,
                  "the plugin gave no token (client certificates of plugins are not supported)");
        return NULL;
    }
    if (strpbrk(chars, "\r\n")) {
        error_set(err, ERROR_TRANSIENT, "the plugin's token is not one line");
        return NULL;
    }
    *ret_expires = (struct wall_time){ 0 };
    if (expires[0] != '\0' && wall_parse(expires, false, ret_expires, err) < 0) {
        err->kind = ERROR_TRANSIENT;
        error_context(err, "expirationTimestamp");
        return NULL;
    }
    return mem_copy_chars(chars);
}

static void plugin_ended(void *context, const char *output, const struct error *err)
{
    struct kube_token *token = context;
    owned(json) json_t *credential = NULL;
    struct wall_time expires = { 0 };
    char *chars = NULL;

    token->program = NULL;
    token->read_ms = loop_now(token->world->loop);
    token->failure = err ? *err : (struct error){ 0 };
    if (output)
        credential = json_parse_foreign(output, strlen(output), "the plugin's output",
                                        &token->failure);
    if (credential)
        chars = kube_token_decode(credential, token->config->plugin->api_version, &expires,
                                  &token->failure);
    if (chars) {
        secret_free(steal(&token->chars));
        token->chars = chars;
        token->ends_ms = expires.ms == 0
                             ? INT64_MAX
                             : token->read_ms + expires.ms - loop_wall(token->world->loop).ms;
    } else {
        token->failure.kind = ERROR_TRANSIENT;
        error_context(&token->failure, "credential plugin");
    }
    token->news(token->context);
}

static void login_ended(void *context, const char *chars, int64_t ends_ms, const struct error *err)
{
    struct kube_token *token = context;

    token->is_asked = false;
    token->read_ms = loop_now(token->world->loop);
    token->failure = err ? *err : (struct error){ 0 };
    if (chars) {
        secret_free(steal(&token->chars));
        token->chars = mem_copy_chars(chars);
        token->ends_ms = ends_ms;
    } else {
        error_context(&token->failure, "token");
    }
    token->news(token->context);
}

static void start_plugin(struct kube_token *token)
{
    const struct kube_plugin *plugin = token->config->plugin;
    struct program_request request = {
        .arguments = (const char *const *)plugin->arguments,
        .environment = (const char *const *)plugin->environment,
        .timeout_ms = PLUGIN_LIMIT_MS,
        .output_limit = TOKEN_SIZE_LIMIT,
    };

    token->program = program_start(token->world->loop, &request, plugin_ended, token);
}

/* Its token comes later, from a plugin or a login. */
static bool is_made(const struct kube_token *token)
{
    return token->login || token->config->plugin;
}

static enum kube_token_state ask_maker(struct kube_token *token, const char **ret_chars,
                                       struct error *err)
{
    int64_t now_ms = loop_now(token->world->loop);
    bool is_recent = now_ms - token->read_ms < PLUGIN_PAUSE_MS;

    *ret_chars = token->chars;
    if (token->chars && token->ends_ms - now_ms >= RENEWED_BEFORE_MS)
        return KUBE_TOKEN_READY;
    if (kube_token_is_coming(token))
        return KUBE_TOKEN_COMING;
    if (is_recent && token->failure.kind != ERROR_NONE) {
        if (err)
            *err = token->failure;
        return KUBE_TOKEN_FAILED;
    }
    /* A token that is issued with less than a minute left is used until it ends. */
    if (is_recent && token->chars)
        return KUBE_TOKEN_READY;
    if (token->login) {
        token->is_asked = true;
        token->login->ask(token->login, login_ended, token);
    } else {
        start_plugin(token);
    }
    return KUBE_TOKEN_COMING;
}

enum kube_token_state kube_token_get(struct kube_token *token, const char **ret_chars,
                                     struct error *err)
{
    enum kube_token_state state = KUBE_TOKEN_READY;

    if (is_made(token))
        return ask_maker(token, ret_chars, err);
    *ret_chars = token->config->token;
    if (!token->config->token_file)
        return KUBE_TOKEN_READY;
    if (!token->chars || loop_now(token->world->loop) - token->read_ms >= FILE_AGE_MS)
        state = read_file(token, err);
    *ret_chars = state == KUBE_TOKEN_READY ? token->chars : NULL;
    return state;
}

bool kube_token_is_coming(const struct kube_token *token)
{
    return token->program || token->is_asked;
}

bool kube_token_renew(struct kube_token *token, const char *refused)
{
    bool is_recent = loop_now(token->world->loop) - token->read_ms < PLUGIN_PAUSE_MS;

    if (is_made(token)) {
        if (!text_equal(token->chars, refused))
            return true; /* another has come meanwhile */
        if (is_recent)
            return false;
        secret_free(steal(&token->chars));
        return true;
    }
    return token->config->token_file && read_file(token, NULL) == KUBE_TOKEN_READY &&
           !text_equal(token->chars, refused);
}
