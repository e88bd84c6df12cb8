/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_call.h.
 */
#include "clusters/slurm/slurm_call.h"

#include "base/file.h"
#include "base/input/json.h"
#include "base/secret.h"
#include "base/text.h"
#include "clusters/slurm/slurm_errors.h"

#include <string.h>

enum {
    TIMEOUT_MS = 20 * SECOND_MS,
    ANSWER_LIMIT = 64 * 1024 * 1024,
    TOKEN_LIMIT = 64 * 1024,
};

/* ---- calls ---- */

struct slurm_call *slurm_call_new(struct slurm_client *client, enum slurm_subject subject,
                                  slurm_done_fn done, void *context)
{
    struct slurm_call *call = mem_new(sizeof *call);

    *call = (struct slurm_call){ .client = client,
                                 .subject = subject,
                                 .done = done,
                                 .context = context,
                                 .next = client->first };
    if (client->first)
        client->first->previous = call;
    client->first = call;
    return call;
}

void slurm_call_free(struct slurm_call *call)
{
    if (call->previous)
        call->previous->next = call->next;
    else
        call->client->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    timer_free(call->late);
    mem_free(call->line);
    mem_free(call);
}

/* Frees first: `done` may close the cluster. */
static void finish(struct slurm_call *call, const struct slurm_answer *answer,
                   const struct error *err)
{
    slurm_done_fn done = call->done;
    void *context = call->context;

    slurm_call_free(call);
    done(context, answer, err);
}

static void on_late(void *context)
{
    struct slurm_call *call = context;
    struct error failure = call->failure;

    finish(call, NULL, &failure);
}

/* The call could not be sent. */
void slurm_call_fail(struct slurm_call *call, const struct error *err)
{
    call->failure = *err;
    call->late = timer_new(call->client->world->loop, on_late, call);
    timer_set(call->late, 0);
}

static const char *name_of(const struct slurm_call *call)
{
    return call->subject == SLURM_ASK_ACTION        ? slurm_actions[call->action].name
           : call->subject == SLURM_ASK_DESCRIPTION ? "description of slurmrestd"
                                                    : "release of Slurm";
}

static bool is_change(const struct slurm_call *call)
{
    return call->subject == SLURM_ASK_ACTION && slurm_actions[call->action].changes;
}

/* The cluster's name and what was asked, before each sentence. */
static void fail(struct slurm_call *call, struct error *err)
{
    error_context(err, "cluster %s: %s", call->client->name, name_of(call));
    finish(call, NULL, err);
}

static void give(struct slurm_call *call, const char *bytes, size_t size, int status)
{
    struct error err = { 0 };
    struct slurm_answer answer = { .format = call->format, .text = bytes };
    owned(json) json_t *body = NULL;

    if (call->format != SLURM_JSON) {
        finish(call, &answer, NULL);
        return;
    }
    body = json_parse_foreign(bytes, size, "Slurm's answer", &err);
    if (!body && status != 200)
        (void)error_set(&err, status == 401 || status == 403 ? ERROR_DENIED : ERROR_TRANSIENT,
                        "slurmrestd answered %d: %.200s", status, bytes);
    if (!body ||
        (call->subject == SLURM_ASK_ACTION && slurm_check_answer(status, body, &err) < 0)) {
        if (is_change(call) && err.kind == ERROR_CORRUPT)
            err.kind = ERROR_UNKNOWN_OUTCOME;
        fail(call, &err);
        return;
    }
    answer.body = body;
    finish(call, &answer, NULL);
}

/* Slurm has more jobs than fit, or needs too long to list them. */
static void blame_length(const struct slurm_call *call, struct error *why)
{
    const struct error was = *why;

    if (call->subject != SLURM_ASK_ACTION || call->action != SLURM_LIST_JOBS ||
        (was.kind != ERROR_CORRUPT && was.kind != ERROR_UNKNOWN_OUTCOME))
        return;
    (void)error_set(why, was.kind,
                    "%.200s; a list of jobs may have %d MiB and take %d s: see \"Many jobs\" in "
                    "docs/slurm.md",
                    was.text, ANSWER_LIMIT >> 20, (int)(TIMEOUT_MS / SECOND_MS));
    why->cause = was.cause;
}

