/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See post.h.
 */
#include "broker/webhooks/post.h"

#include "base/text.h"
#include "broker/webhooks/message.h"
#include "broker/webhooks/signature.h"

#include <inttypes.h>
#include <string.h>

enum { TIMEOUT_MS = 15 * SECOND_MS, WORD_MOST = 40 };

/* Nothing in the body of an accepted message matters, however long it is. */
static void ignore(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
}

struct http_exchange *post_send(const struct world *world, const struct post *post,
                                http_done_fn done, void *context, struct error *err)
{
    const struct config_webhook *hook = post->hook;
    owned(webhook_access) struct webhook_access access = { 0 };
    owned(chars) char *body = message_body(hook, post->id, post->row);
    struct wall_time now = loop_wall(world->loop);
    owned(chars) char *timestamp = text_format("%" PRId64, now.ms / SECOND_MS);
    owned(chars) char *signature = NULL;
    bool is_signed;

    if (webhook_access_read(hook, &access, err) < 0)
        return NULL;
    signature = webhook_signature(&access, post->id, now, body);
    is_signed = signature[0] != '\0';

    const struct http_header headers[] = {
        { "Content-Type", message_media_type(hook) },
        { "webhook-id", post->id },
        { "webhook-timestamp", timestamp },
        { "webhook-signature", signature },
    };
    const struct http_request request = {
        .method = HTTP_POST,
        .priority = HTTP_INVENTORY,
        .url = access.url,
        .headers = headers,
        .header_count = is_signed ? COUNT_OF(headers) : 1,
        .body = body,
        .body_size = strlen(body),
        .is_mutation = true,
        .is_repeatable = is_signed, /* its ID says that it is the same */
        .is_outward = true,
        .timeout_ms = TIMEOUT_MS,
        .on_chunk = ignore,
    };

    return http_send(world->http, &request, done, context);
}

enum post_result post_result_of(const struct http_answer *answer)
{
    int status = answer ? answer->status : 0;

    if (status / 100 == 2)
        return POST_ACCEPTED;
    if (status == 410)
        return POST_GONE;
    return status == 0 || status / 100 == 5 || status == 408 || status == 425 || status == 429
               ? POST_AGAIN
               : POST_REFUSED;
}

const char *post_text(const struct http_answer *answer, const struct error *err,
                      char out[POST_TEXT_SIZE])
{
    size_t length = answer ? strspn(answer->body, "abcdefghijklmnopqrstuvwxyz_") : 0;
    bool has_word = answer && length > 0 && length <= WORD_MOST && answer->body[length] == '\0';

    if (answer)
        text_print(out, POST_TEXT_SIZE, "%d%s%s", answer->status, has_word ? " " : "",
                   has_word ? answer->body : "");
    else
        text_print(out, POST_TEXT_SIZE, "%s", err->text);
    return out;
}
