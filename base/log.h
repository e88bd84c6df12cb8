/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One event per line on standard error, as key=value text or as JSON lines.  An event has a name
 * (snake_case, stable: people search for it) and fields; sentences go into a field called `text`.
 *
 *     log_info("transfer_step", FIELD_TEXT("transfer", id), FIELD_TEXT("step", name));
 *
 * Values of fields whose key is token, authorization, password, secret or key are never printed.
 * The log is for people; nothing in the product reads it back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SILENT };
enum log_form { LOG_FORM_TEXT, LOG_FORM_JSON };

struct log_field {
    const char *key;
    const char *text; /* NULL: the number counts */
    int64_t number;
};

#define FIELD_TEXT(key_, text_) log_field_text((key_), (text_))
#define FIELD_INT(key_, number_) ((struct log_field){ .key = (key_), .number = (number_) })

/* NULL is logged as an empty text. */
static inline struct log_field log_field_text(const char *key, const char *text)
{
    return (struct log_field){ .key = key, .text = text ? text : "" };
}

#define log_event(level, event, ...)                                                               \
    log_write((level), (event), (const struct log_field[]){ __VA_ARGS__ },                         \
              sizeof((const struct log_field[]){ __VA_ARGS__ }) / sizeof(struct log_field))
#define log_debug(event, ...) log_event(LOG_DEBUG, event, __VA_ARGS__)
#define log_info(event, ...) log_event(LOG_INFO, event, __VA_ARGS__)
#define log_warn(event, ...) log_event(LOG_WARN, event, __VA_ARGS__)
#define log_error(event, ...) log_event(LOG_ERROR, event, __VA_ARGS__)

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count);

/* Applies to lines written from now on; default LOG_INFO as text. */
void log_setup(enum log_level least, enum log_form form);

/* The clock of the lines' timestamps: unix milliseconds.  Default: the system's.  The virtual loop
   sets its own, so that a simulated run logs simulated time. */
typedef int64_t (*log_clock_fn)(void *context);
void log_set_clock(log_clock_fn clock, void *context);

/* For tests: lines go here instead of standard error; NULL restores. */
typedef void (*log_sink_fn)(void *context, const char *line);
void log_set_sink(log_sink_fn sink, void *context);

/* "debug", "info", "warn", "error", "silent"; false for another name. */
bool log_level_parse(const char *name, enum log_level *ret_level);
