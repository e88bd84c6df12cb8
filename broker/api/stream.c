/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See stream.h.
 */
#include "broker/api/stream.h"

#include "base/memory.h"
#include "broker/api/browser.h"

struct stream {
    struct changes *changes;
    struct http_call *call;
};

static bool send_bytes(void *context, const char *bytes, size_t size)
{
    struct stream *stream = context;

    return http_call_stream_send(stream->call, bytes, size);
}

static void end(void *context)
{
    struct stream *stream = context;

    http_call_stream_end(stream->call);
    mem_free(stream);
}

static void on_closed(void *context)
{
    struct stream *stream = context;

    changes_forget(stream->changes, stream);
    mem_free(stream);
}

void stream_begin(struct changes *changes, struct http_call *call, const struct person *person)
{
    struct stream *stream = mem_new(sizeof *stream);

    *stream = (struct stream){ changes, call };
    http_call_add_header(call, &browser_headers[0]);
    http_call_add_header(call, &browser_headers[1]);
    http_call_stream_begin(call, "text/event-stream", on_closed, stream);
    changes_add(changes, &(struct changes_reader){ .context = stream,
                                                   .person = person->key,
                                                   .ends = person->ends,
                                                   .send = send_bytes,
                                                   .end = end });
}