/* ---- commands ---- */

static void on_command(void *context, const struct ssh_answer *answer, const struct error *err)
{
    struct slurm_call *call = context;
    struct error why = { 0 };

    call->exec = NULL;
    if (err) {
        why = *err;
        blame_length(call, &why);
    } else if (answer->exit_status < 0) {
        (void)error_set(&why, is_change(call) ? ERROR_UNKNOWN_OUTCOME : ERROR_TRANSIENT,
                        "signal %s ended it", answer->signal ?: "?");
    } else if (slurm_check_command(answer->exit_status, answer->errors, &why) == 0) {
        give(call, answer->output, answer->output_length, 200);
        return;
    }
    fail(call, &why);
}

void slurm_call_run(struct slurm_call *call, const char *line)
{
    const struct slurm_access *access = call->client->access;
    owned(text) struct text *whole = text_new(64 << 10);

    if (access->path)
        text_add(whole, "PATH=%s:$PATH ", access->path);
    if (access->conf)
        text_add(whole, "SLURM_CONF=%s ", access->conf);
    text_add(whole, "%s", line);

    struct ssh_request request = { .command = whole->chars,
                                   .timeout_ms = TIMEOUT_MS,
                                   .output_limit = ANSWER_LIMIT };

    call->exec = ssh_run(call->client->world->ssh, &call->client->target.host, &request, on_command,
                         call);
}

/* ---- REST ---- */

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct slurm_call *call = context;
    bool is_too_long = err && err->kind == ERROR_CORRUPT && !is_change(call);
    struct error why = { 0 };

    call->http = NULL;
    if (answer && answer->status == 404 && call->subject == SLURM_ASK_ACTION)
        slurm_client_forget(call->client); /* another slurmrestd than the one that was asked */
    if (answer) {
        give(call, answer->body, answer->body_size, answer->status);
    } else if (call->line && (err->kind == ERROR_TRANSIENT || is_too_long)) {
        if (is_too_long) /* as long as the discovery is believed */
            call->client->versions[call->action] = 0;
        call->format = call->line_format;
        slurm_call_run(call, call->line);
    } else {
        why = *err;
        blame_length(call, &why);
        fail(call, &why);
    }
}

/* The caller frees it with secret_free(). */
static char *read_token(const struct slurm_access *access, struct error *err)
{
    struct text *file = file_read(access->token, TOKEN_LIMIT, err);

    if (!file) {
        error_context(err, "token");
        return NULL;
    }
    while (file->length > 0 && strchr(" \t\r\n", file->chars[file->length - 1]))
        text_end_at(file, file->length - 1);
    return text_take(file);
}

/* -1: the token cannot be read. */
int slurm_call_send(struct slurm_call *call, enum http_method method, const char *target,
                    const json_t *body, struct error *err)
{
    const struct slurm_access *access = call->client->access;
    bool is_socket = text_starts_with(access->rest, "unix:");
    char *token = NULL;
    owned(chars) char *chars = body ? json_print(body) : NULL;
    owned(chars) char *url = text_format("%s%s", is_socket ? "http://localhost" : access->rest,
                                         target);
    const struct http_tls tls = { .ca_pem = call->client->ca ? call->client->ca->chars : NULL };
    struct http_header headers[3] = { { "Content-Type", "application/json" },
                                      { "X-SLURM-USER-NAME", access->rest_user } };
    struct http_request request = {
        .method = method,
        .priority = is_change(call) ? HTTP_DRAIN : HTTP_POLL,
        .url = url,
        .unix_socket = is_socket ? access->rest + strlen("unix:") : NULL,
        .headers = headers,
        .header_count = access->rest_user ? 2 : 1,
        .body = chars,
        .body_size = chars ? strlen(chars) : 0,
        .tls = text_starts_with(url, "https:") ? &tls : NULL,
        .is_mutation = is_change(call),
        .timeout_ms = TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    if (access->token) {
        token = read_token(access, err);
        if (!token)
            return -1;
        headers[request.header_count++] = (struct http_header){ "X-SLURM-USER-TOKEN", token };
    }
    call->http = http_send(call->client->world->http, &request, on_answer, call);
    secret_free(token);
    return 0;
}
