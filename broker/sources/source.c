/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening a source, and what its kinds share.
 */
#include "broker/sources/source.h"

#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"
#include "broker/sources/ask.h"

#include <math.h>
#include <string.h>

enum { CA_LIMIT = 1 << 20 };

static const struct source_kind *const kinds[] = {
    &source_prometheus,
    &source_cloudwatch,
    &source_monitoring,
};

static int open_parts(struct source *source, struct error *err)
{
    const struct source_settings *settings = source->settings;

    if (settings->ca) {
        source->ca = file_read(settings->ca, CA_LIMIT, err);
        if (!source->ca)
            return -1;
        source->tls.ca_pem = source->ca->chars;
    }
    if (source->kind->is_google) {
        const struct gcp_identity whose = {
            .credentials = settings->credentials,
            .metadata = settings->metadata,
        };

        source->google = gcp_token_new(source->world, &whose, err);
        if (!source->google)
            return -1;
    }
    if (source->kind->is_aws)
        source->aws = aws_login_new(source->world, &settings->account);
    return 0;
}

const struct settings_kind *source_kind_settings(size_t at)
{
    return at < COUNT_OF(kinds) ? &kinds[at]->own : NULL;
}

bool source_has_histograms(const struct settings_kind *kind)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kind == &kinds[i]->own)
            return kinds[i]->has_histograms;
    require(false); /* it is one of source_kind_settings() */
    return false;
}

struct source *source_open(struct world *world, const struct source_settings *settings,
                           struct error *err)
{
    owned(source) struct source *source = mem_new(sizeof *source);
    const char *key;

    source->world = world;
    source->settings = settings;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_equal(kinds[i]->own.name, settings->kind))
            source->kind = kinds[i];
    if (!source->kind) {
        error_set(err, ERROR_INVALID, "source %s: no kind \"%s\"", settings->name, settings->kind);
        return NULL;
    }
    if (source->kind->own.check(settings, &key, err) < 0 || open_parts(source, err) < 0) {
        error_context(err, "source %s", settings->name);
        return NULL;
    }
    return steal(&source);
}

void source_close(struct source *source)
{
    if (!source)
        return;
    while (source->asks)
        source->asks->verbs->free(source->asks);
    gcp_token_free(source->google);
    aws_login_free(source->aws);
    text_free(source->ca);
    mem_free(source);
}

struct source_effort source_effort(const struct source *source)
{
    return source->effort;
}

void source_request_header(struct source_request *request, const char *name, const char *prefix,
                           const char *value)
{
    require(request->header_count < SOURCE_HEADERS_MAX);
    request->headers[request->header_count].name = name;
    request->headers[request->header_count++].value = text_format("%s%s", prefix, value);
}

/* The values may be secrets. */
void source_request_clear(struct source_request *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        secret_free(request->headers[i].value);
    mem_free(request->url);
    text_free(request->body);
    *request = (struct source_request){ 0 };
}

char *source_expand(const char *template, const char *arrivals, int64_t step_ms)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    while (*template) {
        if (text_starts_with(template, "$arrivals")) {
            text_add(out, "%s", arrivals);
            template += strlen("$arrivals");
        } else if (text_starts_with(template, "$step")) {
            text_add(out, "%llds", (long long)(step_ms / SECOND_MS));
            template += strlen("$step");
        } else {
            text_add_bytes(out, template ++, 1);
        }
    }
    return text_take(out);
}

int source_add_point(struct source_part *part, size_t line, int64_t ms, double value,
                     struct error *err)
{
    int64_t from_start = ms - part->span.from.ms;
    char time[WALL_TEXT_SIZE];

    if (ms < part->span.from.ms || ms >= part->span.to.ms || isnan(value))
        return 0;
    wall_format((struct wall_time){ ms }, time);
    if (from_start % part->span.step_ms != 0)
        return error_set(err, ERROR_CORRUPT, "the point at %s is between two steps", time);
    if (value < 0 || value > INT32_MAX)
        return error_set(err, ERROR_CORRUPT, "%g arrivals in the step at %s", value, time);
    require(line < part->line_count && ms < part->span.to.ms);
    part->points++;
    part->lines[line].points[part->first_step + (size_t)(from_start / part->span.step_ms)] = value;
    return 0;
}

int source_refused(const struct http_answer *answer, const char *said, struct error *err)
{
    int status = answer->status;
    enum error_kind kind = ERROR_INVALID;

    require(status != 200);
    if (status == 429 || (status == 503 && answer->retry_after_ms > 0))
        kind = ERROR_THROTTLED;
    else if (status == 408 || status >= 500)
        kind = ERROR_TRANSIENT;
    else if (status == 401 || status == 403)
        kind = ERROR_DENIED;
    else if (status == 404)
        kind = ERROR_NOT_FOUND;
    error_set(err, kind, "refused: %d %.200s", status, said);
    error_wait(err, answer->retry_after_ms);
    return -1;
}
