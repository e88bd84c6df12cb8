/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See ask.h.
 */
#include "tests/conformance/ask.h"

#include "base/text.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_LIMIT = 64 << 20, PATIENCE_MS = 60 * SECOND_MS };

struct asking {
    struct asker *asker;
    bool is_done;
    struct error err;
};

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct asking *asking = context;
    struct asker *asker = asking->asker;

    asking->is_done = true;
    if (err) {
        asking->err = *err;
    } else {
        asker->status = answer->status;
        json_decref(asker->body);
        asker->body = json_parse_foreign(answer->body, answer->body_size, "answer", NULL)
                          ?: json_object();
    }
    loop_stop(asker->loop);
}

static const struct {
    enum http_method method;
    const char *content_type;
} verbs[ASK_VERBS] = {
    [ASK_GET] = { HTTP_GET, "application/json" },
    [ASK_POST] = { HTTP_POST, "application/json" },
    [ASK_DELETE] = { HTTP_DELETE, "application/json" },
    [ASK_MERGE_PATCH] = { HTTP_PATCH, "application/merge-patch+json" },
    [ASK_STRATEGIC_PATCH] = { HTTP_PATCH, "application/strategic-merge-patch+json" },
};

int ask_server_list(struct asker *asker, enum ask_verb verb, json_t *body, const char *path,
                    va_list arguments)
{
    struct asking asking = { .asker = asker };
    owned(chars) char *bearer = text_format("Bearer %s", asker->access->token);
    owned(chars) char *chars = body ? json_print(body) : NULL;
    char target[1024];

    json_decref(body);
    vsnprintf(target, sizeof target, path, arguments);

    owned(chars) char *url = text_format("%s%s", asker->access->server, target);
    struct http_header headers[] = { { "Accept", "application/json" },
                                     { "Authorization", bearer },
                                     { "Content-Type", verbs[verb].content_type } };
    struct http_request request = {
        .method = verbs[verb].method,
        .url = url,
        .headers = headers,
        .header_count = COUNT_OF(headers),
        .body = chars,
        .body_size = chars ? strlen(chars) : 0,
        .tls = &asker->access->tls,
        .is_mutation = verb != ASK_GET,
        .timeout_ms = PATIENCE_MS,
        .answer_limit = ANSWER_LIMIT,
    };
    int64_t end_ms = loop_now(asker->loop) + 2 * (int64_t)PATIENCE_MS;

    http_send(asker->http, &request, on_answer, &asking);
    while (!asking.is_done && loop_now(asker->loop) < end_ms)
        loop_run_until(asker->loop, end_ms);
    if (!asking.is_done || asking.err.kind)
        fail_msg("%s %s: %s", http_method_name(verbs[verb].method), target, asking.err.text);
    return asker->status;
}

int ask_server(struct asker *asker, enum ask_verb verb, json_t *body, const char *path, ...)
{
    va_list arguments;
    int status;

    va_start(arguments, path);
    status = ask_server_list(asker, verb, body, path, arguments);
    va_end(arguments);
    return status;
}

void ask_expect(const struct asker *asker, int status)
{
    if (asker->status == status)
        return;

    owned(chars) char *chars = json_print(asker->body);

    fail_msg("%d where %d was expected: %.800s", asker->status, status, chars);
}
