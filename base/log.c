/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One event, one line, one write: lines of two processes that share a descriptor never mix.  The
 * settings are the module's own state; there is one log in a process.
 */
#include "base/log.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <ctype.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = { "debug", "info", "warn", "error", "silent" };
static const char *const secret_keys[] = { "token", "authorization", "password", "secret", "key" };

static struct {
    enum log_level least;
    enum log_form form;
    log_clock_fn clock;
    void *clock_context;
    log_sink_fn sink;
    void *sink_context;
} log_state = { .least = LOG_INFO };

void log_setup(enum log_level least, enum log_form form)
{
    log_state.least = least;
    log_state.form = form;
}

void log_set_clock(log_clock_fn clock, void *context)
{
    log_state.clock = clock;
    log_state.clock_context = context;
}

void log_set_sink(log_sink_fn sink, void *context)
{
    log_state.sink = sink;
    log_state.sink_context = context;
}

bool log_level_parse(const char *name, enum log_level *ret_level)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++) {
        if (!text_equal(level_names[i], name))
            continue;
        *ret_level = (enum log_level)i;
        return true;
    }
    return false;
}

static int64_t now_ms(void)
{
    struct timespec now;

    if (log_state.clock)
        return log_state.clock(log_state.clock_context);
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * SECOND_MS + now.tv_nsec / 1000000;
}

static bool is_secret(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(secret_keys); i++)
        if (strcasecmp(secret_keys[i], key) == 0)
            return true;
    return false;
}

/* Whether a value can stand in a text line without quotes. */
static bool is_plain(const char *chars)
{
    if (*chars == '\0')
        return false;
    for (; *chars; chars++)
        if ((unsigned char)*chars <= ' ' || strchr("\"=\\\x7f", *chars))
            return false;
    return true;
}

/* In double quotes, control characters escaped; valid as a JSON string when the bytes are UTF-8. */
static void add_quoted(struct text *line, const char *chars)
{
    text_add_bytes(line, "\"", 1);
    for (; *chars; chars++) {
        unsigned char byte = (unsigned char)*chars;

        if (byte == '"' || byte == '\\')
            text_add(line, "\\%c", byte);
        else if (byte == '\n')
            text_add(line, "\\n");
        else if (byte < ' ' || byte == 0x7f)
            text_add(line, "\\u%04x", byte);
        else
            text_add_bytes(line, chars, 1);
    }
    text_add_bytes(line, "\"", 1);
}

/* As add_quoted(); bytes that are not UTF-8 would make the line unreadable, and become "?". */
static void add_json_text(struct text *line, const char *chars)
{
    owned(chars) char *mended = mem_copy_chars(chars);

    text_mend(mended);
    add_quoted(line, mended);
}

static void add_text_field(struct text *line, const struct log_field *field)
{
    const char *shown = is_secret(field->key) ? "***" : field->text;

    text_add(line, " %s=", field->key);
    if (shown == NULL)
        text_add(line, "%lld", (long long)field->number);
    else if (is_plain(shown))
        text_add(line, "%s", shown);
    else
        add_quoted(line, shown);
}

static void add_json_field(struct text *line, const struct log_field *field)
{
    const char *shown = is_secret(field->key) ? "***" : field->text;

    text_add_bytes(line, ",", 1);
    add_json_text(line, field->key);
    text_add_bytes(line, ":", 1);
    if (shown == NULL)
        text_add(line, "%lld", (long long)field->number);
    else
        add_json_text(line, shown);
}

static void emit(struct text *line)
{
    const char *at;
    size_t left;

    if (log_state.sink) {
        log_state.sink(log_state.sink_context, line->chars);
        return;
    }
    text_add_bytes(line, "\n", 1);
    at = line->chars;
    left = line->length;
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, at, left);

        if (written <= 0)
            return; /* a log that cannot be written has nowhere to say so */
        at += written;
        left -= (size_t)written;
    }
}

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count)
{
    owned(text) struct text *line = NULL;
    char stamp[WALL_TEXT_SIZE];
    bool is_json = log_state.form == LOG_FORM_JSON;

    if (level < log_state.least || level >= LOG_SILENT)
        return;
    line = text_new(TEXT_UNBOUNDED);
    wall_format((struct wall_time){ now_ms() }, stamp);
    text_add(line,
             is_json ? "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%s\""
                     : "%s level=%s event=%s",
             stamp, level_names[level], event);
    for (size_t i = 0; i < count; i++) {
        if (is_json)
            add_json_field(line, &fields[i]);
        else
            add_text_field(line, &fields[i]);
    }
    if (is_json)
        text_add(line, "}");
    emit(line);
}
